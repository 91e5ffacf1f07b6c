"""The rules by which a lease is kept alive, for the blocking and the asyncio client.

1. The lease is renewed every third of its ttl.
2. Its holder may act until `margin` before the expiry, counted from before the last confirmed request was sent.
3. When a renewal is refused, or that time comes before a renewal is confirmed, the lease is lost, for ever: a renewal
   that is confirmed later does not bring it back.
"""

import threading
from typing import Optional, Union

from . import clock
from .errors import BadRequest, Fault, Gone, LeaseLost, LeaseholdError, Refused
from .values import Key, Lease, Seconds, seconds


class HoldTerms:
    def __init__(
        self, ttl: Seconds, every: Optional[Seconds], margin: Optional[Seconds], max_hold: Optional[Seconds]
    ) -> None:
        self.ttl = seconds(ttl)
        self.every = self.ttl / 3 if every is None else seconds(every)
        self.margin = self.ttl / 10 if margin is None else seconds(margin)
        self.max_hold = None if max_hold is None else seconds(max_hold)
        if not (0 < self.every and 0 <= self.margin and self.every + self.margin < self.ttl < float("inf")):
            raise BadRequest("a held lock needs 0 < every, 0 <= margin, every + margin < ttl, and a ttl with an end")


class Keeping:
    """A lease that is kept alive. Thread-safe."""

    def __init__(self, lease: Lease, terms: HoldTerms) -> None:
        self._terms = terms
        self._mutex = threading.Lock()
        self._lease = lease  # guarded by _mutex, and so are the following
        self._acts_until = lease.valid_until - terms.margin
        self._due = clock.now() + terms.every
        self._loss: Optional[LeaseLost] = None
        self._trouble = Fault("the server did not confirm the lease in time", effect="none")

    # What a holder asks

    @property
    def lease(self) -> Lease:
        """As it was confirmed last."""
        with self._mutex:
            return self._lease

    @property
    def key(self) -> Key:
        return self._lease.key

    @property
    def lock_id(self) -> str:
        """The secret of the lease."""
        return self._lease.lock_id

    @property
    def fence(self) -> int:
        """Pass it to what you write to: every grant of the key has a greater fence than the grants before it."""
        return self._lease.fence

    @property
    def seconds_left(self) -> float:
        """For how long the holder may act, unless the lease is renewed. Negative after that."""
        with self._mutex:
            return self._acts_until - clock.now()

    @property
    def lost(self) -> bool:
        """Whether the lease is lost at this moment. Right even after the process was paused."""
        return self.loss is not None

    @property
    def loss(self) -> Optional[LeaseLost]:
        """Why the lease is lost; None while it is held."""
        with self._mutex:
            if self._loss is None and clock.now() >= self._acts_until:
                self._lose(self._trouble)
            return self._loss

    def ensure(self) -> None:
        """Raises LeaseLost if the lease is lost."""
        loss = self.loss
        if loss is not None:
            raise LeaseLost(str(loss), loss.reason)  # a new one: several threads may ask

    # What its keeper tells

    @property
    def _next_action(self) -> float:
        """Seconds until something is to be done; a nap at most."""
        with self._mutex:
            return min(self._due - clock.now(), self._acts_until - clock.now(), clock.LONGEST_NAP)

    @property
    def _is_due(self) -> bool:
        with self._mutex:
            return clock.now() >= self._due

    def _confirmed(self, lease: Lease) -> None:
        with self._mutex:
            if self._loss is None and clock.now() >= self._acts_until:
                self._lose(self._trouble)  # too late: `lost` may have said so already
            if self._loss is not None:
                return
            self._lease = lease
            self._acts_until = lease.valid_until - self._terms.margin
            self._due = clock.now() + self._terms.every

    def _failed(self, error: LeaseholdError) -> None:
        with self._mutex:
            if isinstance(error, Gone):
                self._lose(error)
                return
            left = self._acts_until - clock.now()
            retry_after = 0.0
            if isinstance(error, Fault):
                self._trouble = error
                retry_after = error.retry_after
            self._due = clock.now() + max(self._terms.every / 8, min(retry_after, left / 4))

    def _lose(self, reason: Union[Refused, Fault]) -> None:
        if self._loss is None:
            self._loss = LeaseLost(f"the lease of {self._lease.key} is lost: {reason}", reason)

    def _ended(self, loss: Optional[LeaseLost], gone: Optional[Gone]) -> Optional[LeaseLost]:
        """Why the work was not protected until its end. `loss` is from before the release, `gone` its answer. A lease
        that expired while it was being released protected the work. A lease that was released with its lock id was
        released by its holder."""
        if loss is None and gone is not None and gone.reason in ("broken", "unknown"):
            with self._mutex:
                self._lose(gone)
                loss = self._loss
        if loss is not None and isinstance(loss.reason, Gone) and loss.reason.reason == "released":
            return None
        return loss

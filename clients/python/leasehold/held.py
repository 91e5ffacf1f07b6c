"""A lock that is held for the time of a `with` block."""

import logging
import os
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Callable, Optional, Type

from . import clock
from .errors import Fault, Gone, LeaseLost, LeaseholdError
from .keeping import HoldTerms, Keeping
from .values import Lease

if TYPE_CHECKING:
    from .client import Client

log = logging.getLogger("leasehold")

OnLost = Callable[[LeaseLost], None]


class HeldLease(Keeping):
    """A lease that two threads keep alive: one renews it, the other one tells of its loss in time, even while a
    renewal hangs. Thread-safe."""

    def __init__(self, client: "Client", lease: Lease, terms: HoldTerms, on_lost: Optional[OnLost]) -> None:
        super().__init__(lease, terms)
        self._client = client
        self._on_lost = on_lost
        self._process = os.getpid()
        self._stopped = threading.Event()
        self._changed = threading.Condition()
        self.lost_event = threading.Event()  # set when the lease is lost
        self._teller = threading.Thread(target=self._tell, name=f"leasehold-tell {self.key}", daemon=True)
        self._renewer = threading.Thread(target=self._renew, name=f"leasehold-renew {self.key}", daemon=True)
        self._teller.start()
        self._renewer.start()

    def release(self) -> None:
        """Ends the lease. Raises LeaseLost if it was lost before, so that the work was not protected to its end. If
        the server cannot be reached, the lease ends at its expiry."""
        self._stop()
        if os.getpid() != self._process:
            return  # a forked child: the lease belongs to the parent
        loss = self.loss
        gone: Optional[Gone] = None
        try:
            gone = self._client._release_within(self.lease, self.lease.valid_for)
        except LeaseholdError as error:
            log.warning("the lease of %s could not be released and ends at its expiry: %s", self.key, error)
        loss = self._ended(loss, gone)
        if loss is not None:
            raise loss

    def _stop(self) -> None:
        self._stopped.set()
        with self._changed:
            self._changed.notify_all()
        if os.getpid() == self._process and threading.current_thread() is not self._teller:
            self._teller.join()

    def _renew(self) -> None:
        while not self._stopped.wait(max(self._next_action, 0.0)):
            if self.lost:
                break
            if not self._is_due:
                continue
            try:
                self._confirmed(self._client._renew_once(self.lease, self._terms, self.seconds_left))
            except LeaseholdError as error:
                self._failed(error)
            except Exception as error:  # for example from a function that makes tokens
                self._failed(Fault(f"the renewal failed: {error!r}", effect="unknown"))
        with self._changed:
            self._changed.notify_all()

    def _tell(self) -> None:
        with self._changed:
            while not self._stopped.is_set() and not self.lost:
                self._changed.wait(max(min(self.seconds_left, clock.LONGEST_NAP), 0.0))
        loss = self.loss
        if self._stopped.is_set() or loss is None:
            return
        self.lost_event.set()
        if self._on_lost is not None:
            self._on_lost(loss)


class Lock:
    """What `client.lock(…)` returns: takes the lock at the beginning of a `with` block, releases it at the end."""

    def __init__(
        self, client: "Client", take: Callable[[], Lease], terms: HoldTerms, on_lost: Optional[OnLost]
    ) -> None:
        self._client = client
        self._take = take
        self._terms = terms
        self._on_lost = on_lost
        self._held: Optional[HeldLease] = None

    def acquire(self) -> HeldLease:
        """For a lock that does not end with a block: call release() of the result."""
        lease = self._take()
        try:
            return HeldLease(self._client, lease, self._terms, self._on_lost)
        except BaseException:  # the system cannot start a thread
            self._client.release(lease)
            raise

    def __enter__(self) -> HeldLease:
        if self._held is not None:
            raise RuntimeError("this lock is in use; make one for each `with`")
        self._held = self.acquire()
        return self._held

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        held, self._held = self._held, None
        assert held is not None
        try:
            held.release()
        except LeaseLost:
            if error is None:
                raise  # otherwise the block's own error tells more

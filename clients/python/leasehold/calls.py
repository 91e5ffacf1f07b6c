"""Every call to a server, written once for the blocking and the asyncio client.

A call is a generator. It yields what is to be done next, a Send or a Pause, is sent the Response, and returns its
result. Faults of the connection are thrown into it, and so is an interruption (KeyboardInterrupt, CancelledError).
"""

import random
from dataclasses import dataclass
from typing import Any, Callable, Dict, Generator, Iterable, List, Mapping, Optional, Tuple, TypeVar, Union

from . import batch, clock, wire
from .errors import BadRequest, Busy, Fault, Gone, Held, LeaseholdError
from .values import AnyKey, Holder, Holders, Key, Lease, Leased, PastLease, Seconds, key_of, new_lock_id, seconds
from .wire import Request, Response

T = TypeVar("T")


@dataclass(frozen=True)
class Send:
    request: Request
    timeout: float


@dataclass(frozen=True)
class Pause:
    seconds: float


Step = Union[Send, Pause]
# Steps are sent a Response after a Send, and None after a Pause.
Steps = Generator[Step, Any, T]


class Retry:
    """The pauses between attempts: 20 ms at first, growing to 500 ms, random so that clients do not ask in step."""

    def __init__(self, until: float) -> None:
        self._until = until
        self._pause = 0.02

    def pause(self, at_least: float = 0.0) -> Optional[float]:
        """None if there is to be no further attempt."""
        left = self._until - clock.now()
        if left <= 0 or at_least >= left:
            return None
        pause = max(at_least, random.uniform(self._pause / 2, self._pause))
        self._pause = min(2 * self._pause, 0.5)
        return min(pause, left)


def settled(error: Union[Busy, Fault], unknown: bool) -> Union[Busy, Fault]:
    """The error of the last attempt. Its effect is unknown if the effect of any attempt was."""
    if unknown and isinstance(error, Busy):
        return Fault(str(error), effect="unknown", code="busy")
    if unknown and isinstance(error, Fault):
        error.effect = "unknown"
    return error


class Calls:
    """The calls of Client and of AsyncClient. `timeout` is for one attempt. Attempts that failed are repeated for
    `patience` seconds, if a later one may succeed and if repeating is harmless."""

    def __init__(self, timeout: float, patience: float) -> None:
        self._timeout = timeout
        self._patience = patience
        self._longest_wait = 60.0  # of the server; it corrects us

    # One key

    def try_lock(
        self,
        key: AnyKey,
        *,
        owner: str = "",
        ttl: Optional[Seconds] = None,
        mode: str = "exclusive",
        places: Optional[int] = None,
        note: str = "",
        since: Optional[int] = None,
        max_hold: Optional[Seconds] = None,
        lock_id: Optional[str] = None,
    ) -> "Steps[Lease]":
        """Takes the key, or raises Held at once. The same owner gets its own lease back, renewed."""
        fields = wire.terms(owner, ttl, mode, places, note, max_hold, since)
        return (yield from self._take(key_of(key), fields, lock_id, 0.0))

    def lock_for(
        self,
        key: AnyKey,
        wait: Seconds,
        *,
        owner: str = "",
        ttl: Optional[Seconds] = None,
        mode: str = "exclusive",
        places: Optional[int] = None,
        note: str = "",
        since: Optional[int] = None,
        max_hold: Optional[Seconds] = None,
        lock_id: Optional[str] = None,
    ) -> "Steps[Lease]":
        """Takes the key as soon as it is the caller's turn in the server's line. Raises Held when `wait` is over."""
        fields = wire.terms(owner, ttl, mode, places, note, max_hold, since)
        return (yield from self._take(key_of(key), fields, lock_id, seconds(wait)))

    def holders(self, key: AnyKey) -> "Steps[Holders]":
        """Who holds the key, and who waits for it. A key that nobody holds has no holders."""
        return (yield from self._ask(Request("GET", wire.key_path(key_of(key))), lambda answer, _: wire.holders(answer)))

    def check(self, lease: Union[Leased, AnyKey], lock_id: Optional[str] = None) -> "Steps[Lease]":
        """The lease as it is now. Raises Gone if it is not alive. Changes nothing."""
        return (yield from self._about("GET", lease, lock_id))

    def renew(
        self,
        lease: Union[Leased, AnyKey],
        lock_id: Optional[str] = None,
        *,
        ttl: Seconds,
        max_hold: Optional[Seconds] = None,
    ) -> "Steps[Lease]":
        """Sets the expiry to now plus `ttl`; never shortens the lease. Raises Gone if it is not alive."""
        body = wire.without_none(ttl_ms=wire.milliseconds(ttl), max_hold_ms=wire.milliseconds(max_hold))
        return (yield from self._about("PATCH", lease, lock_id, body, repeatable=True))

    def extend(
        self, lease: Union[Leased, AnyKey], lock_id: Optional[str] = None, *, by: Seconds
    ) -> "Steps[Lease]":
        """Adds to the expiry. Raises Gone if the lease is not alive. Not repeated after an unknown effect, because
        the second one would add to the expiry again."""
        return (yield from self._about("PATCH", lease, lock_id, {"extend_ms": wire.milliseconds(by)}))

    def release(
        self, lease: Union[Leased, AnyKey], lock_id: Optional[str] = None, *, after: Seconds = 0
    ) -> "Steps[Optional[Gone]]":
        """Ends the lease; with `after`, then, unless it is renewed before. Returns None if this ended the lease, and
        otherwise how it had ended before, which is no error."""
        key, lock_id = wire.named(lease, lock_id)
        path = wire.with_query(wire.key_path(key), after_ms=round(seconds(after) * 1000) or None)

        def read(answer: Mapping[str, Any], _: float) -> Optional[Gone]:
            if "lease" in answer:
                wire.lease(answer["lease"], 0.0, key, lock_id)
                return None
            refused = wire.refusal(answer["refused"])
            if not isinstance(refused, Gone):
                raise ValueError(refused.code)
            return refused

        return (yield from self._ask(Request("DELETE", path, lock_id=lock_id, repeatable=True), read))

    def knock(self, key: AnyKey, message: str, *, owner: str = "") -> "Steps[List[Holder]]":
        """Asks the holders for the key, and returns them: none if nobody holds it."""
        body = wire.without_none(message=message, owner=owner or None)
        request = Request("POST", wire.key_path(key_of(key)) + "/knock", body)
        try:
            return (yield from self._ask(request, lambda answer, _: wire.holders(answer).holders))
        except Fault as fault:
            if fault.code != "not_held":
                raise
            return []

    def break_lock(self, key: AnyKey, fence: int, *, by: str = "", reason: str = "") -> "Steps[Holder]":
        """Ends the lease of somebody else that has this fence. Raises Gone if it is not alive."""
        body = wire.without_none(fence=fence, by=by or None, reason=reason or None)
        request = Request("POST", wire.key_path(key_of(key)) + "/break", body)
        return (yield from self._ask(request, lambda answer, _: wire.ended_lease(answer)))

    # Several keys

    def try_all(
        self,
        keys: Iterable[AnyKey],
        *,
        owner: str = "",
        ttl: Optional[Seconds] = None,
        mode: str = "exclusive",
        places: Optional[int] = None,
        note: str = "",
        max_hold: Optional[Seconds] = None,
    ) -> "Steps[List[Lease]]":
        """Takes all keys or none. Returns the leases in the order of the keys, or raises Held."""
        asked = batch.try_all(
            keys, owner=owner, ttl=ttl, mode=mode, places=places, note=note, max_hold=max_hold
        )
        answers = yield from self.batch([asked])
        answer = answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer  # type: ignore[return-value]

    def batch(self, requests: Iterable[batch.BatchRequest]) -> "Steps[List[batch.Answer]]":
        """Carries out several requests in one round trip, each atomic by itself. Refusals and faults of single
        requests are answers, not raised."""
        wanted = list(requests)

        def read(message: Mapping[str, Any], asked_at: float) -> List[batch.Answer]:
            answers = message["answers"]
            if len(answers) != len(wanted):
                raise ValueError("not as many answers as requests")
            return [_batch_answer(one, answer, asked_at) for one, answer in zip(wanted, answers)]

        request = Request(
            "POST",
            "/v1/batch",
            {"requests": [one.fields for one in wanted]},
            repeatable=all(one.repeatable for one in wanted),
            changes=not all(one.only_reads for one in wanted),
        )
        return (yield from self._ask(request, read))

    def release_all(self, owner: str, *, below: bool = False) -> "Steps[List[Holder]]":
        """Ends all leases of the owner, with `below` also of the owners below it, and returns them. Not repeated after
        an unknown effect, because the second answer would not name the leases that the first one ended."""
        if not owner:
            raise BadRequest("release_all needs an owner")
        path = wire.with_query(f"/v1/owners/{wire.encoded(owner)}/locks", scope="below" if below else None)
        request = Request("DELETE", path)
        return (yield from self._ask(request, lambda answer, _: [wire.ended_lease(one) for one in answer["leases"]]))

    # Pages

    def list_page(self, after: Optional[str], parameters: Mapping[str, Any]) -> "Steps[Tuple[List[Holder], Optional[str]]]":
        """A page of live leases, and where the next one begins."""
        request = Request("GET", wire.with_query("/v1/locks", after=after, **parameters))
        return (yield from self._ask(request, lambda page, _: _page(page, "locks", wire.holder)))

    def history_page(
        self, before: Optional[str], parameters: Mapping[str, Any]
    ) -> "Steps[Tuple[List[PastLease], Optional[str]]]":
        request = Request("GET", wire.with_query("/v1/history", before=before, **parameters))
        return (yield from self._ask(request, lambda page, _: _page(page, "history", wire.past_lease)))

    # How it is done

    def _about(
        self,
        method: str,
        lease: Union[Leased, AnyKey],
        lock_id: Optional[str],
        body: Optional[Mapping[str, Any]] = None,
        repeatable: bool = False,
    ) -> "Steps[Lease]":
        key, lock_id = wire.named(lease, lock_id)
        request = Request(method, wire.key_path(key), body, lock_id, repeatable=repeatable)
        return (yield from self._ask(request, lambda answer, asked_at: wire.lease(answer, asked_at, key, lock_id)))

    def _ask(self, request: Request, reader: Callable[[Any, float], T]) -> "Steps[T]":
        retry = Retry(clock.now() + self._patience)
        unknown = False
        while True:
            try:
                response: Response = yield Send(request, self._timeout)
                return wire.read(response, request, reader)
            except Busy as busy:
                pause = retry.pause()
                if pause is None:
                    raise settled(busy, unknown)
            except Fault as fault:
                unknown = unknown or fault.effect == "unknown"
                harmless = request.repeatable or fault.effect == "none"
                pause = retry.pause(fault.retry_after) if fault.may_pass and harmless else None
                if pause is None:
                    raise settled(fault, unknown)
            yield Pause(pause)

    def _take(self, key: Key, fields: Dict[str, Any], lock_id: Optional[str], wait: float) -> "Steps[Lease]":
        """1. Sends the try with a lock id that we drew, so that sending it again is harmless.
        2. After a fault that may pass, sends it again with the same lock id, which keeps our place in the line.
        3. If the lease of an attempt whose answer was lost has ended, draws a new lock id.
        4. If it gives up or is interrupted while the key may be ours, releases it: nobody else knows the lock id."""
        drawn = lock_id is None
        current = lock_id or new_lock_id()
        started = clock.now()
        retry = Retry(started + max(wait, self._patience))
        unsettled = False  # whether the key may have been granted to this lock id
        try:
            while True:
                was_unsettled, unsettled = unsettled, True
                asked_at = clock.now()
                try:
                    return (yield from self._try_once(key, fields, current, started + wait))
                except Held:
                    unsettled = False
                    pause = retry.pause() if clock.now() < started + wait else None
                    if pause is None:
                        raise
                    if clock.now() - asked_at >= self._longest_wait:
                        pause = 0.0  # the server keeps our place, but grants nothing while no request waits
                except Gone:
                    unsettled = False
                    pause = retry.pause() if drawn and "since" not in fields else None
                    if pause is None:
                        raise
                    current = new_lock_id()
                except Busy as busy:
                    unsettled = was_unsettled
                    pause = retry.pause()
                    if pause is None:
                        raise settled(busy, unsettled)
                except Fault as fault:
                    unsettled = was_unsettled or fault.effect == "unknown"
                    pause = retry.pause(fault.retry_after) if fault.may_pass else None
                    if pause is None:
                        raise settled(fault, unsettled)
                yield Pause(pause)
        except GeneratorExit:
            raise  # nothing can be sent any more
        except BaseException:
            if drawn and unsettled:
                yield from self._give_back(key, current)
            raise

    def _try_once(self, key: Key, fields: Dict[str, Any], lock_id: str, until: float) -> "Steps[Lease]":
        while True:
            wait = min(max(until - clock.now(), 0.0), self._longest_wait)
            body = {**fields, "wait_ms": int(wait * 1000)} if wait > 0 else fields
            request = Request("POST", wire.key_path(key), body, lock_id, repeatable=True)
            response: Response = yield Send(request, self._timeout + wait)
            try:
                lease = wire.read(response, request, lambda answer, asked_at: wire.lease(answer, asked_at, key))
                break
            except BadRequest as bad:
                if bad.longest_wait is None or bad.longest_wait >= wait:
                    raise
                self._longest_wait = bad.longest_wait
        waited = clock.now() - response.asked_at
        if wait > 0 and waited * 10 > lease.valid_until - response.asked_at:
            # The lease began while this try waited: count its time from a request that does not wait.
            try:
                lease = yield from self.check(lease)
            except Fault as fault:
                fault.effect = "unknown"  # the check changed nothing, but the try was granted
                raise
        return lease

    def _give_back(self, key: Key, lock_id: str) -> "Steps[None]":
        hurried = Calls(min(self._timeout, 1.0), patience=1.0)  # more than one attempt: a kept connection may be dead
        try:
            yield from hurried.release(key, lock_id)
        except LeaseholdError:
            pass  # the lease ends at its expiry


def _batch_answer(one: batch.BatchRequest, answer: Mapping[str, Any], asked_at: float) -> batch.Answer:
    if "refused" in answer:
        return wire.refusal(answer["refused"])
    if "fault" in answer:
        return wire.fault(answer["fault"])
    return one.read(answer, asked_at)


def _page(
    page: Mapping[str, Any], rows: str, reader: Callable[[Mapping[str, Any], str], T]
) -> "Tuple[List[T], Optional[str]]":
    return [reader(row, page["store_now"]) for row in page[rows]], page["next"]

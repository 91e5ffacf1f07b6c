"""The blocking client."""

import functools
import inspect
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, Optional, Type, TypeVar

from .address import Address, Token
from .calls import Calls, Pause, Send, Steps
from .connections import Connections
from .errors import Gone
from .events import EventStream
from .held import Lock, OnLost
from .keeping import HoldTerms
from .values import AnyKey, Holder, Lease, PastLease, Seconds, key_of, seconds
from .wire import Response, without_none

if TYPE_CHECKING:
    from typing_extensions import Concatenate, ParamSpec

    P = ParamSpec("P")

T = TypeVar("T")


def _blocking(call: "Callable[Concatenate[Calls, P], Steps[T]]") -> "Callable[Concatenate[Client, P], T]":
    """The call as a method of Client."""

    @functools.wraps(call)
    def method(self: "Client", *args: Any, **kwargs: Any) -> T:
        return self._run(call(self._calls, *args, **kwargs))

    signature = inspect.signature(call)
    result = str(signature.return_annotation)[len("Steps[") : -1]
    method.__signature__ = signature.replace(return_annotation=result)  # type: ignore[attr-defined]
    return method  # type: ignore[return-value]


class Client:
    """Calls a Leasehold server. Thread-safe: threads share one client, and each request that is under way has a
    connection of its own.

    `timeout` is how long to wait for an answer. A request that failed is sent again for up to `patience` seconds, if a
    later one may succeed and if repeating it is harmless; with 0 it is sent once. `token` is a bearer token or a
    function that returns one, and `token_file` a file that has it in its first line; without both, the environment
    variables LEASEHOLD_TOKEN_FILE and LEASEHOLD_TOKEN are used. `ca_file` names the authorities to trust instead of
    the system's; `cert_file` and `key_file` are our own certificate."""

    def __init__(
        self,
        url: str = "http://127.0.0.1:7470",
        *,
        token: Optional[Token] = None,
        token_file: Optional[str] = None,
        ca_file: Optional[str] = None,
        cert_file: Optional[str] = None,
        key_file: Optional[str] = None,
        timeout: Seconds = 5.0,
        patience: Seconds = 10.0,
    ) -> None:
        address = Address(url, token, token_file, ca_file, cert_file, key_file)
        self._connections = Connections(address)
        self._timeout = seconds(timeout)
        self._patience = seconds(patience)
        self._calls = Calls(self._timeout, self._patience)

    def close(self) -> None:
        """Closes the connections that are not in use."""
        self._connections.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    try_lock = _blocking(Calls.try_lock)
    lock_for = _blocking(Calls.lock_for)
    try_all = _blocking(Calls.try_all)
    holders = _blocking(Calls.holders)
    check = _blocking(Calls.check)
    renew = _blocking(Calls.renew)
    extend = _blocking(Calls.extend)
    release = _blocking(Calls.release)
    release_all = _blocking(Calls.release_all)
    knock = _blocking(Calls.knock)
    break_lock = _blocking(Calls.break_lock)
    batch = _blocking(Calls.batch)

    def lock(
        self,
        key: AnyKey,
        *,
        owner: str = "",
        wait: Seconds = 0,
        ttl: Seconds = 60,
        mode: str = "exclusive",
        places: Optional[int] = None,
        note: str = "",
        since: Optional[int] = None,
        max_hold: Optional[Seconds] = None,
        every: Optional[Seconds] = None,
        margin: Optional[Seconds] = None,
        on_lost: Optional[OnLost] = None,
    ) -> Lock:
        """Holds a lock for the time of a `with` block: takes it or raises Held when `wait` is over, renews it, tells
        of its loss `margin` before anybody else can get it, and releases it. `ttl` is how long others wait if this
        process dies. If the lease was lost, the end of the block raises LeaseLost.

        `every` is the time between two renewals, a third of the ttl by default; `margin` is as long as your work needs
        to stop, a tenth of the ttl by default. `on_lost` is called with a LeaseLost on a thread of its own."""
        terms = HoldTerms(ttl, every, margin, max_hold)

        def take() -> Lease:
            return self.lock_for(
                key, wait, owner=owner, ttl=ttl, mode=mode, places=places, note=note, since=since, max_hold=max_hold
            )

        return Lock(self, take, terms, on_lost)

    def list(
        self,
        *,
        type: Optional[str] = None,
        owner: Optional[str] = None,
        below: bool = False,
        contains: Optional[str] = None,
        page: Optional[int] = None,
    ) -> Iterator[Holder]:
        """All live leases in the order of their keys. `below` includes the owners below `owner`; `page` is the number
        of rows that are asked for at once."""
        wanted = without_none(
            type=type, owner=owner, scope="below" if below else None, contains=contains, limit=page
        )
        return self._pages(lambda after: self._calls.list_page(after, wanted))

    def history(self, key: Optional[AnyKey] = None, *, page: Optional[int] = None) -> Iterator[PastLease]:
        """Leases that ended, the latest first, of one key or of all."""
        named = {} if key is None else key_of(key)._asdict()
        wanted = without_none(limit=page, **named)
        return self._pages(lambda before: self._calls.history_page(before, wanted))

    def events(
        self,
        *,
        type: Optional[str] = None,
        id: Optional[str] = None,
        owner: Optional[str] = None,
        below: bool = False,
        last_id: str = "",
    ) -> EventStream:
        """Events as they happen. `last_id` continues behind that event."""
        wanted: Dict[str, Any] = without_none(type=type, id=id, owner=owner, scope="below" if below else None)
        return EventStream(self._connections, wanted, last_id, self._timeout, self._patience)

    def _pages(self, ask: "Callable[[Optional[str]], Steps[Any]]") -> Iterator[Any]:
        begin: Optional[str] = None
        while True:
            rows, begin = self._run(ask(begin))
            yield from rows
            if begin is None:
                return

    def _renew_once(self, lease: Lease, terms: HoldTerms, timeout: float) -> Lease:
        calls = Calls(min(self._timeout, timeout), 0.0)
        return self._run(calls.renew(lease, ttl=terms.ttl, max_hold=terms.max_hold))

    def _release_within(self, lease: Lease, patience: float) -> Optional[Gone]:
        return self._run(Calls(self._timeout, min(self._patience, patience)).release(lease))

    def _run(self, steps: "Steps[T]") -> T:
        try:
            step = next(steps)
            while True:
                try:
                    answer = self._do(step)
                except BaseException as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(answer)
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]

    def _do(self, step: object) -> Optional[Response]:
        if isinstance(step, Send):
            return self._connections.exchange(step.request, step.timeout)
        assert isinstance(step, Pause)
        time.sleep(step.seconds)
        return None

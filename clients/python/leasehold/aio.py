"""The asyncio client.

It speaks HTTP on asyncio's own streams and not through threads: a call that is cancelled ends its connection at once,
a wait of an hour costs no thread, and nothing is left behind when the event loop ends.
"""

import asyncio
import functools
import http.client
import inspect
import io
import logging
import re
import ssl
from types import TracebackType
from typing import (
    TYPE_CHECKING,
    Any,
    AsyncIterator,
    Awaitable,
    Callable,
    Dict,
    List,
    Optional,
    Tuple,
    Type,
    TypeVar,
    Union,
)

from . import clock, wire
from .address import Address, Token
from .calls import Calls, Pause, Retry, Send, Steps
from .connections import LONGEST_IDLE
from .errors import Fault, Gone, LeaseholdError, LeaseLost
from .events import LONGEST_EVENT, LONGEST_SILENCE, SHORTEST_PAUSE, EventParser, events_request, stream_ended
from .keeping import HoldTerms, Keeping
from .values import AnyKey, Event, Holder, Lease, PastLease, Seconds, key_of, seconds
from .wire import LONGEST_ANSWER, Request, Response, without_none

if TYPE_CHECKING:
    from typing_extensions import Concatenate, ParamSpec

    P = ParamSpec("P")

T = TypeVar("T")

log = logging.getLogger("leasehold")

OnLost = Callable[[LeaseLost], Union[None, Awaitable[None]]]

_BROKEN = (OSError, EOFError, ValueError, asyncio.LimitOverrunError, http.client.HTTPException)
_STATUS_LINE = re.compile(rb"HTTP/1\.[01] ([1-9][0-9]{2})(?: [^\r\n]*)?\r?\n")


async def _within(timeout: float, work: Awaitable[T]) -> T:
    """Raises asyncio.TimeoutError. Unlike asyncio.wait_for() before Python 3.12, it never swallows a cancellation."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task}, timeout=timeout)
        if task.done():
            return task.result()
        raise asyncio.TimeoutError
    finally:
        if not task.done() and not task.get_loop().is_closed():
            task.cancel()
        task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())  # its failure is of no interest


class _Head:
    """The status and the header fields of an answer."""

    def __init__(self, data: bytes) -> None:
        match = _STATUS_LINE.match(data)
        if match is None:
            raise ValueError("it is not HTTP")
        self.status = int(match.group(1))
        fields = http.client.parse_headers(io.BytesIO(data[match.end() :]))
        self.headers: Dict[str, str] = {name.lower(): value for name, value in fields.items()}
        self.content_type = fields.get_content_type()
        self.is_chunked = self.headers.get("transfer-encoding", "").lower() == "chunked"
        length = self.headers.get("content-length")
        if length is not None and not (length.isascii() and length.isdigit()):
            raise ValueError("a Content-Length that is no number")
        self.length = None if length is None or self.is_chunked else int(length)
        # An interim answer: the final one must not be taken for the answer to the next request.
        ends = self.status < 200 or data.startswith(b"HTTP/1.0") or (self.length is None and not self.is_chunked)
        self.keeps = not ends and "close" not in self.headers.get("connection", "").lower()


class _Connection:
    """One connection to the server, for one task at a time."""

    def __init__(self, address: Address, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.loop = asyncio.get_running_loop()
        self._address = address
        self._reader = reader
        self._writer = writer
        self._idle_since = clock.now()
        self._kept = True

    @classmethod
    async def open(cls, address: Address) -> "_Connection":
        """Raises a Fault without effect."""
        where = f"the Leasehold server at {address.name}"
        name = address.host if address.tls is not None else None
        try:
            streams = await asyncio.open_connection(
                address.host, address.port, ssl=address.tls, server_hostname=name, limit=1 << 20
            )
        except ssl.SSLCertVerificationError as error:
            text = f"the certificate of {where} is not accepted: {error.verify_message}"
            raise Fault(text, effect="none", cause="configuration") from error
        except OSError as error:
            raise Fault(f"{where} cannot be reached: {error}", effect="none") from error
        return cls(address, *streams)

    @property
    def is_usable(self) -> bool:
        idle = clock.now() - self._idle_since
        return self._kept and idle < LONGEST_IDLE and not self._reader.at_eof() and not self._writer.is_closing()

    async def exchange(self, request: Request, token: str) -> Response:
        asked_at = clock.now()
        head = await self.open_stream(request, token)
        try:
            body = await self._body(head)
        except _BROKEN as error:
            raise self.lost(request, error) from error
        self._kept = head.keeps
        self._idle_since = clock.now()
        return Response(head.status, head.headers, body, asked_at)

    async def open_stream(self, request: Request, token: str) -> _Head:
        """Sends the request and returns the answer before its body is read."""
        headers, body = request.encoded(self._address.name, token)
        lines = [f"{request.method} {self._address.prefix}{request.path} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self._kept = False
        try:
            self._writer.write("\r\n".join([*lines, "", ""]).encode("ascii") + body)
            await self._writer.drain()
            return _Head(await self._reader.readuntil(b"\r\n\r\n"))
        except _BROKEN as error:
            raise self.lost(request, error) from error

    async def lines(self, head: _Head) -> AsyncIterator[bytes]:
        """The lines of the body, as they come."""
        if not head.is_chunked:
            while True:
                yield await self._reader.readuntil(b"\n")
        rest = b""
        while True:
            chunk = await self._chunk()
            if not chunk:
                raise EOFError("the server closed it")
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                yield line + b"\n"
            if len(rest) > LONGEST_EVENT:
                raise ValueError("a line is too long")

    def lost(self, request: Request, error: BaseException) -> Fault:
        why = str(error) or type(error).__name__
        text = f"the connection to the Leasehold server at {self._address.name} was lost: {why}"
        return Fault(text, effect=request.effect_once_sent)

    def close(self) -> None:
        if not self.loop.is_closed():
            self._writer.transport.abort()

    async def _body(self, head: _Head) -> bytes:
        if head.status in (204, 304) or head.status < 200:
            return b""
        if head.length is not None:
            if head.length > LONGEST_ANSWER:
                raise ValueError("the answer is too long")
            return await self._reader.readexactly(head.length)
        body = bytearray()
        while True:
            part = await (self._chunk() if head.is_chunked else self._reader.read(1 << 16))
            if not part:
                return bytes(body)
            body += part
            if len(body) > LONGEST_ANSWER:
                raise ValueError("the answer is too long")

    async def _chunk(self) -> bytes:
        """The next chunk; empty after the last one."""
        size = int((await self._reader.readuntil(b"\n")).split(b";")[0], 16)
        if not 0 <= size <= LONGEST_ANSWER:
            raise ValueError("a chunk is too long")
        if size == 0:
            while (await self._reader.readuntil(b"\n")).strip():
                pass  # trailers
            return b""
        chunk = await self._reader.readexactly(size)
        await self._reader.readuntil(b"\n")
        return chunk


class _Connections:
    """The connections of a client, as many as requests are under way at once."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._idle: List[_Connection] = []

    async def exchange(self, request: Request, timeout: float) -> Response:
        """Raises a Fault without effect if the request was not sent."""
        token = self.address.token()
        # What was reached when the time is up.
        effect = ["none"]
        try:
            return await _within(timeout, self._exchange(request, token, effect))
        except asyncio.TimeoutError:
            text = f"the Leasehold server at {self.address.name} did not answer in {timeout:g} s"
            raise Fault(text, effect=effect[0]) from None

    async def _exchange(self, request: Request, token: str, effect: List[str]) -> Response:
        connection = self._take() or await _Connection.open(self.address)
        try:
            effect[0] = request.effect_once_sent
            response = await connection.exchange(request, token)
        except BaseException:
            connection.close()
            raise
        self._idle.append(connection)
        return response

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _take(self) -> Optional[_Connection]:
        while self._idle:
            connection = self._idle.pop()
            if connection.loop is asyncio.get_running_loop() and connection.is_usable:
                return connection
            connection.close()
        return None


class AsyncEventStream:
    """Events as they happen: `async with client.events(type="Order") as events: async for event in events: …`

    After a lost connection it continues behind the last event. If the server does not come back within the client's
    patience, the fault is raised; the next event may be asked for all the same, also by another stream that is given
    `last_id`."""

    def __init__(
        self, connections: _Connections, parameters: Dict[str, Any], last_id: str, timeout: float, patience: float
    ) -> None:
        self._connections = connections
        self._parameters = parameters
        self._timeout = timeout
        self._patience = patience
        self._parser = EventParser(last_id)
        self._connection: Optional[_Connection] = None
        self._lines: Optional[AsyncIterator[bytes]] = None
        self._closed = False

    @property
    def last_id(self) -> str:
        """The id of the last event."""
        return self._parser.last_id

    async def __aenter__(self) -> "AsyncEventStream":
        """Connects: what happens from now on is reported."""
        await self._until_done(self._connect)
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    def __aiter__(self) -> "AsyncEventStream":
        return self

    async def __anext__(self) -> Event:
        while not self._closed:
            event = await self._until_done(self._next_line)
            if event is not None:
                return event
        raise StopAsyncIteration

    def close(self) -> None:
        """The loop over the events ends."""
        self._closed = True
        self._disconnect()

    async def _until_done(self, work: Callable[[], Awaitable[Optional[Event]]]) -> Optional[Event]:
        retry: Optional[Retry] = None
        while not self._closed:
            try:
                return await work()
            except Fault as fault:
                self._disconnect()
                if self._closed:
                    break
                retry = retry or Retry(clock.now() + self._patience)
                pause = retry.pause(max(fault.retry_after, SHORTEST_PAUSE)) if fault.may_pass else None
                if pause is None:
                    raise
                await asyncio.sleep(pause)
            except BaseException:
                self._disconnect()
                raise
        return None

    async def _next_line(self) -> Optional[Event]:
        await self._connect()
        assert self._lines is not None
        try:
            return self._parser.line(await _within(LONGEST_SILENCE, self._lines.__anext__()))
        except (*_BROKEN, asyncio.TimeoutError) as error:
            raise stream_ended(str(error) or type(error).__name__) from error

    async def _connect(self) -> None:
        if self._lines is not None:
            return
        request = events_request(self._parameters, self.last_id)
        token = self._connections.address.token()
        self._parser = EventParser(self.last_id)  # forgets the half of an event
        try:
            await _within(self._timeout, self._open(request, token))
        except asyncio.TimeoutError:
            raise stream_ended("no answer in time") from None

    async def _open(self, request: Request, token: str) -> None:
        connection = self._connection = await _Connection.open(self._connections.address)
        head = await connection.open_stream(request, token)
        if head.status != 200:
            try:
                body = await connection._body(head)
            except _BROKEN as error:
                raise connection.lost(request, error) from error
            raise wire.problem_in(Response(head.status, head.headers, body, 0.0), request)
        if head.content_type != "text/event-stream":
            raise wire.not_understood(request, "it is not a stream of events", head.status)
        self._lines = connection.lines(head)

    def _disconnect(self) -> None:
        connection, self._connection, self._lines = self._connection, None, None
        if connection is not None:
            connection.close()


class AsyncHeldLease(Keeping):
    """A lease that a task keeps alive."""

    def __init__(self, client: "AsyncClient", lease: Lease, terms: HoldTerms, on_lost: Optional[OnLost]) -> None:
        super().__init__(lease, terms)
        self._client = client
        self._on_lost = on_lost
        self.lost_event = asyncio.Event()  # set when the lease is lost
        self._keeper = asyncio.ensure_future(self._keep())

    async def release(self) -> None:
        """Ends the lease. Raises LeaseLost if it was lost before, so that the work was not protected to its end. If
        the server cannot be reached, the lease ends at its expiry."""
        self._keeper.cancel()
        await asyncio.wait({self._keeper})
        loss = self.loss
        gone: Optional[Gone] = None
        try:
            gone = await self._client._release_within(self.lease, self.lease.valid_for)
        except LeaseholdError as error:
            log.warning("the lease of %s could not be released and ends at its expiry: %s", self.key, error)
        loss = self._ended(loss, gone)
        if loss is not None:
            raise loss

    async def _keep(self) -> None:
        while not self.lost:
            await asyncio.sleep(max(self._next_action, 0.0))
            if self.lost or not self._is_due:
                continue
            try:
                self._confirmed(await self._client._renew_once(self.lease, self._terms, self.seconds_left))
            except LeaseholdError as error:
                self._failed(error)
            except Exception as error:  # for example from a function that makes tokens
                self._failed(Fault(f"the renewal failed: {error!r}", effect="unknown"))
        loss = self.loss
        assert loss is not None
        self.lost_event.set()
        if self._on_lost is not None:
            result = self._on_lost(loss)
            if inspect.isawaitable(result):
                await result


class AsyncLock:
    """What `client.lock(…)` returns: takes the lock at the beginning of an `async with` block, releases it at the
    end."""

    def __init__(
        self,
        client: "AsyncClient",
        take: Callable[[], Awaitable[Lease]],
        terms: HoldTerms,
        on_lost: Optional[OnLost],
    ) -> None:
        self._client = client
        self._take = take
        self._terms = terms
        self._on_lost = on_lost
        self._held: Optional[AsyncHeldLease] = None

    async def acquire(self) -> AsyncHeldLease:
        """For a lock that does not end with a block: await release() of the result."""
        return AsyncHeldLease(self._client, await self._take(), self._terms, self._on_lost)

    async def __aenter__(self) -> AsyncHeldLease:
        if self._held is not None:
            raise RuntimeError("this lock is in use; make one for each `async with`")
        self._held = await self.acquire()
        return self._held

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        held, self._held = self._held, None
        assert held is not None
        try:
            await held.release()
        except LeaseLost:
            if error is None:
                raise  # otherwise the block's own error tells more


def _awaitable(call: "Callable[Concatenate[Calls, P], Steps[T]]") -> "Callable[Concatenate[AsyncClient, P], Awaitable[T]]":
    """The call as a method of AsyncClient."""

    @functools.wraps(call)
    async def method(self: "AsyncClient", *args: Any, **kwargs: Any) -> T:
        return await self._run(call(self._calls, *args, **kwargs))

    signature = inspect.signature(call)
    result = str(signature.return_annotation)[len("Steps[") : -1]
    method.__signature__ = signature.replace(return_annotation=result)  # type: ignore[attr-defined]
    return method  # type: ignore[return-value]


class AsyncClient:
    """Calls a Leasehold server from asyncio. Its options are those of Client. Tasks of one event loop share one
    client; it can be used in another loop later."""

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
        self._connections = _Connections(address)
        self._timeout = seconds(timeout)
        self._patience = seconds(patience)
        self._calls = Calls(self._timeout, self._patience)

    async def close(self) -> None:
        """Closes the connections that are not in use."""
        self._connections.close()

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        await self.close()

    try_lock = _awaitable(Calls.try_lock)
    lock_for = _awaitable(Calls.lock_for)
    try_all = _awaitable(Calls.try_all)
    holders = _awaitable(Calls.holders)
    check = _awaitable(Calls.check)
    renew = _awaitable(Calls.renew)
    extend = _awaitable(Calls.extend)
    release = _awaitable(Calls.release)
    release_all = _awaitable(Calls.release_all)
    knock = _awaitable(Calls.knock)
    break_lock = _awaitable(Calls.break_lock)
    batch = _awaitable(Calls.batch)

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
    ) -> AsyncLock:
        """Holds a lock for the time of an `async with` block, as Client.lock() does. `on_lost` is a function or a
        coroutine function. A task renews the lease: it must get its turn, so do not block the event loop."""
        terms = HoldTerms(ttl, every, margin, max_hold)

        async def take() -> Lease:
            return await self.lock_for(
                key, wait, owner=owner, ttl=ttl, mode=mode, places=places, note=note, since=since, max_hold=max_hold
            )

        return AsyncLock(self, take, terms, on_lost)

    def list(
        self,
        *,
        type: Optional[str] = None,
        owner: Optional[str] = None,
        below: bool = False,
        contains: Optional[str] = None,
        page: Optional[int] = None,
    ) -> AsyncIterator[Holder]:
        """As Client.list(), for `async for`."""
        wanted = without_none(
            type=type, owner=owner, scope="below" if below else None, contains=contains, limit=page
        )
        return self._pages(lambda after: self._calls.list_page(after, wanted))

    def history(self, key: Optional[AnyKey] = None, *, page: Optional[int] = None) -> AsyncIterator[PastLease]:
        """As Client.history(), for `async for`."""
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
    ) -> AsyncEventStream:
        """Events as they happen. `last_id` continues behind that event."""
        wanted: Dict[str, Any] = without_none(type=type, id=id, owner=owner, scope="below" if below else None)
        return AsyncEventStream(self._connections, wanted, last_id, self._timeout, self._patience)

    async def _pages(self, ask: "Callable[[Optional[str]], Steps[Tuple[Any, Optional[str]]]]") -> AsyncIterator[Any]:
        begin: Optional[str] = None
        while True:
            rows, begin = await self._run(ask(begin))
            for row in rows:
                yield row
            if begin is None:
                return

    async def _renew_once(self, lease: Lease, terms: HoldTerms, timeout: float) -> Lease:
        calls = Calls(min(self._timeout, timeout), 0.0)
        return await self._run(calls.renew(lease, ttl=terms.ttl, max_hold=terms.max_hold))

    async def _release_within(self, lease: Lease, patience: float) -> Optional[Gone]:
        return await self._run(Calls(self._timeout, min(self._patience, patience)).release(lease))

    async def _run(self, steps: "Steps[T]") -> T:
        try:
            step = next(steps)
            while True:
                try:
                    answer = await self._do(step)
                except BaseException as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(answer)
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]

    async def _do(self, step: object) -> Optional[Response]:
        if isinstance(step, Send):
            return await self._connections.exchange(step.request, step.timeout)
        assert isinstance(step, Pause)
        await asyncio.sleep(step.seconds)
        return None

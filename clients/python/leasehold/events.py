"""Server-sent events: what is asked, how lines become events, and the stream of the blocking client."""

import http.client
import json
import threading
import time
from types import TracebackType
from typing import Any, Callable, Dict, Iterator, List, Optional, Type

from . import clock, wire
from .calls import Retry
from .connections import Connection, Connections
from .errors import Fault
from .values import Event
from .wire import Request, Response

# The server sends a comment every 15 seconds, if nobody changed that. After this silence it is taken for dead.
LONGEST_SILENCE = 60.0
SHORTEST_PAUSE = 0.2  # before it is connected again, in seconds
LONGEST_EVENT = 1 << 20  # in bytes


def events_request(parameters: Dict[str, Any], last_id: str) -> Request:
    headers = {"Accept": "text/event-stream", **({"Last-Event-ID": last_id} if last_id else {})}
    return Request("GET", wire.with_query("/v1/events", **parameters), headers=headers)


class EventParser:
    """Takes the lines of a stream, and returns an event at its last line."""

    def __init__(self, last_id: str = "") -> None:
        self.last_id = last_id
        self._begin()

    def line(self, text: bytes) -> Optional[Event]:
        """Raises ValueError if an event is not as the server sends it."""
        if len(text) > LONGEST_EVENT:
            raise ValueError("a line is too long")
        name, _, value = text.decode("utf-8").rstrip("\r\n").partition(":")
        value = value[1:] if value.startswith(" ") else value
        if name == "id":
            self.last_id = value
        elif name == "event":
            self._name = value
        elif name == "data":
            self._bytes += len(text)
            if self._bytes > LONGEST_EVENT:
                raise ValueError("an event is too long")
            self._data.append(value)
        elif not text.strip(b"\r\n"):
            return self._end()
        return None

    def _begin(self) -> None:
        self._name = "message"
        self._data: List[str] = []
        self._bytes = 0  # of the lines with data

    def _end(self) -> Optional[Event]:
        name, data = self._name, self._data
        self._begin()
        if not data:
            return None
        try:
            fields = json.loads("\n".join(data))
        except RecursionError:
            raise ValueError("the data of an event is nested too deeply") from None
        if not isinstance(fields, dict):
            raise ValueError("the data of an event is not an object")
        return Event(self.last_id, name, fields)


def stream_ended(why: str) -> Fault:
    return Fault(f"the stream of events has ended: {why}", effect="none")


class EventStream(Iterator[Event]):
    """Events as they happen: `with client.events(type="Order") as events: for event in events: …`

    After a lost connection it continues behind the last event. If the server does not come back within the client's
    patience, the fault is raised; the next event may be asked for all the same, also by another stream that is given
    `last_id`. close() may be called by another thread."""

    def __init__(self, connections: Connections, parameters: Dict[str, Any], last_id: str, timeout: float, patience: float) -> None:
        self._connections = connections
        self._parameters = parameters
        self._timeout = timeout
        self._patience = patience
        self._parser = EventParser(last_id)
        self._connection: Optional[Connection] = None
        self._answer: Optional[http.client.HTTPResponse] = None
        self._closed = False
        self._reading = threading.Lock()  # held by the thread that uses the connection

    @property
    def last_id(self) -> str:
        """The id of the last event."""
        return self._parser.last_id

    def __enter__(self) -> "EventStream":
        """Connects: what happens from now on is reported."""
        self._until_done(self._connect)
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    def __next__(self) -> Event:
        while not self._closed:
            event = self._until_done(self._next_line)
            if event is not None:
                return event
        raise StopIteration

    def close(self) -> None:
        """The loop over the events ends."""
        self._closed = True
        connection = self._connection
        if connection is not None:
            connection.shutdown()
        if self._reading.acquire(blocking=False):  # otherwise the thread that reads closes the connection
            self._disconnect()
            self._reading.release()

    def _until_done(self, work: Callable[[], Optional[Event]]) -> Optional[Event]:
        retry: Optional[Retry] = None
        with self._reading:
            while not self._closed:
                try:
                    return work()
                except Fault as fault:
                    self._disconnect()
                    if self._closed:
                        break
                    retry = retry or Retry(clock.now() + self._patience)
                    pause = retry.pause(max(fault.retry_after, SHORTEST_PAUSE)) if fault.may_pass else None
                    if pause is None:
                        raise
                    time.sleep(pause)
                except BaseException:
                    self._disconnect()
                    raise
            self._disconnect()
            return None

    def _next_line(self) -> Optional[Event]:
        self._connect()
        assert self._answer is not None and self._connection is not None
        self._connection.give_time(clock.now() + LONGEST_SILENCE)
        try:
            line = self._answer.readline(LONGEST_EVENT + 1)
            if len(line) <= LONGEST_EVENT and not line.endswith(b"\n"):
                raise stream_ended("the server closed it")
            return self._parser.line(line)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise stream_ended(str(error) or type(error).__name__) from error

    def _connect(self) -> None:
        if self._answer is not None:
            return
        request = events_request(self._parameters, self.last_id)
        token = self._connections.address.token()
        self._parser = EventParser(self.last_id)  # forgets the half of an event
        self._connection = Connection(self._connections.address, self._timeout)
        answer = self._connection.open_stream(request, token, clock.now() + self._timeout)
        self._connection.give_time(clock.now() + self._timeout)
        if answer.status != 200:
            body = answer.read(1 << 20)
            headers = {name.lower(): value for name, value in answer.getheaders()}
            raise wire.problem_in(Response(answer.status, headers, body, 0.0), request)
        if answer.headers.get_content_type() != "text/event-stream":
            raise wire.not_understood(request, "it is not a stream of events", answer.status)
        self._answer = answer

    def _disconnect(self) -> None:
        connection, self._connection, self._answer = self._connection, None, None
        if connection is not None:
            connection.close()

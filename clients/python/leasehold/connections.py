"""HTTP for the blocking client: connections that are kept and used again."""

import http.client
import io
import os
import select
import socket
import ssl
import threading
from typing import Any, List, Optional

from . import clock
from .address import Address
from .errors import Fault
from .wire import LONGEST_ANSWER, Request, Response, too_long

# Shorter than a server keeps an idle connection, so that we rarely use one that it is closing.
LONGEST_IDLE = 8.0


class TimedSocket:
    """A socket for http.client. Its deadline is for everything that is sent and read, not for each part of it."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self.deadline = 0.0

    def sendall(self, data: bytes) -> None:
        self._sock.settimeout(self._left())
        self._sock.sendall(data)

    def recv_into(self, buffer: Any) -> int:
        self._sock.settimeout(self._left())
        return self._sock.recv_into(buffer)

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Reader(self))

    def close(self) -> None:
        pass  # http.client is done with it before the answer is read; end() closes it

    @property
    def is_silent(self) -> bool:
        """Nothing has come, not even the end of the connection: it can carry one more request."""
        poll = select.poll() if hasattr(select, "poll") else None  # select() cannot do with many open files
        if poll is None:
            return not select.select([self._sock], [], [], 0)[0]
        poll.register(self._sock, select.POLLIN)
        return not poll.poll(0)

    def shutdown(self) -> None:
        """Ends a read that is under way in another thread."""
        try:
            self._sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # it has ended already

    def end(self) -> None:
        self._sock.close()

    def _left(self) -> float:
        left = self.deadline - clock.now()
        if left <= 0:
            raise socket.timeout("timed out")
        return left


class _Reader(io.RawIOBase):
    def __init__(self, sock: TimedSocket) -> None:
        self._sock = sock

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._sock.recv_into(buffer)


class Connection:
    """One connection to the server. Not thread-safe, except for shutdown()."""

    def __init__(self, address: Address, timeout: float) -> None:
        """Raises a Fault without effect."""
        self._address = address
        where = f"the Leasehold server at {address.name}"
        try:
            sock = socket.create_connection((address.host, address.port), timeout)
        except OSError as error:
            raise Fault(f"{where} cannot be reached: {error}", effect="none") from error
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if address.tls is not None:
                sock = address.tls.wrap_socket(sock, server_hostname=address.host)
        except ssl.SSLCertVerificationError as error:
            sock.close()
            text = f"the certificate of {where} is not accepted: {error.verify_message}"
            raise Fault(text, effect="none", cause="configuration") from error
        except OSError as error:
            sock.close()
            raise Fault(f"{where} cannot be reached: {error}", effect="none") from error
        except BaseException:
            sock.close()
            raise
        self._sock = TimedSocket(sock)
        self._http = http.client.HTTPConnection(address.host, address.port)
        self._http.sock = self._sock  # type: ignore[assignment]
        self._http.auto_open = 0
        self._idle_since = clock.now()
        self._kept = True

    def exchange(self, request: Request, token: str, deadline: float) -> Response:
        asked_at = clock.now()
        answer = self.open_stream(request, token, deadline)
        try:
            body = answer.read(LONGEST_ANSWER + 1)
        except (OSError, http.client.HTTPException) as error:
            raise self._lost(request, error) from error
        if len(body) > LONGEST_ANSWER:
            raise too_long(request)
        # An interim answer: the final one must not be taken for the answer to the next request.
        self._kept = not answer.will_close and answer.status >= 200
        self._idle_since = clock.now()
        headers = {name.lower(): value for name, value in answer.getheaders()}
        return Response(answer.status, headers, body, asked_at)

    def open_stream(self, request: Request, token: str, deadline: float) -> http.client.HTTPResponse:
        """Sends the request and returns the answer before its body is read."""
        headers, body = request.encoded(self._address.name, token)
        self._kept = False
        self._sock.deadline = deadline
        try:
            self._http.request(request.method, self._address.prefix + request.path, body or None, headers)
            return self._http.getresponse()
        except (OSError, http.client.HTTPException) as error:
            raise self._lost(request, error) from error

    @property
    def is_usable(self) -> bool:
        return self._kept and clock.now() < self._idle_since + LONGEST_IDLE and self._sock.is_silent

    def give_time(self, deadline: float) -> None:
        self._sock.deadline = deadline

    def shutdown(self) -> None:
        self._sock.shutdown()

    def close(self) -> None:
        self._sock.end()

    def _lost(self, request: Request, error: Exception) -> Fault:
        why = str(error) or type(error).__name__
        text = f"the connection to the Leasehold server at {self._address.name} was lost: {why}"
        return Fault(text, effect=request.effect_once_sent)


class Connections:
    """The connections of a client, as many as requests are under way at once. Thread-safe."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._mutex = threading.Lock()
        self._idle: List[Connection] = []  # guarded by _mutex
        self._process = os.getpid()  # guarded by _mutex

    def exchange(self, request: Request, timeout: float) -> Response:
        """Raises a Fault without effect if the request was not sent."""
        token = self.address.token()
        deadline = clock.now() + timeout
        connection = self._take() or Connection(self.address, timeout)
        try:
            response = connection.exchange(request, token, deadline)
        except BaseException:
            connection.close()
            raise
        with self._mutex:
            self._idle.append(connection)
        return response

    def close(self) -> None:
        with self._mutex:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _take(self) -> Optional[Connection]:
        while True:
            with self._mutex:
                if self._process != os.getpid():  # a fork: the connections belong to the parent
                    self._process = os.getpid()
                    for connection in self._idle:
                        connection.close()
                    self._idle = []
                if not self._idle:
                    return None
                connection = self._idle.pop()
            if connection.is_usable:
                return connection
            connection.close()

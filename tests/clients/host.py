#!/usr/bin/env python3
"""A real `leasehold serve` behind a TCP gate that fails like a network, for the tests of the clients.

In Python: `with Host() as host: …`. As a program, for tests in other languages: it reads one command a line from
standard input and answers each with one line when the command is in effect. It ends, with the server, at the end of its
input. The commands are JSON lists:

    ["start", {"default-ttl": "60s"}]  starts the server with these options; answers with {"gate": URL, "server": URL}
    ["gate", NAME, ARGUMENT...]        a method of Gate
    ["server", NAME]                   a method of Server: kill, stop, start, pause, resume
"""

import asyncio
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

PATIENCE = 60.0  # seconds; longer than anything takes on a slow machine


class Server:
    """A `leasehold serve` of its own, on SQLite."""

    def __init__(self, options=None):
        self._folder = tempfile.mkdtemp(prefix="leasehold-clients.")
        self._options = {"store": f"sqlite:{self._folder}/locks.db", "port": 0, **(options or {})}
        self._process = None
        self.scheme = "http"
        self.start()

    @property
    def port(self):
        return self._options["port"]

    @property
    def url(self):
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def start(self):
        """Starts it; after an end, on the port it had before."""
        default = Path(__file__).resolve().parents[2] / "build/release/leasehold"
        words = [os.environ.get("LEASEHOLD_COMMAND", str(default)), "serve"]
        for name, value in self._options.items():
            words += ["--" + name, str(value)]
        self._process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        said = []
        for line in self._process.stderr:
            said.append(line)
            message = json.loads(line) if line.startswith("{") else {}
            if message.get("message") == "ready":
                self._options["port"] = int(message["url"].rsplit(":", 1)[1].rstrip("/"))
                self.scheme = message["url"].split(":")[0]
                break
        else:
            raise RuntimeError("the server did not start:\n" + "".join(said))
        self._log = threading.Thread(target=self._process.stderr.read, daemon=True)
        self._log.start()

    def kill(self):
        """Ends it like a power cut."""
        self._end(signal.SIGKILL)

    def stop(self):
        """Ends it like an administrator."""
        self._end(signal.SIGTERM)

    def pause(self):
        self._process.send_signal(signal.SIGSTOP)

    def resume(self):
        self._process.send_signal(signal.SIGCONT)

    def close(self):
        self.kill()
        shutil.rmtree(self._folder)

    def _end(self, how):
        if self._process.poll() is not None and self._process.stderr.closed:
            return
        if self._process.poll() is None:
            self._process.send_signal(how)
            self._process.send_signal(signal.SIGCONT)
        self._process.wait(PATIENCE)
        self._log.join(PATIENCE)
        self._process.stderr.close()


class Gate:
    """A TCP proxy on a port of 127.0.0.1, with the controls of tests/support/tcp_gate.hpp and one more, answer().
    Thread-safe. A control is in effect when its call returns. A cut is a reset to both sides."""

    def __init__(self, upstream_port):
        self._upstream_port = upstream_port
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.port = 0
        self._connections = set()
        self._requests_pass = self._answers_pass = True
        self._client_bytes_left = None  # until a cut; None: no cut
        self._answers_left = None  # until a cut; None: no cut
        self._canned = []  # answers of the gate itself
        self._forbidden = None  # how a request begins that is answered with 403
        self.requests = 0  # pieces of data from clients
        self._call(self._begin())

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def cut(self):
        """Cuts every open connection."""
        self._do(lambda: [one.cut() for one in list(self._connections)])

    def refuse(self):
        """New connections find nobody listening, until accept(). Open ones stay."""
        self._call(self._stop_listening())

    def accept(self):
        self._call(self._listen())

    def hold(self):
        """Nothing passes in either direction."""
        self._pass(requests=False, answers=False)

    def hold_answers(self):
        self._pass(requests=True, answers=False)

    def hold_requests(self):
        self._pass(requests=False, answers=True)

    def pass_everything(self):
        """Everything passes again, including what was held. Cuts and answers that have not happened are cancelled."""

        def change():
            self._client_bytes_left = self._answers_left = None
            self._canned.clear()
            self._forbidden = None

        self._do(change)
        self._pass(requests=True, answers=True)

    def cut_after_client_bytes(self, count):
        """Passes `count` more bytes from clients to the server, and cuts the connection that sent the last of them."""
        self._do(lambda: setattr(self, "_client_bytes_left", count))

    def cut_before_answer(self, answers_to_pass=0):
        """Drops the next answer and cuts its connection: the server has acted, and the client does not learn it."""

        def change():
            self._answers_left = answers_to_pass
            for one in self._connections:
                one.asked = False

        self._do(change)

    def answer(self, status, headers, body, times=1):
        """Answers the next request itself, like a proxy, and closes its connection. The server learns nothing."""
        fields = {"Content-Length": len(body.encode()), "Connection": "close", **headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        text = f"HTTP/1.1 {status} Answer\r\n{head}\r\n{body}".encode()
        self._do(lambda: self._canned.extend([text] * times))

    def answer_bytes(self, text):
        """The same with bytes that need not be HTTP."""
        self._do(lambda: self._canned.append(text.encode()))

    def forbid(self, method):
        """Answers every request with this method with 403, until pass_everything()."""
        self._do(lambda: setattr(self, "_forbidden", method.encode() + b" "))

    def close(self):
        self._call(self._stop_listening())
        self.cut()
        self._call(asyncio.sleep(0))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _call(self, work):
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE)

    def _do(self, change):
        async def work():
            change()

        self._call(work())

    def _pass(self, requests, answers):
        async def change():
            async with self._changed:
                self._requests_pass, self._answers_pass = requests, answers
                self._changed.notify_all()

        self._call(change())

    async def _begin(self):
        self._changed = asyncio.Condition()
        await self._listen()

    async def _listen(self):
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        self.port = listener.getsockname()[1]
        self._listener = await asyncio.start_server(self._serve, sock=listener)

    async def _stop_listening(self):
        self._listener.close()

    async def _serve(self, *client):
        try:
            server = await asyncio.open_connection("127.0.0.1", self._upstream_port)
        except OSError:
            client[1].transport.abort()
            return
        connection = _Connection(client, server)
        self._connections.add(connection)
        try:
            await asyncio.gather(self._forward_requests(connection), self._forward_answers(connection))
        except (OSError, _Cut):
            pass
        finally:
            self._connections.discard(connection)
            connection.cut()

    async def _forward_requests(self, connection):
        while True:
            data = await connection.client[0].read(1 << 16)
            async with self._changed:
                await self._changed.wait_for(lambda: self._requests_pass or connection.is_cut)
            if not data:
                connection.server[1].write_eof()
                return
            self.requests += 1
            connection.asked = True
            forbidden = self._forbidden is not None and data.startswith(self._forbidden)
            if forbidden or self._canned:
                answer = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n" if forbidden else self._canned.pop(0)
                connection.client[1].write(answer)
                await connection.client[1].drain()
                connection.client[1].close()
                connection.client = (connection.client[0], _Nowhere())
                raise _Cut
            left = self._client_bytes_left
            if left is not None and len(data) >= left:
                self._client_bytes_left = None
                connection.server[1].write(data[:left])
                await connection.server[1].drain()
                raise _Cut
            if left is not None:
                self._client_bytes_left = left - len(data)
            connection.server[1].write(data)
            await connection.server[1].drain()

    async def _forward_answers(self, connection):
        while True:
            data = await connection.server[0].read(1 << 16)
            async with self._changed:
                await self._changed.wait_for(lambda: self._answers_pass or connection.is_cut)
            if not data:
                connection.client[1].write_eof()
                return
            if self._answers_left is not None and connection.asked:
                if self._answers_left == 0:
                    self._answers_left = None
                    raise _Cut
                self._answers_left -= 1
                connection.asked = False
            connection.client[1].write(data)
            await connection.client[1].drain()


class _Cut(Exception):
    pass


class _Nowhere:
    transport = None


class _Connection:
    def __init__(self, client, server):
        self.client = client
        self.server = server
        self.asked = False
        self.is_cut = False

    def cut(self):
        self.is_cut = True
        for _, writer in (self.client, self.server):
            if writer.transport is None:
                continue
            sock = writer.get_extra_info("socket")
            if sock is not None and sock.fileno() >= 0:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()


class Host:
    """A server and a gate in front of it."""

    def __init__(self, options=None):
        self.server = Server(options)
        self.gate = Gate(self.server.port)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.gate.close()
        self.server.close()


def main():
    host = None
    try:
        for line in sys.stdin:
            what, *words = json.loads(line)
            if what == "start":
                host = Host(words[0])
                answer = {"gate": host.gate.url, "server": host.server.url}
            else:
                getattr(getattr(host, what), words[0])(*words[1:])
                answer = {}
            print(json.dumps(answer), flush=True)
    finally:
        if host is not None:
            host.close()


if __name__ == "__main__":
    main()

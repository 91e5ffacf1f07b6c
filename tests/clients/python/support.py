"""What the tests of the Python client share."""

import asyncio
import sys
import threading
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/clients"), str(ROOT / "clients/python")]

import leasehold  # noqa: E402
from host import PATIENCE, Gate, Host, Server  # noqa: E402, F401


def eventually(condition, what="it"):
    """Waits for a condition that has no event."""
    deadline = time.monotonic() + PATIENCE
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not come")
        time.sleep(0.01)


class Background:
    """A call in a thread of its own."""

    def __init__(self, call):
        self._call = call
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        try:
            self._result, self._error = self._call(), None
        except BaseException as error:
            self._error = error

    @property
    def is_done(self):
        return not self._thread.is_alive()

    def result(self):
        self._thread.join(PATIENCE)
        assert self.is_done, "the call does not end"
        if self._error is not None:
            raise self._error
        return self._result


class AsyncClientAsBlocking:
    """An AsyncClient with the methods of a Client, so that both pass the same tests. Thread-safe."""

    def __init__(self, *args, **options):
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._client = leasehold.AsyncClient(*args, **options)

    def close(self):
        self._wait(self._client.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)
        self._loop.close()

    def __getattr__(self, name):
        return lambda *args, **options: self._wait(getattr(self._client, name)(*args, **options))

    def list(self, **options):
        return self._wait(_all(self._client.list(**options)))

    def history(self, *args, **options):
        return self._wait(_all(self._client.history(*args, **options)))

    def events(self, **options):
        return _Events(self._client.events(**options), self._wait)

    def lock(self, *args, **options):
        return _Lock(self._client.lock(*args, **options), self._wait)

    def _wait(self, work):
        async def run():
            return await work

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(PATIENCE)


async def _all(rows):
    return [row async for row in rows]


class _Events:
    def __init__(self, stream, wait):
        self._stream, self._wait = stream, wait

    @property
    def last_id(self):
        return self._stream.last_id

    def __enter__(self):
        self._wait(self._stream.__aenter__())
        return self

    def __exit__(self, *error):
        self._wait(self._stream.__aexit__(*error))

    def __iter__(self):
        return self

    def __next__(self):
        try:
            return self._wait(self._stream.__anext__())
        except StopAsyncIteration:
            raise StopIteration from None

    def close(self):
        async def close():
            self._stream.close()

        self._wait(close())


class _Lock:
    def __init__(self, lock, wait):
        self._lock, self._wait = lock, wait

    def __enter__(self):
        return self._wait(self._lock.__aenter__())

    def __exit__(self, *error):
        self._wait(self._lock.__aexit__(*error))


class ClientTest(unittest.TestCase):
    """A server behind a gate for each class of tests; each test has a key of its own. Subclasses run on both clients:
    see `both_clients`."""

    make = leasehold.Client

    @classmethod
    def setUpClass(cls):
        cls.host = Host({"min-ttl": "10ms"})

    @classmethod
    def tearDownClass(cls):
        cls.host.close()

    def setUp(self):
        self.key = leasehold.Key("Test", self.id())
        self.gate, self.server = self.host.gate, self.host.server
        self.addCleanup(self.gate.pass_everything)
        self.client = self.new_client()
        self.direct = self.new_client(self.server.url)  # not through the gate

    def new_client(self, url=None, **options):
        client = self.make(url or self.gate.url, **options)
        self.addCleanup(client.close)
        return client

    def holders(self):
        return [holder.owner for holder in self.direct.holders(self.key).holders]


def both_clients(test):
    """Decorates a ClientTest: adds a class with the same tests on the asyncio client."""
    other = type(test.__name__ + "OnAsyncio", (test,), {"make": AsyncClientAsBlocking, "__module__": test.__module__})
    sys.modules[test.__module__].__dict__[other.__name__] = other
    return test

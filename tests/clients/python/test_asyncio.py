"""The asyncio client alone: cancelled calls, event loops that end in the middle, callbacks that are coroutines."""

import asyncio
import subprocess
import sys
import unittest

import support
from support import ClientTest, eventually

import leasehold


class Asyncio(ClientTest):
    def run_with_client(self, work, **options):
        async def main():
            async with leasehold.AsyncClient(self.gate.url, **options) as client:
                return await work(client)

        return asyncio.run(main())

    async def until_waiting(self, *owners):
        while self.direct.holders(self.key).waiting != list(owners):
            await asyncio.sleep(0.01)

    def test_a_cancelled_wait_leaves_the_line_and_holds_nothing(self):
        held = self.direct.try_lock(self.key, owner="alice")

        async def work(client):
            waiting = asyncio.ensure_future(client.lock_for(self.key, 60, owner="bob"))
            await self.until_waiting("bob")
            waiting.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await waiting

        self.run_with_client(work)
        eventually(lambda: self.direct.holders(self.key).waiting == [])
        self.direct.release(held)
        self.assertEqual(self.holders(), [])

    def test_a_try_that_is_cancelled_after_it_was_granted_holds_nothing(self):
        async def work(client):
            self.gate.hold_answers()
            trying = asyncio.ensure_future(client.try_lock(self.key, owner="alice"))
            while not self.direct.holders(self.key).holders:
                await asyncio.sleep(0.01)
            trying.cancel()
            await asyncio.sleep(0)
            self.gate.pass_everything()
            with self.assertRaises(asyncio.CancelledError):
                await trying

        self.run_with_client(work)
        self.assertEqual(self.holders(), [])

    def test_a_cancelled_block_releases_its_lock(self):
        async def work(client):
            async def hold():
                async with client.lock(self.key, owner="alice"):
                    await asyncio.sleep(3600)

            holding = asyncio.ensure_future(hold())
            while self.holders() != ["alice"]:
                await asyncio.sleep(0.01)
            holding.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await holding

        self.run_with_client(work)
        self.assertEqual(self.holders(), [])

    def test_the_callback_may_be_a_coroutine(self):
        async def work(client):
            told = asyncio.Event()

            async def on_lost(loss):
                await asyncio.sleep(0)
                told.set()

            with self.assertRaises(leasehold.LeaseLost):
                async with client.lock(self.key, owner="alice", ttl=30, every=0.2, on_lost=on_lost) as lease:
                    self.direct.break_lock(self.key, lease.fence, by="admin")
                    await asyncio.wait_for(told.wait(), support.PATIENCE)

        self.run_with_client(work)

    def test_a_client_serves_one_loop_after_the_other(self):
        client = leasehold.AsyncClient(self.gate.url)

        async def use():
            lease = await client.try_lock(self.key, owner="alice")
            await client.release(lease)

        async def use_and_close():
            await use()
            await client.close()

        asyncio.run(use_and_close())
        asyncio.run(use_and_close())

    def test_many_tasks_share_a_client(self):
        counted = []

        async def work(client):
            async def count(owner):
                async with client.lock(self.key, owner=owner, wait=60):
                    seen = len(counted)
                    await asyncio.sleep(0.001)
                    self.assertEqual(len(counted), seen)
                    counted.append(owner)

            await asyncio.gather(*(count(f"task-{number}") for number in range(20)))

        self.run_with_client(work)
        self.assertEqual(len(set(counted)), 20)

    def run_program(self, text):
        program = f"""
import asyncio, sys
sys.path.insert(0, {str(support.ROOT / "clients/python")!r})
import leasehold
key = ("Test", {self.key.id!r})
client = leasehold.AsyncClient({self.server.url!r})
{text}
print("done")
"""
        return subprocess.run(
            [sys.executable, "-B", "-c", program], capture_output=True, text=True, timeout=support.PATIENCE
        )

    def test_a_loop_that_is_closed_in_the_middle_leaves_nothing_that_hangs(self):
        self.direct.try_lock(self.key, owner="alice")
        ended = self.run_program(
            """
loop = asyncio.new_event_loop()
async def begin():
    waiting = loop.create_task(client.lock_for(key, 60, owner="bob"))
    await client.lock(("Other", key[1]), ttl=60).acquire()
    while (await client.holders(key)).waiting != ["bob"]:
        await asyncio.sleep(0.01)
    return waiting
loop.run_until_complete(begin())
loop.close()
"""
        )
        self.assertEqual((ended.stdout, ended.returncode), ("done\n", 0), ended.stderr)
        eventually(lambda: self.direct.holders(self.key).waiting == [])

    def test_a_loop_that_ends_by_an_exception_releases_its_locks(self):
        ended = self.run_program(
            """
async def hold():
    async with client.lock(key, owner="bob"):
        await asyncio.sleep(3600)
async def main():
    asyncio.ensure_future(hold())
    while not (await client.holders(key)).holders:
        await asyncio.sleep(0.01)
    raise KeyError
try:
    asyncio.run(main())
except KeyError:
    pass
"""
        )
        self.assertEqual((ended.stdout, ended.returncode), ("done\n", 0), ended.stderr)
        self.assertEqual(self.holders(), [])


if __name__ == "__main__":
    unittest.main()

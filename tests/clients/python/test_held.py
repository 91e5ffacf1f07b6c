"""`client.lock()`: the lease is kept alive, its loss is told in time, and it is released at the end."""

import signal
import subprocess
import sys
import threading
import unittest

import support
from support import Background, ClientTest, both_clients, eventually

import leasehold
from leasehold import clock


class Expected(Exception):
    pass


@both_clients
class HeldLock(ClientTest):
    def expires_at(self):
        return self.direct.holders(self.key).holders[0].expires_at

    def test_a_lock_is_renewed_and_released_at_the_end(self):
        with self.client.lock(self.key, owner="alice", ttl=30, every=0.1) as lease:
            first = self.direct.holders(self.key).holders[0]
            eventually(lambda: (self.expires_at() - first.granted_at).total_seconds() > 30.5, "renewals")
            self.assertEqual((lease.fence, lease.lost, lease.loss), (first.fence, False, None))
            self.assertGreater(lease.seconds_left, 0)
            lease.ensure()
        self.assertEqual(self.holders(), [])
        self.assertEqual([past.how for past in self.direct.history(self.key)], ["released"])

    def test_a_lock_that_is_held_is_refused_when_the_wait_is_over(self):
        self.direct.try_lock(self.key, owner="bob")
        for wait in (0, 0.1):
            with self.assertRaises(leasehold.Held) as caught, self.client.lock(self.key, owner="alice", wait=wait):
                self.fail("it is held by bob")
            self.assertEqual(caught.exception.holders[0].owner, "bob")

    def test_a_lock_is_waited_for(self):
        held = self.direct.try_lock(self.key, owner="bob")

        def take():
            with self.client.lock(self.key, owner="alice", wait=60) as lease:
                return lease.fence

        taking = Background(take)
        eventually(lambda: self.direct.holders(self.key).waiting == ["alice"])
        self.direct.release(held)
        self.assertGreater(taking.result(), held.fence)

    def test_a_broken_lease_is_lost_and_says_who_broke_it(self):
        told = []
        with self.assertRaises(leasehold.LeaseLost) as caught:
            with self.client.lock(self.key, owner="alice", ttl=30, every=0.2, on_lost=told.append) as lease:
                self.direct.break_lock(self.key, lease.fence, by="admin", reason="holiday")
                eventually(lease.lost_event.is_set)
                eventually(lambda: told)
                with self.assertRaises(leasehold.LeaseLost):
                    lease.ensure()
        for loss in (caught.exception, lease.loss, told[0]):
            self.assertEqual((loss.reason.reason, loss.reason.by, loss.reason.why), ("broken", "admin", "holiday"))
        self.assertEqual(len(told), 1)

    def test_a_lease_that_broke_after_the_last_renewal_is_noticed_at_the_end(self):
        with self.assertRaises(leasehold.LeaseLost):
            with self.client.lock(self.key, owner="alice", ttl=600) as lease:
                self.direct.break_lock(self.key, lease.fence, by="admin")

    def test_the_loss_is_told_before_anybody_else_can_get_the_lock(self):
        told = []

        def on_lost(loss):
            told.append((loss, self.holders_now()))

        with self.assertRaises(leasehold.LeaseLost):
            # Nothing passes: the renewal that is under way when the time is up never ends by itself.
            with self.client.lock(self.key, owner="alice", ttl=20, every=0.3, margin=18.5, on_lost=on_lost) as lease:
                self.gate.hold()
                eventually(lambda: told)
                self.assertTrue(lease.lost and lease.lost_event.is_set())
                self.gate.pass_everything()
        loss, holders = told[0]
        self.assertIsInstance(loss.reason, leasehold.Fault)
        self.assertEqual(holders, ["alice"])

    def holders_now(self):
        # Not by self.direct: its event loop is another one.
        with leasehold.Client(self.server.url) as client:
            return [holder.owner for holder in client.holders(self.key).holders]

    def test_a_renewal_that_is_confirmed_too_late_does_not_bring_the_lease_back(self):
        client = self.new_client(patience=0)
        with self.assertRaises(leasehold.LeaseLost):
            with client.lock(self.key, owner="alice", ttl=60, every=0.1, margin=59) as lease:
                self.gate.hold_answers()
                eventually(lease.lost_event.is_set)
                self.gate.pass_everything()
                self.assertEqual(self.holders(), ["alice"])  # the server still has the lease
                self.assertTrue(lease.lost)

    def test_faults_in_between_are_survived(self):
        with self.client.lock(self.key, owner="alice", ttl=8, every=0.2) as lease:
            granted = self.direct.holders(self.key).holders[0].granted_at
            self.gate.cut()
            self.gate.answer(502, {"Content-Type": "text/html"}, "<h1>Bad Gateway</h1>")
            self.gate.answer(429, {"Retry-After": 60}, '{"code": "too_many_requests"}')
            self.gate.cut_before_answer()
            eventually(lambda: (self.expires_at() - granted).total_seconds() > 8.5, "renewals")
            self.assertFalse(lease.lost)

    def test_the_error_of_the_block_is_not_hidden_and_the_lock_is_released(self):
        with self.assertRaises(Expected):
            with self.client.lock(self.key, owner="alice", ttl=600) as lease:
                self.direct.break_lock(self.key, lease.fence, by="admin")
                raise Expected
        with self.assertRaises(Expected):
            with self.client.lock(self.key, owner="alice"):
                raise Expected
        self.assertEqual(self.holders(), [])

    def test_a_lease_that_the_block_released_itself_is_not_lost(self):
        with self.client.lock(self.key, owner="alice", ttl=600) as lease:
            self.assertIsNone(self.client.release(lease))

    def test_a_release_that_fails_is_logged_and_raises_nothing(self):
        with self.assertLogs("leasehold", "WARNING") as logged:
            with self.new_client(patience=0).lock(self.key, owner="alice", ttl=600):
                self.gate.answer(500, {}, "{}")
        self.assertIn("could not be released", logged.output[0])

    def test_a_lease_that_ends_while_it_is_being_released_is_not_lost(self):
        client = self.new_client(timeout=3.5, patience=0)
        with self.assertLogs("leasehold", "WARNING"):
            with client.lock(self.key, owner="alice", ttl=60, every=2.5, margin=57):
                self.gate.hold_answers()  # the work ends in time, and the answer to the release never comes

    def test_terms_that_cannot_work_are_refused(self):
        for wrong in ({"ttl": 1, "every": 1}, {"ttl": 1, "margin": 0.7}, {"every": 0}, {"ttl": float("inf")}):
            with self.assertRaises(ValueError):
                self.client.lock(self.key, **wrong)


class OnThreads(ClientTest):
    def test_a_lock_can_be_held_without_a_block(self):
        held = self.client.lock(self.key, owner="alice").acquire()
        self.assertEqual(self.holders(), ["alice"])
        held.release()
        self.assertEqual(self.holders(), [])

    def test_a_lock_that_is_in_use_is_not_entered_again(self):
        lock = self.client.lock(self.key, owner="alice")
        with lock, self.assertRaises(RuntimeError), lock:
            pass
        with lock:  # one after the other is fine
            self.assertEqual(self.holders(), ["alice"])

    def test_a_callback_that_fails_does_not_stop_anything(self):
        def fail(loss):
            raise Expected

        with self.assertRaises(leasehold.LeaseLost):
            with self.client.lock(self.key, owner="alice", ttl=30, every=0.2, on_lost=fail) as lease:
                self.direct.break_lock(self.key, lease.fence, by="admin")
                self.assertTrue(lease.lost_event.wait(support.PATIENCE))

    def test_no_thread_is_left(self):
        with self.client.lock(self.key, owner="alice", ttl=60):
            pass
        eventually(lambda: not [one for one in threading.enumerate() if one.name.startswith("leasehold-")])


PROGRAM = """
import sys
sys.path.insert(0, {package!r})
import leasehold
from leasehold import clock
client = leasehold.Client({url!r}, patience=0)
key = ("Test", {id!r})
"""


class InProcesses(ClientTest):
    def start(self, text):
        package = str(support.ROOT / "clients/python")
        program = PROGRAM.format(package=package, url=self.server.url, id=self.key.id) + text
        process = subprocess.Popen([sys.executable, "-B", "-c", program], stdout=subprocess.PIPE, text=True)

        def end():
            process.kill()
            process.wait()
            process.stdout.close()

        self.addCleanup(end)
        return process

    def test_a_paused_process_knows_that_its_lease_is_lost_as_soon_as_it_goes_on(self):
        # The process says all the time what it believes. Nothing that it says after bob has the lock may be "held".
        process = self.start("""
lock = client.lock(key, owner="alice", ttl=2)
lease = lock.acquire()
seen_lost = 0
while seen_lost < 3:
    at, lost = clock.now(), lease.lost
    seen_lost += lost
    print(at, "lost" if lost else "held", flush=True)
""")
        process.stdout.readline()
        process.send_signal(signal.SIGSTOP)
        self.direct.lock_for(self.key, 60, owner="bob")
        taken_at = clock.now()
        process.send_signal(signal.SIGCONT)
        lines = [line.split() for line in process.stdout]
        later = [state for at, state in lines if float(at) > taken_at]
        self.assertEqual(set(later), {"lost"})

    def test_a_forked_child_neither_releases_nor_uses_the_connections_of_its_parent(self):
        process = self.start("""
import os
with client.lock(key, owner="alice", ttl=60) as lease:
    child = os.fork()
    if child == 0:
        client.check(lease)
        raise SystemExit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    client.check(lease)
    print("still held")
""")
        self.assertEqual(process.stdout.read(), "still held\n")
        self.assertEqual(process.wait(), 0)

    def test_a_killed_process_holds_its_lock_for_its_ttl(self):
        process = self.start("""
lease = client.lock(key, owner="alice", ttl=1).acquire()
print("held", flush=True)
lease.lost_event.wait()
""")
        process.stdout.readline()
        process.kill()
        self.assertEqual(self.direct.lock_for(self.key, 60, owner="bob").owner, "bob")


if __name__ == "__main__":
    unittest.main()

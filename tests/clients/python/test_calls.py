"""What is repeated after a fault and what is not, waiting, threads, and answers that are no answers."""

import json
import os
import signal
import socket
import threading
import time
import unittest

from support import Background, ClientTest, Host, both_clients, eventually

import leasehold
from leasehold import clock


@both_clients
class Repeating(ClientTest):
    def test_a_try_whose_answer_was_lost_returns_that_grant(self):
        self.gate.cut_before_answer()
        lease = self.client.try_lock(self.key, owner="alice")
        self.assertEqual(self.direct.holders(self.key).holders[0].fence, lease.fence)
        self.assertEqual(list(self.direct.history(self.key)), [])

    def test_a_renewal_a_release_and_a_batch_whose_answers_were_lost_are_repeated(self):
        lease = self.client.try_lock(self.key)
        self.gate.cut_before_answer()
        self.assertGreater(self.client.renew(lease, ttl=600).valid_for, 400)
        self.gate.cut_before_answer()
        self.assertEqual(self.client.batch([leasehold.batch.check(lease)])[0].fence, lease.fence)
        self.gate.cut_before_answer()
        self.assertEqual(self.client.release(lease).reason, "released")

    def test_an_extension_whose_answer_was_lost_is_not_repeated(self):
        lease = self.client.try_lock(self.key, ttl=100)
        self.gate.cut_before_answer()
        with self.assertRaises(leasehold.Fault) as caught:
            self.client.extend(lease, by=1000)
        self.assertEqual(caught.exception.effect, "unknown")
        self.assertLess(self.direct.check(lease).valid_for, 1100)

    def test_an_extension_that_was_not_sent_is_repeated(self):
        lease = self.client.try_lock(self.key, ttl=100)
        self.gate.answer(503, {}, '{"code": "overloaded"}')
        self.assertGreater(self.client.extend(lease, by=1000).valid_for, 900)

    def test_a_new_lock_id_is_drawn_when_a_lost_grant_has_expired(self):
        client = self.new_client(patience=60)
        client.holders(self.key)  # opens the connection that the try will use
        self.gate.refuse()
        self.gate.cut_before_answer()
        trying = Background(lambda: client.try_lock(self.key, owner="alice", ttl=0.2))
        lost = eventually(lambda: list(self.direct.history(self.key)), "the end of the lost lease")
        self.gate.accept()
        self.assertGreater(trying.result().fence, lost[0].fence)

    def test_the_effect_is_unknown_if_the_effect_of_any_attempt_was(self):
        client = self.new_client(patience=0.3)
        client.holders(self.key)  # opens the connection that the try will use
        self.gate.refuse()
        self.addCleanup(self.gate.accept)
        self.gate.cut_before_answer()
        with self.assertRaises(leasehold.Fault) as caught:
            client.try_lock(self.key, owner="alice")
        self.assertEqual(caught.exception.effect, "unknown")
        self.assertIn("cannot be reached", str(caught.exception))

    def test_a_request_that_nobody_listened_to_had_no_effect(self):
        self.gate.refuse()
        self.addCleanup(self.gate.accept)
        with self.assertRaises(leasehold.Fault) as caught:
            self.new_client(patience=0.1).try_lock(self.key)
        self.assertEqual(caught.exception.effect, "none")

    def test_a_try_that_gives_up_releases_what_it_may_have_been_granted(self):
        self.gate.cut_before_answer()
        with self.assertRaises(leasehold.Fault) as caught:
            self.new_client(patience=0).try_lock(self.key, owner="alice")
        self.assertEqual(caught.exception.effect, "unknown")
        self.assertEqual(self.holders(), [])
        self.assertEqual([past.how for past in self.direct.history(self.key)], ["released"])

    def test_a_try_with_a_lock_id_of_the_caller_is_not_released(self):
        self.gate.cut_before_answer()
        lock_id = leasehold.new_lock_id()
        with self.assertRaises(leasehold.Fault):
            self.new_client(patience=0).try_lock(self.key, owner="alice", lock_id=lock_id)
        self.assertEqual(self.client.check(self.key, lock_id).owner, "alice")

    def test_retry_after_is_respected(self):
        self.gate.answer(429, {"Retry-After": 1}, '{"code": "too_many_requests", "detail": "slowly"}')
        begin = clock.now()
        self.client.try_lock(self.key)
        self.assertGreaterEqual(clock.now() - begin, 1)

    def test_a_retry_after_beyond_the_patience_is_raised_at_once(self):
        self.gate.answer(503, {"Retry-After": 3600}, '{"code": "overloaded", "detail": "later"}')
        with self.assertRaises(leasehold.Fault) as caught:
            self.client.try_lock(self.key)
        self.assertEqual((caught.exception.effect, caught.exception.retry_after), ("none", 3600))

    def test_pages_of_a_proxy_and_things_that_are_not_http_are_survived(self):
        self.gate.answer(502, {"Content-Type": "text/html"}, "<h1>Bad Gateway</h1>")
        self.gate.answer(200, {"Content-Type": "text/html"}, "<h1>Welcome</h1>")
        self.gate.answer_bytes("SSH-2.0-OpenSSH_9.2\r\n")
        self.gate.answer_bytes("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
        self.gate.answer_bytes("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
        self.gate.answer_bytes("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n[]")
        self.assertEqual(self.client.try_lock(self.key, owner="alice").owner, "alice")

    def test_a_number_that_is_too_large_for_a_float_is_a_fault(self):
        lease = {
            "type": self.key.type, "id": self.key.id, "owner": "", "mode": "exclusive", "fence": 1, "note": "",
            "granted_at": "2026-11-16T09:20:00Z", "expires_at": None, "store_now": "2026-11-16T09:20:00Z",
            "lock_id": leasehold.new_lock_id(), "remaining_ms": 10**400,
        }
        client = self.new_client(patience=0)
        self.gate.answer(201, {}, json.dumps(lease))
        with self.assertRaisesRegex(leasehold.Fault, "not understood"):
            client.try_lock(self.key)
        self.gate.pass_everything()
        self.gate.answer(400, {}, json.dumps({"detail": "too long", "longest_wait_ms": 10**400}))
        with self.assertRaisesRegex(leasehold.BadRequest, "too long"):
            client.lock_for(self.key, wait=1)

    def test_no_text_of_a_server_acts_on_a_terminal(self):
        for number in range(2):
            detail = "no \x1b[2J\r\n\u202eway \ud800"
            problem = {"code": "gone", "reason": "broken", "detail": detail} if number else {"detail": detail}
            self.gate.answer(410 if number else 403, {}, json.dumps(problem))
            with self.assertRaises(leasehold.LeaseholdError) as caught:
                self.client.holders(self.key)
            self.assertTrue(str(caught.exception).endswith("no  [2J   way  "), repr(str(caught.exception)))

    def test_a_chunked_answer_of_a_proxy_is_read(self):
        lease = self.client.try_lock(self.key)
        body = '{"holders":[],"store_now":"2026-01-01T00:00:00.000000Z","waiting":["bob"]}'
        chunks = f"{5:x}\r\n{body[:5]}\r\n{len(body) - 5:X};x=y\r\n{body[5:]}\r\n0\r\nTrailer: x\r\n\r\n"
        self.gate.answer_bytes("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks)
        self.assertEqual(self.client.holders(self.key).waiting, ["bob"])
        self.client.release(lease)

    def test_a_server_that_dies_in_the_middle_of_a_request_is_waited_for(self):
        self.client.holders(self.key)
        self.server.pause()
        seen = self.gate.requests
        trying = Background(lambda: self.new_client(patience=60).try_lock(self.key, owner="alice"))
        eventually(lambda: self.gate.requests > seen, "the request")
        self.server.kill()
        self.server.start()
        self.assertEqual(trying.result().owner, "alice")
        self.assertEqual(self.holders(), ["alice"])

    def test_an_answer_that_comes_byte_by_byte_does_not_outlast_the_timeout(self):
        dripping = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(dripping.close)
        ended = threading.Event()

        def drip():
            connection, _ = dripping.accept()
            with connection:
                try:
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
                    while not ended.wait(0.02):
                        connection.sendall(b" ")
                except OSError:
                    pass

        server = Background(drip)
        client = self.new_client(f"http://127.0.0.1:{dripping.getsockname()[1]}", timeout=0.3, patience=0)
        with self.assertRaises(leasehold.Fault) as caught:
            Background(lambda: client.check(self.key, leasehold.new_lock_id())).result()
        self.assertEqual(caught.exception.effect, "none")
        ended.set()
        server.result()


@both_clients
class Asking(ClientTest):
    def test_a_wrong_request_is_a_value_error_and_is_not_sent(self):
        seen = self.gate.requests
        for wrong in (
            lambda: self.client.try_lock("../batch"),
            lambda: self.client.try_lock("Order/"),
            lambda: self.client.check("Order/1"),
            lambda: self.client.check("Order/1", "a\r\nHost: b"),
            lambda: self.client.renew("Order/1", leasehold.new_lock_id(), ttl=float("nan")),
            lambda: self.client.release_all(""),
            lambda: self.client.try_lock("Order/\udc80"),
        ):
            with self.assertRaises(ValueError) as caught:
                wrong()
            self.assertIsInstance(caught.exception, leasehold.BadRequest)
        self.assertEqual(self.gate.requests, seen)

    def test_what_the_server_calls_wrong_is_a_value_error_too(self):
        with self.assertRaises(ValueError) as caught:
            self.client.try_lock(self.key, ttl=0.001)
        self.assertIn("at least 10ms is needed", str(caught.exception))

    def test_the_secret_is_not_shown(self):
        lease = self.client.try_lock(self.key)
        self.assertNotIn(lease.lock_id, repr(lease) + str(lease))

    def test_a_name_without_a_slash_is_that_of_the_command(self):
        self.assertEqual(self.client.try_lock("nightly").key, leasehold.Key("dist_lock", "nightly"))

    def test_a_delayed_release_is_cancelled_by_a_renewal(self):
        lease = self.client.try_lock(self.key)
        self.assertIsNone(self.client.release(lease, after=30))
        self.assertGreater(self.client.renew(lease, ttl=600).valid_for, 400)

    def test_a_lease_without_an_end_is_valid_for_ever(self):
        with Host({"allow-endless": "true"}) as host:
            client = self.new_client(host.server.url)
            lease = client.try_lock(self.key, ttl=float("inf"))
            self.assertEqual((lease.valid_for, lease.expires_at, lease.seconds_left), (float("inf"), None, None))

    def test_a_key_that_somebody_had_since_is_gone(self):
        first = self.client.try_lock(self.key, owner="alice")
        self.client.release(first)
        again = self.client.try_lock(self.key, owner="alice", since=first.fence)
        self.client.release(again)
        with self.assertRaises(leasehold.Gone):
            self.client.try_lock(self.key, owner="alice", since=first.fence)

    def test_a_knock_on_a_free_key_reaches_nobody(self):
        self.assertEqual(self.client.knock(self.key, "May I?", owner="bob"), [])

    def test_threads_share_a_client(self):
        counted = [0]

        def count(owner):
            for _ in range(5):
                lease = self.client.lock_for(self.key, 60, owner=owner)
                seen = counted[0]
                time.sleep(0.001)
                counted[0] = seen + 1
                self.client.release(lease)

        for thread in [Background(lambda owner=f"thread-{i}": count(owner)) for i in range(6)]:
            thread.result()
        self.assertEqual(counted, [30])


@both_clients
class Waiting(ClientTest):
    @classmethod
    def setUpClass(cls):
        cls.host = Host({"longest-wait": "200ms"})

    def test_a_wait_longer_than_the_server_permits_goes_on(self):
        held = self.client.try_lock(self.key, owner="alice")
        bob = Background(lambda: self.new_client().lock_for(self.key, 60, owner="bob"))
        begin = clock.now()
        eventually(lambda: clock.now() > begin + 0.7 and self.direct.holders(self.key).waiting == ["bob"])
        self.direct.release(held)
        self.assertEqual(bob.result().owner, "bob")

    def test_the_time_of_a_lease_that_was_waited_for_begins_at_the_grant(self):
        with Host() as host:
            client = self.new_client(host.gate.url)
            held = client.try_lock(self.key, owner="alice")
            begin = clock.now()
            bob = Background(lambda: client.lock_for(self.key, 60, owner="bob", ttl=10))
            eventually(lambda: client.holders(self.key).waiting == ["bob"] and clock.now() > begin + 2)
            client.release(held)
            self.assertGreater(bob.result().valid_until, begin + 11)  # not begin + 10, when the request was sent


@both_clients
class WaitingInVain(ClientTest):
    def test_a_grant_that_cannot_be_confirmed_is_given_back(self):
        held = self.direct.try_lock(self.key, owner="alice")
        client = self.new_client(patience=0)
        bob = Background(lambda: client.lock_for(self.key, 60, owner="bob", ttl=5))
        eventually(lambda: self.direct.holders(self.key).waiting == ["bob"])
        begin = clock.now()
        eventually(lambda: clock.now() > begin + 0.7)  # a tenth of the ttl: the grant is checked
        self.gate.forbid("GET")
        self.direct.release(held)
        with self.assertRaises(leasehold.Fault) as caught:
            bob.result()
        self.assertEqual(caught.exception.effect, "unknown")
        self.assertEqual(self.holders(), [])


class Interrupting(ClientTest):
    def test_an_interrupted_wait_leaves_the_line_and_holds_nothing(self):
        held = self.direct.try_lock(self.key, owner="alice")

        def interrupt():
            eventually(lambda: self.direct.holders(self.key).waiting == ["bob"])
            os.kill(os.getpid(), signal.SIGINT)

        interrupting = Background(interrupt)
        with self.assertRaises(KeyboardInterrupt):
            self.client.lock_for(self.key, 60, owner="bob")
        interrupting.result()
        eventually(lambda: self.direct.holders(self.key).waiting == [])
        self.direct.release(held)
        self.assertEqual(self.holders(), [])


if __name__ == "__main__":
    unittest.main()

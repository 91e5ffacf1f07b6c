"""Streams of events."""

import unittest

from support import Background, ClientTest, both_clients, eventually

import leasehold
from leasehold.events import EventParser


@both_clients
class Events(ClientTest):
    def setUp(self):
        super().setUp()
        self.key = leasehold.Key(self.id(), "1")

    def events(self, **options):
        return self.client.events(type=self.key.type, **options)

    def test_events_are_told_in_their_order(self):
        with self.events() as events:
            lease = self.direct.try_lock(self.key, owner="alice")
            self.direct.release(lease)
            seen = [next(events) for _ in range(2)]
        self.assertEqual([one.name for one in seen], ["granted", "released"])
        self.assertEqual((seen[0].key, seen[0].data["fence"]), (self.key, lease.fence))

    def test_another_stream_goes_on_behind_the_last_event(self):
        with self.events() as events:
            lease = self.direct.try_lock(self.key, owner="alice")
            next(events)
            last_id = events.last_id
        self.direct.release(lease)
        with self.events(last_id=last_id) as events:
            self.assertEqual(next(events).name, "released")

    def test_a_stream_that_is_closed_by_somebody_else_ends(self):
        with self.events() as events:
            reading = Background(lambda: list(events))
            self.direct.try_lock(self.key, owner="alice")
            eventually(lambda: events.last_id)
            events.close()
            self.assertLessEqual(len(reading.result()), 1)

    def test_a_server_that_does_not_come_back_is_a_fault_and_the_stream_can_go_on(self):
        client = self.new_client(patience=0.5)
        with client.events(type=self.key.type) as events:
            self.direct.try_lock(self.key, owner="alice")
            next(events)
            self.gate.refuse()
            self.gate.cut()
            with self.assertRaises(leasehold.Fault):
                next(events)
            self.gate.accept()
            self.direct.release_all("alice")
            self.assertEqual(next(events).name, "released")

    def test_a_page_instead_of_a_stream_is_not_taken_for_one(self):
        self.gate.answer(200, {"Content-Type": "text/html"}, "<h1>Welcome</h1>")
        with self.events() as events:  # connects again
            self.direct.try_lock(self.key, owner="alice")
            self.assertEqual(next(events).name, "granted")

    def test_a_line_that_does_not_end_ends_the_stream(self):
        client = self.new_client(patience=0)
        head = {"Content-Type": "text/event-stream"}
        self.gate.answer(200, head, "data: " + "x" * (2 << 20))
        with self.assertRaisesRegex(leasehold.Fault, "has ended"), client.events(type=self.key.type) as events:
            next(events)

    def test_a_request_that_the_server_does_not_accept_is_raised_at_once(self):
        self.gate.answer(403, {}, '{"code": "forbidden", "detail": "the token lacks the role see"}')
        with self.assertRaisesRegex(leasehold.Fault, "lacks the role"), self.events():
            self.fail("it is forbidden")


class Parser(unittest.TestCase):
    def parse(self, text):
        parser = EventParser()
        return list(filter(None, map(parser.line, text.encode().splitlines(keepends=True))))

    def test_lines_become_events(self):
        text = ': hello\nretry: 2000\nid: a\n\nid: b\r\nevent: granted\r\ndata: {"a":\r\ndata:1}\r\n\r\nevent: x\n\n'
        self.assertEqual(self.parse(text), [leasehold.Event("b", "granted", {"a": 1})])

    def test_what_is_no_event_is_an_error(self):
        for wrong in ("data: {\n\n", "data: []\n\n", "data: " + 100_000 * "[" + "\n\n"):
            with self.assertRaises(ValueError):
                self.parse(wrong)

    def test_an_event_that_does_not_end_is_an_error(self):
        parser = EventParser()
        with self.assertRaisesRegex(ValueError, "too long"):
            for _ in range(100_000):
                parser.line(b"data: 1234567890\n")
        with self.assertRaisesRegex(ValueError, "too long"):
            EventParser().line(b":" + b"x" * (1 << 20))


if __name__ == "__main__":
    unittest.main()

"""Leaves the real server at every moment: nothing leaks, nobody else notices."""

import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.subject import (  # noqa: E402
    build,
    of_http1,
    on_each_transport,
    on_each_version,
)

HELLO = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
DELAY = b"GET /delay/30000 HTTP/1.1\r\nHost: a\r\n\r\n"
UPLOAD = b"POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n"
CHUNKED = (
    b"POST /upload HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
)
LARGE = b"GET /big/5000000 HTTP/1.1\r\nHost: a\r\n\r\n"
# Those in which a handler waits send more than is read ahead, but not more than
# the kernel takes: an orderly end stands behind everything that was sent.
MOMENTS = [
    ("before any octet", b""),
    ("in a request line", HELLO[:7]),
    ("in a field", HELLO[:20]),
    ("before the last octet of a head", HELLO[:-1]),
    ("behind a request", HELLO),
    ("in the second request", HELLO + HELLO[:9]),
    ("in a body", UPLOAD + b"x" * 50000),
    ("before a body", UPLOAD),
    ("in a chunk", CHUNKED + b"5\r\nab"),
    ("in a chunk size", CHUNKED + b"5\r\nabcde\r\n1"),
    ("in a trailer", CHUNKED + b"0\r\nX-A: b"),
    ("while a handler waits", DELAY),
    ("while a handler waits, with more requests behind", DELAY + HELLO * 100),
    ("while a handler waits, with much behind", DELAY + HELLO * 3500),
    ("while a handler waits with its body unread",
     b"POST /late-echo/30000 HTTP/1.1\r\nHost: a\r\n"
     b"Content-Length: 95000\r\n\r\n" + b"x" * 95000),
    ("in a large response", LARGE),
    ("in many large responses", LARGE * 20),
    ("behind an upgrade to nothing", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
]


def setUpModule():
    build()


@on_each_version
class Departures:
    def moments(self):
        if not self.speaks_h2:
            return MOMENTS
        # A stream takes a window of content that no handler reads, and a
        # connection as many requests as its limit of streams allows.
        return [
            (name, octets.replace(b"95000", b"60000")[: len(octets) - 35_000])
            if b"95000" in octets
            else (name, octets)
            for name, octets in MOMENTS
            if "much behind" not in name and not octets.startswith(b"PRI")
        ]

    def leave(self, octets, how):
        client = self.connect()
        try:
            client.send(octets)
            if octets.startswith(LARGE):
                client.head()
        except (BrokenPipeError, ConnectionResetError):
            pass
        how(client)
        return client

    def check_nothing_is_held(self):
        self.subject.await_statistics(**self.held_before)

    def test_clients_may_close_at_any_moment(self):
        for name, octets in self.moments():
            with self.subTest(name):
                self.leave(octets, lambda client: client.close())
                self.check_nothing_is_held()

    def test_clients_may_reset_at_any_moment(self):
        for name, octets in self.moments():
            with self.subTest(name):
                self.leave(octets, lambda client: client.reset())
                self.check_nothing_is_held()

    @of_http1
    def test_a_reset_overtakes_what_is_not_read(self):
        client = self.connect()
        client.send(DELAY)
        client.socket.setblocking(False)
        try:
            while True:
                client.socket.send(HELLO * 1000)
        except BlockingIOError:
            pass
        client.reset()
        self.check_nothing_is_held()

    def test_clients_may_end_their_side_at_any_moment(self):
        for name, octets in self.moments():
            with self.subTest(name):
                client = self.leave(octets, lambda client: client.end())
                self.assertTrue(client.has_ended())
                self.check_nothing_is_held()

    def test_all_moments_at_once(self):
        for _ in range(5):
            clients = []
            for name, octets in self.moments():
                clients.append(self.leave(octets, lambda client: None))
            for i, client in enumerate(clients):
                if i % 2:
                    client.reset()
                else:
                    client.close()
        self.check_nothing_is_held()

    def test_the_wait_of_a_handler_ends_when_its_client_leaves(self):
        before = len(self.subject.await_log(b"cut off", 0))
        client = self.connect()
        client.send(DELAY)
        self.subject.await_statistics(served=1)
        client.close()
        found = self.subject.await_log(b"cut off", before + 1)
        self.assertIn(b"cancelled", found[-1])
        self.check_nothing_is_held()

    @of_http1
    def test_a_peer_that_ends_its_side_gets_what_needs_no_wait(self):
        client = self.connect()
        client.send(HELLO * 3)
        client.end()
        for _ in range(3):
            self.assertEqual(client.answer().body, b"hello")
        client.expect_end()

    def test_a_peer_that_ends_its_side_while_a_handler_waits_is_cut_off(self):
        client = self.connect()
        client.send(DELAY)
        client.end()
        client.expect_loss()

    @of_http1
    def test_a_peer_that_ends_its_side_gets_a_large_answer_whole(self):
        client = self.connect(receive_octets=4096)
        client.send(LARGE)
        client.end()
        self.assertEqual(len(client.answer().body), 5_000_000)
        client.expect_end()

    def test_what_has_arrived_is_read_behind_the_own_end(self):
        client = self.connect()
        client.send(b"GET /big/200000 HTTP/1.1\r\nHost: a\r\n\r\n")
        client.head()
        # The rest of a small answer is here, or is about to be.
        time.sleep(0.1)
        client.end()
        self.assertEqual(len(client.octets(200_000)), 200_000)

    @of_http1
    def test_1000_connections_may_come_and_go(self):
        before = self.subject.statistics()["connections_accepted"]
        for i in range(1000):
            client = self.subject.connect()
            if i % 3 == 0:
                client.send(HELLO)
            if i % 2:
                client.reset()
            else:
                client.close()
        self.check_nothing_is_held()
        # A connection that is reset in the queue need not be accepted.
        after = self.subject.statistics()["connections_accepted"]
        self.assertGreater(after - before, 500)

    def test_300_connections_at_once_are_all_answered(self):
        clients = [self.connect() for _ in range(300)]
        for client in clients:
            client.send(HELLO * 2)
        for client in clients:
            self.assertEqual(client.answer().body, b"hello")
            self.assertEqual(client.answer().body, b"hello")
        for client in clients:
            client.close()
        self.check_nothing_is_held()


@on_each_transport
class HalfClose:
    options = ("--half-close",)

    def test_a_peer_that_ended_its_side_gets_what_a_waiting_handler_says(self):
        client = self.connect()
        client.send(b"GET /delay/100 HTTP/1.1\r\nHost: a\r\n\r\n" + HELLO)
        client.end()
        self.assertEqual(client.answer().body, b"waited 100")
        self.assertEqual(client.answer().body, b"hello")
        client.expect_end()

    def test_a_body_that_ends_early_is_still_a_loss(self):
        client = self.connect()
        client.send(UPLOAD + b"x")
        client.end()
        client.expect_loss()

    def test_a_reset_is_still_a_departure(self):
        client = self.connect()
        client.send(DELAY)
        self.subject.await_statistics(served=1)
        client.reset()
        self.subject.await_statistics(served=0)


if __name__ == "__main__":
    unittest.main()

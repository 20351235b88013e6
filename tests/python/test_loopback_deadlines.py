"""Lets the real server wait too long, and leaves while its handlers wait."""

import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.subject import (  # noqa: E402
    WithSubject,
    build,
    of_http1,
    on_each_transport,
    on_each_version,
)

HELLO = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
# The small limits of the subject.
TIMEOUT_SECONDS = 0.4
HANDLER_SECONDS = 1.5


def setUpModule():
    build()


def head(method, target, *fields):
    return b"%s %s HTTP/1.1\r\nHost: a\r\n%s\r\n" % (
        method, target, b"".join(fields)
    )


def upgrade(target):
    return head(b"GET", target, b"Connection: upgrade\r\nUpgrade: raw\r\n")


# What a handler waits for, and whether the end of its client's side alone is
# its departure.
WAITS = [
    ("sleep", head(b"POST", b"/wait/sleep"), True),
    ("an event", head(b"POST", b"/wait/event"), True),
    ("a fiber", head(b"POST", b"/wait/join"), True),
    ("a thread", head(b"POST", b"/wait/blocking"), True),
    ("content", head(b"POST", b"/wait/read", CHUNKED) + b"3\r\nab", True),
    ("whole content", head(b"POST", b"/wait/octets", CHUNKED) + b"3\r\nab", True),
    ("room", head(b"GET", b"/endless"), True),
    ("nothing, upgraded", upgrade(b"/raw/sleep"), False),
    ("octets, upgraded", upgrade(b"/raw/read"), False),
    ("room, upgraded", upgrade(b"/raw/write"), False),
]


@on_each_version
class Deadlines:
    options = ("--small-limits",)

    def test_streamed_content_that_stops_gets_408(self):
        client = self.connect()
        client.send(head(b"POST", b"/sum", CHUNKED) + b"3\r\nabc\r\n")
        started = time.monotonic()
        answer = client.answer()
        self.assertEqual(answer.status, 408)
        self.expect_closing(answer)
        self.check_time(started, TIMEOUT_SECONDS)

    def test_streamed_content_that_dribbles_gets_408(self):
        client = self.connect()
        client.send(head(b"POST", b"/sum", b"Content-Length: 100000\r\n"))
        client.socket.settimeout(0.02)
        started = time.monotonic()
        while True:
            self.assertLess(time.monotonic() - started, 5, "it may dribble")
            try:
                # Fifty octets a second, of 240.
                client.send(b"a")
                answer = client.answer()
                break
            except TimeoutError:
                continue
        self.assertEqual(answer.status, 408)

    def test_content_that_stops_behind_the_head_breaks_the_answer_off(self):
        client = self.connect()
        client.send(head(b"POST", b"/both", CHUNKED) + b"3\r\nabc\r\n")
        started = time.monotonic()
        if client.is_unix:
            self.assertFalse(client.rest().endswith(b"\r\n0\r\n\r\n"))
        else:
            with self.assertRaises(ConnectionResetError):
                client.rest()
        self.check_time(started, TIMEOUT_SECONDS)

    def test_client_that_does_not_read_is_left(self):
        for request in (head(b"GET", b"/endless"), upgrade(b"/raw/write")):
            if b"Upgrade" in request and self.speaks_h2:
                continue
            before = len(self.subject.await_log(b"cut off", 0))
            client = self.connect(receive_octets=4096)
            client.send(request)
            found = self.subject.await_log(b"cut off", before + 1)
            self.assertIn(b"http.content cut off", found[-1])
            self.subject.await_statistics(**self.held_before)

    def test_client_that_reads_an_octet_now_and_then_is_left(self):
        before = len(self.subject.await_log(b"cut off", 0))
        client = self.connect(receive_octets=4096)
        client.send(head(b"GET", b"/endless"))
        started = time.monotonic()
        while len(self.subject.await_log(b"cut off", 0)) == before:
            self.assertLess(time.monotonic() - started, 5, "it may dribble")
            # A hundred octets a second, of 240.
            time.sleep(0.01)
            try:
                client.socket.recv(1)
            except ConnectionResetError:
                pass
        self.subject.await_log(b"cut off", before + 1)

    @of_http1
    def test_upgraded_client_that_is_silent_is_left(self):
        before = len(self.subject.await_log(b"cut off", 0))
        client = self.connect()
        client.send(upgrade(b"/raw/read"))
        client.head()
        started = time.monotonic()
        self.assertTrue(client.has_ended())
        self.check_time(started, TIMEOUT_SECONDS)
        found = self.subject.await_log(b"cut off", before + 1)
        self.assertIn(b"net.timeout", found[-1])

    def test_block_bounds_a_read(self):
        client = self.connect()
        client.send(head(b"POST", b"/read-in/100", CHUNKED) + b"3\r\nabc\r\n")
        started = time.monotonic()
        self.assertTrue(client.answer().body.startswith(b"net.timeout read"))
        self.check_time(started, 0.1)
        client.send(b"0\r\n\r\n" + head(b"POST", b"/read-in/100", CHUNKED))
        client.send(b"3\r\nabc\r\n0\r\n\r\n")
        self.assertEqual(client.answer().body, b"all came")

    def test_block_bounds_a_write(self):
        before = len(self.subject.await_log(b"cut off", 0))
        client = self.connect(receive_octets=4096)
        client.send(head(b"GET", b"/write-in/100"))
        found = self.subject.await_log(b"cut off", before + 1)
        self.assertIn(b"net.timeout write", found[-1])

    def test_stream_outlasts_the_deadline_of_handlers(self):
        client = self.connect()
        client.send(head(b"GET", b"/stream/200000000000"))
        client.head()
        started = time.monotonic()
        while time.monotonic() - started < HANDLER_SECONDS + 0.5:
            client._exactly(1 << 18)
            self.subject.statistics()
        client.reset()



class Leaving:
    def waits(self):
        return WAITS[:-3] if self.speaks_h2 else WAITS

    def leave(self, request, how):
        before = len(self.subject.await_log(b"cut off:", 0))
        client = self.connect(receive_octets=4096)
        client.send(request)
        self.subject.await_statistics(served=1)
        how(client)
        self.subject.await_log(b"cut off:", before + 1)
        self.subject.await_statistics(**self.held_before)
        self.assertEqual(self.subject.await_log(b"went on", 0), [])
        return client


@on_each_version
class Disconnects(Leaving):
    def test_reset_ends_each_wait(self):
        for name, request, _ in self.waits():
            with self.subTest(name):
                self.leave(request, lambda client: client.reset())

    def test_close_ends_each_wait(self):
        for name, request, _ in self.waits():
            with self.subTest(name):
                self.leave(request, lambda client: client.close())

    def test_end_of_its_side_is_a_departure(self):
        for name, request, leaves in self.waits():
            if leaves:
                with self.subTest(name):
                    self.leave(request, lambda client: client.end())

    def test_thread_and_fiber_of_a_handler_learn_of_it(self):
        self.leave(WAITS[2][1], lambda client: client.reset())
        self.subject.await_log(b"^child cut off: net.cancelled")
        self.leave(WAITS[3][1], lambda client: client.reset())
        self.subject.await_log(b"^a thread saw it")

    def test_many_resets_in_the_midst_of_writes_do_not_end_the_server(self):
        for _ in range(50):
            clients = [self.connect() for _ in range(4)]
            for client in clients:
                client.send(head(b"GET", b"/endless"))
                client.head()
            for client in clients:
                client.reset()
        self.subject.await_statistics(**self.held_before)
        self.expect_answers_still()


class ResetsBehindHalfCloses(Leaving, WithSubject):
    # Only epoll can tell them from the end that came before.
    backend = "epoll"
    options = ("--half-close",)

    def end_and_reset(self, client):
        client.end()
        for _ in range(5):
            self.subject.await_statistics(served=1)
        client.reset()

    def test_end_of_its_side_is_none_but_what_follows_may_be(self):
        for name, request, _ in (WAITS[0], WAITS[1], WAITS[2], WAITS[7]):
            with self.subTest(name):
                self.leave(request, self.end_and_reset)


@on_each_transport
class HalfCloses(Leaving):
    options = ("--half-close",)

    def test_client_that_ended_its_side_is_read_to_its_end(self):
        # Its end has come while what stands before it is not read yet.
        client = self.connect()
        client.send(
            head(b"POST", b"/sum-slowly/5", b"Content-Length: 1000000\r\n")
            + b"x" * 1_000_000
        )
        client.end()
        self.assertTrue(client.answer().body.startswith(b"1000000 "))
        client.expect_end()

    def test_client_that_ended_its_side_gets_a_stream_whole(self):
        client = self.connect()
        client.send(head(b"GET", b"/stream/5000000"))
        client.end()
        self.assertEqual(len(client.answer().body), 5_000_000)
        client.expect_end()


if __name__ == "__main__":
    unittest.main()

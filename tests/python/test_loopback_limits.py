"""Drives the real server over its limits of time and number."""

import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.subject import (  # noqa: E402
    BACKENDS,
    Subject,
    WithSubject,
    build,
    delay,
    on_each_plain_transport,
    of_http1,
    on_each_version,
)

HELLO = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
# The small limits of the subject.
TIMEOUT_SECONDS = 0.4
HANDLER_SECONDS = 1.5
CONNECTIONS_MAX = 8
IN_FLIGHT_MAX = 4
REQUESTS_MAX = 50
READ_OCTETS_PER_SECOND = 4_000_000


def setUpModule():
    build()


def upload(path, length):
    return (
        b"POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n"
        % (path, length)
    )


@on_each_version
class Limits:
    options = ("--small-limits",)

    @of_http1
    def test_an_idle_connection_is_closed(self):
        for before in (b"", HELLO):
            with self.subTest(before=before):
                client = self.connect()
                if before:
                    client.send(before)
                    client.answer()
                started = time.monotonic()
                client.expect_end()
                self.check_time(started, TIMEOUT_SECONDS)

    @of_http1
    def test_a_head_that_stops_gets_408(self):
        client = self.connect()
        client.send(b"GET / HTTP/1.1\r\nHos")
        started = time.monotonic()
        answer = client.answer()
        self.assertEqual(answer.status, 408)
        self.assertTrue(answer.closes())
        self.check_time(started, TIMEOUT_SECONDS)
        client.end()
        client.expect_end()

    @of_http1
    def test_a_head_that_dribbles_gets_408(self):
        client = self.connect()
        client.send(b"GET / HTTP/1.1\r\nX: ")
        started = time.monotonic()
        client.socket.settimeout(0.02)
        while True:
            self.assertLess(time.monotonic() - started, 5, "it may dribble")
            try:
                client.send(b"a")
                answer = client.answer()
                break
            except TimeoutError:
                continue
        self.assertEqual(answer.status, 408)
        self.check_time(started, TIMEOUT_SECONDS)

    @of_http1
    def test_a_second_head_that_stops_gets_408(self):
        client = self.connect()
        client.send(HELLO + HELLO[:10])
        self.assertEqual(client.answer().body, b"hello")
        self.assertEqual(client.answer().status, 408)

    def test_a_body_that_stops_gets_408(self):
        client = self.connect()
        client.send(upload(b"/echo", 5) + b"ab")
        started = time.monotonic()
        answer = client.answer()
        self.assertEqual(answer.status, 408)
        self.expect_closing(answer)
        self.check_time(started, TIMEOUT_SECONDS)

    def test_a_body_that_goes_on_is_waited_for(self):
        client = self.connect()
        client.send(upload(b"/echo", 600))
        client.socket.settimeout(0.1)
        for _ in range(6):
            # Each piece comes in time and at more than the lowest rate; all of
            # them take longer than one may.
            with self.assertRaises(TimeoutError):
                client.head()
            client.send(b"a" * 100)
        client.socket.settimeout(10)
        self.assertEqual(client.answer().body, b"a" * 600)

    def test_a_handler_that_has_its_body_may_take_longer(self):
        client = self.connect()
        client.send(upload(b"/echo-late/700", 5))
        client.send(b"abcde")
        self.assertEqual(client.answer().body, b"abcde")

    @of_http1
    def test_an_unread_body_that_stops_ends_the_connection(self):
        client = self.connect()
        client.send(upload(b"/users/1", 5) + b"ab")
        self.assertEqual(client.answer().body, b"user 1")
        client.expect_end()

    def test_a_peer_that_does_not_read_is_closed(self):
        client = self.connect(receive_octets=4096)
        client.send(b"GET /big/30000000 HTTP/1.1\r\nHost: a\r\n\r\n")
        client.head()
        self.subject.await_statistics(connections=1)
        self.assertTrue(client.has_ended())

    @of_http1
    def test_a_peer_that_sends_but_does_not_read_is_closed(self):
        client = self.connect(receive_octets=4096)
        client.send(
            b"GET /big/30000000 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        )
        client.head()
        client.socket.settimeout(0.02)
        started = time.monotonic()
        ended = False
        while not ended and time.monotonic() - started < 5:
            try:
                client.socket.send(b"x")
            except (BrokenPipeError, ConnectionResetError):
                ended = True
            self.subject.statistics()
        self.assertTrue(ended, "octets prolong the time to read")

    def test_a_peer_that_reads_slowly_is_served(self):
        client = self.connect(receive_octets=4096)
        client.send(b"GET /big/30000000 HTTP/1.1\r\nHost: a\r\n\r\n")
        started = time.monotonic()
        count = 0
        # Far longer than the server waits for a peer that reads nothing.
        while (elapsed := time.monotonic() - started) < 4 * TIMEOUT_SECONDS:
            if count < elapsed * READ_OCTETS_PER_SECOND:
                count += len(client.socket.recv(8192))
            else:
                self.subject.statistics()
        self.assertLess(count, 20_000_000, "the reader was fast")
        while piece := client.socket.recv(1 << 18):
            count += len(piece)
            if count > 30_000_000:
                break
        self.assertGreater(count, 30_000_000)

    def test_the_waits_of_a_handler_are_bounded(self):
        client = self.connect()
        client.send(delay(60_000))
        started = time.monotonic()
        self.assertEqual(client.answer().status, 500)
        self.check_time(started, HANDLER_SECONDS)
        self.subject.await_log(rb"cut off: net\.timeout")

    @of_http1
    def test_the_last_allowed_request_closes(self):
        client = self.connect()
        client.send(HELLO * (REQUESTS_MAX + 5))
        for i in range(REQUESTS_MAX):
            answer = client.answer()
            self.assertEqual(answer.closes(), i == REQUESTS_MAX - 1)
        client.expect_end()

    def test_requests_over_the_limit_get_503_and_may_try_again(self):
        parked = [self.connect() for _ in range(IN_FLIGHT_MAX)]
        for client in parked:
            client.send(delay(400))
        # The counters themselves need a request: ask until it is refused.
        other = self.connect()
        for _ in range(REQUESTS_MAX - 1):
            other.send(HELLO)
            answer = other.answer()
            if answer.status == 503:
                break
        self.assertEqual(answer.status, 503)
        self.assertEqual(answer.field("Retry-After"), "1")
        self.assertFalse(answer.closes())
        for client in parked:
            self.assertEqual(client.answer().body, b"waited 400")
        self.expect_answers_still()

    @of_http1
    def test_a_refused_peer_is_listened_to_for_a_bounded_time(self):
        client = self.connect()
        client.send(b"BAD\r\n\r\n")
        self.assertEqual(client.answer().status, 400)
        started = time.monotonic()
        client.socket.settimeout(0.02)
        ended = False
        while not ended and time.monotonic() - started < 5:
            try:
                client.socket.send(b"x" * 100)
                self.subject.statistics()
            except (BrokenPipeError, ConnectionResetError):
                ended = True
        self.assertTrue(ended)


@on_each_plain_transport
class Connections:
    options = ("--connections", str(CONNECTIONS_MAX))

    def test_connections_over_the_limit_wait(self):
        held = [self.connect() for _ in range(CONNECTIONS_MAX)]
        for client in held:
            client.send(HELLO)
            self.assertEqual(client.answer().body, b"hello")
        late = [self.connect() for _ in range(20)]
        for client in late:
            client.send(HELLO)
        late[0].socket.settimeout(0.1)
        with self.assertRaises(TimeoutError):
            late[0].head()
        late[0].socket.settimeout(10)
        # They close as soon as they idle; then it is the turn of the others.
        for client in held:
            client.close()
        for client in late:
            self.assertEqual(client.answer().body, b"hello")
            client.close()

    def test_waiting_connections_that_give_up_harm_nobody(self):
        held = [self.connect() for _ in range(CONNECTIONS_MAX)]
        for client in held:
            client.send(HELLO)
            client.answer()
        late = [self.connect() for _ in range(20)]
        for i, client in enumerate(late):
            client.send(HELLO)
            if i % 2:
                client.reset()
            else:
                client.close()
        for client in held:
            client.close()
        self.expect_answers_still()


class Descriptors(unittest.TestCase):
    def test_a_server_without_descriptors_serves_on_when_it_has_some(self):
        for backend in BACKENDS:
            with self.subTest(backend=backend):
                subject = Subject(backend, descriptors_max=40)
                self.addCleanup(subject.stop)
                clients = [subject.connect() for _ in range(60)]
                for client in clients:
                    self.addCleanup(client.close)
                    client.send(HELLO)
                for client in clients:
                    # The later ones wait until the earlier ones have gone.
                    self.assertEqual(client.answer().body, b"hello")
                    client.close()
                self.assertEqual(subject.statistics()["connections"], 1)
                self.assertEqual(subject.stop(), 0)


if __name__ == "__main__":
    unittest.main()

"""Stops the real server while clients wait, send and come: none is reset."""

import select
import socket
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.client import Client  # noqa: E402
from loopback.secure_socket import TruncatedError  # noqa: E402
from loopback.subject import (  # noqa: E402
    Subject,
    build,
    delay,
    on_each_backend,
    on_each_plain_transport,
    on_each_transport,
)

HELLO = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
CLOSING_HELLO = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
CONNECTIONS_MAX = 64


def setUpModule():
    build()


def busy(milliseconds):
    return b"GET /busy/%d HTTP/1.1\r\nHost: a\r\n\r\n" % milliseconds


class Ended(Exception):
    """The server takes no connection any more."""


class Traffic:
    """Lets threads send requests until they are told to stop."""

    def __init__(self, subject, threads, client):
        self.place = subject.place
        self.secure = subject.secure
        self.ending = False
        self.answered = 0
        self.problems = []
        self._lock = threading.Lock()
        self._threads = [
            threading.Thread(target=self._run, args=(client,))
            for _ in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def _run(self, client):
        while not self.ending:
            try:
                client(self)
            except Ended:
                return
            except (OSError, AssertionError, TruncatedError) as problem:
                with self._lock:
                    self.problems.append(repr(problem))
                return

    def count_answer(self):
        """Counts an answer; from any thread."""
        with self._lock:
            self.answered += 1

    def await_answers(self, count):
        """Waits until so many requests were answered."""
        deadline = time.monotonic() + 10
        while self.answered < count:
            if time.monotonic() > deadline or self.problems:
                raise AssertionError(f"{self.answered}: {self.problems[:3]}")
            time.sleep(0.001)

    def end(self):
        """Waits for the threads, and gives what went wrong."""
        self.ending = True
        for thread in self._threads:
            thread.join(30)
        return self.problems


def connect(traffic):
    # The peer's kernel tries a connection that is held back again a second
    # later, and finds that the server has gone. A path goes first.
    try:
        client = Client(traffic.place, secure=traffic.secure)
    except (ConnectionRefusedError, FileNotFoundError):
        raise Ended
    return client.socket


def ask_once(traffic):
    """Sends one request on a connection of its own."""
    with connect(traffic) as client:
        client.sendall(CLOSING_HELLO)
        octets = b""
        while part := client.recv(1 << 16):
            octets += part
    if not octets.endswith(b"\r\n\r\nhello"):
        raise AssertionError(f"answered {octets!r}")
    traffic.count_answer()


def ask_often(traffic):
    """Sends requests on one connection until the server closes it."""
    with connect(traffic) as client:
        octets = b""
        while b"\r\nConnection: close\r\n" not in octets:
            client.sendall(HELLO)
            octets = client.recv(1 << 16)
            if not octets:
                # It went while the request was on its way, in good order.
                return
            if not octets.endswith(b"\r\n\r\nhello"):
                raise AssertionError(f"answered {octets!r}")
            traffic.count_answer()
        if client.recv(1):
            raise AssertionError("octets behind the last answer")


class Case:
    """Starts a server of its own for each test."""

    def start(self, *options, **limits):
        subject = Subject(
            self.backend, *options, transport=self.transport, **limits
        )
        self.addCleanup(subject.stop)
        subject.statistics()
        return subject

    def connect_all(self, subject, count, octets):
        """Opens connections, and sends on each."""
        clients = []
        for _ in range(count):
            client = subject.connect()
            self.addCleanup(client.close)
            client.send(octets)
            clients.append(client)
        return clients

    def expect_last_answers(self, clients, body):
        """Checks that each is answered, told so, and closed in order."""
        for client in clients:
            answer = client.answer()
            self.assertEqual(answer.body, body)
            self.assertTrue(answer.closes())
            client.expect_end()
            client.close()

    def expect_exit(self, subject, seconds_max):
        self.assertEqual(subject.process.wait(seconds_max), 0)


class ListenQueue(Case):
    def test_a_full_queue_is_answered(self):
        for workers in ("1", "2"):
            subject = self.start("--workers", workers)
            # Nobody accepts while all workers are busy.
            holders = self.connect_all(subject, 8, busy(100))
            waiting = self.connect_all(subject, 300, HELLO)
            subject.process.terminate()
            for client in holders:
                self.assertEqual(client.answer().body, b"busy")
                client.close()
            for client in waiting:
                self.assertEqual(client.answer().body, b"hello")
                client.expect_end()
                client.close()
            self.expect_exit(subject, 5)

    def test_who_waits_for_a_slot_is_answered(self):
        subject = self.start("--connections", str(CONNECTIONS_MAX))
        clients = self.connect_all(subject, CONNECTIONS_MAX + 100, delay(200))
        subject.process.terminate()
        self.expect_last_answers(clients, b"waited 200")
        self.expect_exit(subject, 5)

    def test_who_waits_for_a_descriptor_is_answered(self):
        subject = self.start(descriptors_max=64)
        clients = self.connect_all(subject, 150, delay(200))
        subject.process.terminate()
        self.expect_last_answers(clients, b"waited 200")
        self.expect_exit(subject, 8)

    def test_who_waits_at_the_end_of_the_shutdown_holds_nothing_up(self):
        subject = self.start(
            "--small-limits", "--connections", str(CONNECTIONS_MAX)
        )
        # Slots become free in time, but not all that wait is done in time.
        clients = self.connect_all(
            subject, CONNECTIONS_MAX, b"GET /delay/1400 HTTP/1.1\r\nHost: a\r\n"
        )
        late = self.connect_all(subject, 50, delay(1400))
        started = time.monotonic()
        subject.process.terminate()
        self.expect_exit(subject, 5)
        self.assertLess(time.monotonic() - started, 2)
        for client in clients + late:
            self.assertTrue(client.has_ended())


class Streams(Case):
    def test_idle_streams_end_in_order_and_hold_no_stop_up(self):
        subject = self.start()
        count = 100
        feeds = self.connect_all(
            subject, count, b"GET /events HTTP/1.1\r\nHost: a\r\n\r\n"
        )
        talks = self.connect_all(
            subject,
            count,
            b"GET /polite HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\n"
            b"Upgrade: raw\r\n\r\n",
        )
        for client in feeds:
            self.assertEqual(client.head().status, 200)
        for client in talks:
            self.assertEqual(client.head().status, 101)
        # An upgraded connection holds no receive buffer.
        subject.await_statistics(
            streams=2 * count, requests_in_flight=0, receive_buffers=count
        )
        started = time.monotonic()
        subject.process.terminate()
        for client in feeds:
            self.assertEqual(client.rest(), b"0\r\n\r\n")
            client.close()
        for client in talks:
            self.assertEqual(client.rest(), b"goodbye")
            client.close()
        self.expect_exit(subject, 5)
        self.assertLess(time.monotonic() - started, 3)


class Traffics(Case):
    def play(self, client, *options):
        subject = self.start(*options)
        traffic = Traffic(subject, 16, client)
        try:
            traffic.await_answers(500)
            subject.process.terminate()
            self.expect_exit(subject, 8)
        finally:
            problems = traffic.end()
        self.assertEqual(problems, [])

    def test_clients_that_come_and_go_meet_no_reset(self):
        for _ in range(3):
            self.play(ask_once)

    def test_clients_that_stay_meet_no_reset(self):
        for _ in range(3):
            self.play(ask_often)

    def test_clients_of_two_workers_meet_no_reset(self):
        for client in (ask_once, ask_often):
            self.play(client, "--workers", "2")


class Twice(Case):
    def start_twice(self):
        subject = self.start("--serves", "2", stdin=subprocess.PIPE)
        self.addCleanup(subject.process.stdin.close)
        return subject

    def serve_again(self, subject):
        subject.process.stdin.write(b"\n")
        subject.process.stdin.flush()


class Again(Twice):
    def test_who_comes_between_two_serves_is_answered_by_the_second(self):
        subject = self.start_twice()
        subject.process.terminate()
        self.assertEqual(subject.process.stdout.readline(), b"served\n")
        early = socket.socket()
        self.addCleanup(early.close)
        early.setblocking(False)
        early.connect_ex(("127.0.0.1", subject.port))
        self.serve_again(subject)
        # Its kernel tries again.
        self.assertTrue(select.select([], [early], [], 10)[1])
        early.settimeout(10)
        early.sendall(CLOSING_HELLO)
        self.assertTrue(early.recv(1 << 16).startswith(b"HTTP/1.1 200 "))
        self.assertEqual(subject.statistics()["connections"], 1)
        subject.process.terminate()
        self.expect_exit(subject, 5)


class AgainAtPath(Twice):
    def test_the_path_is_there_while_the_server_serves(self):
        subject = self.start_twice()
        path = Path(subject.place)
        subject.process.terminate()
        self.assertEqual(subject.process.stdout.readline(), b"served\n")
        self.assertFalse(path.exists())
        self.serve_again(subject)
        subject.await_log(rb"listening on unix:.*", 2)
        self.assertEqual(subject.statistics()["connections"], 1)
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)
        subject.process.terminate()
        self.expect_exit(subject, 5)
        self.assertFalse(path.exists())


on_each_plain_transport(ListenQueue, unittest.TestCase)
on_each_transport(Streams, unittest.TestCase)
on_each_transport(Traffics, unittest.TestCase)
on_each_backend(Again, unittest.TestCase)
on_each_backend(AgainAtPath, unittest.TestCase, ("unix",))


if __name__ == "__main__":
    unittest.main()

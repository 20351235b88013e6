"""Watches the real server as a process: signals, workers, logs, addresses."""

import os
import re
import signal
import socket
import subprocess
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
    on_each_backend,
)

HELLO = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"


def setUpModule():
    build()


@on_each_backend
class Errors:
    def test_a_raise_is_a_500_that_does_not_tell_why(self):
        client = self.connect()
        client.send(b"GET /raise HTTP/1.1\r\nHost: a\r\n\r\n" + HELLO)
        answer = client.answer()
        self.assertEqual(answer.status, 500)
        self.assertEqual(answer.body, b"Internal Server Error")
        self.assertNotIn("secret", str(answer.fields))
        self.assertEqual(client.answer().body, b"hello")

    def test_a_raise_is_logged_with_its_request_and_escaped(self):
        before = self.subject.statistics()["handler_errors"]
        client = self.connect()
        client.send(b"GET /raise HTTP/1.1\r\nHost: a\r\n\r\n")
        client.answer()
        line = self.subject.await_log(rb"the secret is 7")[-1]
        self.assertRegex(line, rb"^flare: worker 0 request \d+ raised: ")
        self.assertIn(b"forged line", line, "the line is broken in two")
        self.assertEqual(re.findall(rb"[^\x20-\x7e]", line[:-1]), [])
        after = self.subject.statistics()["handler_errors"]
        self.assertEqual(after - before, 1)

    def test_a_field_with_a_line_end_is_refused_where_it_is_set(self):
        client = self.connect()
        client.send(b"GET /split HTTP/1.1\r\nHost: a\r\n\r\n")
        answer = client.answer()
        self.assertEqual(answer.status, 500)
        self.assertIsNone(answer.field("X-Injected"))
        self.subject.await_log(rb"raised: message\.bad_header_value")

    def test_the_backend_and_the_address_are_logged_once(self):
        line = (
            f"flare: listening on 127.0.0.1:{self.subject.port},"
            f" 1 worker on {self.backend}\n"
        )
        found = self.subject.await_log(b"listening")
        self.assertEqual(found, [line.encode()])


@on_each_backend
class Workers:
    options = ("--workers", "2")

    def test_both_workers_answer(self):
        seen = set()
        deadline = time.monotonic() + 10
        while len(seen) < 2 and time.monotonic() < deadline:
            client = self.connect()
            client.send(b"GET /raise HTTP/1.1\r\nHost: a\r\n\r\n")
            client.answer()
            client.close()
            lines = self.subject.await_log(rb"worker \d+ request")
            seen = {re.search(rb"worker (\d+)", x)[1] for x in lines}
        self.assertEqual(seen, {b"0", b"1"})

    def test_many_connections_are_answered(self):
        clients = [self.connect() for _ in range(200)]
        for client in clients:
            client.send(HELLO + delay(1) + HELLO)
        for client in clients:
            self.assertEqual(client.answer().body, b"hello")
            self.assertEqual(client.answer().body, b"waited 1")
            self.assertEqual(client.answer().body, b"hello")
            client.close()


@on_each_backend
class IdleWorkers:
    # More than tests beside this one keep waiting for a disk.
    count = 24
    options = ("--workers", str(count))

    def test_who_waits_for_peers_does_not_count_as_waiting_for_a_disk(self):
        self.subject.statistics()
        deadline = time.monotonic() + 10
        while self.states() != {"S"}:
            self.assertLess(time.monotonic(), deadline, "somebody is busy")
            time.sleep(0.01)
        # Older kernels cannot be told.
        if kernel() >= (6, 15):
            self.assertLess(self.blocked(), self.count)
        self.subject.statistics()

    def states(self):
        tasks = Path(f"/proc/{self.subject.process.pid}/task")
        lines = [path.read_text() for path in tasks.glob("*/stat")]
        return {line.rpartition(")")[2].split()[0] for line in lines}

    @staticmethod
    def blocked():
        lines = Path("/proc/stat").read_text()
        return int(re.search(r"^procs_blocked (\d+)$", lines, re.M)[1])


def kernel():
    return tuple(int(part) for part in re.findall(r"\d+", os.uname().release)[:2])


class Addresses(unittest.TestCase):
    def test_a_second_server_on_the_port_fails(self):
        for workers in ("1", "2"):
            for backend in BACKENDS:
                with self.subTest(workers=workers, backend=backend):
                    first = Subject(backend, "--workers", workers)
                    self.addCleanup(first.stop)
                    second = subprocess.run(
                        [build(), "--port", str(first.port)],
                        capture_output=True, timeout=20,
                    )
                    self.assertEqual(second.returncode, 1)
                    text = second.stdout + second.stderr
                    self.assertIn(b"net.address_in_use", text)
                    self.assertIn(b"127.0.0.1:%d" % first.port, text)
                    self.assertEqual(first.statistics()["connections"], 1)

    def test_a_port_can_be_used_again_at_once(self):
        first = Subject(BACKENDS[0])
        port = first.port
        client = first.connect()
        client.send(b"GET /close HTTP/1.1\r\nHost: a\r\n\r\n")
        client.answer()
        client.expect_end()
        client.close()
        self.assertEqual(first.stop(), 0)
        second = Subject(BACKENDS[0], "--port", str(port))
        self.addCleanup(second.stop)
        self.assertEqual(second.statistics()["connections"], 1)


class Signals(unittest.TestCase):
    def each(self, *options):
        for backend in BACKENDS:
            for workers in ("1", "2"):
                with self.subTest(backend=backend, workers=workers):
                    subject = Subject(backend, "--workers", workers, *options)
                    try:
                        yield subject
                    finally:
                        subject.stop()

    def expect_exit(self, subject, code=0):
        self.assertEqual(subject.process.wait(10), code)

    def test_a_signal_ends_an_idle_server(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            for subject in self.each():
                with subject.connect() as client:
                    client.send(HELLO)
                    client.answer()
                    subject.process.send_signal(number)
                    client.expect_end()
                    self.expect_exit(subject)

    def test_a_signal_right_behind_the_start_ends_the_server(self):
        for _ in range(5):
            for subject in self.each():
                subject.await_log(b"listening")
                subject.process.terminate()
                self.expect_exit(subject)

    def test_a_parked_request_is_finished_and_says_close(self):
        for subject in self.each():
            with subject.connect() as client:
                client.send(delay(100) + HELLO)
                subject.await_statistics(served=1)
                subject.process.terminate()
                answer = client.answer()
                self.assertEqual(answer.body, b"waited 100")
                self.assertTrue(answer.closes())
                client.expect_end()
                client.close()
                self.expect_exit(subject)

    def test_a_large_answer_is_finished(self):
        for subject in self.each():
            with subject.connect(receive_octets=4096) as client:
                client.send(b"GET /big/5000000 HTTP/1.1\r\nHost: a\r\n\r\n")
                answer = client.head()
                subject.process.terminate()
                length = int(answer.field("Content-Length"))
                self.assertEqual(len(client._exactly(length)), 5_000_000)
                client.expect_end()
                self.expect_exit(subject)

    def test_no_connection_is_accepted_behind_the_signal(self):
        for subject in self.each():
            with subject.connect() as client:
                client.send(delay(100))
                subject.await_statistics(served=1)
                subject.process.terminate()
                # The first answer comes after the stop.
                client.answer()
                self.expect_exit(subject)
                with self.assertRaises(OSError):
                    socket.create_connection(("127.0.0.1", subject.port), 1)

    def test_a_second_signal_ends_at_once(self):
        for subject in self.each():
            with subject.connect() as client:
                client.send(delay(30_000))
                subject.await_statistics(served=1)
                started = time.monotonic()
                subject.process.terminate()
                # One signal that waits would swallow another one.
                client.socket.settimeout(0.1)
                with self.assertRaises(TimeoutError):
                    client.head()
                client.socket.settimeout(10)
                subject.process.terminate()
                self.assertTrue(client.has_ended())
                self.expect_exit(subject)
                self.assertLess(time.monotonic() - started, 5)

    def test_what_takes_too_long_is_cut_off(self):
        for subject in self.each("--small-limits"):
            with subject.connect() as client:
                client.send(delay(1400))
                subject.await_statistics(served=1)
                started = time.monotonic()
                subject.process.terminate()
                self.assertTrue(client.has_ended())
                self.expect_exit(subject)
                elapsed = time.monotonic() - started
                self.assertGreater(elapsed, 0.9)
                self.assertLess(elapsed, 1.35)

    def test_a_head_in_progress_is_still_answered(self):
        for subject in self.each():
            with subject.connect() as client:
                client.send(HELLO[:-5])
                subject.await_statistics(connections=2)
                subject.process.terminate()
                client.socket.settimeout(0.1)
                with self.assertRaises(TimeoutError):
                    client.head()
                client.socket.settimeout(10)
                client.send(HELLO[-5:])
                answer = client.answer()
                self.assertEqual(answer.body, b"hello")
                self.assertTrue(answer.closes())
                client.expect_end()
                self.expect_exit(subject)


if __name__ == "__main__":
    unittest.main()

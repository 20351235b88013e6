"""Lets the real server run out of everything: it answers, closes or waits."""

import os
import re
import selectors
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.subject import (  # noqa: E402
    Subject,
    WithSubject,
    build,
    delay,
    on_each_backend,
    on_each_plain_transport,
)

HELLO = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
DESCRIPTORS_MAX = 64
CLIENTS = 200
CONNECTIONS_MAX = 64
SATURATED_SECONDS = 1.0
CPU_SHARE_MAX = 0.05


def setUpModule():
    build()


def cpu_seconds(subject):
    """Tells how much time of a processor the server has used."""
    text = Path(f"/proc/{subject.process.pid}/stat").read_text()
    fields = text.rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def collect(clients, seconds_max):
    """Gives the octets that each client receives until all are answered.

    A client that the server closes before it has answered gets None, one that
    is reset the error.
    """
    received = dict.fromkeys(clients, b"")
    with selectors.DefaultSelector() as selector:
        for client in clients:
            selector.register(client.socket, selectors.EVENT_READ, client)
        deadline = time.monotonic() + seconds_max
        while selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                break
            for key, _ in selector.select(left):
                client = key.data
                try:
                    octets = client.socket.recv(1 << 16)
                except OSError as error:
                    received[client] = error
                    selector.unregister(client.socket)
                    continue
                if not octets and not received[client]:
                    received[client] = None
                elif octets:
                    received[client] += octets
                selector.unregister(client.socket)
    return [received[client] for client in clients]


def on_backends(cases):
    """Makes a test class for each transport and each kernel interface."""
    return on_each_plain_transport(cases, unittest.TestCase)


class Case:
    """Starts a server of its own for each test."""

    def start(self, *options, **limits):
        subject = Subject(
            self.backend, *options, transport=self.transport, **limits
        )
        self.addCleanup(self.expect_good_end, subject)
        # It has begun once it answers.
        subject.statistics()
        return subject

    def expect_good_end(self, subject):
        self.assertEqual(subject.stop(), 0, subject.log()[-20:])

    def connect_all(self, subject, count, octets):
        """Opens connections that stay open, and sends on each."""
        clients = []
        for _ in range(count):
            client = subject.connect()
            self.addCleanup(client.close)
            client.send(octets)
            clients.append(client)
        return clients

    def fewest_descriptors(self, subject):
        # A connection that has ended is closed a moment later.
        deadline = time.monotonic() + 0.2
        fewest = subject.descriptors()
        while time.monotonic() < deadline:
            fewest = min(fewest, subject.descriptors())
        return fewest

    def close_all(self, clients):
        for client in clients:
            client.close()

    def expect_statuses(self, answers, *statuses):
        """Checks that each is one of the answers, and counts each kind."""
        counts = dict.fromkeys(statuses, 0)
        for answer in answers:
            self.assertIsInstance(answer, bytes)
            found = re.match(rb"HTTP/1\.1 (\d\d\d) ", answer)
            self.assertTrue(found, answer)
            self.assertIn(int(found[1]), statuses, answer)
            counts[int(found[1])] += 1
        return [counts[status] for status in statuses]

    def expect_rest(self, subject, seconds=SATURATED_SECONDS):
        """Checks that the server hardly runs for a while."""
        before = cpu_seconds(subject)
        time.sleep(seconds)
        used = cpu_seconds(subject) - before
        self.assertLess(used, seconds * CPU_SHARE_MAX + 0.011)


@on_backends
class Descriptors(Case):
    def test_clients_that_stay_are_all_answered(self):
        subject = self.start(descriptors_max=DESCRIPTORS_MAX)
        # None of them leaves: those that idle must make room.
        before = cpu_seconds(subject)
        started = time.monotonic()
        clients = self.connect_all(subject, CLIENTS, HELLO)
        answers = collect(clients, 20)
        self.expect_statuses(answers, 200)
        elapsed = time.monotonic() - started
        used = cpu_seconds(subject) - before
        self.assertLess(used, elapsed * CPU_SHARE_MAX + 0.05)
        self.close_all(clients)
        self.assertEqual(
            subject.await_statistics(connections=1)["refused"], 0
        )

    def test_clients_that_wait_less_than_the_bound_get_their_answer(self):
        subject = self.start(descriptors_max=DESCRIPTORS_MAX)
        clients = self.connect_all(subject, CLIENTS, delay(300))
        answers = collect(clients, 20)
        self.expect_statuses(answers, 200)
        # While others wait, a connection ends with its answer.
        self.assertIn(b"\r\nConnection: close\r\n", answers[0])
        self.close_all(clients)
        subject.await_statistics(connections=1)

    def test_a_server_that_is_stuck_rests_and_then_answers_503(self):
        subject = self.start(
            "--overload-timeout", "1200", descriptors_max=DESCRIPTORS_MAX
        )
        clients = self.connect_all(subject, CLIENTS, delay(3000))
        self.expect_rest(subject)
        answers = collect(clients, 20)
        served, refused = self.expect_statuses(answers, 200, 503)
        self.assertGreater(served, 30)
        self.assertGreater(refused, 100)
        for answer in answers:
            if b" 503 " in answer:
                self.assertIn(b"\r\nRetry-After: 1\r\n", answer)
                self.assertIn(b"\r\nConnection: close\r\n", answer)
        self.close_all(clients)
        found = subject.await_statistics(connections=1)
        self.assertEqual(found["refused"], refused)

    def test_a_long_request_that_is_turned_away_reads_the_503(self):
        subject = self.start(
            "--overload-timeout", "200", descriptors_max=DESCRIPTORS_MAX
        )
        held = self.connect_all(subject, CLIENTS // 2, delay(2000))
        upload = subject.connect()
        self.addCleanup(upload.close)
        upload.send(
            b"POST /upload HTTP/1.1\r\nHost: a\r\n"
            b"Content-Length: 60000\r\n\r\n" + b"x" * 60000
        )
        self.assertEqual(upload.answer().status, 503)
        upload.expect_end()
        self.expect_statuses(collect(held, 20), 200, 503)
        self.close_all(held)

    def test_used_up_descriptors_harm_nobody_where_nobody_waits(self):
        subject = self.start(descriptors_max=DESCRIPTORS_MAX)
        free = DESCRIPTORS_MAX - self.fewest_descriptors(subject)
        clients = self.connect_all(subject, free, HELLO)
        self.expect_statuses(collect(clients, 10), 200)
        self.expect_rest(subject, 1.5)
        for client in clients:
            client.send(HELLO)
            answer = client.answer()
            self.assertEqual(answer.body, b"hello")
            self.assertFalse(answer.closes())
        self.close_all(clients)


@on_backends
class Start(Case):
    """Lets workers open what they need while descriptors run out."""

    WORKERS = ("--workers", "4", "--overload-timeout", "200")

    def test_clients_take_no_descriptor_from_workers_that_still_start(self):
        for _ in range(4):
            subject = Subject(
                self.backend,
                *self.WORKERS,
                transport=self.transport,
                descriptors_max=DESCRIPTORS_MAX,
            )
            try:
                # The listen queue takes them before any worker serves.
                clients = self.connect_all(subject, CLIENTS, delay(30))
                self.expect_statuses(collect(clients, 20), 200, 503)
                self.close_all(clients)
            finally:
                self.expect_good_end(subject)

    def test_all_workers_serve_or_none(self):
        ends = set()
        for descriptors_max in range(10, 60):
            try:
                subject = Subject(
                    self.backend,
                    *self.WORKERS,
                    transport=self.transport,
                    descriptors_max=descriptors_max,
                )
            except RuntimeError:
                # It could not even open its listening sockets.
                continue
            try:
                ends.add(self.end_of(subject))
            finally:
                subject.stop()
        # It may be that no limit leaves exactly the spare descriptors.
        self.assertEqual(ends | {503}, {200, 503, "says why"})

    def end_of(self, subject):
        try:
            with subject.connect() as client:
                client.send(HELLO)
                status = client.answer().status
        # The socket file may have gone with a server that has ended.
        except (EOFError, ConnectionError, FileNotFoundError):
            self.assertNotEqual(subject.process.wait(10), 0)
            output = subject.process.stdout.read()
            subject.stop()
            everything = output + b"".join(subject.log())
            self.assertIn(b"net.no_descriptors serve", everything)
            return "says why"
        self.assertEqual(subject.stop(), 0)
        return status


@on_backends
class Connections(Case):
    def test_a_full_server_rests_and_goes_on_at_the_first_free_slot(self):
        subject = self.start("--connections", str(CONNECTIONS_MAX))
        held = self.connect_all(subject, CONNECTIONS_MAX, delay(30_000))
        late = self.connect_all(subject, 50, HELLO)
        self.expect_rest(subject)
        self.assertEqual(set(collect(late, 0.05)), {b""})
        held[0].close()
        started = time.monotonic()
        # In the order in which they came, as each of them leaves.
        for client in late:
            self.assertEqual(client.answer().body, b"hello")
            client.close()
        self.assertLess(time.monotonic() - started, 2)
        self.close_all(held)

    def test_who_still_waits_behind_the_first_is_not_forgotten(self):
        subject = self.start("--connections", str(CONNECTIONS_MAX))
        held = self.connect_all(subject, CONNECTIONS_MAX, HELLO)
        self.expect_statuses(collect(held, 10), 200)
        late = self.connect_all(subject, 20, HELLO)
        # A slot becomes free before anybody has idled for long.
        held.pop().close()
        self.expect_statuses(collect(late, 8), 200)
        self.close_all(held + late)

    def test_who_finds_no_slot_stays_in_the_listen_queue(self):
        # Another worker may still accept them if this one dies.
        subject = self.start("--connections", str(CONNECTIONS_MAX))
        before = subject.descriptors()
        clients = self.connect_all(subject, 8 * CONNECTIONS_MAX, delay(100))
        most = 0
        for client in clients:
            most = max(most, subject.descriptors())
            self.assertEqual(client.answer().status, 200)
            client.close()
        # One more is accepted, so that it is seen that somebody waits.
        self.assertLessEqual(most, before + CONNECTIONS_MAX + 1)
        self.assertGreaterEqual(most, before + CONNECTIONS_MAX)

    def test_connections_that_idle_make_room_for_who_waits(self):
        subject = self.start("--connections", str(CONNECTIONS_MAX))
        held = self.connect_all(subject, CONNECTIONS_MAX, HELLO)
        self.expect_statuses(collect(held, 10), 200)
        started = time.monotonic()
        late = self.connect_all(subject, 1, HELLO)
        self.assertEqual(late[0].answer().body, b"hello")
        elapsed = time.monotonic() - started
        self.assertGreater(elapsed, 0.5)
        self.assertLess(elapsed, 3)
        self.close_all(held + late)


@on_backends
class Buffers(Case):
    def test_requests_wait_where_receive_buffers_run_out(self):
        subject = self.start("--receive-buffers", "64")
        clients = self.connect_all(subject, CLIENTS, delay(200))
        self.expect_statuses(collect(clients, 20), 200)
        for client in clients:
            client.send(HELLO)
        self.expect_statuses(collect(clients, 10), 200)
        self.close_all(clients)
        subject.await_statistics(connections=1)

    def test_a_server_without_receive_buffers_rests(self):
        subject = self.start("--receive-buffers", "64")
        clients = self.connect_all(subject, CLIENTS, delay(1500))
        self.expect_rest(subject)
        self.expect_statuses(collect(clients, 20), 200)
        self.close_all(clients)


@on_each_backend
class SlowTurns:
    def test_a_handler_that_does_not_wait_is_counted_and_logged(self):
        client = self.connect()
        before = self.subject.statistics()["slow_turns"]
        for _ in range(3):
            client.send(b"GET /busy/150 HTTP/1.1\r\nHost: a\r\n\r\n")
            self.assertEqual(client.answer().body, b"busy")
        after = self.subject.statistics()["slow_turns"]
        self.assertGreaterEqual(after - before, 3)
        lines = self.subject.await_log(rb"busy for")
        self.assertRegex(
            lines[0],
            rb"^flare: worker 0 was busy for \d{3} ms in one turn;"
            rb" its newest request is \d+$",
        )
        # One a second at most.
        self.assertLessEqual(len(lines), 1 + after - before - 2)


if __name__ == "__main__":
    unittest.main()

"""Stops the real server under WebSockets in every state: each is told so."""

import os
import re
import signal
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.subject import (  # noqa: E402
    Subject,
    build,
    on_each_backend,
)
from loopback.ws_client import (  # noqa: E402
    BINARY,
    CLOSE,
    PING,
    SOURCE,
    TEXT,
    WsClient,
    close_frame,
    frame,
    handshake,
    header,
)

DEFLATE_FIELD = "Sec-WebSocket-Extensions: permessage-deflate"
# The limit of the program, with `--short`.
SHUTDOWN_SECONDS = 3.0
LONG = b"x" * (1 << 20)
WHO = b"GET /who HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"


def setUpModule():
    build(SOURCE)


class Case:
    def start(self, *options, **more):
        subject = Subject(self.backend, *options, source=SOURCE, **more)
        self.addCleanup(subject.stop)
        return subject

    def open(self, subject, path="/echo", *lines, **options):
        client = WsClient(
            subject.port, path, *lines, secure=subject.secure, **options
        )
        self.addCleanup(client.close)
        return client

    def who(self, subject):
        """Gives the process and the worker that answer a new connection."""
        with subject.connect() as client:
            client.send(WHO)
            return [int(x) for x in client.answer().body.split()]

    def expect_going_away(self, client, octets_before=0):
        """Reads to the Close, which says that the server stops; answers it."""
        self.assertEqual(client.until_close(), (1001, octets_before))
        client.send_quietly(close_frame(1001))
        self.assertTrue(client.has_ended())
        client.close()

    def expect_exit(self, subject, began):
        self.assertEqual(subject.process.wait(SHUTDOWN_SECONDS + 5), 0)
        # Handlers in a long wait are cut off after `shutdown_timeout_ms`.
        self.assertLess(time.monotonic() - began, SHUTDOWN_SECONDS + 1)


class Mixed(Case):
    def test_each_of_a_thousand_gets_its_last_message_and_1001(self):
        for workers, secure in (("1", False), ("2", False), ("2", True)):
            with self.subTest(workers=workers, secure=secure):
                self.stop_all(workers, secure)

    def stop_all(self, workers, secure):
        subject = self.start(
            "--short", "--no-pings", "--workers", workers, secure=secure
        )
        groups = {
            "idle": [self.open(subject) for _ in range(280)],
            "in a message": [self.open(subject) for _ in range(100)],
            "in a frame": [self.open(subject) for _ in range(100)],
            "unread": [
                self.open(subject, receive_octets=4096) for _ in range(40)
            ],
            "waiting": [self.open(subject, "/wait") for _ in range(60)],
            "closing": [self.open(subject, "/topics") for _ in range(50)],
            "compressed": [
                self.open(subject, "/dedicated", DEFLATE_FIELD)
                for _ in range(100)
            ],
            "subscribed": [self.open(subject, "/topics") for _ in range(100)],
            "writing": [self.open(subject, "/write") for _ in range(50)],
            "asking": [self.open(subject, "/ask") for _ in range(50)],
            "slow": [
                self.open(subject, "/topics", receive_octets=4096)
                for _ in range(20)
            ],
        }
        half = [subject.connect() for _ in range(50)]
        for client in half:
            self.addCleanup(client.close)
        for client in groups["waiting"]:
            client.expect(TEXT, b"waiting")
        for client in groups["asking"]:
            client.expect(TEXT, b"waiting")
            self.assertEqual(client.frame()[0], PING)
        for client in groups["writing"]:
            client.expect(0x01, b"waiting")
        for client in groups["compressed"]:
            client.send_frame(TEXT, b"hello")
            client.expect(TEXT, b"hello")
        for client in groups["subscribed"]:
            client.send_frame(TEXT, b"join room")
            client.frame()
        for i, client in enumerate(groups["slow"]):
            client.send_frame(TEXT, (b"latest news", b"skip news")[i % 2])
            client.frame()
        # What the slow ones do not read waits for them.
        for path in (b"room/1/5", b"news/100/20000"):
            with subject.connect() as client:
                client.send(
                    b"GET /publish/loop/%s HTTP/1.1\r\nHost: a\r\n\r\n" % path
                )
                client.answer()
        for client in half:
            client.send(handshake()[:-20])
        for client in groups["unread"]:
            client.send_frame(BINARY, LONG)
            # Its echo begins once all of it was received.
            client.await_octets()
        # What pauses in a message is given up after half a second.
        for client in groups["closing"]:
            client.send_frame(TEXT, b"leave")
            self.assertEqual(client.frame()[0], CLOSE)
        for client in groups["in a message"]:
            client.send(frame(1, b"par"))
        for client in groups["in a frame"]:
            client.send(header(TEXT, 1000) + b"x")
        subject.await_statistics(sockets=950)
        began = time.monotonic()
        subject.process.terminate()
        # Half a second after its Close, a socket ends.
        for client in groups["slow"]:
            code, octets = client.until_close()
            self.assertEqual((code, octets % 20000), (1001, 0))
            client.close()
        for client in groups["unread"]:
            self.expect_going_away(client, len(LONG))
        for name, clients in groups.items():
            for client in clients:
                if name not in ("unread", "closing", "slow"):
                    self.expect_going_away(
                        client, 5 if name == "subscribed" else 0
                    )
        for client in groups["closing"]:
            # It has its Close.
            client.send_quietly(close_frame(4000))
            client.expect_end()
        for client in half:
            client.has_ended()
        self.expect_exit(subject, began)

    def test_handshake_that_ends_while_the_server_stops_gets_503(self):
        subject = self.start("--short")
        holder = self.open(subject, "/wait")
        holder.expect(TEXT, b"waiting")
        client = subject.connect()
        self.addCleanup(client.close)
        client.send(handshake()[:-2])
        subject.await_statistics(connections=3)
        began = time.monotonic()
        subject.process.terminate()
        self.assertEqual(holder.until_close()[0], 1001)
        client.send(b"\r\n")
        answer = client.answer()
        self.assertEqual(answer.status, 503)
        self.assertTrue(answer.closes())
        self.expect_exit(subject, began)

    def test_second_signal_does_not_wait(self):
        subject = self.start("--short")
        clients = [self.open(subject, "/wait") for _ in range(20)]
        for client in clients:
            client.expect(TEXT, b"waiting")
        began = time.monotonic()
        subject.process.terminate()
        for client in clients:
            self.assertEqual(client.until_close()[0], 1001)
        subject.process.terminate()
        self.assertEqual(subject.process.wait(5), 0)
        self.assertLess(time.monotonic() - began, SHUTDOWN_SECONDS)


class Processes(Case):
    def test_supervised_workers_say_so_too(self):
        subject = self.start("--short", "--supervise", "--workers", "2")
        clients = [self.open(subject) for _ in range(40)]
        for client in clients:
            client.send_frame(TEXT, b"hello")
            client.expect(TEXT, b"hello")
        began = time.monotonic()
        subject.process.terminate()
        for client in clients:
            self.expect_going_away(client)
        self.expect_exit(subject, began)

    def test_topics_of_supervised_workers_are_their_own(self):
        subject = self.start("--short", "--supervise", "--workers", "2")
        by_worker = self.join_on_both(subject)
        by_worker[0][0].send_frame(TEXT, b"news")
        for client in by_worker[0][1:]:
            client.expect(TEXT, b"news")
        for client in by_worker[1]:
            client.send_frame(0x89, b"?")
            client.expect(0x8A, b"?")

    def test_worker_that_dies_takes_its_own_sockets_only(self):
        subject = self.start("--short", "--supervise", "--workers", "2")
        by_worker = self.join_on_both(subject)
        victim = next(
            process
            for process, worker in iter(lambda: self.who(subject), None)
            if worker == 0
        )
        os.kill(victim, signal.SIGKILL)
        for client in by_worker[0]:
            # A peer sees the end without a Close, which is 1006 to it.
            self.assertTrue(client.has_ended())
        for client in by_worker[1]:
            client.send_frame(TEXT, b"who")
            client.expect(TEXT, b"1")
        subject.await_log(rb"worker 0 .*")
        self.open(subject).close()

    def test_sockets_stay_with_the_server_that_is_replaced(self):
        subject = self.start("--short")
        clients = [self.open(subject) for _ in range(20)]
        with subject.connect() as client:
            client.send(b"GET /hand-over HTTP/1.1\r\nHost: a\r\n\r\n")
            text = client.answer().body.decode()
        self.assertTrue(re.fullmatch(r"\d+", text), text)
        second = int(text)
        try:
            # The present sockets are told to come back, and reach the other.
            for client in clients:
                self.expect_going_away(client)
            self.assertEqual(subject.process.wait(5), 0)
            self.assertEqual(self.who(subject)[0], second)
            client = self.open(subject)
            client.send_frame(TEXT, b"hello")
            client.expect(TEXT, b"hello")
        finally:
            os.kill(second, signal.SIGKILL)

    def join_on_both(self, subject):
        """Opens sockets in a topic until each worker has three."""
        by_worker = {0: [], 1: []}
        for _ in range(200):
            client = self.open(subject, "/topics")
            client.send_frame(TEXT, b"join room")
            client.expect(TEXT, b"joined")
            client.send_frame(TEXT, b"who")
            by_worker[int(client.frame()[1])].append(client)
            if min(map(len, by_worker.values())) >= 3:
                return by_worker
        raise AssertionError(by_worker)


for cases in (Mixed, Processes):
    on_each_backend(cases, unittest.TestCase)


if __name__ == "__main__":
    unittest.main()

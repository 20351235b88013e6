"""Publishes to WebSockets of two workers, some of which never read."""

import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.bystander import P99_MILLISECONDS_MAX, Bystander  # noqa: E402
from loopback.subject import build, on_each_backend  # noqa: E402
from loopback.ws_client import (  # noqa: E402
    PING,
    PONG,
    SOURCE,
    TEXT,
    WsClient,
    close_frame,
)

MIB = 1 << 20


def setUpModule():
    build(SOURCE)


@on_each_backend
class Topics:
    source = SOURCE
    options = ("--workers", "2")

    @classmethod
    def _await_both_workers(cls):
        seen = set()
        deadline = time.monotonic() + 10
        while len(seen) < 2 and time.monotonic() < deadline:
            with cls.subject.connect() as client:
                client.send(b"GET /who HTTP/1.1\r\nHost: a\r\n\r\n")
                seen.add(client.answer().body)

    @classmethod
    def warm_up(cls):
        crowd = [WsClient(cls.subject.port) for _ in range(100)]
        for client in crowd:
            client.close()
        cls.subject.await_statistics(sockets=0)

    def join(self, topic, each, how=b"join", **options):
        """Opens subscribers until each worker has some; gives them by worker."""
        found = {b"0": [], b"1": []}
        for _ in range(200):
            client = WsClient(self.subject.port, "/topics", **options)
            self.addCleanup(client.close)
            client.send_frame(TEXT, b"who")
            mine = found[client.frame()[1]]
            if len(mine) >= each:
                client.close()
                continue
            client.send_frame(TEXT, how + b" " + topic)
            client.expect(TEXT, b"joined")
            mine.append(client)
            if min(map(len, found.values())) == each:
                return found[b"0"], found[b"1"]
        raise AssertionError("all sockets are on one worker")

    def publish(self, where, topic, count, octets):
        with self.subject.connect() as client:
            client.send(
                b"GET /publish/%s/%s/%d/%d HTTP/1.1\r\nHost: a\r\n"
                b"Connection: close\r\n\r\n" % (where, topic, count, octets)
            )
            self.assertEqual(client.answer().body, b"%d" % count)

    def test_message_of_one_worker_reaches_the_subscribers_of_both(self):
        first, second = self.join(b"room", 5)
        for sender in (first[0], second[0]):
            for i in range(50):
                sender.send_frame(TEXT, b"message %d" % i)
            for client in first + second:
                if client is sender:
                    continue
                for i in range(50):
                    client.expect(TEXT, b"message %d" % i)
            # The publisher gets none of its own.
            sender.send_frame(PING, b"?")
            sender.expect(PONG, b"?")

    def test_any_thread_publishes_to_both_workers(self):
        first, second = self.join(b"news", 5)
        for where in (b"loop", b"thread"):
            self.publish(where, b"news", 100, 1024)
            for client in first + second:
                for _ in range(100):
                    client.expect(TEXT, b"x" * 1024)

    def test_any_thread_sends_to_one_socket(self):
        first, second = self.join(b"one", 2)
        for client in first + second:
            client.send_frame(TEXT, b"thread")
        for client in first + second:
            client.expect(TEXT, b"from a thread")

    def test_subscriber_that_stops_reading_is_closed_and_holds_nobody_up(self):
        slow = sum(self.join(b"feed", 2, receive_octets=4096), [])
        quick = sum(self.join(b"feed", 3), [])
        subject = self.subject
        before = subject.statistics()["closed_1013"]
        subject.forget_peak()
        resident = subject.resident_octets()
        beside = Bystander(subject, "ws")
        sent, slowest = 0, 0.0
        deadline = time.monotonic() + 20
        while subject.statistics()["closed_1013"] < before + len(slow):
            self.assertLess(time.monotonic(), deadline)
            began = time.monotonic()
            self.publish(b"thread", b"feed", 50, 1024)
            sent += 50
            for client in quick:
                for _ in range(50):
                    client.expect(TEXT, b"x" * 1024)
            slowest = max(slowest, time.monotonic() - began)
            if sent * 1024 > 8 * MIB:
                break
        _, p99 = beside.end()
        self.assertLess(p99, P99_MILLISECONDS_MAX)
        self.assertLess(slowest, 0.5)
        # 64 KiB of output and 256 KiB of held messages for each, and what the
        # kernel buffers.
        grown = subject.resident_octets("VmHWM") - resident
        self.assertLess(grown, len(slow) * 512 * 1024 + MIB)
        for client in slow:
            code, octets = client.until_close()
            self.assertEqual(code, 1013)
            self.assertEqual(octets % 1024, 0)
            self.assertLess(octets, sent * 1024)
            client.send_quietly(close_frame(1013))
            self.assertTrue(client.has_ended())
        subject.await_statistics(closed_1013=before + len(slow))

    def test_slow_subscriber_of_prices_gets_the_newest(self):
        slow = sum(self.join(b"price", 2, b"latest", receive_octets=4096), [])
        for _ in range(40):
            self.publish(b"thread", b"price", 250, 1024)
        self.publish(b"thread", b"price", 1, 7)
        for client in slow:
            got = 0
            while (payload := client.frame()[1]) != b"x" * 7:
                self.assertEqual(len(payload), 1024)
                got += 1
            self.assertLess(got, 10_000)
        self.assertGreater(self.subject.statistics()["skipped"], 0)


if __name__ == "__main__":
    unittest.main()

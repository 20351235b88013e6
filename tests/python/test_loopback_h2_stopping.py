"""Stops the real server while streams of HTTP/2 wait: their clients are told twice,
and get what they asked for."""

import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.h2_client import H2Client  # noqa: E402
from loopback.subject import (  # noqa: E402
    H2_TRANSPORTS,
    Subject,
    build,
    on_each_backend,
)

NO_ERROR = 0
# The number of no stream: all that were begun are still taken.
LAST_ID = (1 << 31) - 1
EXIT_SECONDS_MAX = 8


def setUpModule():
    build()


class Stopping:
    def start(self, *options):
        subject = Subject(self.backend, *options, transport=self.transport)
        self.addCleanup(subject.stop)
        return subject

    def open(self, subject):
        client = H2Client(subject)
        self.addCleanup(client.close)
        client.ping()
        return client

    def test_what_was_begun_is_answered_and_the_client_is_told_twice(self):
        subject = self.start()
        client = self.open(subject)
        streams = [client.begin("GET", "/delay/300") for _ in range(20)]
        client.ping()
        started = time.monotonic()
        subject.process.terminate()
        self.assertEqual(client.await_goaway(), (LAST_ID, NO_ERROR))
        for stream in streams:
            self.assertEqual(client.answer(stream).body, b"waited 300")
        self.assertEqual(client.await_goaway(2), (streams[-1], NO_ERROR))
        client.expect_end()
        self.assertEqual(subject.process.wait(EXIT_SECONDS_MAX), 0)
        self.assertLess(time.monotonic() - started, 3)

    def test_long_content_is_sent_to_its_end(self):
        subject = self.start()
        client = self.open(subject)
        whole = client.begin("GET", "/big/8000000")
        streamed = client.begin("GET", "/stream/8000000")
        upload = client.begin("POST", "/echo", ends=False)
        client.await_head(whole)
        client.await_head(streamed)
        subject.process.terminate()
        client.await_goaway()
        client.send(upload, b"x" * 500_000)
        self.assertEqual(len(client.answer(whole).body), 8_000_000)
        self.assertEqual(len(client.answer(streamed).body), 8_000_000)
        self.assertEqual(client.answer(upload).body, b"x" * 500_000)
        client.expect_end()
        self.assertEqual(subject.process.wait(EXIT_SECONDS_MAX), 0)

    def test_endless_streams_end_in_order(self):
        subject = self.start()
        client = self.open(subject)
        feeds = [client.begin("GET", "/events") for _ in range(50)]
        for stream in feeds:
            client.await_head(stream)
        started = time.monotonic()
        subject.process.terminate()
        for stream in feeds:
            self.assertIsNone(client.answer(stream).reset)
        client.expect_end()
        self.assertEqual(subject.process.wait(EXIT_SECONDS_MAX), 0)
        self.assertLess(time.monotonic() - started, 3)

    def test_an_idle_client_is_told_and_left(self):
        subject = self.start()
        client = self.open(subject)
        client.ask("GET", "/")
        subject.process.terminate()
        self.assertEqual(client.await_goaway(2), (1, NO_ERROR))
        client.expect_end()
        self.assertEqual(subject.process.wait(EXIT_SECONDS_MAX), 0)


on_each_backend(Stopping, unittest.TestCase, H2_TRANSPORTS)


if __name__ == "__main__":
    unittest.main()

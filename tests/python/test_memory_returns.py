"""Attacks the real server, and waits for it to give the memory back.

Each attack makes a worker hold what it holds at most for a crowd. When the
crowd has left, the resident memory must come back to that of an idle server,
but for what the allocator of Mojo keeps of small blocks.
"""

import resource
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

LEFT_MIB_MAX = 8
RETURN_SECONDS_MAX = 60
HELLO = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"


def setUpModule():
    build()
    # The clients have as many descriptors as the server.
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def resident_mib(process):
    """Gives the resident memory of a process."""
    with open(f"/proc/{process.pid}/statm") as statm:
        return int(statm.read().split()[1]) * 4096 / (1 << 20)


class Returns:
    """Compares memory before an attack with memory after it."""

    def setUp(self):
        self.subject = Subject(self.backend, transport=self.transport)
        self.addCleanup(self.subject.stop)
        # Once everything was used a little.
        for client in self.open(8, HELLO):
            client.answer()
            client.close()
        self.subject.await_statistics(connections=1)
        self.idle_mib = resident_mib(self.subject.process)

    def open(self, count, octets, **options):
        """Opens connections, and sends on each."""
        clients = []
        for _ in range(count):
            client = self.subject.connect(**options)
            self.addCleanup(client.close)
            client.send(octets)
            clients.append(client)
        return clients

    def expect_return(self, clients, grown_mib_min):
        """Ends an attack and waits for the memory."""
        deadline = time.monotonic() + RETURN_SECONDS_MAX
        grown = self.grown_mib()
        while grown < grown_mib_min and time.monotonic() < deadline:
            time.sleep(0.01)
            grown = max(grown, self.grown_mib())
        self.assertGreaterEqual(grown, grown_mib_min, "that was no attack")
        # Who attacks holds on for a while.
        self.subject.await_statistics(connections=len(clients) + 1)
        time.sleep(1.2)
        for client in clients:
            client.reset()
        while self.grown_mib() > LEFT_MIB_MAX:
            if time.monotonic() > deadline:
                self.fail(f"{self.grown_mib():.1f} of {grown:.1f} MiB stay")
            time.sleep(0.05)
        self.subject.await_statistics(
            connections=1, served=0, fibers=0, buffered_octets=0
        )

    def grown_mib(self):
        return resident_mib(self.subject.process) - self.idle_mib


class Attacks(Returns):
    def test_long_heads_and_trailers(self):
        lines = b"".join(
            b"X-Line-%03d: %s\r\n" % (i, b"a" * 60) for i in range(90)
        )
        clients = self.open(
            700,
            b"POST /echo-late/60000 HTTP/1.1\r\nHost: a\r\n"
            b"Transfer-Encoding: chunked\r\n%s\r\n3\r\nabc\r\n0\r\n%s\r\n"
            % (lines, lines),
        )
        self.expect_return(clients, 20)

    def test_readers_that_are_slow(self):
        clients = self.open(
            100,
            b"GET /big/1000000 HTTP/1.1\r\nHost: a\r\n\r\n",
            receive_octets=4096,
        )
        self.expect_return(clients, 20)

    def test_readers_of_streams_that_are_slow(self):
        clients = self.open(
            400,
            b"GET /endless HTTP/1.1\r\nHost: a\r\n\r\n",
            receive_octets=4096,
        )
        self.expect_return(clients, 20)

    def test_uploads_that_do_not_end(self):
        clients = self.open(
            12,
            b"POST /upload HTTP/1.1\r\nHost: a\r\n"
            b"Content-Length: 10000000\r\n\r\n" + b"x" * 6_000_000,
        )
        self.expect_return(clients, 30)

    def test_handlers_that_went_deep(self):
        clients = self.open(
            300, b"GET /deep/120 HTTP/1.1\r\nHost: a\r\n\r\n"
        )
        self.expect_return(clients, 20)

    def test_connections_that_idle(self):
        clients = self.open(2000, HELLO)
        for client in clients:
            client.answer()
        self.expect_return(clients, 1)

    def test_pipelined_requests_whose_answers_nobody_reads(self):
        clients = self.open(
            100,
            b"GET /big/30000 HTTP/1.1\r\nHost: a\r\n\r\n" * 100,
            receive_octets=4096,
        )
        self.expect_return(clients, 15)


on_each_backend(Attacks, unittest.TestCase)


if __name__ == "__main__":
    unittest.main()

"""Counts the requests that a limit admits over several workers."""

import collections
import socket
import subprocess
import sys
import threading
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.subject import BACKENDS, ROOT, build  # noqa: E402

SOURCE = ROOT / "tests" / "programs" / "rate_limits.mojo"
REQUEST = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
LIMIT = 1000
WORKERS = 4
CLIENTS = 32


def setUpModule():
    build(SOURCE)


class RateLimits(unittest.TestCase):
    def start(self, backend, kind):
        server = subprocess.Popen(
            [build(SOURCE), backend, kind],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait, 10)
        self.addCleanup(server.terminate)
        return int(server.stdout.readline())

    def ask(self, place, count, statuses):
        """Sends requests on one connection, and counts the statuses."""
        with socket.create_connection(place, 10) as peer:
            peer.sendall(REQUEST * count)
            octets = b""
            while octets.count(b"HTTP/1.1 ") < count:
                received = peer.recv(65536)
                self.assertTrue(received, "the server closed")
                octets += received
            for answer in octets.split(b"HTTP/1.1 ")[1:]:
                statuses[answer[:3]] += 1

    def ask_from_all_sides(self, place, count):
        """Sends requests on many connections at once."""
        each = [collections.Counter() for _ in range(CLIENTS)]
        threads = [
            threading.Thread(target=self.ask, args=(place, count, statuses))
            for statuses in each
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return sum(each, collections.Counter())

    def test_all_workers_count_together(self):
        for backend in BACKENDS:
            port = self.start(backend, "exact")
            for place in (("127.0.0.1", port), ("::1", port)):
                with self.subTest(backend=backend, place=place):
                    statuses = self.ask_from_all_sides(place, 50)
                    self.assertEqual(
                        statuses, {b"200": LIMIT, b"429": CLIENTS * 50 - LIMIT}
                    )

    def test_each_worker_admits_its_part(self):
        for backend in BACKENDS:
            with self.subTest(backend=backend):
                port = self.start(backend, "parted")
                statuses = self.ask_from_all_sides(("127.0.0.1", port), 300)
                part, rest = divmod(statuses[b"200"], LIMIT // WORKERS)
                self.assertEqual(rest, 0, statuses)
                self.assertLessEqual(part, WORKERS)
                self.assertGreaterEqual(part, 2, "one worker got all")
                self.assertEqual(sum(statuses.values()), CLIENTS * 300)


if __name__ == "__main__":
    unittest.main()

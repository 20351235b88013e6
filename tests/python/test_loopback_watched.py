"""Watches and stops the real server, and reads its access log."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
import unittest
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.h2_client import H2Client  # noqa: E402
from loopback.subject import BACKENDS, ROOT, build  # noqa: E402

SOURCE = ROOT / "tests" / "programs" / "watched.mojo"
RECORD = re.compile(
    r"\d{10} worker=(\d+) id=(\d+) (\S+) (\S+) (\d+) (\d+) \d+ms"
    r" (HTTP/\d\.\d)"
)
PROGRAM = None


def setUpModule():
    global PROGRAM
    PROGRAM = build(SOURCE)


def get(path):
    return f"GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"


class WatchedTest(unittest.TestCase):
    def start(self, backend, workers=1, pin="pin"):
        process = subprocess.Popen(
            [PROGRAM, backend, str(workers), pin],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        self.addresses = []
        for _ in range(2):
            ip, port = process.stdout.readline().split()
            self.addresses.append((ip, int(port)))
        return process

    def ask(self, octets, address=None):
        """Gives all that the server sends until it closes."""
        with socket.create_connection(
            address or self.addresses[0], 10
        ) as client:
            client.sendall(octets.encode())
            parts = []
            while part := client.recv(1 << 16):
                parts.append(part)
        return b"".join(parts).decode()

    def ask_over_h2(self):
        server = SimpleNamespace(place=self.addresses[0][1], secure=False)
        with H2Client(server) as client:
            self.assertEqual(client.ask("GET", "/").status, 200)
            long = [("x-long", "x" * 9000)]
            self.assertEqual(client.ask("GET", "/", long).status, 431)
            self.assertEqual(client.ask("GET", "/nowhere?c").status, 404)

    def body(self, path, address=None):
        head, body = self.ask(get(path), address).split("\r\n\r\n", 1)
        self.assertTrue(head.startswith("HTTP/1.1 200 "), head)
        return body

    def each_backend(self):
        for backend in BACKENDS:
            with self.subTest(backend=backend):
                yield backend

    def test_the_access_log_has_one_line_for_each_answer(self):
        for backend in self.each_backend():
            process = self.start(backend)
            self.ask(get("/"))
            self.ask("GET / HTTP/1.1\r\n\r\n")
            self.ask(get("/nowhere?a=b"))
            self.ask(
                "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET\r\n\r\n"
            )
            self.ask(get("/" + "x" * 200))
            self.ask("GET / HTTP/1.0\r\n\r\n")
            self.ask_over_h2()
            process.send_signal(signal.SIGTERM)
            lines = process.communicate(timeout=20)[0].splitlines()
            found = []
            for line in lines:
                match = RECORD.fullmatch(line)
                self.assertIsNotNone(match, line)
                found.append(match.groups())
            long = "/" + "x" * 95 + "..."
            self.assertEqual(
                [record[:5] + record[6:] for record in found],
                [
                    ("0", "1", "GET", "/", "200", "HTTP/1.1"),
                    ("0", "0", "OTHER", "-", "400", "HTTP/1.1"),
                    ("0", "2", "GET", "/nowhere?a=b", "404", "HTTP/1.1"),
                    ("0", "3", "GET", "/", "200", "HTTP/1.1"),
                    ("0", "0", "OTHER", "-", "400", "HTTP/1.1"),
                    ("0", "4", "GET", long, "404", "HTTP/1.1"),
                    ("0", "5", "GET", "/", "200", "HTTP/1.0"),
                    ("0", "6", "GET", "/", "200", "HTTP/2.0"),
                    ("0", "7", "OTHER", "-", "431", "HTTP/2.0"),
                    ("0", "8", "GET", "/nowhere?c", "404", "HTTP/2.0"),
                ],
            )
            self.assertEqual(found[0][5], "5")

    def test_every_address_answers_on_every_worker(self):
        for backend in self.each_backend():
            self.start(backend, workers=2)
            self.assertEqual(
                [ip for ip, _ in self.addresses], ["127.0.0.1", "127.0.0.2"]
            )
            for address in self.addresses:
                self.assertEqual(set(self.cpus(address)), {"0", "1"})

    def test_workers_keep_to_one_cpu_only_if_pinned(self):
        allowed = len(os.sched_getaffinity(0))
        for backend in self.each_backend():
            for pin, expected in (("pin", 1), ("free", allowed)):
                self.start(backend, workers=2, pin=pin)
                found = self.cpus(self.addresses[0])
                self.assertEqual(found, {"0": expected, "1": expected}, pin)

    def cpus(self, address):
        """Asks until both workers have answered."""
        found = {}
        deadline = time.monotonic() + 10
        while len(found) < 2 and time.monotonic() < deadline:
            worker, count = self.body("/cpus", address).split()
            found[worker] = int(count)
        return found

    def test_a_handler_reads_the_counters_of_all_workers(self):
        for backend in self.each_backend():
            self.start(backend, workers=2)
            for _ in range(9):
                self.body("/")
            counts = [int(x) for x in self.body("/counts").split()]
            self.assertEqual(len(counts), 2)
            # The request that asks is counted too.
            self.assertEqual(sum(counts), 10)

    def test_a_handler_stops_the_server_without_waiting_for_others(self):
        for backend in self.each_backend():
            for workers in (1, 2):
                process = self.start(backend, workers)
                waiting = []
                for _ in range(8):
                    client = socket.create_connection(self.addresses[1], 10)
                    self.addCleanup(client.close)
                    client.sendall(get("/slow").encode())
                    waiting.append(client)
                self.await_requests(8)
                try:
                    self.ask(get("/stop"))
                except ConnectionResetError:
                    # The connection that asks is closed like the others.
                    pass
                self.assertEqual(process.wait(5), 0)
                for client in waiting:
                    self.assertNotIn(b"too late", self.rest(client))

    def await_requests(self, count):
        """Waits until as many requests were counted, without its own."""
        deadline = time.monotonic() + 10
        asked = 0
        while time.monotonic() < deadline:
            asked += 1
            counts = self.body("/counts").split()
            if sum(int(x) for x in counts) >= count + asked:
                return
        self.fail("the requests did not arrive")

    def rest(self, client):
        parts = []
        try:
            while part := client.recv(1 << 16):
                parts.append(part)
        except ConnectionResetError:
            pass
        return b"".join(parts)


if __name__ == "__main__":
    unittest.main()

"""Asks for the same files as others do, who leave, stay or come late."""

import os
import socket
import struct
import sys
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.file_server import SECONDS_MAX, SOURCE, FileCase  # noqa: E402
from loopback.subject import build  # noqa: E402

# Is read by a helper thread, and kept.
MIDDLE = 900_000
READ_SECONDS = 0.3
CROWD = 8
SLOW = 200
# A cache of 64 MiB with a quarter more, and what else a server of so many
# connections takes.
SLOW_KIB_MAX = 110 * 1024


def setUpModule():
    build(SOURCE)


def request(name):
    return f"GET /files/{name} HTTP/1.1\r\nHost: a\r\n\r\n".encode()


class FilesInCrowds(FileCase):
    def reading_slowly(self, seconds=READ_SECONDS):
        reads = self.outside / "reads"
        reads.touch()
        return self.servers_with_faults(
            READS=reads, READ_DELAY_MS=int(seconds * 1000)
        )

    def open(self, server):
        client = socket.create_connection(
            ("127.0.0.1", server.port), SECONDS_MAX
        )
        self.addCleanup(client.close)
        return client

    def reset(self, client):
        client.setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )
        client.close()

    def test_who_leaves_takes_the_file_from_nobody(self):
        whole = os.urandom(MIDDLE)
        for server in self.reading_slowly():
            for end in ("reset", "half-close"):
                name = f"{end}.bin"
                self.write(name, whole)
                first = self.open(server)
                first.sendall(request(name))
                time.sleep(READ_SECONDS / 4)
                crowd = [self.connect(server) for _ in range(CROWD)]
                for client in crowd:
                    client.request("GET", f"/files/{name}")
                time.sleep(READ_SECONDS / 4)
                if end == "reset":
                    self.reset(first)
                else:
                    first.shutdown(socket.SHUT_WR)
                for client in crowd:
                    answer = client.getresponse()
                    self.assertEqual((answer.status, answer.read()), (200, whole))
                (self.folder / name).unlink()

    def test_a_client_that_comes_late_gets_the_file_of_its_time(self):
        for server in self.reading_slowly():
            path = self.write("a.bin", b"1" * MIDDLE)
            first = self.connect(server)
            first.request("GET", "/files/a.bin")
            time.sleep(READ_SECONDS * 0.7)
            self.write("new", b"2" * MIDDLE).rename(path)
            # A helper thread has opened the earlier file, and is reading it.
            status, _, octets = self.ask(self.connect(server), "a.bin")
            self.assertEqual((status, octets[:1]), (200, b"2"))
            # On a busy machine, it may have begun late itself.
            self.assertIn(first.getresponse().read()[:1], (b"1", b"2"))

    def test_another_root_is_seen_while_files_are_read(self):
        roots = [self.folder, self.outside]
        for root, octets in zip(roots, (b"one", b"two"), strict=True):
            (root / "v.txt").write_bytes(octets)
            for i in range(64):
                (root / f"{i}.bin").write_bytes(bytes(MIDDLE))
        link = self.outside / "root"
        for server in self.linked(link, roots[0]):
            self.assertEqual(self.ask(self.connect(server), "v.txt")[2], b"one")
            is_over = threading.Event()

            def ask_on(start, server=server, is_over=is_over):
                i = start
                while not is_over.is_set():
                    self.ask_once(server, f"{i % 64}.bin", "HEAD")
                    i += 1

            # At any time, one of them is being read.
            crowd = [
                threading.Thread(target=ask_on, args=(16 * i,)) for i in range(4)
            ]
            for each in crowd:
                each.start()
            try:
                time.sleep(READ_SECONDS)
                (self.outside / "next").symlink_to(roots[1])
                (self.outside / "next").rename(link)
                time.sleep(0.3)
                found = self.ask(self.connect(server), "v.txt")[2]
            finally:
                is_over.set()
                for each in crowd:
                    each.join()
            self.assertEqual(found, b"two")

    def linked(self, link, target):
        """Starts servers of a folder to which a link leads."""
        self.folder = link
        link.symlink_to(target)
        for server in self.reading_slowly():
            yield server
            server.kill()
            link.unlink()
            link.symlink_to(target)

    def test_readers_that_stop_hold_no_more_than_the_cache(self):
        for i in range(SLOW):
            with open(self.folder / f"{i}.bin", "wb") as file:
                file.truncate(MIDDLE)
        for server in self.servers():
            self.ask(self.connect(server), "0.bin")
            before = self.resident_kib(server)
            crowd = []
            for i in range(SLOW):
                client = socket.socket()
                self.addCleanup(client.close)
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                client.connect(("127.0.0.1", server.port))
                # The second one waits for the first, and holds it up.
                client.sendall(request(f"{i}.bin") * 4)
                crowd.append(client)
            for client in crowd:
                client.settimeout(SECONDS_MAX)
                self.assertTrue(client.recv(64).startswith(b"HTTP/1.1 200"))
            time.sleep(0.5)
            # A busy machine reads later than the clients ask, and gives free
            # memory back later.
            deadline = time.monotonic() + SECONDS_MAX
            held = self.resident_kib(server) - before
            while held >= SLOW_KIB_MAX and time.monotonic() < deadline:
                time.sleep(0.1)
                held = self.resident_kib(server) - before
            self.assertLess(held, SLOW_KIB_MAX)
            self.assertEqual(self.ask(self.connect(server), "1.bin")[0], 200)

    def resident_kib(self, server):
        status = Path(f"/proc/{server.process.pid}/status").read_text()
        (line,) = [x for x in status.splitlines() if "VmRSS" in x]
        return int(line.split()[1])

    def test_a_long_sibling_holds_nobody_up(self):
        self.write("short.js", b"short")
        self.write("short.js.br", bytes(MIDDLE))
        for server in self.reading_slowly(seconds=2):
            slow = self.connect(server)
            slow.request("GET", "/files/short.js")
            time.sleep(0.2)
            began = time.monotonic()
            self.assertEqual(self.ask(self.connect(server), "none")[0], 404)
            self.assertLess(time.monotonic() - began, 1)
            self.assertEqual(slow.getresponse().read(), b"short")


if __name__ == "__main__":
    unittest.main()

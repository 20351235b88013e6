"""Proves that a request, and a message of a WebSocket, allocates nothing once
the server runs.

Mojo's allocator and libc's are both counted from outside, by a preloaded
library (count_allocations.c).
"""

import mmap
import os
import pathlib
import re
import socket
import struct
import subprocess
import tempfile
import unittest

from tested_programs import PROGRAMS, ROOT, build

BODY = b"x" * 100
REQUESTS = 2_000
ROUNDS_MAX = 5


def request(path):
    return (
        b"POST " + path + b" HTTP/1.1\r\n"
        b"Host: localhost\r\n"
        b"User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:120.0) Gecko/20100101\r\n"
        b"Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\n"
        b"Accept-Language: en-US,en;q=0.5\r\n"
        b"Accept-Encoding: gzip, deflate, br\r\n"
        b"Content-Length: 100\r\n\r\n" + BODY
    )


HANDSHAKE = (
    b"GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n"
    b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


def masked(payload):
    """Returns a text in a frame of a client."""
    length = len(payload)
    head = bytes([0x81, 0x80 | min(length, 126)])
    if length > 125:
        head += struct.pack(">H", length)
    key = b"\x01\x02\x03\x04"
    octets = bytes(o ^ key[i % 4] for i, o in enumerate(payload))
    return head + key + octets


class Http2Client:
    """Asks over HTTP/2 on a socket, some requests at a time. Each has another
    line that the server puts into its table."""

    AT_A_TIME = 50
    # :method POST and :scheme http. The authority and the user agent are inserted
    # into the table at each use.
    TARGET = b"\x83\x86\x41\x09localhost\x04"
    FIELDS = b"\x0f\x0d\x03100" + b"\x7a\x0bMozilla/5.0"

    def __init__(self, test):
        self.test = test
        self.stream = -1
        self.unread = b""

    @staticmethod
    def frame(kind, flags, stream, payload):
        """Gives the octets of a frame."""
        length = struct.pack(">I", len(payload))[1:]
        return length + struct.pack(">BBI", kind, flags, stream) + payload

    def ask(self, peer, path):
        """Sends the requests, and checks what answers them."""
        if self.stream < 0:
            peer.sendall(
                b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
                # A window for all content that will ever be received.
                + self.frame(4, 0, 0, struct.pack(">HI", 4, 1 << 30))
                + self.frame(8, 0, 0, struct.pack(">I", 1 << 30))
            )
            self.stream = 1
        for _ in range(REQUESTS // self.AT_A_TIME):
            octets = b""
            for _ in range(self.AT_A_TIME):
                octets += self.request(path)
            peer.sendall(octets)
            self.receive(peer)

    def request(self, path):
        """Gives the frames of the next request."""
        number = b"%08d" % self.stream
        block = self.TARGET + bytes([len(path)]) + path + self.FIELDS
        block += b"\x40\x08x-number" + bytes([len(number)]) + number
        frames = self.frame(1, 4, self.stream, block)
        frames += self.frame(0, 1, self.stream, BODY)
        self.stream += 2
        return frames

    def receive(self, peer):
        """Waits for as many whole answers as were asked for."""
        ended = 0
        while ended < self.AT_A_TIME:
            octets = peer.recv(65536)
            self.test.assertTrue(octets, "the server closed")
            self.unread += octets
            while len(self.unread) >= 9:
                end = 9 + int.from_bytes(self.unread[:3], "big")
                if len(self.unread) < end:
                    break
                kind, flags = self.unread[3:5]
                payload = self.unread[9:end]
                self.unread = self.unread[end:]
                self.test.assertNotIn(kind, (3, 7), "RST_STREAM or GOAWAY")
                if kind == 1:
                    self.test.assertEqual(payload[0], 0x88, "no 200")
                elif kind == 0:
                    self.check(flags, payload)
                    ended += flags & 1

    def check(self, flags, payload):
        """Checks a frame of content."""
        self.test.assertEqual((flags & 1, payload), (1, BODY))


class Http2Reader(Http2Client):
    """Asks for files that are so long that most answers wait for their turn."""

    # :method GET and :scheme http; Accept-Encoding is the static line.
    TARGET = b"\x82\x86\x41\x09localhost\x04"
    FIELDS = b"\x90"

    def request(self, path):
        block = self.TARGET + bytes([len(path)]) + path + self.FIELDS
        frame = self.frame(1, 5, self.stream, block)
        self.stream += 2
        return frame

    def check(self, flags, payload):
        self.test.assertEqual(payload, b"x" * len(payload))



class Allocations(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.program = build(PROGRAMS / "allocations.mojo")
        cls.library = os.path.join(cls.folder.name, "count.so")
        for name, octets in (
            ("page.html", 1000), ("page.html.br", 1000), ("page.html.gz", 1000),
            ("long.js", 90_000), ("long.js.gz", 30_000),
        ):
            path = os.path.join(cls.folder.name, name)
            pathlib.Path(path).write_bytes(b"x" * octets)
        subprocess.run(
            ["cc", "-O2", "-shared", "-fPIC", "-o", cls.library,
             ROOT / "tests" / "python" / "count_allocations.c", "-ldl"],
            check=True, timeout=60,
        )

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def count(self, backend, path, ask=None):
        ask = ask or self.ask
        with tempfile.NamedTemporaryFile() as file:
            file.truncate(4096)
            environment = dict(
                os.environ, LD_PRELOAD=self.library, FLARE_COUNTERS=file.name
            )
            server = subprocess.Popen(
                [self.program, backend], env=environment, cwd=self.folder.name,
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            )
            try:
                port = int(server.stdout.readline())
                counters = mmap.mmap(file.fileno(), 4096)
                with socket.create_connection(("127.0.0.1", port), 10) as peer:
                    ask(peer, path)
                    before = struct.unpack("<qq", counters[:16])
                    self.assertGreater(before[0], 0, "Mojo's allocations are not counted")
                    self.assertGreater(before[1], 0, "libc's allocations are not counted")
                    # What happens once in a while, such as a look at a file, is in
                    # some rounds. What each request does is in all of them.
                    least = None
                    for self.rounds in range(1, ROUNDS_MAX + 1):
                        ask(peer, path)
                        after = struct.unpack("<qq", counters[:16])
                        count = after[0] - before[0], after[1] - before[1]
                        least = min(least or count, count, key=sum)
                        before = after
                        if least == (0, 0):
                            break
                counters.close()
                return least
            finally:
                server.terminate()
                server.wait(10)
                server.stdout.close()

    def ask(self, peer, path):
        for _ in range(REQUESTS):
            peer.sendall(request(path))
            answer = b""
            while not answer.endswith(BODY):
                octets = peer.recv(4096)
                self.assertTrue(octets, "the server closed")
                answer += octets
            self.assertTrue(answer.startswith(b"HTTP/1.1 200 OK\r\n"))
            self.assertIn(b"X-Served-By: flare\r\n", answer)

    def ask_with_conditions(self, peer, tags):
        head = (
            b"GET /conditional HTTP/1.1\r\nHost: localhost\r\n"
            b"If-Match: \"6\", \"7\"\r\nIf-None-Match: " + tags + b"\r\n"
            b"If-Modified-Since: Sat, 01 Jan 2000 00:00:00 GMT\r\n"
            b"Range: bytes=0-0,300-300\r\nIf-Range: \"7\"\r\n\r\n"
        )
        end, status = b"\r\n\r\n", b"304"
        if b'"7"' not in tags:
            end, status = b"changed", b"200"
        for _ in range(REQUESTS):
            peer.sendall(head)
            answer = b""
            while not answer.endswith(end):
                octets = peer.recv(4096)
                self.assertTrue(octets, "the server closed")
                answer += octets
            self.assertTrue(answer.startswith(b"HTTP/1.1 " + status), answer)

    def test_conditions_and_ranges_allocate_nothing(self):
        for tags in (b'"5", W/"7"', b'"5", W/"6"'):
            count = self.count("io_uring", tags, self.ask_with_conditions)
            self.assertEqual(count, (0, 0))

    def ask_for_files(self, peer, fields):
        if b"None-Match" in fields:
            tag = self.answer(peer, b"")[0].split(b"ETag: ")[1].split(b"\r\n")[0]
            fields += tag + b"\r\n"
        for _ in range(REQUESTS):
            answer = self.answer(peer, fields)
        return answer

    def answer(self, peer, fields):
        """Gives head and content of a file."""
        peer.sendall(
            b"GET /files/page.html HTTP/1.1\r\nHost: localhost\r\n"
            + fields + b"\r\n"
        )
        answer = b""
        while not (end := answer.find(b"\r\n\r\n") + 4) > 3:
            answer += peer.recv(4096)
        length = re.search(rb"Content-Length: (\d+)", answer[:end])
        while len(answer) < end + (int(length[1]) if length else 0):
            octets = peer.recv(4096)
            self.assertTrue(octets, "the server closed")
            answer += octets
        return answer[:end], answer[end:]

    def test_a_file_in_memory_allocates_nothing(self):
        heads = {}

        def ask(peer, fields):
            heads[fields], _ = self.ask_for_files(peer, fields)

        for backend in ("io_uring", "epoll"):
            for fields, said in (
                (b"", b"HTTP/1.1 200 "),
                (b"Accept-Encoding: gzip, deflate, br\r\n", b"Content-Encoding: br"),
                (b"If-None-Match: ", b"HTTP/1.1 304 "),
            ):
                with self.subTest(backend=backend, fields=fields):
                    self.assertEqual(self.count(backend, fields, ask), (0, 0))
                    self.assertIn(said, heads[fields])

    def test_clients_of_several_codings_take_turns_without_an_allocation(self):
        def ask(peer, values):
            for i in range(REQUESTS):
                value = values[i % len(values)]
                self.answer(peer, b"Accept-Encoding: " + value + b"\r\n")

        values = (b"gzip, deflate, br", b"gzip", b"gzip, deflate, br, zstd")
        self.assertEqual(self.count("epoll", values, ask), (0, 0))

    def converse(self, peer, frames):
        """Sends frames on a WebSocket, which the first call opens."""
        if not frames:
            frames.extend([masked(b"hello") * 16, masked(b"x" * 1000)])
            peer.sendall(HANDSHAKE)
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                head += peer.recv(1)
            self.assertTrue(head.startswith(b"HTTP/1.1 101 "), head)
        echoes = [b"\x81\x05hello" * 16, b"\x81\x7e\x03\xe8" + b"x" * 1000]
        for i in range(REQUESTS):
            peer.sendall(frames[i % 2])
            answer = b""
            while len(answer) < len(echoes[i % 2]):
                octets = peer.recv(4096)
                self.assertTrue(octets, "the server closed")
                answer += octets
            self.assertEqual(answer, echoes[i % 2])

    def test_a_message_allocates_nothing_on_io_uring(self):
        self.assertEqual(self.count("io_uring", [], self.converse), (0, 0))

    def test_a_message_allocates_nothing_on_epoll(self):
        self.assertEqual(self.count("epoll", [], self.converse), (0, 0))

    def test_a_request_of_http2_allocates_nothing(self):
        for backend in ("io_uring", "epoll"):
            for path in (b"/echo/1234", b"/parked/1234"):
                with self.subTest(backend=backend, path=path):
                    ask = Http2Client(self).ask
                    self.assertEqual(self.count(backend, path, ask), (0, 0))

    def test_content_that_waits_for_its_turn_allocates_nothing(self):
        for backend in ("io_uring", "epoll"):
            with self.subTest(backend=backend):
                ask = Http2Reader(self).ask
                count = self.count(backend, b"/files/long.js", ask)
                self.assertEqual(count, (0, 0))

    def test_the_count_sees_what_a_handler_allocates(self):
        mojo, _ = self.count("epoll", b"/copied/1234")
        self.assertGreaterEqual(mojo, REQUESTS)

    def test_a_request_allocates_nothing_on_io_uring(self):
        self.assertEqual(self.count("io_uring", b"/echo/1234"), (0, 0))

    def test_a_parked_request_allocates_nothing_on_io_uring(self):
        self.assertEqual(self.count("io_uring", b"/parked/1234"), (0, 0))

    def test_a_request_allocates_nothing_on_epoll(self):
        self.assertEqual(self.count("epoll", b"/echo/1234"), (0, 0))

    def test_a_parked_request_allocates_nothing_on_epoll(self):
        self.assertEqual(self.count("epoll", b"/parked/1234"), (0, 0))

    def test_a_request_that_counts_and_is_logged_allocates_nothing(self):
        # The server counts and logs each request of this module.
        log = pathlib.Path(self.folder.name, "access.log")
        for backend in ("io_uring", "epoll"):
            log.unlink(missing_ok=True)
            count = self.count(backend, b"/metered/1234")
            self.assertEqual(count, (0, 0))
            lines = log.read_text().splitlines()
            self.assertEqual(len(lines), (1 + self.rounds) * REQUESTS)
            self.assertIn('"route":"/metered/:id","status":200', lines[-1])

    def test_a_request_through_middleware_allocates_nothing(self):
        for backend in ("io_uring", "epoll"):
            self.assertEqual(self.count(backend, b"/guarded/1234"), (0, 0))

    def test_a_valid_request_allocates_nothing(self):
        path = b"/validated/1234?page=3&name=name&is_exact=1"
        for backend in ("io_uring", "epoll"):
            self.assertEqual(self.count(backend, path), (0, 0))


if __name__ == "__main__":
    unittest.main()

"""Attacks the WebSockets of the real server; each test states what it may cost."""

import signal
import socket
import struct
import sys
import time
import unittest
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.bystander import P99_MILLISECONDS_MAX, Bystander  # noqa: E402
from loopback.subject import build, on_each_backend  # noqa: E402
from loopback.ws_client import (  # noqa: E402
    BINARY,
    CLOSE,
    CONTINUATION,
    PING,
    PONG,
    SOURCE,
    TEXT,
    WsClient,
    close_frame,
    frame,
    handshake,
    header,
)

MIB = 1 << 20
# The limits of the program, with `--short`.
MESSAGE_OCTETS_MAX = MIB
MESSAGE_SECONDS = 0.5
WRITE_SECONDS = 1.0
HEAD_SECONDS = 4.0
# Half handshakes, and the memory that one may take.
HALVES = 10_000
HALF_OCTETS_MAX = 9 * 1024
DEFLATE_FIELD = "Sec-WebSocket-Extensions: permessage-deflate"


def setUpModule():
    build(SOURCE)


class Case:
    source = SOURCE
    options = ("--short",)

    @classmethod
    def warm_up(cls):
        """Makes the memory that later sockets use again."""
        for path in ("/echo", "/shared", "/dedicated"):
            with WsClient(cls.subject.port, path, DEFLATE_FIELD) as client:
                client.send_frame(BINARY, b"x" * MESSAGE_OCTETS_MAX)
                client.frame()
        crowd = [WsClient(cls.subject.port) for _ in range(200)]
        for client in crowd:
            client.close()
        cls.subject.await_statistics(sockets=0)

    def open(self, path="/echo", *lines, **options):
        client = WsClient(self.subject.port, path, *lines, **options)
        self.addCleanup(client.close)
        return client

    def refuse(self, request):
        """Sends a request that opens no WebSocket; gives the answer."""
        with self.connect() as client:
            client.send(request)
            answer = client.answer()
        self.assertIsNone(answer.field("Sec-WebSocket-Accept"))
        return answer

    def costs(self, octets_max):
        """Watches that the server never holds more than so many octets more
        than before, and that a socket beside is served."""
        return Costs(self, octets_max)

    def open_halves(self):
        half = handshake()[:-4]
        clients = []
        for _ in range(HALVES):
            client = socket.create_connection(("127.0.0.1", self.subject.port))
            client.send(half)
            clients.append(client)
        return clients

    def expect_late(self, clients):
        # The first ones have waited longest.
        for client in clients:
            client.settimeout(10)
            self.assertTrue(client.recv(64).startswith(b"HTTP/1.1 408 "))
            client.close()

    def expect_nothing_is_left(self):
        self.subject.await_statistics(
            sockets=0, streams=0, requests_in_flight=0, connections=1
        )


class Costs:
    """Measures an attack."""

    def __init__(self, case, octets_max):
        self.case = case
        self.octets_max = octets_max

    def __enter__(self):
        subject = self.case.subject
        subject.forget_peak()
        self._before = subject.resident_octets()
        self._bystander = Bystander(subject, "ws")
        return self

    def __exit__(self, kind, *_):
        count, p99 = self._bystander.end()
        grown = self.case.subject.resident_octets("VmHWM") - self._before
        if kind is None:
            self.case.assertLess(grown, self.octets_max)
            self.case.assertGreaterEqual(count, 20)
            self.case.assertLess(p99, P99_MILLISECONDS_MAX)


class Handshakes(Case):
    def test_pages_of_other_sites_get_403_before_the_101(self):
        for origin in ("http://evil.test", "http://a.evil.test", "http://a:8080", "null"):
            with self.subTest(origin=origin):
                answer = self.refuse(handshake("/echo", f"Origin: {origin}"))
                self.assertEqual(answer.status, 403)
        self.open("/echo", "Origin: http://a").close()

    def test_malformed_handshakes_open_nothing(self):
        request = handshake()
        key = b"dGhlIHNhbXBsZSBub25jZQ=="
        rows = (
            ("a key with CRLF", request.replace(key, b"dGhl\r\nX: SBub25jZQ=="), 400),
            ("a key with NUL", request.replace(key, b"dGhl\0HNhbXBsZSBub25jZ=="), 400),
            ("a key with a line", request.replace(key, key + b"\n"), 400),
            ("content", handshake("/echo", "Content-Length: 5") + b"hello", 400),
            (
                "chunks",
                handshake("/echo", "Transfer-Encoding: chunked") + b"0\r\n\r\n",
                400,
            ),
            ("two lengths", handshake("/echo", *["Content-Length: 0"] * 2), 400),
            ("HTTP/1.0", request.replace(b"HTTP/1.1", b"HTTP/1.0"), 426),
            ("no websocket", request.replace(b": websocket", b": h2c"), 426),
            (
                "a protocol field of 8 KiB",
                handshake("/protocols", "Sec-WebSocket-Protocol: " + "p" * 8192),
                431,
            ),
            (
                "many protocols",
                handshake("/protocols", "Sec-WebSocket-Protocol: " + "p," * 2000 + "q"),
                400,
            ),
            (
                "many extensions",
                handshake("/shared", "Sec-WebSocket-Extensions: " + "a;b," * 900 + "c"),
                400,
            ),
        )
        for what, octets, status in rows:
            with self.subTest(what=what):
                began = time.monotonic()
                self.assertEqual(self.refuse(octets).status, status)
                self.assertLess(time.monotonic() - began, 1)
        self.expect_nothing_is_left()

    def test_two_upgrade_fields_are_one_list(self):
        # RFC 9110 section 7.8: the server picks one of them.
        client = self.connect()
        client.send(
            handshake().replace(b"Upgrade: w", b"Upgrade: h2c\r\nUpgrade: w")
        )
        answer = client.head()
        self.assertEqual(answer.status, 101)
        self.assertEqual(answer.field("Upgrade"), "websocket")

    def test_windows_that_zlib_lacks_are_declined(self):
        for path in ("/shared", "/dedicated"):
            for name in ("server", "client"):
                for bits in (7, 16):
                    line = f"{DEFLATE_FIELD}; {name}_max_window_bits={bits}"
                    client = self.open(path, line)
                    self.assertIsNone(
                        client.response.field("Sec-WebSocket-Extensions"), line
                    )
                    client.send_frame(TEXT, b"hello")
                    client.expect(TEXT, b"hello")
                    client.close()

    def test_no_request_is_read_behind_the_101(self):
        smuggled = b"GET /publish/loop/room/1/1 HTTP/1.1\r\nHost: a\r\n\r\n"
        client = self.connect()
        client.send(handshake() + smuggled)
        self.assertEqual(client.head().status, 101)
        # G is a frame with a reserved bit.
        self.assertEqual(client.rest(), b"\x88\x02\x03\xea")

    def test_ten_thousand_half_handshakes_cost_little(self):
        with self.costs(HALVES * HALF_OCTETS_MAX):
            began = time.monotonic()
            self.expect_late(self.open_halves())
            self.assertLess(time.monotonic() - began, HEAD_SECONDS + 10)
        self.expect_nothing_is_left()


class HalvesAtOnce(Case):
    # Its server has no memory yet that others have used.
    def test_ten_thousand_half_handshakes_are_late_at_once_and_cost_little(self):
        self.subject.forget_peak()
        before = self.subject.resident_octets()
        clients = self.open_halves()
        self.expect_answers_still()
        # One turn of the loop finds most of them late, and answers them.
        self.subject.process.send_signal(signal.SIGSTOP)
        try:
            time.sleep(HEAD_SECONDS)
        finally:
            self.subject.process.send_signal(signal.SIGCONT)
        self.expect_late(clients)
        grown = self.subject.resident_octets("VmHWM") - before
        self.assertLess(grown, HALVES * HALF_OCTETS_MAX)
        self.expect_nothing_is_left()


class Frames(Case):
    def test_lengths_without_end_are_refused_at_their_header(self):
        rows = (
            (struct.pack(">BBQ", TEXT, 0xFF, 1 << 63), 1002),
            (struct.pack(">BBQ", TEXT, 0xFF, (1 << 64) - 1), 1002),
            (struct.pack(">BBQ", TEXT, 0xFF, (1 << 63) - 1), 1009),
            (struct.pack(">BBQ", TEXT, 0xFF, MESSAGE_OCTETS_MAX + 1), 1009),
            (struct.pack(">BBH", TEXT, 0xFE, 125), 1002),
            (struct.pack(">BBQ", TEXT, 0xFF, 65535), 1002),
            (struct.pack(">BB", PING, 0xFE), 1002),
            (struct.pack(">BB", TEXT, 5), 1002),
        )
        with self.costs(MIB):
            for octets, code in rows * 20:
                client = self.open()
                began = time.monotonic()
                client.send(octets + bytes(4))
                client.expect_close(code)
                client.close()
                self.assertLess(time.monotonic() - began, 1)
        self.expect_nothing_is_left()

    def test_fragments_of_one_octet_take_an_octet_each(self):
        fragment = frame(0, b"x")
        with self.costs(4 * MIB):
            client = self.open()
            client.send(frame(1, b"x"))
            client.push(fragment * 10_000, 2 * MIB * len(fragment))
            client.expect_close(1009)
        self.expect_nothing_is_left()

    def test_fragments_without_an_octet_are_counted(self):
        with self.costs(MIB):
            client = self.open()
            client.send(frame(1))
            client.push(frame(0) * 1000, MIB)
            client.expect_close(1008)
        self.expect_nothing_is_left()

    def test_message_that_dribbles_ends_in_time(self):
        for part in (header(TEXT, 1000) + b"x", frame(1, b"x"), b"\x81"):
            client = self.open()
            began = time.monotonic()
            client.send(part)
            client.expect_close(1008)
            self.check_time(began, MESSAGE_SECONDS)

    def test_text_may_be_cut_at_each_octet(self):
        text = "κόσμε 😀".encode()
        client = self.open()
        for i in range(len(text) + 1):
            parts = frame(1, text[:i]) + frame(0) + frame(CONTINUATION, text[i:])
            client.dribble(parts)
            client.expect(TEXT, text)
        for i in range(1, len(text)):
            client = self.open()
            # It cannot continue a text, wherever this is cut.
            client.dribble(frame(1, text[:i]) + frame(0, b"\xff"))
            client.expect_close(1007)
            client.close()

    def test_close_is_answered_in_every_state(self):
        rows = (
            ("idle", "/echo", b"", b""),
            ("in a message", "/echo", frame(1, b"par"), b""),
            ("in a message, twice", "/echo", frame(2, b"a") + frame(0, b"b"), b""),
            ("behind a message", "/echo", frame(TEXT, b"m"), b"\x81\1m"),
            ("behind a ping", "/echo", frame(PING, b"p"), b"\x8a\1p"),
            ("while the handler waits", "/wait", b"", b"\x81\7waiting"),
            ("compressed, in a message", "/shared", frame(0x41, b"x"), b""),
        )
        for what, path, before, answer in rows:
            for behind in (b"", frame(TEXT, b"late"), close_frame(1001)):
                with self.subTest(what=what, behind=behind):
                    client = self.open(path, DEFLATE_FIELD)
                    client.send(before + close_frame(3000) + behind)
                    # What follows a Close is not even read.
                    close = b"\x88\2" + struct.pack(">H", 3000)
                    if path == "/wait":
                        wanted = (answer + close, close + answer, close)
                        client.socket.settimeout(2)
                        self.assertIn(client.octets(len(close + answer)), wanted)
                        # Its handler sleeps on while the connection lives.
                        client.reset()
                    else:
                        self.assertEqual(client.rest(), answer + close)
                    client.close()

    def test_close_of_the_server_is_sent_once(self):
        client = self.open("/topics")
        client.send_frame(TEXT, b"leave")
        self.assertEqual(client.frame()[0], CLOSE)
        client.send_frame(TEXT, b"join room")
        client.send_frame(PING, b"p")
        client.send(close_frame(4001))
        client.expect_end()
        # A peer that does not answer is left alone after `close_timeout_ms`.
        client = self.open("/topics")
        began = time.monotonic()
        client.send_frame(TEXT, b"leave")
        self.assertEqual(client.frame()[0], CLOSE)
        client.expect_end()
        self.check_time(began, 0.5)

    def test_octets_behind_the_close_of_the_server_prolong_nothing(self):
        client = self.open("/topics")
        client.send_frame(TEXT, b"leave")
        self.assertEqual(client.frame()[0], CLOSE)
        began = time.monotonic()
        message = frame(TEXT, b"on and on")
        try:
            while time.monotonic() - began < 5:
                client.send(message)
        except (BrokenPipeError, ConnectionResetError):
            pass
        self.check_time(began, 0.5)


class Readers(Case):
    """Peers that do not read what they cause."""

    def test_ping_flood_is_held_back(self):
        pings = frame(PING, b"p" * 125) * 500
        for path in ("/echo", "/wait", "/flood"):
            with self.subTest(path=path), self.costs(MIB):
                client = self.open(path, receive_octets=4096)
                taken = client.push(pings, 64 * MIB, 0.3)
                # What the kernels hold of both directions.
                self.assertLess(taken, 32 * MIB)
                client.close()
        self.expect_nothing_is_left()

    def test_pings_are_all_answered_once_their_peer_reads(self):
        client = self.open(receive_octets=4096)
        ping = frame(PING, b"p" * 125)
        taken = client.push(ping, 64 * MIB, 0.2)
        self.assertLess(taken, 64 * MIB)
        for _ in range(taken // len(ping)):
            client.expect(PONG, b"p" * 125)
        client.send(ping[taken % len(ping) :])
        client.expect(PONG, b"p" * 125)

    def test_echo_that_nobody_reads_is_held_back_and_given_up(self):
        message = frame(BINARY, b"x" * 10_000)
        count = 20
        # 64 KiB each way, and what io_uring had received before it is told to
        # pause; the budget of the worker bounds the sum.
        with self.costs(MIB + count * MIB):
            clients = [self.open(receive_octets=4096) for _ in range(count)]
            for client in clients:
                # What the kernels hold of both directions.
                taken = client.push(message, 64 * MIB, 0.02)
                self.assertLess(taken, 32 * MIB)
            began = time.monotonic()
            self.subject.await_statistics(sockets=1)
            self.assertLess(time.monotonic() - began, WRITE_SECONDS + 1)
            for client in clients:
                client.close()
        self.expect_nothing_is_left()

    def test_message_that_nobody_reads_takes_the_room_of_one_output(self):
        # The handler owns its 16 MiB; flare takes them piece by piece.
        with self.costs(17 * MIB):
            client = self.open("/flood", receive_octets=4096)
            began = time.monotonic()
            self.subject.await_statistics(sockets=1)
            self.check_time(began, WRITE_SECONDS)
            client.close()
        self.expect_nothing_is_left()


class Bombs(Case):
    def test_a_gigabyte_from_a_megabyte_ends_at_the_limit(self):
        # Zeros between two full flushes repeat, whatever came before.
        packer = zlib.compressobj(9, zlib.DEFLATED, -15)
        packer.compress(bytes(1000))
        packer.flush(zlib.Z_FULL_FLUSH)
        part = packer.compress(bytes(16 * MIB)) + packer.flush(zlib.Z_FULL_FLUSH)
        bomb = part * 64
        self.assertLess(len(bomb), MESSAGE_OCTETS_MAX * 9 // 8)
        for path in ("/shared", "/dedicated"):
            with self.subTest(path=path), self.costs(6 * MIB):
                before = self.subject.cpu_seconds()
                for _ in range(20):
                    client = self.open(path, DEFLATE_FIELD)
                    self.assertIn(
                        "permessage-deflate",
                        client.response.field("Sec-WebSocket-Extensions"),
                    )
                    client.send_frame(0xC2, bomb)
                    client.expect_close(1009)
                    client.close()
                # 1 GiB alone would take a second.
                self.assertLess(self.subject.cpu_seconds() - before, 1.0)
            self.expect_nothing_is_left()


for cases in (Handshakes, HalvesAtOnce, Frames, Readers, Bombs):
    on_each_backend(cases)


if __name__ == "__main__":
    unittest.main()

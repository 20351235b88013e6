"""Attacks the HTTP/2 of the real server; each test states what it may cost."""

import contextlib
import socket
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.bystander import P99_MILLISECONDS_MAX, Bystander  # noqa: E402
from loopback.subject import build, on_each_backend  # noqa: E402

import hpack  # noqa: E402

MIB = 1 << 20
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RESET, SETTINGS, PING = 0, 1, 2, 3, 4, 6
GOAWAY, WINDOW, CONTINUATION = 7, 8, 9
CALM, COMPRESSION_ERROR = 11, 9
# :method, :scheme https, :authority a; none of it enters a table.
GET = b"\x82\x87\x01\x01a"
POST = b"\x83\x87\x01\x01a"
# A line of Cookie, which enters no table.
CRUMB = b"\x10\x06cookie\x01c"
# Of 128 streams: 1.25 MiB of content that waits, and the stacks of handlers with
# what they hold.
HELD_STREAMS_OCTETS = 16 * MIB
# What a hostile frame may cost at most.
FRAME_SECONDS_MAX = 20e-6


def setUpModule():
    build()


def frame(kind, flags, stream, payload=b""):
    """Gives a frame."""
    return (
        len(payload).to_bytes(3, "big")
        + bytes([kind, flags])
        + stream.to_bytes(4, "big")
        + payload
    )


def path(text):
    """Gives a line of `:path`, which enters no table."""
    return b"\x04" + bytes([len(text)]) + text


def number(value):
    """Gives a number of four octets."""
    return value.to_bytes(4, "big")


class Attacker:
    """Is a client that sends octets, whatever they are."""

    def __init__(self, port, settings=b""):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.settimeout(10)
        self.received = b""
        self.send(PREFACE + frame(SETTINGS, 0, 0, settings))

    def send(self, octets):
        """Sends, unless the server has ended the connection."""
        with contextlib.suppress(ConnectionError):
            self.socket.sendall(octets)

    def last_words(self):
        """Reads to the end, and gives the code of the last GOAWAY, or None."""
        with contextlib.suppress(ConnectionError):
            while octets := self.socket.recv(1 << 16):
                self.received += octets
        code = None
        for kind, _, _, payload in self.frames():
            if kind == GOAWAY:
                code = int.from_bytes(payload[4:8], "big")
        return code

    def frames(self):
        """Gives the frames that have arrived."""
        at = 0
        while at + 9 <= len(self.received):
            length = int.from_bytes(self.received[at : at + 3], "big")
            kind, flags = self.received[at + 3], self.received[at + 4]
            stream = int.from_bytes(self.received[at + 5 : at + 9], "big")
            yield kind, flags, stream, self.received[at + 9 : at + 9 + length]
            at += 9 + length

    def statuses(self):
        """Gives the statuses of the answers that have arrived."""
        self.socket.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while octets := self.socket.recv(1 << 16):
                self.received += octets
        decoder = hpack.Decoder()
        return [
            dict(decoder.decode(payload, raw=True))[b":status"]
            for kind, _, _, payload in self.frames()
            if kind == HEADERS
        ]

    def close(self):
        """Leaves."""
        self.socket.close()


@on_each_backend
class Attacks:
    @contextlib.contextmanager
    def costs(self, frames, octets_max):
        """Watches the memory, the time and an honest client beside."""
        subject = self.subject
        bystander = Bystander(subject, "h2")
        subject.forget_peak()
        memory, cpu = subject.resident_octets(), subject.cpu_seconds()
        yield
        spent = subject.cpu_seconds() - cpu
        count, p99 = bystander.end()
        self.assertGreaterEqual(count, 20)
        self.assertLess(p99, P99_MILLISECONDS_MAX)
        # The ticks of the clock count 10 ms, and the bystander some.
        self.assertLess(spent, frames * FRAME_SECONDS_MAX + 0.2)
        grown = subject.resident_octets("VmHWM") - memory
        self.assertLess(grown, octets_max)
        subject.await_statistics(served=0, fibers=self.held_before["fibers"])

    def attack(self, settings=b""):
        attacker = Attacker(self.subject.port, settings)
        self.addCleanup(attacker.close)
        return attacker

    def expect_calm(self, octets, frames, octets_max=4 * MIB):
        with self.costs(frames, octets_max):
            attacker = self.attack()
            attacker.send(octets)
            self.assertEqual(attacker.last_words(), CALM)
            attacker.close()

    def test_rapid_reset(self):
        # CVE-2023-44487.
        octets = b"".join(
            frame(HEADERS, 5, i, GET + path(b"/delay/5000"))
            + frame(RESET, 0, i, number(8))
            for i in range(1, 20_001, 2)
        )
        self.expect_calm(octets, 20_000, 16 * MIB)

    def test_made_you_reset(self):
        # CVE-2025-8671.
        octets = b"".join(
            frame(HEADERS, 5, i, GET + path(b"/delay/5000"))
            + frame(WINDOW, 0, i, number(0))
            for i in range(1, 20_001, 2)
        )
        self.expect_calm(octets, 20_000, 16 * MIB)

    def test_malformed_heads(self):
        octets = b"".join(
            frame(HEADERS, 5, i, GET) for i in range(1, 20_001, 2)
        )
        self.expect_calm(octets, 10_000)

    def test_continuations_without_end(self):
        # CVE-2024-27316.
        for payload in (b"", b"\x82" * 4000):
            first = frame(HEADERS, 1, 1, GET)
            octets = first + frame(CONTINUATION, 0, 1, payload) * 2000
            self.expect_calm(octets, 2000)

    def test_frames_without_a_use(self):
        opened = frame(HEADERS, 4, 1, POST + path(b"/upload"))
        for useless in (
            frame(SETTINGS, 0, 0),
            frame(PING, 0, 0, b"x" * 8),
            frame(PRIORITY, 0, 3, number(5) + b"\x10"),
            frame(16, 0, 0, number(3) + b"u=1"),
            frame(DATA, 0, 1),
            frame(DATA, 8, 1, b"\xff" + b"\0" * 255),
            frame(WINDOW, 0, 0, number(1)),
            frame(WINDOW, 0, 1, number(1)),
            frame(77, 0, 0, b"x" * 100),
        ):
            with self.subTest(useless[:12]):
                self.expect_calm(opened + useless * 20_000, 20_000)

    def test_lines_that_a_table_multiplies(self):
        # The bomb of 2016: one long line, then references to it.
        line = b"\x40\x01x\x7f\xa1\x1e" + b"v" * 4000
        with self.costs(200, 4 * MIB):
            attacker = self.attack()
            attacker.send(frame(HEADERS, 5, 1, GET + b"\x84" + line))
            for i in range(3, 401, 2):
                attacker.send(
                    frame(HEADERS, 5, i, GET + b"\x84" + b"\xbe" * 16_000)
                )
            attacker.send(frame(GOAWAY, 0, 0, number(0) + number(0)))
            attacker.socket.shutdown(socket.SHUT_WR)
            attacker.last_words()
            statuses = attacker.statuses()
            self.assertGreater(len(statuses), 100)
            self.assertEqual(set(statuses[1:]), {b"431"})

    def test_heads_and_answers_that_are_held(self):
        # The bomb of 2026: small heads of many lines, crumbs of cookies, large
        # answers, and a window that stays closed.
        lines = b"\xbe" * 90 + CRUMB * 200
        first = b"\x40\x08x-padded\x20" + b"v" * 32
        settings = b"\0\4" + number(0)
        attackers = []
        # 1.2 MiB of answers and 1 MiB of heads each, and what Mojo's allocator
        # adds.
        with self.costs(64 * 128, 64 * 3 * MIB):
            for _ in range(64):
                attacker = self.attack(settings)
                octets = frame(HEADERS, 5, 1, GET + b"\x84" + first)
                for i in range(3, 257, 2):
                    head = GET + path(b"/big/200000") + lines
                    octets += frame(HEADERS, 5, i, head)
                attacker.send(octets)
                attackers.append(attacker)
            time.sleep(1)
            self.assertEqual(set(attackers[0].statuses()), {b"200"})
            for attacker in attackers:
                attacker.close()

    def test_streams_that_are_held(self):
        # A closed window, and handlers that write without end.
        octets = b"".join(
            frame(HEADERS, 5, i, GET + path(b"/chunks/200000"))
            for i in range(1, 257, 2)
        )
        attackers = [self.attack(b"\0\4" + number(0)) for _ in range(8)]
        with self.costs(8 * 128, 8 * HELD_STREAMS_OCTETS):
            before = self.subject.statistics()["buffered_octets"]
            for attacker in attackers:
                attacker.send(octets)
            time.sleep(1)
            held = self.subject.statistics()["buffered_octets"] - before
            self.assertLess(held, 8 * 1.5 * MIB)
            for attacker in attackers:
                attacker.close()

    def test_a_peer_that_reads_no_answers(self):
        attackers = []
        with self.costs(20 * 20_000, 20 * MIB):
            for _ in range(20):
                attacker = self.attack()
                octets = b"".join(
                    frame(HEADERS, 5, i, GET + b"\x84")
                    for i in range(1, 40_001, 2)
                )
                attacker.socket.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    attacker.socket.send(octets)
                attackers.append(attacker)
            time.sleep(1)
            for attacker in attackers:
                attacker.close()

    def test_octets_that_are_no_code(self):
        for block in (b"\xff\xff\xff\xff\xff\xff", b"\x80", b"\x00\x85zz"):
            attacker = self.attack()
            attacker.send(frame(HEADERS, 5, 1, block))
            self.assertEqual(attacker.last_words(), COMPRESSION_ERROR)


if __name__ == "__main__":
    unittest.main()

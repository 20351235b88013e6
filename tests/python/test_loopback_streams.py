"""Streams content through the real server, both ways, and upgrades connections."""

import hashlib
import re
import sys
import threading
import time
import unittest
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.subject import build, of_http1, on_each_version  # noqa: E402

HELLO = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
LARGE = 64 * 1024 * 1024
GROWTH_KIB_MAX = 8 * 1024
PERIOD = bytes(range(251))
SHOUT = (
    b"GET /shout HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\n"
    b"Upgrade: shout\r\n\r\n"
)


def setUpModule():
    build()


def head(method, target, *fields, version=b"1.1"):
    lines = b"".join(fields)
    return (
        b"%s %s HTTP/%s\r\nHost: a\r\n%s\r\n" % (method, target, version, lines)
    )


def length(count):
    return b"Content-Length: %d\r\n" % count


def chunk(octets):
    return b"%x\r\n%s\r\n" % (len(octets), octets)


def pattern(count):
    return (PERIOD * (count // 251 + 1))[:count]


def summed(octets):
    return b"%d %d" % (len(octets), zlib.adler32(octets))


class Digest:
    """Hashes content without keeping it, and compares it with the pattern."""

    def __init__(self):
        self.count = 0
        self.hash = hashlib.sha256()

    def add(self, octets):
        self.count += len(octets)
        self.hash.update(octets)

    def expected(self):
        hash = hashlib.sha256()
        whole = PERIOD * 256
        left = self.count
        while left > 0:
            hash.update(whole[: min(left, len(whole))])
            left -= len(whole)
        return hash.digest()

    def is_right(self):
        return self.hash.digest() == self.expected()


@on_each_version
class Streams:
    def resident_kib(self, field):
        with open(f"/proc/{self.subject.process.pid}/status") as status:
            return int(re.search(rf"{field}:\s+(\d+) kB", status.read())[1])

    @property
    def chunked(self):
        """Is the coding of content without a length; HTTP/2 needs none."""
        return None if self.speaks_h2 else "chunked"

    def watch_memory(self):
        """Gives the memory that the server has now."""
        self.subject.forget_peak()
        return self.resident_kib("VmRSS")

    def check_memory(self, before):
        # The window of a stream grows to 8 MiB, and its buffer doubles.
        factor = 3 if self.speaks_h2 else 1
        self.assertLess(
            self.resident_kib("VmHWM") - before, GROWTH_KIB_MAX * factor
        )

    def test_content_is_read_bit_by_bit_whatever_its_framing(self):
        for count in (0, 1, 4095, 65536, 1_000_003, 20_000_000):
            with self.subTest(count):
                octets = pattern(count)
                client = self.connect()
                client.send(head(b"POST", b"/sum", length(count)) + octets)
                self.assertEqual(client.answer().body, summed(octets))
                client.send(head(b"POST", b"/sum", CHUNKED))
                for at in range(0, count, 99_991):
                    client.send(chunk(octets[at : at + 99_991]))
                client.send(b"0\r\n\r\n" + HELLO)
                self.assertEqual(client.answer().body, summed(octets))
                # The connection serves on.
                self.assertEqual(client.answer().body, b"hello")

    def test_octets_reach_one_of_two_fibers_that_read(self):
        for count in (0, 1, 65536, 3_000_003):
            with self.subTest(count):
                client = self.connect()
                client.send(
                    head(b"POST", b"/share", length(count)) + pattern(count)
                )
                self.assertEqual(client.answer().body, b"%d" % count)

    def test_content_is_kept_for_a_handler_that_wants_all_of_it(self):
        client = self.connect()
        octets = pattern(100)
        client.send(head(b"POST", b"/regret", length(100)))
        time.sleep(0.1)
        for at in range(0, 100, 7):
            client.send(octets[at : at + 7])
            time.sleep(0.002)
        self.assertEqual(client.answer().body, b"100")

    def test_content_that_dribbles_is_read(self):
        client = self.connect()
        client.dribble(head(b"POST", b"/sum", length(50)) + pattern(50))
        self.assertEqual(client.answer().body, summed(pattern(50)))

    def test_response_of_known_length(self):
        client = self.connect()
        for count in (0, 1, 65536, 5_000_000):
            client.send(b"GET /stream/%d HTTP/1.1\r\nHost: a\r\n\r\n" % count)
            answer = client.answer()
            self.assertIsNone(answer.field("Transfer-Encoding"))
            self.assertEqual(answer.body, pattern(count))

    def test_response_of_unknown_length_is_chunked(self):
        client = self.connect()
        for count in (0, 1, 65536, 5_000_000):
            client.send(b"GET /chunks/%d HTTP/1.1\r\nHost: a\r\n\r\n" % count)
            answer = client.head()
            self.assertEqual(answer.field("Transfer-Encoding"), self.chunked)
            self.assertIsNone(answer.field("Content-Length"))
            self.assertEqual(client.content(), (pattern(count), []))

    def test_events_and_heartbeats_until_the_function_ends(self):
        client = self.connect()
        client.send(head(b"GET", b"/news", b"Last-Event-ID: 41\r\n"))
        answer = client.head()
        self.assertEqual(answer.field("Content-Type"), "text/event-stream")
        self.assertEqual(answer.field("Cache-Control"), "no-store")
        text = client.content()[0].decode()
        self.assertIn(":\n\n", text)
        self.assertEqual(
            text.replace(":\n\n", ""),
            "event: last\ndata: 41\n\n"
            + "".join(
                f"id: {i}\ndata: line {i}\ndata: end\n\n" for i in range(3)
            ),
        )

    @of_http1
    def test_http_1_0_client_is_told_by_the_end(self):
        client = self.connect()
        client.send(head(b"GET", b"/chunks/100000", version=b"1.0"))
        answer = client.head()
        self.assertIsNone(answer.field("Transfer-Encoding"))
        self.assertTrue(answer.closes())
        octets = client.rest()
        self.assertEqual(octets, pattern(100_000))

    def test_trailers_both_ways(self):
        client = self.connect()
        for trailers, stated in ((b"X-Sum: 17\r\nX-B: c\r\n", b"17"), (b"", b"")):
            client.send(
                head(b"POST", b"/sum-trailer", CHUNKED)
                + chunk(b"abc") + b"0\r\n" + trailers + b"\r\n"
            )
            client.head()
            expected = summed(b"abc") + b" " + stated
            content, found = client.content()
            self.assertEqual(content, expected)
            self.assertEqual(
                [line.lower() for line in found],
                [b"x-octets: %d" % len(expected)],
            )

    def test_answer_to_head_has_the_fields_only(self):
        client = self.connect()
        client.send(
            head(b"HEAD", b"/stream/1000") + head(b"HEAD", b"/chunks/1000")
            + HELLO
        )
        self.assertEqual(
            client.answer(to_head=True).field("Content-Length"), "1000"
        )
        self.assertEqual(
            client.answer(to_head=True).field("Transfer-Encoding"), self.chunked
        )
        self.assertEqual(client.answer().body, b"hello")

    @of_http1
    def test_error_behind_the_head_leaves_the_message_incomplete(self):
        for version in (b"1.1", b"1.0"):
            for count in (10, 5_000_000):
                client = self.connect()
                client.send(
                    head(b"GET", b"/broken/%d" % count, version=version)
                )
                if client.is_unix:
                    # Only the missing chunk tells: nothing resets.
                    octets = client.rest()
                    self.assertFalse(octets.endswith(b"\r\n0\r\n\r\n"))
                    continue
                with self.assertRaises(ConnectionResetError):
                    client.rest()
        client = self.connect()
        client.send(head(b"GET", b"/broken/0"))
        self.assertEqual(client.answer().status, 500)

    @of_http1
    def test_both_ways_at_once(self):
        client = self.connect()
        client.send(head(b"POST", b"/both", CHUNKED))
        client.head()
        for i in range(50):
            octets = b"%d," % i * (i + 1)
            client.send(chunk(octets))
            got = b""
            while len(got) < len(octets):
                got += client._exactly(int(client._until(b"\r\n"), 16))
                client._exactly(2)
            self.assertEqual(got, octets)
        client.send(b"0\r\n\r\n" + HELLO)
        self.assertEqual(client.content(), (b"", []))
        self.assertEqual(client.answer().body, b"hello")

    def test_early_hints(self):
        client = self.connect()
        client.send(head(b"GET", b"/hints"))
        early = client.head()
        self.assertEqual(early.status, 103)
        self.assertIn("style.css", early.field("Link"))
        self.assertEqual(client.answer().body, b"page")

    def test_100_continue_comes_before_content_that_is_read_bit_by_bit(self):
        client = self.connect()
        client.send(
            head(b"POST", b"/sum", length(3), b"Expect: 100-continue\r\n")
        )
        self.assertEqual(client.head().status, 100)
        client.send(b"abc" + HELLO)
        self.assertEqual(client.answer().body, summed(b"abc"))
        self.assertEqual(client.answer().body, b"hello")

    @of_http1
    def test_upgrade_with_octets_behind_it_and_a_half_close(self):
        client = self.connect()
        client.send(SHOUT + b"left ")
        answer = client.head()
        self.assertEqual(answer.status, 101)
        self.assertEqual(answer.field("Upgrade"), "shout")
        self.assertEqual(client._exactly(5), b"LEFT ")
        client.send(HELLO)
        self.assertEqual(client._exactly(len(HELLO)), HELLO.upper())
        client.send(b"over")
        client.end()
        self.assertEqual(client.rest(), b"OVERbye")

    @of_http1
    def test_upgrade_of_a_handler_that_waited_before(self):
        client = self.connect()
        client.send(SHOUT.replace(b"/shout", b"/shout/10"))
        self.assertEqual(client.head().status, 101)
        client.send(b"both wait")
        self.assertEqual(client._exactly(9), b"BOTH WAIT")
        client.end()
        self.assertEqual(client.rest(), b"bye")

    @of_http1
    def test_upgrade_that_is_not_offered_is_426(self):
        client = self.connect()
        client.send(head(b"GET", b"/shout") + HELLO)
        answer = client.answer()
        self.assertEqual(answer.status, 426)
        self.assertEqual(answer.field("Upgrade"), "shout")
        self.assertEqual(client.answer().body, b"hello")

    @of_http1
    def test_upgraded_connection_carries_much_both_ways(self):
        client = self.connect()
        client.send(SHOUT)
        client.head()
        octets = b"abcdefghij" * 500_000
        sender = threading.Thread(target=client.send, args=(octets,))
        sender.start()
        self.assertEqual(client._exactly(len(octets)), octets.upper())
        sender.join()

    def test_another_thread_may_neither_write_nor_read(self):
        client = self.connect()
        client.send(head(b"POST", b"/thread", CHUNKED) + chunk(b"abc"))
        client.head()
        client.send(b"0\r\n\r\n")
        self.assertEqual(
            client.content()[0],
            b"write runtime.wrong_thread\nread runtime.wrong_thread\n",
        )

    def test_a_slow_handler_holds_its_client_back(self):
        before = self.watch_memory()
        octets = pattern(LARGE)
        client = self.connect()
        client.send(head(b"POST", b"/sum-slowly/1", length(LARGE)))
        client.socket.settimeout(60)
        client.send(octets)
        self.assertEqual(client.answer().body, summed(octets))
        self.check_memory(before)

    def test_a_slow_client_holds_the_function_back(self):
        before = self.watch_memory()
        client = self.connect(receive_octets=65536)
        for target in (b"/stream/%d", b"/chunks/%d"):
            client.send(head(b"GET", target % LARGE))
            answer = client.head()
            digest = Digest()
            # Nobody reads for a while: the counters need a request each.
            for _ in range(50):
                self.subject.statistics()
            self.check_memory(before)
            if answer.field("Content-Length"):
                for _ in range(LARGE // (1 << 20)):
                    digest.add(client._exactly(1 << 20))
            else:
                client.content(digest.add)
            self.assertEqual(digest.count, LARGE)
            self.assertTrue(digest.is_right())
        self.check_memory(before)

    def test_many_slow_clients_at_once(self):
        before = self.watch_memory()
        clients = [self.connect(receive_octets=4096) for _ in range(20)]
        for client in clients:
            client.send(head(b"GET", b"/stream/1000000"))
            client.head()
        for _ in range(20):
            self.subject.statistics()
        self.check_memory(before)
        for client in clients:
            self.assertEqual(client._exactly(1_000_000), pattern(1_000_000))


if __name__ == "__main__":
    unittest.main()

"""Asks the real server over HTTP/2, with and without TLS, on both backends."""

import os
import socket
import ssl
import struct
import sys
import time
import unittest
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.h2_client import H2Client, open_transport  # noqa: E402
from loopback.subject import (  # noqa: E402
    build,
    on_each_transport,
)

PATTERN = bytes(i % 251 for i in range(251 * 256))
# What may be sent before a more urgent response: 128 KiB that the server's kernel
# has not sent (208 KiB of a Unix socket), a send of 64 KiB, and what the client's
# kernel holds.
KERNEL_OCTETS_MAX = 512 * 1024
NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, CANCEL, CALM = 0, 1, 2, 8, 11
# With empty settings.
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"


class Recorder:
    """Is a socket that keeps what it sends."""

    def __init__(self, transport, sent):
        self._transport = transport
        self._sent = sent

    def sendall(self, octets):
        self._sent += octets
        self._transport.sendall(octets)

    def __getattr__(self, name):
        return getattr(self._transport, name)


def setUpModule():
    build()


def pattern(count):
    """Gives the first octets of what /stream answers."""
    return (PATTERN * (count // len(PATTERN) + 1))[:count]


@on_each_transport
class Exchanges:
    """Makes requests as any client does."""

    def open(self, **options):
        client = H2Client(self.subject, **options)
        self.addCleanup(client.close)
        return client

    def test_requests_follow_one_another(self):
        client = self.open()
        for i in range(20):
            answer = client.ask("GET", f"/users/{i}")
            self.assertEqual(answer.status, 200)
            self.assertEqual(answer.body, b"user %d" % i)
            self.assertEqual(answer.field("content-length"),
                             str(len(answer.body)))
            self.assertIsNotNone(answer.field("date"))
        self.assertEqual(client.ask("GET", "/nowhere").status, 404)

    def test_responses_without_content(self):
        client = self.open()
        self.assertEqual(client.ask("HEAD", "/").body, b"")
        self.assertEqual(client.ask("GET", "/nothing").status, 204)
        answer = client.ask("GET", "/unchanged")
        self.assertEqual((answer.status, answer.body), (304, b""))
        # A connection of HTTP/2 has no such option.
        answer = client.ask("GET", "/close")
        self.assertEqual(answer.body, b"closing")
        self.assertIsNone(answer.field("connection"))
        self.assertEqual(client.ask("GET", "/").body, b"hello")

    def test_handlers_run_in_parallel(self):
        client = self.open()
        started = time.monotonic()
        streams = [client.begin("GET", "/delay/300") for _ in range(100)]
        for stream in streams:
            self.assertEqual(client.answer(stream).body, b"waited 300")
        self.check_time(started, 0.3)

    def test_content_is_received_whole_and_piece_by_piece(self):
        client = self.open()
        content = os.urandom(3_000_000)
        answer = client.ask("POST", "/upload", body=content)
        self.assertEqual(answer.body, b"3000000")
        for size in (0, 1, 100, 70_000, len(content)):
            part = content[:size]
            answer = client.ask("POST", "/sum", body=part)
            self.assertEqual(
                answer.body, b"%d %d" % (size, zlib.adler32(part))
            )

    def test_requests_behind_much_unsent_content_wait(self):
        client = self.open(window=0)
        streams = [client.begin("GET", "/big/400000") for _ in range(10)]
        client.ping()
        # Three are over a mebibyte. The others have no memory yet.
        found = self.subject.statistics()
        self.assertLess(found["buffered_octets"], 2_000_000)
        for stream in streams[:3]:
            client.widen(400_000, stream)
        client.widen(8_000_000)
        for stream in streams[:3]:
            self.assertEqual(len(client.answer(stream).body), 400_000)
        for stream in streams[3:]:
            client.await_head(stream)
            client.widen(400_000, stream)
            self.assertEqual(len(client.answer(stream).body), 400_000)

    def test_uploads_share_the_connection(self):
        client = self.open()
        content = os.urandom(400_000)
        streams = [
            client.begin("POST", "/sum", ends=False) for _ in range(20)
        ]
        for at in range(0, len(content), 40_000):
            for stream in streams:
                client.send(stream, content[at : at + 40_000],
                            ends=at + 40_000 == len(content))
        wanted = b"%d %d" % (len(content), zlib.adler32(content))
        for stream in streams:
            self.assertEqual(client.answer(stream).body, wanted)

    def test_a_reader_that_waits_holds_no_other_up(self):
        client = self.open()
        slow = client.begin("POST", "/late-echo/400", ends=False)
        # Its window, and no more.
        client.send(slow, b"x" * 65_535, ends=False)
        answer = client.ask("POST", "/upload", body=b"y" * 2_000_000)
        self.assertEqual(answer.body, b"2000000")
        client.send(slow, b"z")
        self.assertEqual(len(client.answer(slow).body), 65_536)

    def test_long_responses(self):
        client = self.open()
        paths = {
            "/big/3000000": b"x" * 3_000_000,
            "/stream/2000000": pattern(2_000_000),
            "/chunks/2000000": pattern(2_000_000),
        }
        streams = {client.begin("GET", path): path for path in paths}
        for stream, path in streams.items():
            self.assertEqual(client.answer(stream).body, paths[path])
        sealed = client.ask("GET", "/sealed/500000")
        self.assertEqual(sealed.body[8:16], b"0000001\n")
        self.assertEqual(len(sealed.body), 500_000)

    def test_windows_of_the_client_bound_what_is_sent(self):
        client = self.open(window=1000)
        first = client.begin("GET", "/big/5000")
        second = client.begin("GET", "/stream/70000")
        client.await_content(first, 1000)
        client.await_content(second, 1000)
        client.ping()
        self.assertEqual(len(client.exchanges[first].body), 1000)
        self.assertEqual(len(client.exchanges[second].body), 1000)
        # Others are not held up.
        self.assertEqual(client.ask("GET", "/").body, b"hello")
        client.widen(4000, first)
        self.assertEqual(len(client.answer(first).body), 5000)
        # The connection's window ends first.
        client.widen(100_000, second)
        client.await_content(second, 65_535 - 5000 - 5)
        client.ping()
        self.assertEqual(
            len(client.exchanges[second].body), 65_535 - 5000 - 5
        )
        client.widen(100_000)
        self.assertEqual(client.answer(second).body, pattern(70_000))

    def test_content_and_response_flow_both_ways(self):
        client = self.open()
        stream = client.begin("POST", "/both", ends=False)
        client.await_head(stream)
        sent = b""
        for size in (1, 1000, 100_000, 1):
            piece = os.urandom(size)
            sent += piece
            client.send(stream, piece, ends=False)
            client.await_content(stream, len(sent))
        client.send(stream, b"")
        self.assertEqual(client.answer(stream).body, sent)

    def test_trailers_both_ways(self):
        client = self.open()
        stream = client.begin("POST", "/sum-trailer", ends=False)
        client.send(stream, b"abc", ends=False)
        client.trailers(stream, [("x-sum", "stated")])
        answer = client.answer(stream)
        self.assertEqual(answer.body, b"3 38600999 stated")
        self.assertEqual(answer.trailers, [("x-octets", "17")])

    def test_a_field_that_may_not_be_a_trailer_breaks_the_answer_off(self):
        client = self.open()
        for name in ("Set-Cookie", "Content-Type", "Host", "Content-Length"):
            answer = client.ask("POST", f"/sum-trailer?{name}", body=b"abc")
            self.assertEqual(answer.reset, INTERNAL_ERROR, name)
        answer = client.ask("POST", "/sum-trailer?ETag", body=b"abc")
        self.assertEqual(answer.trailers[1], ("etag", "1"))

    def test_interim_responses(self):
        client = self.open()
        answer = client.ask("GET", "/hints")
        self.assertEqual(answer.body, b"page")
        self.assertEqual(answer.interim[0][":status"], "103")
        self.assertEqual(
            answer.interim[0]["link"], "</style.css>; rel=preload"
        )
        stream = client.begin(
            "POST", "/upload", [("expect", "100-continue")], ends=False
        )
        client._await(lambda: client.exchanges[stream].interim)
        client.send(stream, b"now")
        answer = client.answer(stream)
        self.assertEqual(answer.interim[0][":status"], "100")
        self.assertEqual(answer.body, b"3")

    def test_a_reset_cancels_its_handler(self):
        client = self.open()
        stream = client.begin("POST", "/wait/sleep", ends=False)
        client.ping()
        before = len(self.subject.log())
        client.reset(stream)
        self.subject.await_log(rb"cut off: .*cancel")
        self.assertGreaterEqual(len(self.subject.log()), before)
        self.assertEqual(client.ask("GET", "/").body, b"hello")

    def test_a_lost_connection_cancels_all_handlers(self):
        client = self.open()
        for _ in range(5):
            client.begin("POST", "/wait/event")
        client.ping()
        client.close()
        self.subject.await_statistics(served=0)

    def test_clients_may_leave_at_any_octet(self):
        # Frames of each kind that a client sends.
        with H2Client(self.subject, window=65_535) as client:
            sent = bytearray()
            client.socket = Recorder(client.socket, sent)
            client.flush()
            upload = client.begin("POST", "/sum-trailer", ends=False)
            client.send(upload, b"abc", ends=False)
            client.machine.ping(b"flaretst")
            client.widen(1000, upload)
            client.raw(16, 0, 0, upload.to_bytes(4, "big") + b"u=1")
            waiting = client.begin("POST", "/wait/sleep", ends=False)
            client.reset(waiting)
            client.trailers(upload, [("x-sum", "1")])
            self.assertEqual(client.answer(upload).status, 200)
        octets = PREFACE + bytes(sent)
        self.assertGreater(len(octets), 150)
        for end in range(len(octets)):
            for leave in (
                lambda client: client.shutdown(socket.SHUT_WR),
                lambda client: client.close(),
                lambda client: client.setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
                ),
            ):
                with open_transport(self.subject) as client:
                    client.sendall(octets[:end])
                    leave(client)
        # All of it is answered.
        with open_transport(self.subject) as client:
            client.sendall(octets)
            received = b""
            while b"3 38600999 1" not in received:
                received += client.recv(65_536)
        self.subject.await_statistics(served=0)
        self.expect_answers_still()

    def test_errors_end_their_stream_only(self):
        client = self.open()
        slow = client.begin("GET", "/delay/300")
        self.assertEqual(client.ask("GET", "/raise").status, 500)
        answer = client.ask("GET", "/broken/100000")
        self.assertEqual(answer.status, 200)
        self.assertEqual(answer.reset, INTERNAL_ERROR)
        self.assertEqual(client.ask("GET", "/split").status, 500)
        self.assertEqual(client.answer(slow).body, b"waited 300")

    def test_an_early_answer_ends_the_request(self):
        client = self.open()
        stream = client.begin("GET", "/users/1", ends=False)
        answer = client.answer(stream)
        self.assertEqual(answer.body, b"user 1")
        # What still comes is dropped.
        client.raw(0, 1, stream, b"x" * 1000)
        self.assertEqual(client.ask("GET", "/").body, b"hello")

    def test_content_that_is_too_long(self):
        client = self.open()
        stream = client.begin(
            "POST", "/upload", [("content-length", "20000000")], ends=False
        )
        self.assertEqual(client.answer(stream).status, 413)
        stream = client.begin("POST", "/upload", ends=False)
        client.send(stream, b"x" * 11_000_000, ends=False)
        self.assertEqual(client.answer(stream).status, 413)
        self.assertEqual(client.ask("GET", "/").body, b"hello")

    def test_heads_that_are_refused(self):
        client = self.open()
        answer = client.ask("GET", "/", [("x-long", "v" * 9000)])
        self.assertEqual(answer.status, 431)
        many = [(f"x-{i}", "v") for i in range(101)]
        self.assertEqual(client.ask("GET", "/", many).status, 431)
        crumbs = [("cookie", f"c{i}=1") for i in range(200)]
        self.assertEqual(client.ask("GET", "/", crumbs).status, 200)
        answer = client.ask("GET", "/", [("cookie", "c=1")] * 257)
        self.assertEqual(answer.status, 431)
        for bad in [("X-Upper", "a"), ("connection", "close"),
                    ("x-a", " blank"), ("te", "gzip")]:
            answer = client.ask("GET", "/", [bad])
            self.assertEqual(answer.reset, PROTOCOL_ERROR, bad)
        self.assertEqual(client.ask("GET", "/").body, b"hello")

    def test_more_streams_than_allowed(self):
        client = self.open()
        client.ping()
        limit = client.machine.remote_settings.max_concurrent_streams
        self.assertEqual(limit, 128)
        client.machine.remote_settings[3] = 1000
        client.machine.remote_settings.acknowledge()
        streams = [client.begin("POST", "/upload", ends=False)
                   for _ in range(130)]
        client.ping()
        refused = [s for s in streams if client.exchanges[s].reset == 7]
        self.assertEqual(refused, streams[128:])

    def test_a_violation_ends_the_connection(self):
        client = self.open()
        waiting = client.begin("POST", "/wait/sleep")
        client.raw(6, 0, 0, b"short")
        self.assertEqual(client.await_goaway(), (waiting, 6))
        client.expect_end()
        self.subject.await_statistics(served=0)
        self.expect_answers_still()


@on_each_transport
class OnlyHttp1:
    """Knocks at a port that does not speak HTTP/2."""

    options = ("--http1",)

    def test_the_preface_is_refused(self):
        if self.transport == "tls":
            with self.assertRaises(ssl.SSLError) as caught:
                H2Client(self.subject)
            self.assertIn("no application protocol", str(caught.exception))
            return
        with self.subject.connect() as client:
            client.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            self.assertEqual(client.answer().status, 505)

    def test_a_preface_after_a_request_is_refused(self):
        with self.subject.connect() as client:
            client.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            self.assertEqual(client.answer().body, b"hello")
            client.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            self.assertEqual(client.answer().status, 505)


@on_each_transport
class EndOfStreams:
    """Asks more often than one connection may."""

    options = ("--stream-count", "10")

    def test_a_connection_ends_with_its_last_stream(self):
        client = H2Client(self.subject)
        self.addCleanup(client.close)
        for _ in range(10):
            self.assertEqual(client.ask("GET", "/").body, b"hello")
        # The first one only announces the end, to clients with requests under
        # way.
        self.assertEqual(client.await_goaway(), ((1 << 31) - 1, NO_ERROR))
        last, code = client.await_goaway(2)
        self.assertEqual(code, NO_ERROR)
        self.assertGreaterEqual(last, 19)
        client.expect_end()
        with H2Client(self.subject) as other:
            self.assertEqual(other.ask("GET", "/").body, b"hello")


@on_each_transport
class Limits:
    """Does what exhausts a time or a bound."""

    options = ("--small-limits",)

    def open(self, **options):
        client = H2Client(self.subject, **options)
        self.addCleanup(client.close)
        return client

    def test_a_window_that_stays_closed(self):
        client = self.open(window=0)
        stalled = client.begin("GET", "/big/100000")
        streamed = client.begin("GET", "/stream/100000")
        started = time.monotonic()
        self.assertEqual(client.answer(stalled).reset, CANCEL)
        self.assertEqual(client.answer(streamed).reset, CANCEL)
        self.check_time(started, 0.4)
        found = self.subject.await_statistics(served=0)
        # The answer with the statistics may have a buffer itself.
        self.assertLessEqual(found["buffered_octets"], 16_384)
        # The connection goes on.
        client.raw(8, 0, 0, (1000).to_bytes(4, "big"))
        stream = client.begin("GET", "/")
        client.await_head(stream)
        client.widen(100, stream)
        self.assertEqual(client.answer(stream).body, b"hello")

    def test_a_window_that_opens_octet_by_octet(self):
        client = self.open(window=0)
        stream = client.begin("GET", "/big/100000")
        client.await_head(stream)
        started = time.monotonic()
        while not client.exchanges[stream].has_ended:
            client.widen(1, stream)
            time.sleep(0.02)
            client.ping()
            self.assertLess(time.monotonic() - started, 5)
        self.assertEqual(client.exchanges[stream].reset, CANCEL)

    def test_a_head_that_does_not_end(self):
        client = self.open()
        client.ping()
        started = time.monotonic()
        client.raw(1, 1, 1, b"")
        self.assertEqual(client.await_goaway(), (0, CALM))
        self.check_time(started, 0.4)
        client.expect_end()

    def test_an_idle_connection_is_closed_with_a_word(self):
        client = self.open()
        client.ask("GET", "/")
        started = time.monotonic()
        self.assertEqual(client.await_goaway(), (1, NO_ERROR))
        client.expect_end()
        self.check_time(started, 0.4)

    def test_a_preface_that_does_not_come(self):
        client = self.open()
        client.ask("GET", "/")
        started = time.monotonic()
        client.socket.sendall(b"\0\0")
        self.assertEqual(client.await_goaway(), (1, CALM))
        self.check_time(started, 0.4)

    def test_content_that_is_late(self):
        client = self.open()
        stream = client.begin("POST", "/upload", ends=False)
        started = time.monotonic()
        answer = client.answer(stream)
        self.assertEqual(answer.status, 408)
        self.check_time(started, 0.4)
        self.assertEqual(client.ask("GET", "/").body, b"hello")

    def test_too_many_requests_in_flight(self):
        client = self.open()
        streams = [client.begin("GET", "/delay/300") for _ in range(6)]
        answers = [client.answer(stream).status for stream in streams]
        self.assertEqual(sorted(answers), [200] * 4 + [503] * 2)

    def test_priorities(self):
        client = self.open(window=0)
        last = client.begin("GET", "/big/300000", [("priority", "u=7")])
        usual = client.begin("GET", "/big/300000")
        first = client.begin("GET", "/big/1000", [("priority", "u=0")])
        changed = client.begin("GET", "/big/1000", [("priority", "u=7")])
        client.raw(16, 0, 0, changed.to_bytes(4, "big") + b"u=1")
        client.ping()
        streams = [last, usual, first, changed]
        for stream in streams:
            client.widen(400_000, stream)
        client.widen(1_000_000)
        order = []
        client._await(lambda: self._note(client, streams, order))
        self.assertEqual(order, [first, changed, usual, last])

    def test_a_handlers_priority_comes_before_that_of_the_request(self):
        client = self.open(window=0)
        first = client.begin("GET", "/big/300000?u=7", [("priority", "u=0")])
        usual = client.begin("GET", "/big/300000")
        client.ping()
        streams = [first, usual]
        for stream in streams:
            client.widen(400_000, stream)
        client.widen(1_000_000)
        order = []
        client._await(lambda: self._note(client, streams, order))
        self.assertEqual(order, [usual, first])

    def test_a_handler_that_lags_behind_holds_no_more_than_a_window(self):
        octets = pattern(32 << 20)
        # Between two requests it may not be silent for long.
        client = self.open()
        stream = client.begin("POST", "/nibble", ends=False)
        client.send(stream, octets[: 1 << 20], ends=False)
        self.subject.forget_peak()
        before = self.subject.resident_octets()
        client.send(stream, octets[1 << 20 :])
        answer = client.answer(stream)
        self.assertEqual(
            answer.body, b"%d %d" % (len(octets), zlib.adler32(octets))
        )
        grown = self.subject.resident_octets("VmHWM") - before
        # Windows grow up to 8 MiB where they hold a client back, and the buffer
        # doubles.
        self.assertLess(grown, 20 << 20)

    def test_an_urgent_response_passes_content_that_waits(self):
        client = self.open(kernel_octets=32 * 1024)
        bulk = client.begin("GET", f"/big/{8 << 20}", [("priority", "u=7")])
        client.await_content(bulk, 1 << 20)
        urgent = client.begin("GET", "/big/1000", [("priority", "u=0")])
        before = len(client.exchanges[bulk].body)
        client.await_content(urgent, 1)
        # The server has 64 KiB under way, and both kernels hold some.
        behind = len(client.exchanges[bulk].body) - before
        self.assertLess(behind, KERNEL_OCTETS_MAX)

    def test_urgent_requests_add_little_to_unsent_content(self):
        client = self.open(window=0)
        octets = 4 << 20
        client.begin("GET", f"/big/{octets}", [("priority", "u=7")])
        client.ping()
        self.subject.forget_peak()
        before = self.subject.resident_octets()
        for _ in range(20):
            client.begin("GET", f"/big/{octets}", [("priority", "u=0")])
        client.ping()
        grown = self.subject.resident_octets("VmHWM") - before
        # One of them passes, and the others wait for it.
        self.assertLess(grown, 2 * octets)

    def _note(self, client, streams, order):
        for stream in streams:
            if client.exchanges[stream].has_ended and stream not in order:
                order.append(stream)
        return len(order) == len(streams)


if __name__ == "__main__":
    unittest.main()

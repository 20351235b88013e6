"""Sends the real server what it must refuse, on both backends.

Every row asks for `/raise`, whose handler counts as an error when it runs, and
is followed by an innocent request that must not be answered: whatever stands
behind a violation could be read as something else by somebody before us.
"""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.subject import WithSubject, build, on_each_transport  # noqa: E402

HELLO = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"


def setUpModule():
    build()


def request(*lines, line=b"POST /raise HTTP/1.1", host=b"Host: a", body=b""):
    return b"\r\n".join([line, host, *lines]) + b"\r\n\r\n" + body


def with_line(line):
    return request(line=line)


def chunked(body):
    return request(b"Transfer-Encoding: chunked", body=body)


# The limit of content counts where a handler reads it.
UPLOAD = b"POST /upload HTTP/1.1"
LENGTH = b"Content-Length: "
CODING = b"Transfer-Encoding: "
ROWS = [
    # What ends a message (RFC 9112 section 6).
    ("length and coding", request(LENGTH + b"3", CODING + b"chunked", body=b"0\r\n\r\n"), 400),
    ("coding and length", request(CODING + b"chunked", LENGTH + b"3", body=b"0\r\n\r\n"), 400),
    ("two lengths", request(LENGTH + b"3", LENGTH + b"4", body=b"abcd"), 400),
    ("one length twice", request(LENGTH + b"3", LENGTH + b"3", body=b"abc"), 400),
    ("a list of lengths", request(LENGTH + b"3, 3", body=b"abc"), 400),
    ("plus sign", request(LENGTH + b"+3", body=b"abc"), 400),
    ("minus sign", request(LENGTH + b"-3", body=b"abc"), 400),
    ("blank in a length", request(LENGTH + b"1 1", body=b"abc"), 400),
    ("empty length", request(LENGTH, body=b"abc"), 400),
    ("hexadecimal length", request(LENGTH + b"0x3", body=b"abc"), 400),
    ("letters", request(LENGTH + b"three", body=b"abc"), 400),
    ("2^64 + 1", request(LENGTH + b"18446744073709551617", body=b"a"), 400),
    ("2^63", request(LENGTH + b"9223372036854775808", body=b"a"), 400),
    ("chunked twice", request(CODING + b"chunked, chunked", body=b"0\r\n\r\n"), 400),
    ("chunked not last", request(CODING + b"chunked, gzip", body=b"0\r\n\r\n"), 400),
    ("unknown coding", request(CODING + b"gzip, chunked", body=b"0\r\n\r\n"), 501),
    ("identity", request(CODING + b"identity", body=b"abc"), 501),
    ("empty coding", request(CODING, body=b"0\r\n\r\n"), 400),
    ("chunked with a parameter", request(CODING + b"chunked;a=b", body=b"0\r\n\r\n"), 400),
    ("quoted coding", request(CODING + b'"chunked"', body=b"0\r\n\r\n"), 400),
    ("coding in HTTP/1.0", request(CODING + b"chunked", line=b"POST /raise HTTP/1.0", body=b"0\r\n\r\n"), 400),
    # Chunks (RFC 9112 section 7.1).
    ("chunk size is no number", chunked(b"g\r\nabc\r\n0\r\n\r\n"), 400),
    ("chunk size with sign", chunked(b"+3\r\nabc\r\n0\r\n\r\n"), 400),
    ("chunk size with 0x", chunked(b"0x3\r\nabc\r\n0\r\n\r\n"), 400),
    ("chunk size of 17 digits", chunked(b"10000000000000003\r\nabc\r\n0\r\n\r\n"), 400),
    ("empty chunk size", chunked(b"\r\nabc\r\n0\r\n\r\n"), 400),
    ("no CR LF behind a chunk", chunked(b"3\r\nabcd\r\n0\r\n\r\n"), 400),
    ("LF alone behind a chunk", chunked(b"3\r\nabc\n0\r\n\r\n"), 400),
    ("LF alone behind a size", chunked(b"3\nabc\r\n0\r\n\r\n"), 400),
    ("long chunk extension", chunked(b"3;" + b"x" * 300 + b"\r\nabc\r\n0\r\n\r\n"), 400),
    ("control octet in an extension", chunked(b"3;a\x01\r\nabc\r\n0\r\n\r\n"), 400),
    ("bad trailer", chunked(b"0\r\nno colon\r\n\r\n"), 400),
    ("chunk over the body limit", request(CODING + b"chunked", line=UPLOAD, body=b"a00001\r\n"), 413),
    # Field lines (RFC 9112 section 5).
    ("obs-fold", request(b"X-A: b\r\n c"), 400),
    ("bare CR in a value", request(b"X-A: b\rc"), 400),
    ("bare LF in a value", request(b"X-A: b\nX-B: c"), 400),
    ("NUL in a value", request(b"X-A: b\x00c"), 400),
    ("escape in a value", request(b"X-A: b\x1b[31m"), 400),
    ("DEL in a value", request(b"X-A: b\x7f"), 400),
    ("NUL in a name", request(b"X-\x00A: b"), 400),
    ("space before the colon", request(b"X-A : b"), 400),
    ("space before a length", request(b"Content-Length : 3", body=b"abc"), 400),
    ("space before a name", request(b" X-A: b", host=b"Host: a"), 400),
    ("empty name", request(b": b"), 400),
    ("no colon", request(b"X-A"), 400),
    ("non-ASCII name", request(b"X-\xc3\xa4: b"), 400),
    # Host (RFC 9112 section 3.2).
    ("no Host", request(host=b"X-A: b"), 400),
    ("empty Host", request(host=b"Host:"), 400),
    ("two Hosts", request(b"Host: a"), 400),
    ("Host with a blank", request(host=b"Host: a b"), 400),
    ("Host with user", request(host=b"Host: u@a"), 400),
    ("Host with path", request(host=b"Host: a/b"), 400),
    ("Host with a bad port", request(host=b"Host: a:b"), 400),
    # Request lines (RFC 9112 section 3).
    ("HTTP/0.9", b"GET /raise\r\n\r\n", 400),
    ("HTTP/2.0", with_line(b"GET /raise HTTP/2.0"), 505),
    ("nearly the preface of HTTP/2", b"PRI * HTTP/2.1\r\n\r\nSM\r\n\r\n", 505),
    ("small letters", with_line(b"GET /raise http/1.1"), 400),
    ("junk version", with_line(b"GET /raise HTTP/1"), 400),
    ("two digits", with_line(b"GET /raise HTTP/1.10"), 400),
    ("two blanks", with_line(b"GET  /raise HTTP/1.1"), 400),
    ("tab", with_line(b"GET\t/raise HTTP/1.1"), 400),
    ("blank behind", with_line(b"GET /raise HTTP/1.1 "), 400),
    ("blank in front", with_line(b" GET /raise HTTP/1.1"), 400),
    ("bare LF", b"GET /raise HTTP/1.1\nHost: a\n\n", 400),
    ("bare CR", b"GET /raise HTTP/1.1\rHost: a\r\r", 400),
    ("NUL in the target", with_line(b"GET /ra\x00ise HTTP/1.1"), 400),
    ("escape in the target", with_line(b"GET /ra\x1bise HTTP/1.1"), 400),
    ("bad escape", with_line(b"GET /raise%zz HTTP/1.1"), 400),
    ("fragment", with_line(b"GET /raise#a HTTP/1.1"), 400),
    ("relative target", with_line(b"GET raise HTTP/1.1"), 400),
    ("asterisk without OPTIONS", with_line(b"GET * HTTP/1.1"), 400),
    ("CONNECT", with_line(b"CONNECT a:443 HTTP/1.1"), 400),
    ("bad method", with_line(b"G(T /raise HTTP/1.1"), 400),
    ("long method", with_line(b"G" * 33 + b" /raise HTTP/1.1"), 501),
    ("TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
    ("five empty lines", b"\r\n" * 5 + request(), 400),
    # Limits.
    ("target of 8193", with_line(b"GET /" + b"a" * 8192 + b" HTTP/1.1"), 414),
    ("field section over 8192", request(b"X-A: " + b"b" * 8192), 431),
    ("101 fields", request(*[b"X-A: b"] * 100), 431),
    ("body over 10 MiB", request(LENGTH + b"10485761", line=UPLOAD), 413),
    ("unknown expectation", request(LENGTH + b"1", b"Expect: x", body=b"a"), 417),
]
# What looks like a violation and is none.
INNOCENT = [
    ("target of 8192", with_line(b"GET /" + b"a" * 8191 + b" HTTP/1.1"), 404),
    ("100 fields", request(*[b"X-A: b"] * 99, line=b"GET / HTTP/1.1"), 200),
    ("a field that only ends in Content-Length", request(b"X-Content-Length: 99", line=b"GET / HTTP/1.1"), 200),
    ("a query that looks like a field", with_line(b"GET /?Content-Length:%2099 HTTP/1.1"), 200),
    ("four empty lines", b"\r\n" * 4 + HELLO, 200),
    ("HTTP/1.1 of a later minor version", with_line(b"GET / HTTP/1.2"), 200),
    ("Content-Length with leading zeros", request(LENGTH + b"0003", line=b"POST /echo HTTP/1.1", body=b"abc"), 200),
    ("chunked in capitals", request(CODING + b"CHUNKED", line=b"POST /echo HTTP/1.1", body=b"1\r\na\r\n0\r\n\r\n"), 200),
    ("absolute form with the port of its scheme", request(line=b"GET http://a:80/ HTTP/1.1"), 200),
]


@on_each_transport
class Refusals:
    def check_refused(self, octets, status, pieces=1):
        client = self.connect()
        try:
            if pieces == 1:
                client.send(octets + HELLO)
            else:
                client.dribble(octets + HELLO)
        except (BrokenPipeError, ConnectionResetError):
            self.assertNotEqual(pieces, 1)
        answer = client.answer()
        self.assertEqual(answer.status, status)
        self.assertTrue(answer.closes())
        try:
            client.end()
        except OSError:
            # The server was faster.
            pass
        client.expect_end()
        client.close()

    def test_violations_are_refused_and_close(self):
        before = self.subject.statistics()
        for name, octets, status in ROWS:
            with self.subTest(name):
                self.check_refused(octets, status)
        after = self.subject.statistics()
        self.assertEqual(after["handler_errors"], before["handler_errors"])
        self.assertEqual(after["refused"] - before["refused"], len(ROWS))
        self.expect_answers_still()

    def test_violations_are_refused_octet_by_octet(self):
        before = self.subject.statistics()["refused"]
        short = [row for row in ROWS if len(row[1]) < 300]
        for name, octets, status in short:
            # A handler may well run before its body comes: let it read.
            octets = octets.replace(b"/raise", b"/upload")
            with self.subTest(name):
                self.check_refused(octets, status, pieces=len(octets))
        after = self.subject.statistics()["refused"]
        self.assertEqual(after - before, len(short))

    def test_look_alikes_are_answered_and_persist(self):
        client = self.connect()
        for name, octets, status in INNOCENT:
            with self.subTest(name):
                client.send(octets + HELLO)
                self.assertEqual(client.answer().status, status)
                self.assertEqual(client.answer().body, b"hello")

    def test_what_stands_before_a_violation_is_answered(self):
        client = self.connect()
        client.send(HELLO * 3 + b"BAD\r\n\r\n" + HELLO)
        for _ in range(3):
            self.assertEqual(client.answer().body, b"hello")
        self.assertEqual(client.answer().status, 400)
        client.end()
        client.expect_end()

    def test_a_refusal_says_nothing_of_what_came(self):
        client = self.connect()
        client.send(b"GET /<script> HTTP/1.1\r\nHost: a\r\nsecret\r\n\r\n")
        answer = client.answer()
        self.assertEqual(answer.status, 400)
        self.assertEqual(answer.body, b"field line without a colon")

    def test_a_peer_that_never_stops_is_cut_off(self):
        client = self.connect()
        client.socket.settimeout(0.5)
        try:
            for _ in range(2000):
                client.send(b"\x00" * 65536)
        except (BrokenPipeError, ConnectionResetError):
            pass
        client.socket.settimeout(10)
        self.assertTrue(client.has_ended())
        self.expect_answers_still()

    def test_random_octets_never_end_the_server(self):
        state = 88172645463325252
        for _ in range(200):
            octets = bytearray()
            for _ in range(40):
                state = (state ^ (state << 13)) & (2**64 - 1)
                state ^= state >> 7
                state = (state ^ (state << 17)) & (2**64 - 1)
                octets += state.to_bytes(8, "little")
            client = self.connect()
            client.send(b"POST /raise HTTP/1.1\r\n" * (state & 1) + octets)
            client.end()
            self.assertTrue(client.has_ended())
            client.close()
        self.expect_answers_still()


if __name__ == "__main__":
    unittest.main()

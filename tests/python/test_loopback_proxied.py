"""Connects as a proxy does: with a header that names the client, or without."""

import socket
import struct
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.secure_socket import SecureSocket  # noqa: E402
from loopback.subject import (  # noqa: E402
    Subject,
    WithSubject,
    build,
    on_each_backend,
    on_each_plain_transport,
)

HELLO = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
PEER = b"GET /peer HTTP/1.1\r\nHost: a\r\n\r\n"
LINE = b"PROXY TCP4 192.0.2.9 198.51.100.7 56324 443\r\n"
SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"


def setUpModule():
    build()


def binary(command, family, addresses, more=b""):
    rest = addresses + more
    return SIGNATURE + struct.pack("!BBH", command, family, len(rest)) + rest


def v4(source, destination, source_port, destination_port):
    return (
        socket.inet_aton(source) + socket.inet_aton(destination)
        + struct.pack("!HH", source_port, destination_port)
    )


def v6(source, destination, source_port, destination_port):
    return (
        socket.inet_pton(socket.AF_INET6, source)
        + socket.inet_pton(socket.AF_INET6, destination)
        + struct.pack("!HH", source_port, destination_port)
    )


V4 = v4("192.0.2.9", "198.51.100.7", 56324, 443)
NAMED = [
    ("a line", LINE, b"192.0.2.9:56324"),
    ("a line with IPv6",
     b"PROXY TCP6 2001:db8::9 2001:db8::7 1 2\r\n", b"[2001:db8::9]:1"),
    ("binary", binary(0x21, 0x11, V4), b"192.0.2.9:56324"),
    ("binary with IPv6",
     binary(0x21, 0x21, v6("2001:db8::9", "::", 65535, 0)),
     b"[2001:db8::9]:65535"),
    ("what a proxy adds", binary(0x21, 0x11, V4, b"\x04\0\1x" * 500),
     b"192.0.2.9:56324"),
]
UNNAMED = [
    ("a line without addresses", b"PROXY UNKNOWN\r\n"),
    ("the proxy for itself", binary(0x20, 0x00, b"")),
    ("the proxy for itself, with addresses", binary(0x20, 0x11, V4)),
    ("the proxy for itself, of an unknown family", binary(0x20, 0x41, V4)),
    ("no addresses", binary(0x21, 0x00, b"")),
    ("datagrams", binary(0x21, 0x12, V4)),
    ("Unix sockets", binary(0x21, 0x31, bytes(216))),
]
MALFORMED = [
    ("no header", HELLO, rb'begins otherwise: "GET / HTTP/1.1\\x0d\\x0aHost: a'),
    ("a line of another kind", b"PROXY UDP4 1.1.1.1 2.2.2.2 1 2\r\n",
     rb'no known protocol: "PROXY UDP4 1.1.1.1 2.2.2.2 1 2\\x0d\\x0a"'),
    ("a line that does not end", b"PROXY UNKNOWN " + b"\x1b" * 100,
     rb'longer than 107 octets: "PROXY UNKNOWN (\\x1b){18}\.\.\."$'),
    ("an unknown version", binary(0x31, 0x11, V4), rb"version or the command"),
    ("too few octets", binary(0x21, 0x11, V4[:-1]), rb"addresses are cut off"),
    ("too many octets", binary(0x21, 0x11, V4, bytes(5000)),
     rb"longer than the limit"),
]


class Named:
    def own_name(self, client):
        if self.transport == "unix":
            return b"unix:"
        return b"127.0.0.1:%d" % client.socket.getsockname()[1]

    def check(self, octets, name):
        client = self.connect()
        client.send(octets)
        self.assertEqual(client.answer().body, name)
        # One header is for all requests of the connection.
        client.send(PEER)
        self.assertEqual(client.answer().body, name)
        client.close()

    def test_the_peer_is_whom_the_proxy_names(self):
        for name, octets, peer in NAMED:
            with self.subTest(name):
                self.check(octets + PEER, peer)

    def test_the_peer_is_the_proxy_where_it_names_nobody(self):
        for name, octets in UNNAMED:
            with self.subTest(name):
                client = self.connect()
                client.send(octets + PEER + PEER)
                own_name = self.own_name(client)
                self.assertEqual(client.answer().body, own_name)
                self.assertEqual(client.answer().body, own_name)

    def test_a_header_may_come_octet_by_octet(self):
        for octets in (LINE, binary(0x21, 0x11, V4)):
            client = self.connect()
            client.dribble(octets + PEER)
            self.assertEqual(client.answer().body, b"192.0.2.9:56324")

    def test_malformed_headers_end_the_connection(self):
        for name, octets, line in MALFORMED:
            with self.subTest(name):
                before = len(self.lines(line))
                client = self.connect()
                try:
                    client.send(octets)
                except (BrokenPipeError, ConnectionResetError):
                    pass
                self.assertTrue(client.has_ended())
                found = self.subject.await_log(line, before + 1)
                self.assertEqual(len(found), before + 1)
                self.assertRegex(
                    found[-1],
                    rb"^flare: worker 0 closed a connection from \S+:"
                    rb" net.bad_proxy_header: ",
                )
        self.subject.await_statistics(**self.held_before)

    def lines(self, pattern):
        return self.subject.await_log(pattern, 0)

    def test_who_leaves_before_the_header_is_no_news(self):
        before = self.lines(rb"closed a connection")
        for _ in range(3):
            client = self.connect()
            client.end()
            client.expect_end()
        self.assertEqual(self.lines(rb"closed a connection"), before)
        client = self.connect()
        client.send(LINE[:-1])
        client.end()
        client.expect_end()
        self.subject.await_log(rb"the header is cut off", 1)

    def test_a_header_that_is_late_ends_the_connection(self):
        for octets in (b"", LINE[:-1], SIGNATURE):
            client = self.connect()
            client.send(octets)
            started = time.monotonic()
            client.expect_end()
            # The timeout of heads, of the small limits.
            self.check_time(started, 0.4)
        self.expect_statistics_still()

    def test_dribbling_does_not_prolong_the_time_of_a_header(self):
        client = self.connect()
        client.socket.settimeout(0.05)
        started = time.monotonic()
        try:
            for octet in LINE * 10:
                client.send(bytes([octet]))
                try:
                    client.expect_end()
                    break
                except TimeoutError:
                    continue
        except (BrokenPipeError, ConnectionResetError):
            pass
        self.check_time(started, 0.4)

    def expect_statistics_still(self):
        self.subject.await_statistics(**self.held_before)


@on_each_backend
class OverTcp(Named):
    opening = b"PROXY UNKNOWN\r\n"
    options = ("--small-limits", "--proxies", "10.0.0.0/8",
               "--proxies", "127.0.0.1")


class OverUnix(Named):
    opening = b"PROXY UNKNOWN\r\n"
    options = ("--small-limits", "--proxies", "unix")


on_each_backend(OverUnix, WithSubject, ("unix",))


LAST_OF_A_SECOND = b"; more of them in this second are not"


class Untrusted:
    def start(self):
        subject = Subject(
            self.backend,
            *("--proxies", "10.0.0.0/8", "--proxies", "::1"),
            transport=self.transport,
        )
        self.addCleanup(subject.stop)
        return subject

    def test_who_is_no_trusted_proxy_is_not_heard(self):
        subject = self.start()
        for i, octets in enumerate((LINE + HELLO, HELLO, b"")):
            with subject.connect() as client:
                try:
                    client.send(octets)
                except (BrokenPipeError, ConnectionResetError):
                    pass
                self.assertTrue(client.has_ended())
            found = subject.await_log(rb"closed a connection", i + 1)
            self.assertRegex(
                found[-1],
                rb"^flare: worker 0 closed a connection from"
                rb" (127\.0\.0\.1:\d+|unix:): net.untrusted_proxy: it is not"
                rb" one of the trusted proxies$",
            )
        self.assertEqual(subject.stop(), 0)

    def test_a_flood_of_them_does_not_fill_the_log(self):
        subject = self.start()
        started = time.monotonic()
        for _ in range(200):
            with subject.connect() as client:
                self.assertTrue(client.has_ended())
        seconds = int(time.monotonic() - started) + 2
        self.assertEqual(subject.stop(), 0)
        lines = [x for x in subject.log() if b"closed a connection" in x]
        self.assertLessEqual(len(lines), 16 * seconds)
        # The clock's second may begin anew within the first sixteen.
        last = [i for i, x in enumerate(lines) if LAST_OF_A_SECOND in x]
        self.assertTrue(last, lines)
        self.assertGreaterEqual(last[0], 15)


on_each_plain_transport(Untrusted, unittest.TestCase)


class BeforeTls:
    """Names the client in front of the first record."""

    def start(self):
        subject = Subject(
            self.backend, "--proxies", "127.0.0.1", transport="tls"
        )
        self.addCleanup(subject.stop)
        return subject

    def connect(self, subject, header):
        client = subject.connect(secure=False)
        self.addCleanup(client.close)
        client.send(header)
        client.socket = SecureSocket(client.socket)
        return client

    def test_the_peer_is_whom_the_proxy_names(self):
        subject = self.start()
        for name, octets, peer in NAMED:
            with self.subTest(name):
                client = self.connect(subject, octets)
                client.send(PEER + PEER)
                self.assertEqual(client.answer().body, peer)
                self.assertEqual(client.answer().body, peer)
        self.assertEqual(subject.stop(), 0)

    def test_a_header_may_come_octet_by_octet_and_with_the_first_record(self):
        subject = self.start()
        client = subject.connect(secure=False)
        self.addCleanup(client.close)
        transport = client.socket

        class Joined:
            def __init__(self):
                self.front = LINE

            def send(self, octets):
                # All but its last octet come alone, that one with a record.
                for i in range(len(self.front) - 1):
                    transport.sendall(self.front[i : i + 1])
                transport.sendall(self.front[-1:] + octets)
                self.front = b""
                return len(octets)

            def __getattr__(self, name):
                return getattr(transport, name)

        client.socket = SecureSocket(Joined())
        client.send(PEER)
        self.assertEqual(client.answer().body, b"192.0.2.9:56324")

    def test_what_is_no_header_ends_the_connection(self):
        subject = self.start()
        for octets in (HELLO, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03"):
            with subject.connect(secure=False) as client:
                client.send(octets)
                self.assertTrue(client.has_ended())
        with subject.connect(secure=False) as client:
            client.send(LINE + HELLO)
            self.assertEqual(client.answer().status, 400)


on_each_backend(BeforeTls, unittest.TestCase)


if __name__ == "__main__":
    unittest.main()

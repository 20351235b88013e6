"""Opens WebSockets through a reverse proxy: before a server of flare, and
before one that does what no server should."""

import contextlib
import re
import signal
import socket
import struct
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.client import Client  # noqa: E402
from loopback.subject import (  # noqa: E402
    Subject,
    WithSubject,
    build,
    on_each_backend,
)
from loopback.ws_client import (  # noqa: E402
    ACCEPT,
    BINARY,
    CLOSE,
    PING,
    PONG,
    SOURCE,
    TEXT,
    WsClient,
    close_frame,
    frame,
    handshake,
)

SIZES = (0, 1, 125, 126, 65_535, 65_536, 1 << 20)
# What the kernel, a window and an output of each connection on the way hold.
UNREAD_OCTETS_MAX = 24 << 20
FLOOD_OCTETS = 16 << 20
# The memory that a proxy may take for one flood, of which it reads little.
HELD_OCTETS_MAX = 2 << 20
IDLE_SECONDS = 1.0
SWITCHED = (
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
    b"Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n"
    % ACCEPT.encode()
)


def setUpModule():
    build(SOURCE)


def sent_by_server(first, payload):
    """Writes a short frame of a server."""
    return struct.pack(">BB", first, len(payload)) + payload


def begin(case, port, listener, request=None):
    """Sends a request to a proxy; gives its end, that of the server behind,
    and the head that arrives there."""
    client = WsClient.__new__(WsClient)
    Client.__init__(client, port)
    case.addCleanup(client.close)
    client.send(request or handshake())
    behind, _ = listener.accept()
    case.addCleanup(behind.close)
    behind.settimeout(5)
    head = b""
    while b"\r\n\r\n" not in head:
        piece = behind.recv(1 << 16)
        case.assertTrue(piece)
        head += piece
    return client, behind, head


class BeforeFlare(WithSubject):
    """Has a server of flare behind the proxy."""

    source = SOURCE
    more = ()

    @classmethod
    def setUpClass(cls):
        cls.behind = Subject(cls.backend, source=SOURCE)
        cls.addClassCleanup(cls.behind.stop)
        cls.options = (
            "--upstream", f"http://127.0.0.1:{cls.behind.port}", *cls.more
        )
        super().setUpClass()

    @classmethod
    def warm_up(cls):
        # A connection of the pool stays open.
        with cls.subject.connect() as client:
            client.send(b"GET /who HTTP/1.1\r\nHost: a\r\n\r\n")
            client.answer()

    def open(self, path="/echo", *lines, **options):
        client = WsClient(self.subject.port, path, *lines, **options)
        self.addCleanup(client.close)
        return client

    def await_none_behind(self):
        """Waits until the server behind has no socket."""
        self.behind.await_statistics(sockets=0)


class Passing:
    def test_messages_of_each_size_come_back(self):
        client = self.open()
        for size in SIZES:
            payload = bytes(i & 0xFF for i in range(min(size, 256)))
            payload = (payload * (size // 256 + 1))[:size]
            client.send_frame(BINARY, payload)
            parts = []
            while True:
                first, part = client.frame()
                parts.append(part)
                if first & 0x80:
                    break
            self.assertEqual(b"".join(parts), payload)
        client.send_frame(PING, b"there?")
        client.expect(PONG, b"there?")
        client.send(close_frame(4000))
        client.expect(CLOSE, struct.pack(">H", 4000))
        client.expect_end()
        self.await_none_behind()

    def test_octets_that_dribble_arrive(self):
        client = self.open()
        client.dribble(frame(TEXT, b"slowly") + close_frame(1000))
        client.expect(TEXT, b"slowly")
        client.expect(CLOSE, struct.pack(">H", 1000))

    def test_the_choices_of_the_server_arrive(self):
        client = self.open(
            "/protocols", "Sec-WebSocket-Protocol: v1.chat, v2.chat"
        )
        self.assertEqual(
            client.response.field("Sec-WebSocket-Protocol"), "v2.chat"
        )
        self.assertEqual(client.response.field("Via"), "1.1 flare")
        client = self.open(
            "/dedicated", "Sec-WebSocket-Extensions: permessage-deflate"
        )
        self.assertIn(
            "permessage-deflate",
            client.response.field("Sec-WebSocket-Extensions"),
        )

    def test_a_refusal_arrives_and_the_connection_goes_on(self):
        with self.connect() as client:
            for lines, status in (
                (("Origin: http://elsewhere.example",), 403),
                (("Sec-WebSocket-Version: 12",), 426),
            ):
                client.send(handshake("/echo", *lines))
                self.assertEqual(client.answer().status, status)
            client.send(b"GET /echo HTTP/1.1\r\nHost: a\r\n\r\n")
            answer = client.answer()
            self.assertEqual(answer.status, 426)
            self.assertEqual(answer.field("Sec-WebSocket-Version"), "13")
            client.send(handshake("/none"))
            self.assertEqual(client.answer().status, 404)
            client.send(b"GET /who HTTP/1.1\r\nHost: a\r\n\r\n")
            self.assertEqual(client.answer().status, 200)

    def test_five_hundred_sockets_leave_nothing(self):
        clients = [self.open() for _ in range(500)]
        self.assertEqual(self.behind.statistics()["sockets"], 500)
        for i, client in enumerate(clients):
            client.send_frame(TEXT, b"%d" % i)
        for i, client in enumerate(clients):
            client.expect(TEXT, b"%d" % i)
        for i, client in enumerate(clients):
            if i % 4 == 0:
                client.send(close_frame(1000))
            elif i % 4 == 1:
                client.reset()
            elif i % 4 == 2:
                client.end()
            else:
                client.close()
        self.await_none_behind()
        self.subject.await_statistics(streams=0)

    def test_a_client_that_reads_nothing_costs_little(self):
        before = self.subject.resident_octets()
        client = self.open("/flood", receive_octets=4096)
        time.sleep(0.5)
        held = self.subject.statistics()
        self.assertLess(
            self.subject.resident_octets() - before, HELD_OCTETS_MAX, held
        )
        # Nobody else waits.
        other = self.open()
        other.send_frame(TEXT, b"hello")
        other.expect(TEXT, b"hello")
        code, octets = client.until_close()
        self.assertEqual((code, octets), (1000, FLOOD_OCTETS))
        client.send(close_frame(1000))

    def test_the_end_of_a_client_is_passed_on(self):
        client = self.open()
        client.send(frame(TEXT, b"last") + close_frame(1000))
        client.end()
        client.expect(TEXT, b"last")
        client.expect(CLOSE, struct.pack(">H", 1000))
        client.expect_end()
        client = self.open()
        client.end()
        self.assertEqual(client.rest(), b"")
        self.await_none_behind()

    def test_a_reset_of_a_client_is_passed_on(self):
        client = self.open()
        client.send_frame(TEXT, b"x")
        client.expect(TEXT, b"x")
        client.reset()
        self.await_none_behind()


class Idle:
    more = ("--short",)

    def test_silence_of_both_ends_closes_with_1001(self):
        client = self.open()
        started = time.monotonic()
        client.expect_close(1001)
        self.check_time(started, IDLE_SECONDS)
        self.await_none_behind()

    def test_a_silent_client_that_answers_nothing_is_cut_off(self):
        client = self.open()
        client.expect(CLOSE, struct.pack(">H", 1001))
        started = time.monotonic()
        self.assertEqual(client.rest(), b"")
        self.check_time(started, 5)
        self.await_none_behind()

    def test_octets_of_the_client_are_a_sign_of_life(self):
        client = self.open()
        for _ in range(8):
            client.send_frame(PONG, b"")
            time.sleep(IDLE_SECONDS / 3)
        client.send_frame(TEXT, b"here")
        client.expect(TEXT, b"here")
        client.send(close_frame(1000))
        client.expect(CLOSE, struct.pack(">H", 1000))


class Case:
    def before_flare(self):
        """Starts a server of flare, and a proxy before it."""
        behind = Subject(self.backend, source=SOURCE)
        self.addCleanup(behind.stop)
        return behind, self.before(behind.port)

    def before(self, port):
        """Starts a proxy before a port."""
        proxy = Subject(
            self.backend, "--upstream", f"http://127.0.0.1:{port}", source=SOURCE
        )
        self.addCleanup(proxy.stop)
        return proxy


class Stopping(Case):
    def test_each_socket_gets_1001_and_so_does_the_server_behind(self):
        behind, proxy = self.before_flare()
        clients = []
        for i in range(200):
            client = WsClient(proxy.port, "/flood" if i % 20 == 0 else "/echo")
            self.addCleanup(client.close)
            clients.append((client, i % 20 == 0))
        time.sleep(0.2)
        proxy.process.send_signal(signal.SIGTERM)
        for client, floods in clients:
            code, octets = client.until_close()
            if floods and code == 1000:
                # The whole message came first, and then its server's Close.
                self.assertEqual(octets, FLOOD_OCTETS)
            else:
                self.assertEqual(code, 1001)
            client.send_quietly(close_frame(code))
            self.assertEqual(client.rest(), b"")
        self.assertEqual(proxy.process.wait(10), 0, proxy.log())
        self.assertEqual(proxy.log()[1:], [])
        found = behind.await_statistics(sockets=0)
        self.assertEqual(found["closed_1001"] + found["closed_1000"], 200)
        self.assertGreaterEqual(found["closed_1001"], 190)

    def test_a_server_behind_that_dies_ends_the_client(self):
        behind, proxy = self.before_flare()
        client = WsClient(proxy.port)
        self.addCleanup(client.close)
        client.send_frame(TEXT, b"x")
        client.expect(TEXT, b"x")
        behind.process.kill()
        started = time.monotonic()
        try:
            self.assertEqual(client.rest(), b"")
        except ConnectionResetError:
            pass
        self.assertLess(time.monotonic() - started, 2)
        with proxy.connect() as asking:
            asking.send(handshake())
            self.assertEqual(asking.answer().status, 502)


class Odd(WithSubject):
    """Has a server behind the proxy that the test plays."""

    source = SOURCE
    more = ()

    @classmethod
    def setUpClass(cls):
        cls.listener = socket.create_server(("127.0.0.1", 0))
        cls.addClassCleanup(cls.listener.close)
        cls.listener.settimeout(5)
        port = cls.listener.getsockname()[1]
        cls.options = ("--upstream", f"http://127.0.0.1:{port}", *cls.more)
        super().setUpClass()

    def begin(self, request=None):
        """Sends a request; gives both ends, and the head that arrives."""
        return begin(self, self.subject.port, self.listener, request)

    def switched(self):
        """Opens a socket; gives both ends."""
        client, behind, _ = self.begin()
        behind.sendall(SWITCHED)
        self.assertEqual(client.head().status, 101)
        return client, behind


class Unruly:
    def test_the_offer_arrives_as_it_is(self):
        client, behind, head = self.begin(
            handshake("/a?b=c", "Sec-WebSocket-Extensions: x; y=1", "X-A: b")
        )
        lines = head.decode().split("\r\n")
        self.assertEqual(lines[0], "GET /a?b=c HTTP/1.1")
        fields = sorted(line.lower() for line in lines[1:])
        for line in (
            "connection: upgrade",
            "sec-websocket-extensions: x; y=1",
            "sec-websocket-version: 13",
            "upgrade: websocket",
            "x-a: b",
        ):
            self.assertEqual(fields.count(line), 1, fields)
        behind.sendall(SWITCHED)
        self.assertEqual(client.head().status, 101)

    def test_frames_right_behind_the_101_arrive(self):
        client, behind, _ = self.begin()
        behind.sendall(SWITCHED + sent_by_server(TEXT, b"first"))
        self.assertEqual(client.head().status, 101)
        client.expect(TEXT, b"first")

    def test_a_101_that_was_not_asked_for_is_a_bad_gateway(self):
        client, behind, _ = self.begin(
            b"GET /x HTTP/1.1\r\nHost: a\r\n\r\n"
        )
        behind.sendall(SWITCHED)
        self.assertEqual(client.answer().status, 502)
        self.assertEqual(behind.recv(1), b"")

    def test_a_101_of_an_older_version_is_a_bad_gateway(self):
        client, behind, _ = self.begin()
        behind.sendall(SWITCHED.replace(b"HTTP/1.1", b"HTTP/1.0"))
        self.assertEqual(client.answer().status, 502)

    def test_a_101_to_another_protocol_is_a_bad_gateway(self):
        for line in (
            b"Upgrade: h2c\r\n",
            b"Upgrade: websocket, h2c\r\n",
            b"Upgrade: websocket\r\nUpgrade: h2c\r\n",
            b"",
        ):
            with self.subTest(line=line):
                client, behind, _ = self.begin()
                behind.sendall(
                    SWITCHED.replace(b"Upgrade: websocket\r\n", line)
                )
                self.assertEqual(client.answer().status, 502)
                try:
                    self.assertEqual(behind.recv(1), b"")
                except ConnectionResetError:
                    pass

    def test_other_upgrades_are_not_forwarded(self):
        ask = handshake()
        rows = [
            ask.replace(b"Upgrade: websocket", b"Upgrade: h2c"),
            ask.replace(b"Connection: Upgrade", b"Connection: close"),
            ask.replace(b"GET ", b"POST ").replace(
                b"\r\n\r\n", b"\r\nContent-Length: 0\r\n\r\n"
            ),
            ask.replace(b"\r\n\r\n", b"\r\nContent-Length: 2\r\n\r\nhi"),
            ask.replace(b"HTTP/1.1", b"HTTP/1.0"),
        ]
        for request in rows:
            with self.subTest(request=request):
                client, behind, head = self.begin(request)
                self.assertIsNone(re.search(rb"(?im)^upgrade:", head))
                self.assertNotIn(b"upgrade", head.lower().partition(b"\r\n")[2])
                behind.sendall(
                    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"
                    b"Connection: close\r\n\r\nok"
                )
                self.assertEqual(client.answer().body, b"ok")

    def test_a_refusal_arrives_whole(self):
        client, behind, _ = self.begin()
        content = b"no" * 50_000
        behind.sendall(
            b"HTTP/1.1 401 No\r\nWWW-Authenticate: Bearer\r\n"
            b"Content-Length: %d\r\n\r\n%s" % (len(content), content)
        )
        answer = client.answer()
        self.assertEqual(answer.status, 401)
        self.assertEqual(answer.field("WWW-Authenticate"), "Bearer")
        self.assertEqual(answer.body, content)

    def test_a_server_that_ends_ends_the_client(self):
        client, behind = self.switched()
        behind.sendall(sent_by_server(TEXT, b"bye"))
        behind.close()
        client.expect(TEXT, b"bye")
        client.expect_end()

    def test_a_server_that_resets_resets_the_client(self):
        client, behind = self.switched()
        behind.setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )
        behind.close()
        with self.assertRaises(ConnectionResetError):
            client.rest()

    def test_a_server_that_reads_nothing_stops_the_client(self):
        client, behind = self.switched()
        before = self.subject.resident_octets()
        octets = frame(BINARY, bytes(i & 0xFF for i in range(1 << 16)))
        taken = client.push(octets, 2 * UNREAD_OCTETS_MAX)
        self.assertLess(taken, UNREAD_OCTETS_MAX)
        self.assertLess(
            self.subject.resident_octets() - before, HELD_OCTETS_MAX
        )
        # The other direction goes on.
        behind.sendall(sent_by_server(TEXT, b"hello"))
        client.expect(TEXT, b"hello")
        # What was taken arrives, in order.
        found = b""
        while len(found) < taken:
            found += behind.recv(1 << 18)
        whole, rest = divmod(taken, len(octets))
        self.assertEqual(found, whole * octets + octets[:rest])
        client.reset()
        with contextlib.suppress(ConnectionResetError):
            self.assertEqual(behind.recv(1), b"")

    def test_a_server_that_never_ends_has_five_seconds(self):
        client, behind = self.switched()
        client.end()
        self.assertEqual(behind.recv(1), b"")
        started = time.monotonic()
        try:
            while True:
                behind.sendall(sent_by_server(TEXT, b"on and on"))
                time.sleep(0.05)
        except (BrokenPipeError, ConnectionResetError):
            pass
        self.check_time(started, 5)


class Deaf:
    more = ("--short",)

    def test_a_server_that_takes_no_octets_for_long_loses_the_client(self):
        client, behind = self.switched()
        octets = frame(BINARY, bytes(1 << 16))
        client.push(octets, 2 * UNREAD_OCTETS_MAX, seconds=0.3)
        # Its messages are no sign that it reads.
        with self.assertRaises((ConnectionResetError, BrokenPipeError)):
            for _ in range(100):
                behind.sendall(sent_by_server(TEXT, b"news"))
                client.expect(TEXT, b"news")
                time.sleep(0.05)


class Mid(Case):
    def test_a_close_stands_between_two_frames(self):
        whole = sent_by_server(TEXT, b"a whole frame")
        for cut in range(1, len(whole), 4):
            # A second frame comes too late.
            for more in (b"", whole):
                with self.subTest(cut=cut, more=more):
                    self.stop_within(whole, cut, more)

    def stop_within(self, whole, cut, more):
        proxy, client, behind = self.switched(whole[:cut])
        client.await_octets()
        proxy.process.send_signal(signal.SIGTERM)
        time.sleep(0.2)
        behind.sendall(whole[cut:] + more)
        client.expect(TEXT, b"a whole frame")
        self.expect_going_away(proxy, client, behind)

    def test_a_stop_is_told_beside_a_server_that_reads_nothing(self):
        proxy, client, behind = self.switched()
        octets = frame(BINARY, bytes(1 << 16))
        client.push(octets, 2 * UNREAD_OCTETS_MAX)
        proxy.process.send_signal(signal.SIGTERM)
        started = time.monotonic()
        client.expect(CLOSE, struct.pack(">H", 1001))
        self.assertLess(time.monotonic() - started, 1)
        client.reset()
        self.assertEqual(proxy.process.wait(8), 0)

    def switched(self, more=b""):
        """Opens a socket, behind whose 101 octets come; gives all ends."""
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        listener.settimeout(5)
        proxy = self.before(listener.getsockname()[1])
        client, behind, _ = begin(self, proxy.port, listener)
        behind.sendall(SWITCHED + more)
        self.assertEqual(client.head().status, 101)
        return proxy, client, behind

    def expect_going_away(self, proxy, client, behind):
        client.expect(CLOSE, struct.pack(">H", 1001))
        client.send(close_frame(1001))
        self.assertEqual(behind.recv(100), close_frame(1001))
        behind.close()
        client.expect_end()
        self.assertEqual(proxy.process.wait(5), 0)
        self.assertEqual(proxy.log()[1:], [])


on_each_backend(Passing, BeforeFlare)
on_each_backend(Idle, BeforeFlare)
on_each_backend(Unruly, Odd)
on_each_backend(Deaf, Odd)
on_each_backend(Stopping, unittest.TestCase)
on_each_backend(Mid, unittest.TestCase)


if __name__ == "__main__":
    unittest.main()

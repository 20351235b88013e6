"""Speaks WebSocket with the real server on streams of HTTP/2 (RFC 8441), with and
without TLS, on both backends."""

import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.h2_client import H2Client, SettingCodes  # noqa: E402
from loopback.h2_ws_client import (  # noqa: E402
    WsStream,
    begin_connect,
    connect_head,
)
from loopback.subject import (  # noqa: E402
    Subject,
    build,
    on_each_backend,
)
from loopback.ws_client import (  # noqa: E402
    BINARY,
    CLOSE,
    PING,
    PONG,
    SOURCE,
    TEXT,
    WsClient,
    close_frame,
    frame,
)

PROTOCOL_ERROR, CANCEL = 1, 8
LONG = bytes(range(256)) * 4096
DEFLATE = ("sec-websocket-extensions", "permessage-deflate")
STREAM_WINDOW = 64 * 1024
# How much a server keeps of a stream beyond its window.
FREE_OCTETS = 8 * 1024


def setUpModule():
    build(SOURCE)


class Case:
    options = ("--no-pings",)

    def setUp(self):
        self.subject = self.start(*self.options)

    def start(self, *options, **more):
        subject = Subject(
            self.backend,
            *options,
            source=SOURCE,
            secure=self.transport == "tls",
            **more,
        )
        self.addCleanup(subject.stop)
        return subject

    def open(self, **options):
        client = H2Client(self.subject, **options)
        self.addCleanup(client.close)
        return client


class Sockets(Case):
    def test_the_server_announces_it(self):
        client = self.open()
        client.ping()
        code = SettingCodes.ENABLE_CONNECT_PROTOCOL
        self.assertEqual(client.machine.remote_settings[code], 1)

    def test_messages_of_all_lengths_come_back(self):
        ws = WsStream(self.open())
        # There is no key, and no upgrade, of a connection of HTTP/1.1.
        for name in ("upgrade", "connection", "sec-websocket-accept",
                     "content-length", "transfer-encoding"):
            self.assertIsNone(ws.response.field(name))
        for size in (0, 1, 125, 126, 65535, 65536, len(LONG)):
            ws.send_frame(BINARY, LONG[:size])
            self.assertEqual(self.message(ws), (BINARY, LONG[:size]))
        for part in range(10):
            ws.send_frame((0x01, 0x00, 0x80)[(part > 0) + (part == 9)], b"ab")
        self.assertEqual(self.message(ws), (TEXT, b"ab" * 10))
        ws.send_frame(PING, b"?")
        ws.expect(PONG, b"?")
        ws.send(close_frame(1000))
        self.assertEqual(ws.frame()[0], CLOSE)
        ws.expect_end()

    def message(self, ws):
        """Reads a message, which may come in fragments."""
        kind, payload = ws.frame()
        parts = [payload]
        whole = kind | 0x80
        while not kind & 0x80:
            kind, payload = ws.frame()
            parts.append(payload)
        return whole, b"".join(parts)

    def test_a_hundred_sockets_share_a_connection_with_requests(self):
        client = self.open()
        sockets = [WsStream(client) for _ in range(100)]
        for turn in range(3):
            for i, ws in enumerate(sockets):
                ws.send_frame(TEXT, b"%d %d" % (turn, i))
            self.assertEqual(client.ask("GET", "/").body, b"hello")
            for i, ws in enumerate(sockets):
                ws.expect(TEXT, b"%d %d" % (turn, i))
        self.assertEqual(self.subject.statistics()["sockets"], 100)
        for ws in sockets:
            ws.send(close_frame(1000))
            ws.expect(CLOSE, b"\x03\xe8")
            ws.expect_end()
        self.subject.await_statistics(sockets=0, streams=0, closed_1000=100)

    def begin_with(self, path, octets):
        """Begins a WebSocket, and sends octets before the response."""
        client = self.open()
        stream = client.machine.get_next_available_stream_id()
        head = connect_head(path, ("sec-websocket-version", "13"))
        client.machine.send_headers(stream, head)
        client.machine.send_data(stream, octets)
        client.flush()
        return client, client.exchanges[stream], stream

    def test_octets_that_come_before_the_response_count(self):
        client, exchange, stream = self.begin_with(
            "/echo", frame(TEXT, b"early")
        )
        client.await_content(stream, 7)
        self.assertEqual(exchange.body, b"\x81\x05early")

    def test_a_ping_before_the_response_is_answered(self):
        client, exchange, stream = self.begin_with("/late", frame(PING, b"?"))
        client.await_content(stream, 12)
        self.assertIn(b"\x8a\x01?", exchange.body)

    def test_octets_may_come_one_by_one(self):
        ws = WsStream(self.open())
        for octet in frame(TEXT, b"slowly"):
            ws.send(bytes([octet]))
        ws.expect(TEXT, b"slowly")

    def test_compression_and_subprotocols(self):
        client = self.open()
        ws = WsStream(client, "/dedicated", DEFLATE)
        self.assertIn("permessage-deflate",
                      ws.response.field("sec-websocket-extensions"))
        ws.send_frame(TEXT, b"x" * 500)
        first, payload = ws.frame()
        self.assertEqual(first, TEXT | 0x40)
        self.assertLess(len(payload), 50)
        ws = WsStream(client, "/protocols",
                      ("sec-websocket-protocol", "v1.chat, v2.chat"))
        self.assertEqual(
            ws.response.field("sec-websocket-protocol"), "v2.chat"
        )

    def test_topics_reach_sockets_of_both_protocols(self):
        one = WsStream(self.open(), "/topics")
        two = WsStream(one.client, "/topics")
        three = WsClient(
            self.subject.port, "/topics", secure=self.subject.secure
        )
        self.addCleanup(three.close)
        sockets = (one, two, three)
        for ws in sockets:
            ws.send_frame(TEXT, b"join room")
            ws.expect(TEXT, b"joined")
        for speaker in sockets:
            speaker.send_frame(TEXT, b"news")
            for ws in sockets:
                if ws is not speaker:
                    ws.expect(TEXT, b"news")


class Refusals(Case):
    def refusal(self, path, *fields, client=None, **options):
        client = client or self.open()
        answer = client.answer(begin_connect(client, path, *fields, **options))
        return answer

    def test_each_refusal_has_its_status(self):
        client = self.open()
        for status, path, fields, options in (
            (501, "/echo", (), {"protocol": "connect-udp"}),
            # Their handlers answer 200, which would mean success.
            (501, "/who", (), {}),
            (501, "/", (), {"protocol": "shout"}),
            (404, "/nowhere", (), {}),
            (403, "/echo", (("origin", "https://elsewhere.test"),), {}),
        ):
            with self.subTest(path=path, status=status):
                answer = self.refusal(path, *fields, client=client, **options)
                self.assertEqual(answer.status, status)
                # The rest of the request is of no use.
                self.assertIn(answer.reset, (None, 0))
        answer = client.ask("GET", "/echo")
        self.assertEqual((answer.status, answer.field("upgrade")), (400, None))
        self.assertEqual(client.ask("GET", "/who").status, 200)

    def test_a_wrong_version_is_refused(self):
        client = self.open()
        stream = client.machine.get_next_available_stream_id()
        client.machine.send_headers(stream, connect_head("/echo"))
        client.flush()
        answer = client.answer(stream)
        self.assertEqual(answer.status, 400)
        self.assertEqual(answer.field("sec-websocket-version"), "13")

    def test_a_client_may_send_to_the_end_of_a_refused_stream(self):
        client = self.open()
        stream = begin_connect(client, "/nowhere")
        client.send(stream, b"x" * 300_000, ends=False)
        self.assertEqual(client.answer(stream).status, 404)
        self.assertEqual(client.ask("GET", "/").body, b"hello")

    def test_malformed_heads_reset_the_stream(self):
        client = self.open()
        good = connect_head("/echo", ("sec-websocket-version", "13"))
        for name, head in {
            "no CONNECT": [(":method", "GET"), *good[1:]],
            "content": [*good, ("content-length", "0")],
            "twice": [good[0], good[1], *good[1:]],
            "no token": [good[0], (":protocol", "a b"), *good[2:]],
            "empty": [good[0], (":protocol", ""), *good[2:]],
            "no path": [*good[:4], *good[5:]],
            "no scheme": [*good[:2], *good[3:]],
            "late": [*good[:1], *good[2:], good[1]],
            "a field of HTTP/1.1": [*good, ("upgrade", "websocket")],
        }.items():
            with self.subTest(name):
                stream = client.machine.get_next_available_stream_id()
                client.machine.send_headers(stream, head)
                client.flush()
                client._await(lambda s=stream: client.exchanges[s].has_ended)
                found = client.exchanges[stream]
                self.assertEqual(
                    (found.status, found.reset), (None, PROTOCOL_ERROR)
                )
        self.assertEqual(client.ask("GET", "/").body, b"hello")

    def test_trailers_reset_a_socket(self):
        ws = WsStream(self.open())
        ws.client.trailers(ws.stream, [("x-a", "1")])
        ws.client._await(lambda: ws.response.has_ended)
        self.assertEqual(ws.response.reset, PROTOCOL_ERROR)
        self.assertEqual(ws.client.ask("GET", "/").body, b"hello")
        self.subject.await_statistics(sockets=0, streams=0)


class Windows(Case):
    def test_a_handler_that_does_not_read_holds_its_client_back(self):
        client = self.open()
        ws = WsStream(client, "/wait")
        ws.expect(TEXT, b"waiting")
        taken = ws.push(frame(BINARY, bytes(1 << 16)), 4 << 20)
        self.assertGreaterEqual(taken, STREAM_WINDOW)
        self.assertLessEqual(taken, STREAM_WINDOW + FREE_OCTETS)
        # Others go on.
        other = WsStream(client)
        other.send_frame(BINARY, LONG[:300_000])
        self.assertEqual(client.ask("GET", "/").body, b"hello")
        ws.close()
        self.subject.await_statistics(sockets=1)

    def test_a_client_that_does_not_read_holds_its_handler_back(self):
        client = self.open(window=1000)
        ws = WsStream(client, "/flood")
        client.await_content(ws.stream, 1000)
        client.ping()
        self.assertEqual(len(client.exchanges[ws.stream].body), 1000)
        held = self.subject.statistics()["buffered_octets"]
        self.assertLess(held, 128 * 1024)
        self.assertEqual(client.ask("GET", "/").body, b"hello")
        # It writes no more than is asked for.
        client.widen(10_000, ws.stream)
        client.await_content(ws.stream, 11_000)
        client.ping()
        self.assertEqual(len(client.exchanges[ws.stream].body), 11_000)

    def test_a_ping_behind_a_message_is_answered(self):
        client = self.open()
        ws = WsStream(client, "/wait")
        ws.expect(TEXT, b"waiting")
        ws.send_frame(PING, b"1")
        ws.expect(PONG, b"1")
        # This handler reads one message at a time, and answers it.
        ws = WsStream(client, "/topics")
        ws.send(frame(TEXT, b"join a") + frame(PING, b"2")
                + frame(TEXT, b"who") + frame(PING, b"3"))
        found = sorted(ws.frame() for _ in range(4))
        self.assertEqual(
            found,
            sorted([(TEXT, b"joined"), (TEXT, b"0"), (PONG, b"2"),
                    (PONG, b"3")]),
        )


class Ends(Case):
    def test_a_client_that_resets_ends_its_socket_only(self):
        client = self.open()
        gone = [WsStream(client, "/wait") for _ in range(10)]
        gone += [WsStream(client) for _ in range(10)]
        stays = WsStream(client)
        for ws in gone:
            client.reset(ws.stream)
        self.subject.await_statistics(sockets=1, streams=1, closed_1006=20)
        stays.send_frame(TEXT, b"here")
        stays.expect(TEXT, b"here")

    def test_the_end_of_a_stream_without_a_close(self):
        ws = WsStream(self.open())
        ws.send_frame(TEXT, b"last")
        ws.end()
        ws.expect(TEXT, b"last")
        ws.client._await(lambda: ws.response.has_ended)
        self.subject.await_statistics(sockets=0, streams=0, closed_1006=1)

    def test_the_server_closes(self):
        ws = WsStream(self.open(), "/topics")
        ws.send_frame(TEXT, b"leave")
        first, payload = ws.frame()
        self.assertEqual((first, payload[:2]), (CLOSE, b"\x0f\xa0"))
        ws.send(close_frame(4000))
        ws.expect_end()
        # There was no error.
        self.assertIn(ws.response.reset, (None, 0))
        self.subject.await_statistics(sockets=0, streams=0)

    def test_a_violation_gets_its_close(self):
        ws = WsStream(self.open())
        ws.send(b"\x83\x80" + bytes(4))
        first, payload = ws.frame()
        self.assertEqual((first, payload[:2]), (CLOSE, b"\x03\xea"))
        ws.expect_end()
        self.assertEqual(ws.client.ask("GET", "/").body, b"hello")

    def test_a_lost_connection_ends_its_sockets(self):
        client = self.open()
        for path in ["/echo", "/wait", "/topics", "/ask", "/write"] * 10:
            WsStream(client, path)
        self.assertEqual(self.subject.statistics()["sockets"], 50)
        client.close()
        self.subject.await_statistics(sockets=0, streams=0, connections=1)


class Stops(Case):
    options = ("--short", "--no-pings")

    def test_each_socket_gets_1001(self):
        clients = [self.open() for _ in range(4)]
        paths = ["/echo", "/wait", "/topics", "/ask"]
        sockets = [
            WsStream(client, paths[i % 4])
            for client in clients
            for i in range(20)
        ]
        began = time.monotonic()
        self.subject.process.terminate()
        for ws in sockets:
            self.assertEqual(ws.until_close()[0], 1001)
            ws.send_quietly(close_frame(1001))
        for i, ws in enumerate(sockets):
            # The other handlers wait until they are cut off.
            if paths[i % 4] in ("/echo", "/topics"):
                ws.expect_end()
                self.assertIn(ws.response.reset, (None, 0))
        for client in clients:
            client.expect_end()
        self.assertEqual(self.subject.process.wait(8), 0)
        # Handlers in a long wait are cut off after `shutdown_timeout_ms`.
        self.assertLess(time.monotonic() - began, 4)


class Proxied(Case):
    """Asks a proxy, in each protocol, before a server, in each protocol."""

    def ways(self):
        """Gives a function that opens a WebSocket, for each way."""
        origin = self.subject.port
        self.opened = []
        for options in ((), ("--streams",)):
            proxy = self.start(
                "--upstream", f"http://127.0.0.1:{origin}", *options
            )

            def on_stream(path, *fields, proxy=proxy):
                client = H2Client(proxy)
                self.addCleanup(client.close)
                self.opened.append(client)
                return WsStream(client, path, *fields)

            def on_connection(path, *fields, proxy=proxy):
                lines = [f"{name}: {value}" for name, value in fields]
                client = WsClient(proxy.port, path, *lines)
                self.addCleanup(client.close)
                self.opened.append(client)
                return client

            yield f"h2 {options}", proxy, on_stream
            yield f"h1 {options}", proxy, on_connection

    def test_messages_and_closes_pass(self):
        for name, proxy, connect in self.ways():
            with self.subTest(name):
                for size in (0, 125, 65536, 300_000):
                    ws = connect("/echo")
                    ws.send_frame(BINARY, LONG[:size])
                    ws.expect(BINARY, LONG[:size])
                    ws.send(close_frame(1000))
                    ws.expect(CLOSE, b"\x03\xe8")
                    ws.expect_end()
                ws = connect("/dedicated", DEFLATE)
                self.assertIn(
                    "permessage-deflate",
                    ws.response.field("sec-websocket-extensions"),
                )
                ws = connect("/topics")
                ws.send_frame(TEXT, b"leave")
                first, payload = ws.frame()
                self.assertEqual((first, payload[:2]), (CLOSE, b"\x0f\xa0"))
                ws.send(close_frame(4000))
                ws.expect_end()
                ws.close()
                # That of the compressed one is left.
                self.subject.await_statistics(sockets=1)
                for client in self.opened:
                    client.close()
                self.subject.await_statistics(sockets=0, streams=0)

    def test_a_client_that_leaves_ends_the_socket(self):
        for name, _, connect in self.ways():
            with self.subTest(name):
                ws = connect("/echo")
                self.subject.await_statistics(sockets=1)
                if isinstance(ws, WsStream):
                    ws.close()
                else:
                    ws.reset()
                self.subject.await_statistics(sockets=0)

    def test_a_refusal_passes(self):
        for name, proxy, _ in self.ways():
            with self.subTest(name):
                client = H2Client(proxy)
                self.addCleanup(client.close)
                for path, status in (("/nowhere", 404), ("/who", 501)):
                    stream = begin_connect(client, path)
                    self.assertEqual(client.answer(stream).status, status)


class Pings(Case):
    options = ("--short",)

    def test_others_prolong_no_wait(self):
        client = self.open()
        late = WsStream(client)
        busy = WsStream(client)
        late.send(b"\x81")
        began = time.monotonic()
        while not late.response.has_ended:
            self.assertLess(time.monotonic() - began, 3)
            busy.send(frame(TEXT, b"1") + frame(TEXT, b"2"))
            busy.expect(TEXT, b"1")
            busy.expect(TEXT, b"2")
            time.sleep(0.05)
        self.assertEqual(late.frame()[1][:2], b"\x03\xf0")

    def test_full_windows_hide_a_pong(self):
        client = self.open()
        for _ in range(16):
            ws = WsStream(client, "/write")
            ws.expect(0x01, b"waiting")
            ws.push(frame(BINARY, bytes(1 << 16)), 4 << 20, seconds=0.05)
        room = client.machine.outbound_flow_control_window
        self.assertEqual(room, 0)
        alive = WsStream(client)
        began = time.monotonic()
        while time.monotonic() - began < 2:
            client.ping()
            time.sleep(0.1)
            # Pings came, and no Close.
            self.assertNotIn(b"\x88", alive.response.body)

    def test_a_silent_client_loses_its_socket_only(self):
        client = self.open()
        for path in ("/echo", "/wait"):
            with self.subTest(path):
                silent = WsStream(client, path)
                code, _ = silent.until_close()
                self.assertEqual(code, 1011)
                silent.client._await(lambda s=silent: s.response.has_ended)
                self.assertEqual(client.ask("GET", "/").body, b"hello")
        self.subject.await_statistics(sockets=0, streams=0)


for _case in (Sockets, Refusals, Windows, Ends, Stops, Pings):
    on_each_backend(_case, unittest.TestCase, ("tcp", "tls"))
on_each_backend(Proxied, unittest.TestCase)


if __name__ == "__main__":
    unittest.main()

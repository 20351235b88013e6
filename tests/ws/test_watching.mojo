"""Tests what a server notices of a peer while its handler does not receive."""

from flare.http.server.config import ServerConfig
from flare.http.server.records.log import LogSink
from flare.runtime.backends.simulated_network import Peer
from flare.runtime.wait import sleep
from flare.testing.test_server import TestServer
from flare.ws import (
    WebSocket,
    WsConnection,
    WsError,
    WsHub,
    WsOptions,
)

from tests.asserting import assert_equal, assert_false, assert_true

from .socket_peer import open_socket, received, send_close, send_frame

comptime _HOUR_MS = 3_600_000


def test_dead_peer_of_a_handler_that_sleeps_is_given_up() raises:
    var hub = WsHub()
    var server = _server(hub)
    var log = _Log(hub)
    var peer = open_socket(server)
    send_frame(peer, 0x81, "sleep")
    server.settle()
    # The ping interval is 30 s; a look may be half of it late.
    server.advance(29_000)
    assert_equal(received(server, peer), "")
    server.advance(17_000)
    assert_true(received(server, peer).startswith("89:8 "))
    server.advance(19_000)
    assert_equal(received(server, peer), "")
    server.advance(2_000)
    assert_equal(received(server, peer), "88:2 (1011)")
    assert_true(not peer.has_ended())
    server.advance(6_000)
    assert_true(peer.has_ended())
    assert_equal(log.last(), "net.cancelled sleep errno=125")
    assert_equal(Int(hub.statistics().pings_lost), 1)
    assert_equal(hub.statistics().closed_with(1011), 1)
    _end(server^)
    log^.end()


def test_living_peer_of_a_handler_that_sleeps_stays() raises:
    var hub = WsHub()
    var server = _server(hub)
    var log = _Log(hub)
    var peer = open_socket(server)
    send_frame(peer, 0x81, "sleep")
    server.settle()
    var pings = 0
    for _ in range(719):
        server.advance(5_000)
        var text = received(server, peer)
        assert_true("88:" not in text, text)
        if "89:8 " in text:
            pings += 1
            send_frame(peer, 0x8A, "")
    # One in 30 s to 45 s, after up to 5 s for the answer.
    assert_true(3600 // 51 <= pings <= 3600 // 30, String(pings))
    server.advance(20_000)
    assert_equal(log.last(), "slept")
    _end(server^)
    log^.end()


def test_unread_octets_in_front_of_a_pong_are_no_silence() raises:
    var hub = WsHub()
    var server = _server(hub)
    var log = _Log(hub)
    var peer = open_socket(server)
    send_frame(peer, 0x81, "sleep")
    # More than the server reads ahead.
    for _ in range(40):
        send_frame(peer, 0x82, String("x") * 4_000)
    send_frame(peer, 0x8A, "")
    for _ in range(100):
        server.advance(10_000)
        var text = received(server, peer)
        assert_true("88:" not in text, text)
    # With less, any octet of the peer would be seen.
    var other = open_socket(server)
    send_frame(other, 0x81, "sleep")
    send_frame(other, 0x82, "unread")
    server.advance(67_000)
    var text = received(server, other)
    assert_true(text.endswith(" 88:2 (1011)"), text)
    server.advance(6_000)
    assert_true(other.has_ended())
    assert_equal(log.last(), "net.cancelled sleep errno=125")
    peer.reset()
    _end(server^)
    log^.end()


def test_pong_counts_after_a_flood_that_was_held_back() raises:
    var hub = WsHub()
    var server = _server(hub)
    var log = _Log(hub)
    var peer = open_socket(server)
    send_frame(peer, 0x81, "sleep")
    for _ in range(1_500):
        send_frame(peer, 0x89, String("x") * 120)
    assert_equal(received(server, peer).count("8a:120"), 1_500)
    for _ in range(60):
        server.advance(5_000)
        var text = received(server, peer)
        assert_true("88:" not in text, text)
        if "89:8 " in text:
            send_frame(peer, 0x8A, "")
    peer.reset()
    _end(server^)
    log^.end()


def test_stop_lets_a_handler_finish_although_the_peer_is_silent() raises:
    for answers in [False, True]:
        var hub = WsHub()
        var server = _server(hub)
        var log = _Log(hub)
        var peer = open_socket(server)
        send_frame(peer, 0x81, "sleep briefly")
        server.settle()
        server.begin_stop()
        assert_equal(received(server, peer), "88:2 (1001)")
        if answers:
            # What the peer sent before does not hide its answer.
            send_frame(peer, 0x82, "late")
            send_close(peer, 1001)
        server.advance(7_000)
        assert_false(peer.has_ended())
        server.advance(1_500)
        assert_equal(log.last(), "slept")
        assert_true(peer.has_ended())
        assert_false(peer.is_reset())
        _end(server^)
        log^.end()


def test_answer_to_the_close_of_a_slow_subscriber_is_seen() raises:
    var hub = WsHub()
    var server = _server(hub)
    var log = _Log(hub)
    var peer = open_socket(server)
    send_frame(peer, 0x81, "subscribe and sleep")
    server.settle()
    for _ in range(400):
        hub.publish("room", String("x") * 4_096)
        server.settle()
    assert_true(received(server, peer).endswith(" 88:6 (1013)"))
    send_close(peer, 1013)
    server.advance(_HOUR_MS)
    assert_equal(log.last(), "slept")
    peer.close()
    _end(server^)
    log^.end()


def test_handler_that_knows_of_the_close_is_not_cancelled() raises:
    var hub = WsHub()
    var server = _server(hub)
    var log = _Log(hub)
    var peer = open_socket(server)
    send_frame(peer, 0x81, "leave and sleep")
    assert_equal(received(server, peer), "88:2 (4000)")
    server.advance(_HOUR_MS + 6_000)
    assert_equal(log.last(), "slept")
    peer.close()
    _end(server^)
    log^.end()


def test_output_is_no_sign_of_life() raises:
    var hub = WsHub()
    var server = _server(hub)
    var log = _Log(hub)
    var peer = open_socket(server)
    send_frame(peer, 0x81, "subscribe and sleep")
    send_frame(peer, 0x82, "unread")
    server.settle()
    var text = String()
    # It takes each message, so its kernel lives.
    for _ in range(13):
        server.advance(5_000)
        hub.publish("room", "news")
        text += received(server, peer)
    server.advance(2_000)
    text += received(server, peer)
    assert_true(text.endswith("88:2 (1011)"), text)
    peer.reset()
    _end(server^)
    log^.end()


def test_close_that_nobody_answers_ends_without_the_handler() raises:
    var hub = WsHub()
    var server = _server(hub)
    var log = _Log(hub)
    var peer = open_socket(server)
    send_frame(peer, 0x81, "subscribe and sleep")
    server.settle()
    # It reads nothing.
    for _ in range(400):
        hub.publish("room", String("x") * 4_096)
        server.settle()
    assert_equal(log.last(), "")
    server.advance(4_000)
    assert_true(received(server, peer).endswith(" 88:6 (1013)"))
    assert_true(not peer.has_ended())
    server.advance(1_500)
    assert_true(peer.has_ended())
    assert_equal(log.last(), "net.cancelled sleep errno=125")
    assert_equal(hub.statistics().closed_with(1013), 1)
    _end(server^)
    log^.end()


def test_close_that_is_answered_does_not_cancel_the_handler() raises:
    var hub = WsHub()
    var server = _server(hub)
    var log = _Log(hub)
    var peer = open_socket(server)
    send_frame(peer, 0x81, "sleep")
    send_close(peer, 1000)
    assert_equal(received(server, peer), "88:2 (1000)")
    server.advance(_HOUR_MS)
    assert_equal(log.last(), "slept")
    assert_true(peer.has_ended())
    _end(server^)
    log^.end()


def test_violation_is_told_to_the_fiber_that_receives_next() raises:
    var hub = WsHub()
    var server = _server(hub)
    var log = _Log(hub)
    var peer = open_socket(server)
    send_frame(peer, 0x81, "nap")
    send_frame(peer, 0x99, "reserved bit")
    assert_equal(received(server, peer), "88:2 (1002)")
    server.advance(1_500)
    assert_equal(log.last(), "violation 1002")
    server.advance(6_000)
    assert_true(peer.has_ended())
    _end(server^)
    log^.end()


def test_nothing_watches_without_pings() raises:
    var hub = WsHub()
    var server = _server(hub, ping_interval_ms=None)
    var log = _Log(hub)
    var peer = open_socket(server)
    send_frame(peer, 0x81, "sleep")
    server.advance(_HOUR_MS - 1_000)
    assert_equal(received(server, peer), "")
    server.advance(2_000)
    assert_equal(log.last(), "slept")
    peer.reset()
    _end(server^)
    log^.end()


def _serve(ws: WsConnection) raises:
    var wish = String(ws.recv_message().as_text())
    if wish == "log":
        ws.subscribe("log")
        for _ in ws:
            pass
        return
    if wish == "subscribe and sleep":
        ws.subscribe("room")
    if wish == "leave and sleep":
        ws.close(4000)
    try:
        if wish == "nap":
            sleep(1_000)
        else:
            sleep(8_000 if wish == "sleep briefly" else _HOUR_MS)
        if wish == "nap":
            _ = ws.recv_message()
        ws.publish("log", "slept")
    except e:
        var error = WsError.of(e)
        if error:
            var code = error.value().code
            assert_equal(error.value().kind, WsError.PROTOCOL)
            ws.publish("log", String("violation ", code))
        else:
            ws.publish("log", String(e))


def _server(
    hub: WsHub, *, ping_interval_ms: Optional[Int] = 30_000
) raises -> TestServer[WebSocket]:
    return TestServer(
        WebSocket(
            _serve, WsOptions(hub=hub, ping_interval_ms=ping_interval_ms)
        ),
        config=ServerConfig(log=LogSink.nowhere()),
    )


struct _Log:
    """Is a subscriber of what handlers of another server publish."""

    var server: TestServer[WebSocket]
    var peer: Peer

    def __init__(out self, hub: WsHub) raises:
        self.server = _server(hub, ping_interval_ms=None)
        self.peer = open_socket(self.server)
        send_frame(self.peer, 0x81, "log")
        self.server.settle()

    def last(self) raises -> String:
        """Returns the message since the last call."""
        var text = received(self.server, self.peer)
        return String(text[byte = text.find(" ") + 1 :])

    def end(deinit self) raises:
        self.peer.reset()
        _end(self.server^)


def _end(var server: TestServer[WebSocket]) raises:
    server.stop()
    assert_equal(server.remains(), "")


comptime TESTS = __functions_in_module()

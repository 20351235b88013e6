"""Tests a WebSocket whose handler sends back what it receives."""

from flare.http.server.config import ServerConfig
from flare.http.server.records.log import LogSink
from flare.proto.ws import WsRole
from flare.runtime.wait import deadline_in
from flare.testing.test_server import TestServer
from flare.ws import (
    WebSocket,
    WsConnection,
    WsError,
    WsOpcode,
)
from flare.ws.receiving import silence_ms

from tests.asserting import assert_equal, assert_true
from tests.proto_ws.peer import frame

from .socket_peer import open_socket, received, send_close, send_frame


def test_messages_are_echoed_and_the_close_is_answered() raises:
    var server = _server()
    var peer = open_socket(server)
    send_frame(peer, 0x81, "hello")
    send_frame(peer, 0x82, "abc")
    assert_equal(received(server, peer), "81:5 hello 82:3 abc")
    send_frame(peer, 0x81, "")
    assert_equal(received(server, peer), "81:0")
    send_frame(peer, 0x01, "he")
    send_frame(peer, 0x89, "are you there")
    assert_equal(received(server, peer), "8a:13 are you there")
    send_frame(peer, 0x00, "l")
    send_frame(peer, 0x80, "lo")
    assert_equal(received(server, peer), "81:5 hello")
    send_close(peer, 1000)
    assert_equal(received(server, peer), "88:2 (1000)")
    assert_true(peer.has_ended())
    _end(server^)


def test_connection_closes_at_once_after_both_closes() raises:
    var server = _server()
    var peer = open_socket(server)
    send_frame(peer, 0x81, "last")
    send_close(peer, 1000)
    assert_equal(received(server, peer), "81:4 last 88:2 (1000)")
    assert_true(peer.has_ended())
    assert_equal(server.worker.state[].connections.lent(), 0)
    _end(server^)


def test_connection_lingers_if_octets_follow_the_close() raises:
    # A reset could destroy the Close before the peer reads it.
    var server = _server()
    var peer = open_socket(server)
    var octets = frame(WsRole.SERVER, 0x88, [UInt8(3), UInt8(232)])
    octets.extend(Span(frame(WsRole.SERVER, 0x81, "late")))
    peer.send(Span(octets))
    assert_equal(received(server, peer), "88:2 (1000)")
    assert_true(peer.has_ended())
    assert_equal(server.worker.state[].connections.lent(), 1)
    send_frame(peer, 0x81, "later")
    server.settle()
    assert_equal(server.worker.state[].connections.lent(), 1)
    peer.close()
    server.settle()
    assert_equal(server.worker.state[].connections.lent(), 0)
    _end(server^)


def test_message_longer_than_all_buffers_is_echoed() raises:
    var server = _server()
    var peer = open_socket(server)
    send_frame(peer, 0x82, String("x") * 300_000)
    assert_equal(received(server, peer), "82:300000")
    send_frame(peer, 0x82, String("x") * 70_000)
    send_frame(peer, 0x81, "next")
    assert_equal(received(server, peer), "82:70000 81:4 next")
    peer.close()
    _end(server^)


def test_violations_are_answered_with_their_close_code() raises:
    var server = _server()
    var rows: List[Tuple[UInt8, String, String]] = [
        (UInt8(0x91), "a", "88:2 (1002)"),
        (UInt8(0x83), "a", "88:2 (1002)"),
        (UInt8(0x80), "a", "88:2 (1002)"),
        (UInt8(0x09), "a", "88:2 (1002)"),
        (UInt8(0x81), String(unsafe_from_utf8=[UInt8(0xFF)]), "88:2 (1007)"),
        (UInt8(0x82), String("x") * 1_048_577, "88:2 (1009)"),
        (UInt8(0x88), "a", "88:2 (1002)"),
    ]
    for row in rows:
        var peer = open_socket(server)
        send_frame(peer, row[0], row[1])
        assert_equal(received(server, peer), row[2])
        # What follows is dropped.
        send_frame(peer, 0x81, "more")
        peer.end_sending()
        assert_equal(received(server, peer), "")
        assert_true(peer.has_ended())
    _end(server^)


def test_silent_peer_is_asked_and_then_given_up() raises:
    var server = _server()
    var peer = open_socket(server)
    server.advance(29_000)
    assert_equal(received(server, peer), "")
    server.advance(1_500)
    assert_true(received(server, peer).startswith("89:8 "))
    # Any octet is a sign of life.
    server.advance(15_000)
    send_frame(peer, 0x81, "hi")
    assert_equal(received(server, peer), "81:2 hi")
    server.advance(29_000)
    assert_equal(received(server, peer), "")
    server.advance(1_500)
    assert_true(received(server, peer).startswith("89:8 "))
    server.advance(19_000)
    assert_equal(received(server, peer), "")
    server.advance(1_500)
    assert_equal(received(server, peer), "88:2 (1011)")
    server.advance(10_000)
    assert_equal(server.worker.state[].connections.lent(), 0)
    _end(server^)


def test_message_that_dribbles_is_given_up() raises:
    var server = _server()
    var peer = open_socket(server)
    send_frame(peer, 0x01, "a")
    for _ in range(40):
        server.advance(1_000)
        send_frame(peer, 0x00, "a")
        server.settle()
    assert_equal(received(server, peer), "88:2 (1008)")
    peer.close()
    _end(server^)


def test_pings_do_not_prolong_an_unfinished_message() raises:
    var server = _server()
    var peer = open_socket(server)
    send_frame(peer, 0x01, "a")
    var text = String()
    for _ in range(40):
        server.advance(1_000)
        send_frame(peer, 0x89, String("x") * 100)
        text += received(server, peer)
        text += " "
    assert_true(" 88:2 (1008) " in text, text)
    assert_true(28 <= text.count("8a:100"), text)
    assert_true(text.count("8a:100") <= 30, text)
    peer.close()
    _end(server^)


def test_message_that_pauses_is_given_up() raises:
    # A fragment, and the first octet of a frame of ten.
    for octets in [[1, 0x81, 0, 0, 0, 0, 97], [0x81, 0x8A, 0, 0, 0, 0, 97]]:
        var server = _server()
        var peer = open_socket(server)
        var part = List[UInt8]()
        for octet in octets:
            part.append(UInt8(octet))
        peer.send(Span(part))
        server.settle()
        server.advance(29_000)
        assert_equal(received(server, peer), "")
        server.advance(1_100)
        assert_equal(received(server, peer), "88:2 (1008)")
        peer.close()
        _end(server^)


def test_server_that_stops_says_so() raises:
    var server = _server()
    var peer = open_socket(server)
    send_frame(peer, 0x01, "unfinished")
    server.settle()
    var idle = open_socket(server)
    server.begin_stop()
    assert_equal(received(server, peer), "88:2 (1001)")
    assert_equal(received(server, idle), "88:2 (1001)")
    send_close(peer, 1001)
    send_close(idle, 1001)
    server.settle()
    assert_true(peer.has_ended())
    assert_true(idle.has_ended())
    server.stop()
    assert_equal(server.remains(), "")


def test_lost_peer_ends_the_handler() raises:
    var server = _server()
    for way in range(3):
        var peer = open_socket(server)
        send_frame(peer, 0x01, "a")
        server.settle()
        if way == 0:
            peer.reset()
        elif way == 1:
            peer.close()
        else:
            peer.end_sending()
        server.settle()
        server.advance(6_000)
        assert_equal(server.worker.state[].connections.lent(), 0)
        assert_equal(server.worker.state[].streams, 0)
    _end(server^)


def test_deadline_of_the_program_leaves_the_connection_open() raises:
    var server = TestServer(
        WebSocket(_echo_with_deadlines),
        config=ServerConfig(log=LogSink.nowhere()),
    )
    var peer = open_socket(server)
    send_frame(peer, 0x01, "first ")
    server.advance(150)
    assert_equal(received(server, peer), "81:4 late")
    send_frame(peer, 0x80, "second")
    assert_equal(received(server, peer), "81:12 first second")
    server.advance(150)
    assert_equal(received(server, peer), "81:4 late")
    peer.close()
    _end(server^)


def test_deadlines_of_the_program_prolong_no_silence() raises:
    var server = TestServer(
        WebSocket(_echo_in_slices), config=ServerConfig(log=LogSink.nowhere())
    )
    var silent = open_socket(server)
    var unfinished = open_socket(server)
    send_frame(unfinished, 0x01, "a")
    _advance_by_steps(server, 28)
    assert_equal(received(server, silent), "")
    assert_equal(received(server, unfinished), "")
    _advance_by_steps(server, 3)
    assert_true(received(server, silent).startswith("89:8 "))
    assert_equal(received(server, unfinished), "88:2 (1008)")
    unfinished.close()
    _advance_by_steps(server, 17)
    assert_equal(received(server, silent), "")
    _advance_by_steps(server, 4)
    assert_equal(received(server, silent), "88:2 (1011)")
    silent.close()
    _end(server^)


def test_frames_and_messages_are_received_by_turns() raises:
    var server = TestServer(
        WebSocket(_echo_frames), config=ServerConfig(log=LogSink.nowhere())
    )
    var peer = open_socket(server)
    send_frame(peer, 0x01, "one")
    assert_equal(received(server, peer), "1:3 one")
    send_frame(peer, 0x89, "")
    send_frame(peer, 0x00, "two")
    assert_equal(received(server, peer), "8a:0 0:3 two")
    send_frame(peer, 0x80, "")
    send_frame(peer, 0x82, "whole")
    assert_equal(received(server, peer), "80:0 82:5 whole")
    send_close(peer, 4000)
    assert_equal(received(server, peer), "88:2 (4000)")
    assert_true(peer.has_ended())
    _end(server^)


def test_frame_that_a_deadline_interrupts_keeps_its_kind() raises:
    var server = TestServer(
        WebSocket(_echo_frames_with_deadlines),
        config=ServerConfig(log=LogSink.nowhere()),
    )
    var peer = open_socket(server)
    var octets = frame(WsRole.SERVER, 0x01, "torn".as_bytes())
    peer.send(Span(octets)[:8])
    server.advance(250)
    peer.send(Span(octets)[8:])
    assert_equal(received(server, peer), "1:4 torn")
    send_frame(peer, 0x80, "end")
    assert_equal(received(server, peer), "80:3 end")
    peer.close()
    _end(server^)


def _echo_frames_with_deadlines(ws: WsConnection) raises:
    while ws.is_open():
        try:
            with deadline_in(100):
                ws.send_frame(ws.recv())
        except e:
            if WsError.of(e):
                return


def _echo_in_slices(ws: WsConnection) raises:
    while True:
        try:
            with deadline_in(700):
                ws.send(ws.recv_message())
        except e:
            if WsError.of(e):
                return


def _advance_by_steps(server: TestServer[WebSocket], seconds: Int) raises:
    for _ in range(10 * seconds):
        server.advance(100)


def _echo_with_deadlines(ws: WsConnection) raises:
    while True:
        try:
            with deadline_in(100):
                ws.send(ws.recv_message())
        except e:
            if WsError.of(e):
                return
            ws.send_text("late")
            ws.send(ws.recv_message())


def _echo_frames(ws: WsConnection) raises:
    while True:
        var frame = ws.recv()
        if frame.opcode == WsOpcode.CLOSE:
            assert_equal(Int(ws.close_code().value()), 4000)
            return
        ws.send_frame(frame)


def _echo(ws: WsConnection) raises:
    for message in ws:
        ws.send(message)


def _server() raises -> TestServer[WebSocket]:
    return TestServer(
        WebSocket(_echo), config=ServerConfig(log=LogSink.nowhere())
    )


def _end(var server: TestServer[WebSocket]) raises:
    server.stop()
    assert_equal(server.remains(), "")


def test_sockets_that_fall_silent_together_are_pinged_together() raises:
    for interval_ms in [1, 100, 127, 128, 500, 30_000, 3_600_000]:
        var grain_ms = max(interval_ms >> 7, 1)
        for now in range(
            1_000_000, 1_000_000 + 2 * grain_ms, grain_ms // 9 + 1
        ):
            var wait_ms = silence_ms(interval_ms, now)
            assert_true(interval_ms <= wait_ms)
            assert_true(wait_ms < interval_ms + grain_ms)
            assert_equal((now + wait_ms) % grain_ms, 0)
    assert_equal(silence_ms(Int.MAX, 5), Int.MAX)


comptime TESTS = __functions_in_module()

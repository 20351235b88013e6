"""Tests a WebSocket whose handler waits for something else."""

from flare.http.server.config import ServerConfig
from flare.http.server.records.log import LogSink
from flare.runtime import spawn
from flare.runtime.wait import sleep
from flare.testing.test_server import TestServer
from flare.ws import WebSocket, WsConnection, WsError

from tests.asserting import assert_equal, assert_true

from .socket_peer import open_socket, received, send_close, send_frame


def test_pings_are_answered_while_the_handler_sleeps() raises:
    var server = _server[_sleep_then_echo]()
    var peer = open_socket(server)
    send_frame(peer, 0x89, "one")
    send_frame(peer, 0x89, "two")
    assert_equal(received(server, peer), "8a:3 one 8a:3 two")
    send_frame(peer, 0x01, "data ")
    send_frame(peer, 0x89, "behind")
    assert_equal(received(server, peer), "")
    server.advance(10_000)
    assert_equal(received(server, peer), "8a:6 behind")
    send_frame(peer, 0x80, "whole")
    assert_equal(received(server, peer), "81:10 data whole")
    peer.close()
    _end(server^)


def test_pings_that_find_no_room_are_answered_once_there_is_some() raises:
    var server = _server[_sleep_then_echo]()
    var peer = open_socket(server)
    for _ in range(3_000):
        send_frame(peer, 0x89, String("x") * 120)
    server.advance(1_000)
    # The peer sends no further octet, and the handler still sleeps.
    assert_equal(received(server, peer).count("8a:120"), 3_000)
    assert_true(server.network.now_ms() < 9_000)
    peer.close()
    _end(server^)


def test_close_is_answered_while_the_handler_sleeps() raises:
    var server = _server[_sleep_then_echo]()
    var peer = open_socket(server)
    send_close(peer, 1000)
    assert_equal(received(server, peer), "88:2 (1000)")
    assert_true(not peer.has_ended())
    server.advance(10_000)
    assert_true(peer.has_ended())
    _end(server^)


def test_violation_while_the_handler_sleeps_is_refused() raises:
    var server = _server[_sleep_then_echo]()
    var peer = open_socket(server)
    send_frame(peer, 0x99, "reserved bit")
    assert_equal(received(server, peer), "88:2 (1002)")
    server.advance(10_000)
    assert_true(peer.has_ended())
    _end(server^)


def test_sleeping_handler_does_not_hold_up_the_close_of_a_stop() raises:
    var server = _server[_sleep_then_echo]()
    var peer = open_socket(server)
    server.begin_stop()
    assert_equal(received(server, peer), "88:2 (1001)")
    send_close(peer, 1001)
    server.advance(10_000)
    assert_true(peer.has_ended())
    server.stop()
    assert_equal(server.remains(), "")


def test_close_by_another_fiber_ends_the_wait_of_the_receiver() raises:
    var server = _server[_close_beside]()
    var peer = open_socket(server)
    send_frame(peer, 0x81, "a")
    assert_equal(received(server, peer), "88:6 (4001)")
    server.advance(4_000)
    assert_true(not peer.has_ended())
    # The peer never answers.
    server.advance(1_500)
    assert_true(peer.has_ended())
    _end(server^)


def test_control_frames_pass_between_the_frames_of_a_message() raises:
    var server = _server[_write_for_minutes]()
    var peer = open_socket(server)
    send_frame(peer, 0x81, "begin")
    assert_equal(received(server, peer), "1:1 x")
    send_frame(peer, 0x89, "there?")
    assert_equal(received(server, peer), "8a:6 there?")
    # A peer that is silent is asked, and answers.
    var pings = 0
    for _ in range(20):
        server.advance(5_000)
        var text = received(server, peer)
        assert_true("88:" not in text, text)
        if "89:8 " in text:
            pings += 1
            send_frame(peer, 0x8A, "")
    assert_true(pings == 2 or pings == 3)
    send_close(peer, 1000)
    assert_equal(received(server, peer), "88:2 (1000)")
    server.advance(10_000)
    _end(server^)


def test_stop_is_told_between_the_frames_of_a_message() raises:
    var server = _server[_write_for_minutes]()
    var peer = open_socket(server)
    send_frame(peer, 0x81, "begin")
    assert_equal(received(server, peer), "1:1 x")
    server.begin_stop()
    server.advance(10)
    assert_equal(received(server, peer), "88:2 (1001)")
    send_close(peer, 1001)
    server.advance(1_000)
    _end(server^)


def test_pong_without_room_follows_once_there_is_some() raises:
    var server = _server[_write_for_minutes]()
    var peer = open_socket(server)
    send_frame(peer, 0x81, "begin")
    server.settle()
    # The peer reads nothing, and the writer sleeps.
    for _ in range(3_000):
        send_frame(peer, 0x89, String("x") * 120)
    send_frame(peer, 0x89, "last")
    server.advance(1_000)
    # A flood is answered in part, but always its last.
    var text = received(server, peer)
    assert_true(text.count("8a:120") > 100)
    assert_true(text.endswith(" 8a:4 last"), text)
    peer.close()
    server.advance(10_000)
    _end(server^)


def _write_for_minutes(ws: WsConnection) raises:
    _ = ws.recv_message()

    def write() raises {var ws}:
        with ws.message_writer(is_text=True) as writer:
            while True:
                writer.write_all("x".as_bytes())
                sleep(10_000)

    var writing = spawn(write)
    for _ in ws:
        pass
    try:
        writing^.join()
    except e:
        # It learns that the connection is closed.
        assert_true(String(e).startswith("ws.closed"), String(e))


def _sleep_then_echo(ws: WsConnection) raises:
    sleep(10_000)
    for message in ws:
        ws.send(message)
    assert_true(Bool(ws.close_code()))


def _close_beside(ws: WsConnection) raises:
    _ = ws.recv_message()

    def close() raises {var ws}:
        ws.close(4001, "done")

    var closing = spawn(close)
    try:
        _ = ws.recv_message()
    except e:
        assert_equal(Int(WsError.of(e).value().code), 4001)
    closing^.join()


def _server[
    function: def(WsConnection) raises thin -> None
]() raises -> TestServer[WebSocket]:
    return TestServer(
        WebSocket(function), config=ServerConfig(log=LogSink.nowhere())
    )


def _end(var server: TestServer[WebSocket]) raises:
    server.stop()
    assert_equal(server.remains(), "")


comptime TESTS = __functions_in_module()

"""Stops servers, and handlers that would not end."""

from flare.http import FnHandler, Request, Response
from flare.http.server.config import ServerConfig
from flare.http.server.records.log import LogSink
from flare.runtime.wait import sleep
from flare.testing.test_server import TestServer
from flare.ws import (
    WebSocket,
    WsConnection,
    WsHub,
    WsOptions,
    websocket,
)

from tests.asserting import assert_equal, assert_false, assert_true

from .socket_peer import (
    HANDSHAKE,
    open_socket,
    received,
    send_close,
    send_frame,
)


def test_topics_of_a_lost_handler_end() raises:
    var hub = WsHub()
    var server = TestServer(
        WebSocket(_subscribe_and_ignore_all, WsOptions(hub=hub)),
        config=ServerConfig(log=LogSink.nowhere()),
    )
    var peer = open_socket(server)
    send_frame(peer, 0x81, "go")
    assert_equal(received(server, peer), "81:4 here")
    hub.publish("room", "news")
    assert_equal(received(server, peer), "81:4 news")
    peer.reset()
    for _ in range(1_300):
        server.turn_now()
        if server.worker.state[].streams == 0:
            break
    server.settle()
    assert_equal(server.statistics().handlers_lost, 1)
    assert_equal(Int(hub.statistics().sockets), 0)
    assert_equal(hub.statistics().closed_with(1006), 1)
    # The message would lie in an inbox.
    hub.publish("room", "nobody is left")
    assert_equal(hub.unsafe_alive_octets(), 0)
    server.stop()
    _ = server^
    # Its loop is gone, the hub is not.
    hub.publish("room", "nobody is left")
    assert_equal(hub.unsafe_alive_octets(), 0)


def test_handshake_that_completes_while_the_server_stops_is_refused() raises:
    var server = TestServer(
        FnHandler(_connect_late), config=ServerConfig(log=LogSink.nowhere())
    )
    var peer = server.connect()
    peer.send(HANDSHAKE)
    server.settle()
    server.begin_stop()
    server.advance(60)
    var answer = String(unsafe_from_utf8=Span(peer.received()))
    assert_true(answer.startswith("HTTP/1.1 503 "), answer)
    assert_true("\r\nConnection: close\r\n" in answer, answer)
    assert_false("Sec-WebSocket-Accept" in answer, answer)
    peer.close()
    server.stop()
    assert_equal(server.remains(), "")


def test_stop_follows_the_frame_in_progress() raises:
    var server = TestServer(
        WebSocket(_send_long), config=ServerConfig(log=LogSink.nowhere())
    )
    var peer = open_socket(server)
    send_frame(peer, 0x81, "go")
    server.settle()
    server.begin_stop()
    # Longer than the wait for the Close of the peer, which begins with its own.
    server.advance(6_000)
    assert_equal(received(server, peer), "82:1000000 88:2 (1001)")
    server.advance(3_000)
    assert_false(peer.has_ended())
    send_close(peer, 1001)
    server.settle()
    assert_true(peer.has_ended())
    server.stop()
    assert_equal(server.remains(), "")


def _send_long(ws: WsConnection) raises:
    _ = ws.recv_message()
    var content = List[UInt8](length=1_000_000, fill=1)
    ws.send_binary(Span(content))


def _subscribe_and_ignore_all(ws: WsConnection) raises:
    ws.subscribe("room")
    _ = ws.sender()
    _ = ws.recv_message()
    ws.send_text("here")
    while True:
        try:
            sleep(5)
        except:
            continue


def _connect_late(req: Request) raises -> Response:
    sleep(50)
    return websocket(req, _say)


def _say(req: Request, ws: WsConnection) raises:
    ws.send_text("here")


comptime TESTS = __functions_in_module()

"""Tests which requests become a WebSocket, and how its handler may end."""

from flare.http.request import Request
from flare.http.router import Router
from flare.http.server.config import ServerConfig
from flare.http.server.records.log import LogSink
from flare.runtime.backends.simulated_network import Peer
from flare.testing.test_server import TestServer
from flare.ws import (
    WebSocket,
    WsConnection,
    WsError,
    WsOptions,
)

from tests.asserting import assert_equal, assert_true

from .socket_peer import HANDSHAKE, received, send_close, send_frame


def test_handshake_names_the_protocol() raises:
    var server = _server()
    var peer = server.connect()
    peer.send(
        String(
            StringSlice(HANDSHAKE).replace("GET /", "GET /chat/lobby"),
        ).replace("\r\n\r\n", "\r\nSec-WebSocket-Protocol: other, chat\r\n\r\n")
    )
    server.settle()
    var text = String(unsafe_from_utf8=Span(peer.received()))
    var end = text.find("\r\n\r\n")
    var head = String(text[byte = : end + 2])
    assert_true(head.startswith("HTTP/1.1 101 Switching Protocols\r\n"), head)
    assert_equal(head.count("\r\nUpgrade: websocket\r\n"), 1)
    assert_equal(head.lower().count("\r\nconnection: upgrade\r\n"), 1)
    assert_equal(
        head.count(
            "\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"
        ),
        1,
    )
    assert_equal(head.count("\r\nSec-WebSocket-Protocol: chat\r\n"), 1)
    assert_equal(head.count("\r\nContent-Length"), 0)
    # The handler greets at once.
    assert_true(text.endswith("lobby speaks chat"), text)
    peer.close()
    _end(server^)


def test_other_requests_are_refused() raises:
    var rows: List[Tuple[String, String, String]] = [
        ("Upgrade: websocket", "X: y", "HTTP/1.1 426 "),
        (
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Version: 8",
            "HTTP/1.1 426 ",
        ),
        ("Sec-WebSocket-Key: dG", "Sec-WebSocket-Key: d", "HTTP/1.1 400 "),
        ("Host: a", "Host: a\r\nOrigin: https://b", "HTTP/1.1 403 "),
        ("Host: a", "Host: a\r\nContent-Length: 1", "HTTP/1.1 400 "),
        ("GET /", "POST /", "HTTP/1.1 405 "),
    ]
    for row in rows:
        var server = _server()
        var peer = server.connect()
        peer.send(
            StringSlice(HANDSHAKE)
            .replace("/ ", "/chat/a ")
            .replace(row[0], row[1])
        )
        server.settle()
        var text = String(unsafe_from_utf8=Span(peer.received()))
        assert_true(text.startswith(row[2]), text)
        if row[2].find("426") > 0:
            assert_true(
                text.find("\r\nSec-WebSocket-Version: 13\r\n") > 0, text
            )
        peer.close()
        _end(server^)


def test_handler_that_returns_or_raises_closes() raises:
    var server = _server()
    var peer = _open(server, "/returns")
    assert_equal(received(server, peer), "88:2 (1000)")
    send_close(peer, 1000)
    server.settle()
    assert_true(peer.has_ended())
    var other = _open(server, "/raises")
    assert_equal(received(server, other), "88:2 (1011)")
    # One that does not answer is waited for, but not for long.
    server.advance(4_000)
    assert_true(not other.has_ended())
    server.advance(1_500)
    assert_true(other.has_ended())
    assert_true(not other.is_reset())
    assert_equal(Int(server.statistics().handler_errors), 1)
    peer.close()
    other.close()
    _end(server^)


def test_handler_closes_with_a_code_of_its_own() raises:
    var server = _server()
    var peer = _open(server, "/closes")
    assert_equal(received(server, peer), "88:6 (4001)")
    # Data before the peer's Close are dropped.
    send_frame(peer, 0x81, "more")
    assert_equal(received(server, peer), "")
    send_close(peer, 4001)
    server.settle()
    assert_true(peer.has_ended())
    peer.close()
    _end(server^)


def _open(server: TestServer[Router[]], path: StaticString) raises -> Peer:
    var peer = server.connect()
    peer.send(StringSlice(HANDSHAKE).replace("/ ", String(path, " ")))
    server.settle()
    var octets = peer.received(octets_max=166)
    var text = String(unsafe_from_utf8=Span(octets))
    assert_true(text.endswith("\r\n\r\n"), text)
    return peer


def _greet(req: Request, ws: WsConnection) raises:
    ws.send_text(String(req.param("room"), " speaks ", ws.protocol()))
    while True:
        ws.send(ws.recv_message())


def _return(ws: WsConnection) raises:
    pass


def _raise(ws: WsConnection) raises:
    raise Error("a secret")


def _close(ws: WsConnection) raises:
    ws.close(4001, "done")
    assert_true(not ws.is_open())
    try:
        ws.send_text("late")
    except e:
        assert_equal(Int(WsError.of(e).value().code), 4001)
        return
    raise Error("sent")


def _server() raises -> TestServer[Router[]]:
    var router = Router()
    router.get("/chat/:room", WebSocket(_greet, WsOptions(protocols=["chat"])))
    router.get("/returns", WebSocket(_return))
    router.get("/raises", WebSocket(_raise))
    router.get("/closes", WebSocket(_close))
    return TestServer(router^, config=ServerConfig(log=LogSink.nowhere()))


def _end(var server: TestServer[Router[]]) raises:
    server.stop()
    assert_equal(server.remains(), "")


comptime TESTS = __functions_in_module()

"""Tests that values out of their bounds are told before the first socket."""

from flare.http.server.server import HttpServer
from flare.net import SocketAddr
from flare.ws import (
    WebSocket,
    WsClient,
    WsClientConfig,
    WsConnection,
    WsError,
    WsOptions,
    WsServer,
)

from tests.asserting import assert_equal, assert_true


def test_defaults_have_no_problem() raises:
    assert_true(not WsOptions().first_problem())
    assert_true(not WsClientConfig().first_problem())
    assert_true(not WsOptions(ping_interval_ms=None).first_problem())


def test_the_first_bad_field_is_named() raises:
    _assert_names(WsOptions(max_message_size=0), "max_message_size")
    _assert_names(WsOptions(max_message_size=-1), "max_message_size")
    _assert_names(WsOptions(max_message_size=Int.MAX), "max_message_size")
    _assert_names(WsOptions(ping_interval_ms=0), "ping_interval_ms")
    _assert_names(WsOptions(pong_timeout_ms=-1), "pong_timeout_ms")
    _assert_names(WsOptions(pong_timeout_ms=Int.MAX), "pong_timeout_ms")
    _assert_names(WsOptions(close_timeout_ms=0), "close_timeout_ms")
    _assert_names(WsOptions(message_timeout_ms=0), "message_timeout_ms")
    _assert_names(WsOptions(held_octets_max=-1), "held_octets_max")
    _assert_names(WsOptions(protocols=["chat", ""]), "protocols")
    _assert_names(WsOptions(protocols=["a b"]), "protocols")
    _assert_names(WsOptions(protocols=["chat", "v1", "chat"]), "protocols")


def test_a_server_is_not_made_with_them() raises:
    var server = HttpServer.bind(SocketAddr.localhost(0))
    var told = String()
    try:
        _ = WsServer(server^, WsOptions(close_timeout_ms=0))
    except e:
        told = String(e)
    _assert_told(told, "close_timeout_ms")


def test_a_client_does_not_connect_with_them() raises:
    var configs: List[Tuple[WsClientConfig, String]] = [
        (WsClientConfig(max_message_size=0), "max_message_size"),
        (WsClientConfig(handshake_timeout_ms=0), "handshake_timeout_ms"),
        (WsClientConfig(protocols=["no, token"]), "protocols"),
        (WsClientConfig(protocols=["a", "a"]), "protocols"),
    ]
    for row in configs:
        var told = String()
        try:
            # Nobody listens: an attempt to connect would be another error.
            _ = WsClient.connect("ws://127.0.0.1:1/", row[0].copy())
        except e:
            told = String(e)
        _assert_told(told, row[1])


def _assert_names(var options: WsOptions, name: StringSlice) raises:
    var told = String()
    try:
        _ = WebSocket(_talk, options^)
    except e:
        told = String(e)
    _assert_told(told, name)


def _assert_told(told: String, name: StringSlice) raises:
    var error = WsError.of(Error(told))
    assert_true(Bool(error), told)
    assert_equal(error.value().kind, WsError.BAD_CONFIG)
    assert_true(String(name) in error.value().detail, told)


def _talk(ws: WsConnection) raises:
    pass


comptime TESTS = __functions_in_module()

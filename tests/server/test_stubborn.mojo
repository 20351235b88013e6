"""Lets handlers ignore that their time is over, or that nobody listens."""

from std.testing import assert_equal, assert_true

from flare.http.builders import ok
from flare.http.handler import FnHandler
from flare.http.request import Request
from flare.http.response import Response
from flare.http.server.config import ServerConfig
from flare.http.server.log import LogSink
from flare.runtime.backends.simulated_network import Peer
from flare.runtime.wait import sleep
from flare.testing.test_server import TestServer


def test_a_handler_that_swallows_its_deadline_does_not_hold_the_worker() raises:
    var server = TestServer(FnHandler(_serve), config=_config())
    var stubborn = server.connect()
    stubborn.send(_get("/stubborn"))
    _run(server, 300)
    var other = server.connect()
    other.send(_get("/"))
    _run(server, 300)
    assert_true(_text(other).startswith("HTTP/1.1 200"), "no answer")
    server.stop()
    assert_true(server.worker.is_done(), "the worker never ended")
    assert_true(stubborn.is_closed())
    _ = server^


def test_a_cancelled_handler_that_goes_on_waiting_is_given_up() raises:
    var server = TestServer(FnHandler(_serve), config=_config())
    var peer = server.connect()
    peer.send(_get("/stubborn"))
    _run(server, 3)
    assert_equal(server.worker.state[].in_flight, 1)
    peer.reset()
    _run(server, 1300)
    assert_equal(server.worker.state[].in_flight, 0)
    assert_equal(server.worker.state[].connections.lent(), 0)
    server.stop()
    assert_true(server.worker.is_done(), "the worker never ended")
    assert_equal(server.worker.state[].reactor.state[].fibers.leaked(), 1)
    _ = server^


def _config() -> ServerConfig:
    return ServerConfig(
        log=LogSink.nowhere(), handler_timeout_ms=100, shutdown_timeout_ms=200
    )


def _serve(req: Request) raises -> Response:
    if req.path == "/stubborn":
        while True:
            try:
                sleep(5)
            except e:
                continue
    return ok("hello")


def _get(path: StaticString) -> String:
    return String("GET ", path, " HTTP/1.1\r\nHost: a\r\n\r\n")


def _run(mut server: TestServer[_], turns: Int):
    for _ in range(turns):
        server.turn()


def _text(peer: Peer) -> String:
    return String(from_utf8_lossy=Span(peer.received()))


comptime TESTS = __functions_in_module()

"""Tests what a worker continues at the end of a turn."""

from flare.core import PointerTo
from flare.http.builders import ok
from flare.http.handler import FnHandler, Handler
from flare.http.request import Request
from flare.http.response import Response
from flare.http.response_stream import ResponseStream
from flare.http.server.transport.connection_state import ConnectionState
from flare.runtime.backends.simulated_network import Peer
from flare.runtime.wait import sleep
from flare.testing.test_server import TestServer

from tests.asserting import assert_equal, assert_true


def test_writes_of_one_turn_leave_in_one_send() raises:
    var server = TestServer(FnHandler(_serve))
    var peer = server.connect()
    peer.send("GET /rows?3 HTTP/1.1\r\nHost: a\r\n\r\n")
    server.settle()
    var c = _connection(server)
    var before = c[].operations.send.sequence
    server.advance(10)
    assert_equal(Int(c[].operations.send.sequence - before), 1)
    server.advance(10)
    assert_equal(Int(c[].operations.send.sequence - before), 2)
    server.advance(10)
    var answer = String(unsafe_from_utf8=Span(server.receive(peer)))
    assert_true(answer.endswith("2.4\n\r\n0\r\n\r\n"), answer)
    assert_equal(answer.count("\r\n4\r\n"), 15)
    _end(server^, peer)


def test_connection_that_is_lost_while_it_is_due_ends() raises:
    var server = TestServer(FnHandler(_serve))
    for _ in range(3):
        var peer = server.connect()
        peer.send("GET /rows?9 HTTP/1.1\r\nHost: a\r\n\r\n")
        server.settle()
        # The reset and the next rows come in the same turn.
        peer.reset()
        server.advance(10)
        server.advance(10)
        assert_equal(server.worker.state[].connections.lent(), 0)
        assert_equal(len(server.worker.state[].turn_end.due), 0)
    server.stop()
    assert_equal(server.remains(), "")


def test_next_request_begins_where_a_handler_has_waited() raises:
    var server = TestServer(FnHandler(_serve))
    var peer = server.connect()
    peer.send(
        "GET /sleep HTTP/1.1\r\nHost: a\r\n\r\nGET /now HTTP/1.1\r\nHost:"
        " a\r\n\r\n"
    )
    server.settle()
    var c = _connection(server)
    var before = c[].operations.send.sequence
    server.advance(10)
    var answer = String(unsafe_from_utf8=Span(server.receive(peer)))
    assert_true(answer.endswith("/now"), answer)
    assert_true("/sleep" in answer, answer)
    # Both answers leave together.
    assert_equal(Int(c[].operations.send.sequence - before), 1)
    _end(server^, peer)


def _serve(req: Request) raises -> Response:
    if req.path == "/rows":
        return Response.stream(_write_rows)
    if req.path == "/sleep":
        sleep(10)
    return ok(String(req.path))


def _write_rows(req: Request, stream: ResponseStream) raises:
    for turn in range(Int(req.query)):
        sleep(10)
        for row in range(5):
            stream.write_text(String(turn, ".", row, "\n"))


def _connection[
    H: Handler
](server: TestServer[H]) -> PointerTo[ConnectionState]:
    ref connections = server.worker.state[].connections
    return connections.find(connections.handles()[0]).value()


def _end(var server: TestServer[FnHandler], peer: Peer) raises:
    peer.close()
    server.stop()
    assert_equal(server.remains(), "")


comptime TESTS = __functions_in_module()

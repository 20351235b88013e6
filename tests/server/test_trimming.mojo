"""Lets a crowd come and go: what it needed does not stay."""

from flare.core import PointerTo, heap_create, heap_destroy
from flare.http.builders import ok
from flare.http.handler import Handler
from flare.http.request import Request
from flare.http.response import Response
from flare.http.response_stream import ResponseStream
from flare.http.server.config import ServerConfig
from flare.http.server.records.log import LogSink
from flare.http.server.worker.trimming import trim
from flare.runtime.backends.simulated_network import Peer
from flare.runtime.wait import sleep
from flare.testing.test_server import TestServer

from tests.asserting import assert_equal, assert_false, assert_true
from tests.server.h2_talk import H2Talk

comptime _CROWD = 500
comptime _KEPT = 32


def test_what_a_crowd_needed_is_given_back_and_no_timer_stays() raises:
    var server = _server()
    _serve_crowd(server)
    ref w = server.worker.state[]
    assert_equal(len(w.exchanges.spare), _CROWD)
    assert_equal(w.reactor.timers().armed_count(), 1)
    server.advance(10_000)
    assert_true(len(w.exchanges.spare) <= _KEPT, String(len(w.exchanges.spare)))
    assert_true(len(w.outputs.usual.state[].free) <= _KEPT)
    assert_true(len(w.reactor.buffers().state[].free) <= _KEPT)
    assert_true(len(w.reactor.large_buffers().state[].free) <= 4)
    assert_true(w.reactor.state[].fibers.state[].idle_count <= _KEPT)
    assert_equal(w.reactor.state[].fibers.state[].cold_count, _CROWD - _KEPT)
    assert_equal(w.reactor.timers().armed_count(), 0)
    assert_false(trim(server.worker.state), "nothing is left to give back")
    # Another crowd finds all as the first did.
    _serve_crowd(server)
    assert_equal(w.reactor.state[].fibers.state[].cold_count, 0)
    _end(server^)


def test_timer_is_armed_by_requests_and_by_connections_that_end() raises:
    var server = _server()
    ref w = server.worker.state[]
    assert_equal(w.reactor.timers().armed_count(), 0)
    var peer = server.connect()
    server.settle()
    # Its own timer.
    assert_equal(w.reactor.timers().armed_count(), 1)
    peer.close()
    server.settle()
    assert_equal(w.reactor.timers().armed_count(), 1)
    server.advance(1_100)
    assert_equal(w.reactor.timers().armed_count(), 0)
    peer = server.connect()
    peer.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    server.settle()
    assert_equal(w.reactor.timers().armed_count(), 2)
    server.advance(1_100)
    assert_equal(w.reactor.timers().armed_count(), 1)
    peer.close()
    _end(server^)


def test_stream_kept_beyond_its_end_is_refused_after_trimming() raises:
    var server = _server()
    _serve_crowd(server)
    server.advance(10_000)
    var kept = server._handler[].memory[].kept.value()
    var problem = String()
    try:
        kept.write_text("late")
    except e:
        problem = String(e)
    assert_true(problem.startswith("http.stream_over"), problem)
    _end(server^)


def test_slots_of_streams_are_given_back_once_a_crowd_has_gone() raises:
    var server = _server()
    var client = H2Talk(server.connect())
    for row in [(100, 0), (5, 8), (100, 0)]:
        for _ in range(row[0]):
            client.ask("/sum")
        client.talk()
        server.settle()
        client.talk()
        assert_true(_slots(server) >= row[0])
        server.advance(200)
        client.talk()
        assert_equal(client.answered, row[0])
        client.answered = 0
        server.advance(5_000)
        client.talk()
        # A table of eight slots stays.
        assert_equal(_slots(server), row[1])
    client.peer.close()
    server.settle()
    _ = client^
    _end(server^)


def test_slots_of_streams_that_are_open_stay() raises:
    var server = _server()
    var client = H2Talk(server.connect())
    for _ in range(40):
        client.ask("/late")
    client.talk()
    server.advance(5_000)
    client.talk()
    assert_equal(client.answered, 0)
    assert_true(_slots(server) >= 40)
    server.advance(20_000)
    client.talk()
    assert_equal(client.answered, 40)
    client.peer.close()
    server.settle()
    _ = client^
    _end(server^)


struct _Memory(Movable):
    var kept: Optional[ResponseStream]

    def __init__(out self):
        self.kept = None


@fieldwise_init
struct _Handler(Handler):
    var memory: PointerTo[_Memory]

    def serve(self, req: Request) raises -> Response:
        if req.path == "/sum":
            var count = len(req.body.octets())
            sleep(100)
            return ok(String(count, " ", len(req.body.trailers())))
        if req.path == "/late":
            sleep(20_000)
        if req.path == "/large":
            return ok(List[UInt8](length=200_000, fill=120))
        if req.path == "/keep":
            var memory = self.memory

            def keep(req: Request, stream: ResponseStream) raises {var memory}:
                memory[].kept = stream
                stream.write_text("kept")

            return Response.stream(keep)
        return ok("now")


def _serve_crowd(server: TestServer[_Handler]) raises:
    var peers = List[Peer]()
    var lines = String()
    for i in range(50):
        lines += String("X-", i, ": ", String("x") * 100, "\r\n")
    for i in range(_CROWD):
        peers.append(server.connect())
        var content = String("x") * (20_000 if i % 10 == 0 else 1)
        peers[i].send(
            String(
                "POST /sum HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked",
                "\r\n",
                lines,
                "\r\n",
                "4E20\r\n" if i % 10 == 0 else "1\r\n",
                content,
                "\r\n0\r\n",
                lines,
                "\r\n",
            )
        )
    server.advance(200)
    for i in range(_CROWD):
        var answer = String(
            StringSlice(unsafe_from_utf8=Span(peers[i].received()))
        )
        assert_true(
            answer.endswith("\r\n20000 50" if i % 10 == 0 else "\r\n1 50"),
            answer,
        )
        var target = "/keep" if i == _CROWD - 1 else "/large"
        peers[i].send(String("GET ", target, " HTTP/1.1\r\nHost: a\r\n\r\n"))
    server.settle()
    for peer in peers:
        _ = peer.received()
    server.settle()
    for peer in peers:
        peer.close()
    server.settle()
    assert_equal(server.worker.state[].connections.lent(), 0)


def _slots(server: TestServer[_Handler]) raises -> Int:
    """Returns how many slots the only connection has for its streams."""
    ref connections = server.worker.state[].connections
    for handle in connections.handles():
        var c = connections.find(handle)
        if c:
            return c.value()[].h2.value()[].state.streams.slots()
    raise Error("there is no connection")


def _server() -> TestServer[_Handler]:
    return TestServer(
        _Handler(heap_create(_Memory())),
        config=ServerConfig(log=LogSink.nowhere()),
    )


def _end(var server: TestServer[_Handler]) raises:
    server.stop()
    assert_equal(server.remains(), "")
    var memory = server._handler[].memory
    _ = server^
    heap_destroy(memory)


comptime TESTS = __functions_in_module()

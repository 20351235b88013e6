"""Lets handlers ignore that their time is over, or that nobody listens."""

from flare.core import PointerTo, heap_create, heap_destroy
from flare.http.builders import ok
from flare.http.handler import FnHandler, Handler
from flare.http.request import Request
from flare.http.response import Response
from flare.http.response_stream import ResponseStream
from flare.http.server.config import ServerConfig
from flare.http.server.records.log import LogSink
from flare.http.server.worker.worker import Worker
from flare.runtime import spawn
from flare.runtime.backends.simulated_network import Peer
from flare.runtime.wait import sleep
from flare.testing.test_server import TestServer

from tests.asserting import assert_equal, assert_true


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
    _expect_given_up(server)
    _ = server^


def test_who_ends_sending_beside_such_a_handler_is_let_go() raises:
    var server = TestServer(FnHandler(_serve), config=_config())
    var peer = server.connect()
    peer.send(_get("/stubborn"))
    _run(server, 3)
    peer.end_sending()
    _expect_given_up(server)
    assert_true(peer.is_closed(), "the connection stays open")
    assert_equal(_text(peer), "")
    _ = server^


def test_content_of_such_a_request_goes_back_before_its_pool() raises:
    var server = TestServer(FnHandler(_serve), config=_config())
    var peer = server.connect()
    _send_content(server, peer, "/content", 40_000)
    peer.reset()
    _expect_given_up(server)
    var w = server.worker.state
    assert_equal(w[].reactor.large_buffers().lent(), 1)
    # What the end of the worker does.
    w[].reactor.close()
    w[].free_lost()
    assert_equal(w[].reactor.large_buffers().lent(), 0)
    _ = server^


def test_content_that_such_a_handler_never_got_goes_back_at_once() raises:
    var rows: List[Tuple[String, Int]] = [
        # It does not ask for it; it does, and not all of it comes.
        ("/stubborn", 40_000),
        ("/stubborn", 50_000),
        ("/content", 50_000),
        ("/bits", 50_000),
    ]
    for row in rows:
        var server = TestServer(FnHandler(_serve), config=_config())
        var peer = server.connect()
        _send_content(server, peer, row[0], row[1])
        peer.reset()
        _expect_given_up(server)
        assert_equal(
            server.worker.state[].reactor.large_buffers().lent(), 0, row[0]
        )
        _ = server^


def test_what_follows_such_a_request_is_not_answered_in_its_place() raises:
    var server = TestServer(FnHandler(_serve), config=_config())
    var peer = server.connect()
    # Of the long responses some octets wait until their peer reads: that it
    # does makes the server look at the connection once more.
    for _ in range(4):
        peer.send(_get("/long"))
    peer.send(_get("/stubborn"))
    _run(server, 3)
    # In a buffer of its own, which outlives that of the request before.
    peer.send(_get("/"))
    _run(server, 3)
    peer.end_sending()
    _run_until_given_up(server)
    var text = String()
    for _ in range(50):
        text += _text(peer)
        server.advance(1000)
    assert_true(text.startswith("HTTP/1.1 200"), "no answer before it")
    assert_equal(text.count("HTTP/1.1 "), text.count("HTTP/1.1 200"))
    assert_true(text.count("HTTP/1.1 ") <= 4, "an answer in its place")
    assert_true(peer.is_closed(), "the connection stays open")
    server.stop()
    _ = server^


def test_a_half_of_a_stream_of_such_a_handler_does_not_end_well() raises:
    var server = TestServer(FnHandler(_serve), config=_config())
    var peer = server.connect()
    peer.send("GET /stream HTTP/1.0\r\nHost: a\r\n\r\n")
    _run(server, 3)
    assert_true(_text(peer).endswith("\r\n\r\nhalf"), _text(peer))
    peer.end_sending()
    _expect_given_up(server)
    assert_true(peer.is_reset(), "the half looks like the whole")
    _ = server^


def test_a_fiber_that_outlives_its_server_finds_its_request_over() raises:
    var found = heap_create(_Found())
    var server = TestServer(_Spawning(found))
    found[].worker = server.worker
    assert_true(server.exchange(_get("/")).startswith("HTTP/1.1 200"))
    server.stop()
    assert_equal(found[].error, "")
    _ = server^
    assert_true(found[].error.startswith("http.stream_over"), found[].error)
    assert_equal(found[].exchanges, 1)
    heap_destroy(found)


struct _Found(Movable):
    var worker: Optional[Worker]
    var error: String
    var exchanges: Int

    def __init__(out self):
        self.worker = None
        self.error = String()
        self.exchanges = 0


@fieldwise_init
struct _Spawning(Handler):
    var found: PointerTo[_Found]

    def serve(self, req: Request) raises -> Response:
        var found = self.found

        def write(req: Request, stream: ResponseStream) raises {var found}:
            def write_late() raises {var found, var stream}:
                try:
                    sleep(1_000_000)
                except:
                    pass
                ref w = found[].worker.value().state[]
                found[].exchanges = len(w.exchanges.spare)
                try:
                    stream.write_text("late")
                except e:
                    found[].error = String(e)

            spawn(write_late).detach()
            stream.write_text("now")

        return Response.stream(write)


def _config() -> ServerConfig:
    return ServerConfig(
        log=LogSink.nowhere(), handler_timeout_ms=100, shutdown_timeout_ms=200
    )


def _serve(req: Request) raises -> Response:
    if req.path == "/stubborn":
        _ignore_all()
    if req.path == "/content":
        try:
            _ = req.body.octets()
        except e:
            _ignore_all()
        _ignore_all()
    if req.path == "/bits":
        var octets: List[UInt8] = [0]
        _ = req.body.read(Span(octets))
        _ignore_all()
    if req.path == "/long":
        return ok(String("x") * 30_000)
    if req.path == "/stream":
        return Response.stream(_half)
    return ok("hello")


def _half(req: Request, stream: ResponseStream) raises:
    stream.write_text("half")
    _ignore_all()


def _ignore_all():
    while True:
        try:
            sleep(5)
        except e:
            continue


def _expect_given_up(mut server: TestServer[_]) raises:
    var w = server.worker.state
    # A stream has left the count of requests.
    assert_equal(w[].in_flight + w[].streams, 1)
    _run_until_given_up(server)
    # Time stands still here: no deadline ends the connection instead.
    server.settle()
    assert_equal(server.worker.state[].connections.lent(), 0)
    server.stop()
    assert_true(server.worker.is_done(), "the worker never ended")
    assert_equal(server.worker.state[].reactor.state[].fibers.leaked(), 1)
    assert_equal(server.statistics().handlers_lost, 1)


def _send_content(
    mut server: TestServer[_], peer: Peer, path: StringSlice, announced: Int
) raises:
    peer.send(
        String(
            "POST ",
            path,
            " HTTP/1.1\r\nHost: a\r\nContent-Length: ",
            announced,
            "\r\n\r\n",
        )
    )
    for _ in range(40):
        peer.send(String("x") * 1000)
        for _ in range(3):
            server.turn_now()
    assert_equal(server.worker.state[].reactor.large_buffers().lent(), 1)


def _run_until_given_up(mut server: TestServer[_]) raises:
    for _ in range(1300):
        server.turn_now()
        if server.worker.state[].in_flight == 0:
            return
    raise Error("the handler is not given up")


def _get(path: StaticString) -> String:
    return String("GET ", path, " HTTP/1.1\r\nHost: a\r\n\r\n")


def _run(mut server: TestServer[_], turns: Int):
    for _ in range(turns):
        server.turn()


def _text(peer: Peer) -> String:
    return String(from_utf8_lossy=Span(peer.received()))


comptime TESTS = __functions_in_module()

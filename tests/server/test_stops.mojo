"""Stops a server while streams and upgraded connections are open."""

from flare.http.builders import ok
from flare.http.handler import Handler
from flare.http.request import Request
from flare.http.response import Response
from flare.http.response_stream import ResponseStream
from flare.http.server.config import ServerConfig
from flare.http.server.records.log import LogSink
from flare.http.upgraded_stream import UpgradedStream
from flare.runtime.backends.simulated_network import Peer
from flare.runtime.reactor import ReactorConfig
from flare.runtime.wait import sleep
from flare.testing.test_server import TestServer

from tests.asserting import assert_equal, assert_false, assert_true

# Below the 100 ms that who is connected has for a request on its way.
comptime _PROMPT_MS = 50


def test_idle_event_streams_end_in_order_when_the_server_stops() raises:
    for target in ["/events", "/feed", "/events-full", "/events-swallowed"]:
        var server = _server()
        var peers = List[Peer]()
        for _ in range(20):
            peers.append(server.connect())
            peers[len(peers) - 1].send(_get(target))
        server.advance(10)
        var first = _text(peers[0].received(500))
        assert_true(first.startswith("HTTP/1.1 200"), first)
        server.begin_stop()
        server.advance(_PROMPT_MS)
        assert_equal(server.worker.state[].streams, 0, target)
        assert_equal(server.worker.state[].reactor.state[].fibers.busy(), 0)
        for i in range(len(peers)):
            var rest = _text(server.receive(peers[i]))
            assert_true(rest.endswith("0\r\n\r\n"), target)
            assert_false(peers[i].is_reset(), target)
        assert_equal(server.statistics().handler_errors, 0)
        _end(server^, peers)


def test_event_stream_that_begins_while_the_server_stops_ends_at_once() raises:
    var server = _server()
    var peer = server.connect()
    server.settle()
    server.begin_stop()
    peer.send(_get("/events"))
    var answer = _text(server.receive(peer))
    assert_true(answer.startswith("HTTP/1.1 200"), answer)
    assert_true(answer.endswith("\r\n\r\n0\r\n\r\n"), answer)
    _end(server^, [peer])


def test_stream_with_an_end_comes_to_it_while_the_server_stops() raises:
    var server = _server()
    var peer = server.connect()
    peer.send(_get("/finite"))
    server.settle()
    server.begin_stop()
    server.advance(3_100)
    var answer = _text(peer.received())
    assert_true(answer.endswith("8\r\nstopping\r\n0\r\n\r\n"), answer)
    _end(server^, [peer])


def test_stopping_wakes_an_upgraded_reader_which_may_say_goodbye() raises:
    var server = _server()
    var peers = List[Peer]()
    for _ in range(20):
        peers.append(server.connect())
        peers[len(peers) - 1].send(_upgrade("/polite"))
    server.settle()
    for peer in peers:
        assert_true(_text(peer.received()).startswith("HTTP/1.1 101"))
    server.begin_stop()
    server.advance(_PROMPT_MS)
    for peer in peers:
        assert_equal(_text(peer.received()), "goodbye")
        peer.send("you too")
    server.advance(_PROMPT_MS)
    for peer in peers:
        assert_equal(_text(server.receive(peer)), "after you too")
        assert_true(peer.is_closed())
        assert_false(peer.is_reset())
        peer.close()
    server.settle()
    assert_true(server.worker.is_done())
    _end(server^, peers)


def test_upgraded_function_that_lets_the_stop_out_is_no_error() raises:
    for target in ["/rude", "/writes"]:
        var server = _server()
        var peer = server.connect()
        peer.send(_upgrade(target))
        server.settle()
        server.begin_stop()
        server.advance(_PROMPT_MS)
        assert_equal(server.worker.state[].streams, 0, target)
        assert_equal(server.statistics().handler_errors, 0)
        # Earlier answers may be among what has gathered.
        assert_true(_text(server.receive(peer)).startswith("HTTP/1.1 101"))
        # A read comes to a pause, a write is cut off.
        assert_equal(peer.is_reset(), target == "/writes")
        _end(server^, [peer])


def test_upgraded_connection_that_is_idle_holds_no_receive_buffer() raises:
    var server = _server()
    var peer = server.connect()
    peer.send(_upgrade("/path?room=a"))
    server.settle()
    assert_true(_text(peer.received()).endswith("\r\n\r\n/path"))
    ref w = server.worker.state[]
    assert_equal(w.streams, 1)
    assert_equal(w.reactor.buffers().lent(), 0)
    # Another head in what was the buffer of this one changes none of it.
    var other = server.connect()
    other.send(_get("/other?room=bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"))
    server.settle()
    peer.send("?")
    server.settle()
    assert_equal(_text(peer.received()), "/path room=a raw")
    _end(server^, [peer, other])


def test_open_streams_leave_the_receive_buffers_to_others() raises:
    var server = TestServer(
        _Handler(),
        config=ServerConfig(log=LogSink.nowhere()),
        reactor=ReactorConfig(fibers_max=1024, receive_buffers_max=64),
    )
    var peers = List[Peer]()
    for _ in range(200):
        peers.append(server.connect())
        peers[len(peers) - 1].send(_get("/feed"))
        server.settle()
    for peer in peers:
        assert_true(_text(peer.received()).startswith("HTTP/1.1 200"))
    var other = server.connect()
    other.send(_get("/other"))
    server.settle()
    assert_true(_text(other.received()).endswith("other"))
    for peer in peers:
        peer.close()
    server.settle()
    assert_equal(server.worker.state[].reactor.buffers().state[].excepted, 0)
    _end(server^, [other])


struct _Handler(Handler):
    def __init__(out self):
        pass

    def serve(self, req: Request) raises -> Response:
        if req.path == "/events":
            return _events(Response.stream(_wait_for_events))
        if req.path == "/events-full":
            return _events(Response.stream(_write_for_ever))
        if req.path == "/events-swallowed":
            return _events(Response.stream(_swallow))
        if req.path == "/feed":
            return Response.stream(_feed)
        if req.path == "/finite":
            return Response.stream(_write_late)
        if req.path == "/polite":
            return Response.upgrade("raw", _say_goodbye)
        if req.path == "/rude":
            return Response.upgrade("raw", _read)
        if req.path == "/writes":
            return Response.upgrade("raw", _write_raw_for_ever)
        if req.path == "/path":
            return _tell_path(req)
        return ok("other")


def _events(var response: Response) raises -> Response:
    return response^.with_header(
        "Content-Type", "Text/Event-Stream; charset=utf-8"
    )


def _wait_for_events(req: Request, stream: ResponseStream) raises:
    stream.flush()
    sleep(1_000_000)


def _write_for_ever(req: Request, stream: ResponseStream) raises:
    while True:
        stream.write_text("data: something that fills the room\n\n")


def _swallow(req: Request, stream: ResponseStream) raises:
    stream.flush()
    while True:
        try:
            sleep(1_000_000)
        except:
            pass
        stream.write_text("data: tick\n\n")


def _feed(req: Request, stream: ResponseStream) raises:
    stream.set_endless(True)
    stream.flush()
    sleep(1_000_000)


def _write_late(req: Request, stream: ResponseStream) raises:
    stream.flush()
    sleep(3_000)
    stream.write_text("stopping" if stream.is_stopping() else "serving")


def _say_goodbye(req: Request, stream: UpgradedStream) raises:
    var piece = List[UInt8](length=100, fill=0)
    try:
        _ = stream.read(Span(piece))
    except e:
        if (
            not String(e).startswith("http.stopping")
            or not stream.is_stopping()
        ):
            raise e^
        stream.write_all("goodbye".as_bytes())
    var count = stream.read(Span(piece))
    stream.write_all("after ".as_bytes())
    stream.write_all(Span(piece)[:count])


def _read(req: Request, stream: UpgradedStream) raises:
    var piece = List[UInt8](length=100, fill=0)
    while stream.read(Span(piece)) > 0:
        pass


def _write_raw_for_ever(req: Request, stream: UpgradedStream) raises:
    while True:
        stream.write_all("it never ends ".as_bytes())


def _tell_path(req: Request) raises -> Response:
    # What was taken before the upgrade is still the request's behind it.
    var path = String(req.path)

    def tell(req: Request, stream: UpgradedStream) raises {var path}:
        stream.write_all(path.as_bytes())
        var piece = List[UInt8](length=100, fill=0)
        _ = stream.read(Span(piece))
        stream.write_all(
            String(
                req.path,
                " ",
                req.query,
                " ",
                req.headers.get("Upgrade").value(),
            ).as_bytes()
        )
        _ = stream.read(Span(piece))

    return Response.upgrade("raw", tell)


def _get(target: StringSlice) -> String:
    return String("GET ", target, " HTTP/1.1\r\nHost: a\r\n\r\n")


def _upgrade(target: StringSlice) -> String:
    return String(
        "GET ",
        target,
        " HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: raw\r\n\r\n",
    )


def _server() -> TestServer[_Handler]:
    return TestServer(_Handler(), config=ServerConfig(log=LogSink.nowhere()))


def _end(var server: TestServer[_Handler], peers: List[Peer]) raises:
    for peer in peers:
        peer.close()
    server.stop()
    assert_equal(server.remains(), "")
    _ = server^


def _text(octets: List[UInt8]) -> String:
    return String(StringSlice(unsafe_from_utf8=Span(octets)))


comptime TESTS = __functions_in_module()

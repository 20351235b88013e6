"""Tests what becomes of content that is more than may be read."""

from flare.http.builders import ok
from flare.http.handler import Handler
from flare.http.request import Request
from flare.http.response import Response
from flare.http.response_stream import ResponseStream
from flare.http.server.config import ServerConfig
from flare.http.server.records.log import LogSink
from flare.runtime.backends.simulated_network import Peer
from flare.testing.test_server import TestServer

from tests.asserting import assert_equal, assert_false, assert_true

comptime _OCTETS_MAX = 16_384


def test_content_over_the_limit_is_413_unless_the_handler_allows_more() raises:
    var rows: List[Tuple[String, Int, String]] = [
        ("/count?limit=20000", 20_000, "200"),
        ("/count?limit=20000", 20_001, "413"),
        ("/count?limit=5", 5, "200"),
        ("/count?limit=5", 6, "413"),
        ("/count", 16_384, "200"),
        ("/count", 16_385, "413"),
        ("/whole", 16_384, "200"),
        ("/whole", 16_385, "413"),
        ("/swallow", 16_385, "413"),
        ("/ignore", 16_385, "200"),
    ]
    for row in rows:
        for is_chunked in [False, True]:
            var server = _server()
            var peer = server.connect()
            peer.send(_post(row[0], row[1], is_chunked))
            var answer = _text(server.receive(peer))
            _end(server^, peer)
            assert_equal(
                String(answer[byte=9:12]), row[2], String(row[0], row[1])
            )


def test_what_comes_behind_content_over_the_limit_is_dropped() raises:
    # More arrives in the turn in which the limit is met, and after it.
    for target in ["/whole", "/count", "/swallow", "/swallow-in-stream?0"]:
        for piece in [1, 100, 4_000, 9_000]:
            var server = _server()
            var peer = server.connect()
            var request = _head(target, "Transfer-Encoding: chunked")
            var chunk = String(hex(piece, prefix=""), "\r\n")
            chunk += String("x") * piece + "\r\n"
            peer.send(request + chunk * (60_000 // piece))
            server.settle()
            for _ in range(5):
                if not peer.is_closed():
                    peer.send(String("x") * 10_000)
                    server.settle()
            var answer = _text(server.receive(peer))
            var what = String(target, " in pieces of ", piece)
            assert_equal(String(answer[byte=9:12]), "413", what)
            assert_equal(answer.find("HTTP/1.1", 1), -1, what)
            _end(server^, peer)


def test_fault_of_content_that_a_stream_swallows_is_answered_or_breaks_it_off() raises:
    var rows: List[Tuple[String, Int, String]] = [
        ("/swallow-in-stream?0", _OCTETS_MAX, "200"),
        ("/swallow-in-stream?1", _OCTETS_MAX, "200"),
        ("/swallow-in-stream?0", _OCTETS_MAX + 1, "413"),
        ("/swallow-in-stream?1", _OCTETS_MAX + 1, ""),
    ]
    for row in rows:
        for is_chunked in [False, True]:
            var server = _server()
            var peer = server.connect()
            peer.send(_post(row[0], row[1], is_chunked))
            var answer = _text(server.receive(peer))
            var what = String(row[0], " ", row[1], " ", is_chunked)
            if row[2] == "":
                assert_true(peer.is_reset(), what)
                assert_equal(answer.find("\r\n0\r\n"), -1, what)
            else:
                assert_false(peer.is_reset(), what)
                assert_equal(String(answer[byte=9:12]), row[2], what)
            _end(server^, peer)


@fieldwise_init
struct _Reader(Handler):
    def serve(self, req: Request) raises -> Response:
        if req.path == "/count":
            return _count(req)
        if req.path == "/whole":
            return ok(String(len(req.body.octets())))
        if req.path == "/swallow":
            _swallow(req)
            return ok("swallowed")
        if req.path == "/swallow-in-stream":
            return Response.stream(_swallow_in_stream)
        return ok("ignored")


def _count(req: Request) raises -> Response:
    var limit = req.query_parameters().get("limit")
    if limit:
        req.body.set_octets_max(Int(limit.value()))
    var piece = List[UInt8](length=10_000, fill=0)
    var count = 0
    while True:
        var read = req.body.read(Span(piece))
        if read == 0:
            return ok(String(count))
        count += read


def _swallow(req: Request):
    try:
        _ = req.body.octets()
    except:
        pass


def _swallow_in_stream(req: Request, stream: ResponseStream) raises:
    if req.query == "1":
        stream.write_text("begun")
    _swallow(req)
    try:
        stream.write_text("swallowed")
    except:
        pass


def _head(target: StringSlice, field: StringSlice) -> String:
    return String(
        "POST ", target, " HTTP/1.1\r\nHost: a\r\n", field, "\r\n\r\n"
    )


def _post(target: StringSlice, octets: Int, is_chunked: Bool) -> String:
    var content = String("x") * octets
    if not is_chunked:
        return _head(target, String("Content-Length: ", octets)) + content
    return String(
        _head(target, "Transfer-Encoding: chunked"),
        hex(octets, prefix=""),
        "\r\n",
        content,
        "\r\n0\r\n\r\n",
    )


def _server() -> TestServer[_Reader]:
    return TestServer(
        _Reader(),
        config=ServerConfig(log=LogSink.nowhere(), max_body_size=_OCTETS_MAX),
    )


def _end(var server: TestServer[_Reader], peer: Peer) raises:
    peer.close()
    server.stop()
    assert_equal(server.remains(), "")
    _ = server^


def _text(octets: List[UInt8]) -> String:
    return String(StringSlice(unsafe_from_utf8=Span(octets)))


comptime TESTS = __functions_in_module()

"""Limits single handlers and single clients, over a virtual clock."""

from std.testing import assert_raises

from flare.http.builders import ok
from flare.http.handler import FnHandler, Handler
from flare.http.middleware import Limit, RateLimit, Timeout
from flare.http.rate import RateKeys, RateLimitConfig
from flare.http.request import Request
from flare.http.response import Response
from flare.http.response_stream import ResponseStream
from flare.http.router import Router
from flare.http.server.config import ServerConfig
from flare.http.server.records.log import LogSink
from flare.runtime.wait import sleep
from flare.testing.test_server import TestServer

from tests.asserting import assert_equal, assert_true


def test_a_handler_that_waits_too_long_is_answered_503() raises:
    var server = TestServer(Timeout(FnHandler(_answer), 1000))
    var peer = server.connect()
    peer.send("GET /sleep?5000 HTTP/1.1\r\nHost: a\r\n\r\n")
    server.advance(999)
    assert_equal(len(peer.received()), 0)
    server.advance(2)
    var answer = _text(server.receive(peer))
    assert_true(answer.startswith("HTTP/1.1 503 "), answer)
    assert_true(answer.find("\r\nRetry-After: 1\r\n") > 0, answer)
    # The connection serves others, which have their whole time.
    peer.send("GET /sleep?900 HTTP/1.1\r\nHost: a\r\n\r\n")
    server.advance(901)
    assert_true(_text(server.receive(peer)).endswith("answered"))
    server.stop()


def test_an_answer_of_the_handler_counts_after_its_time_too() raises:
    # Target, status.
    var rows: List[Tuple[String, String]] = [
        ("/sleep?999", "200"),
        ("/swallow?5000", "200"),
        ("/again?5000", "503"),
        ("/fail?0", "500"),
        ("/fail?999", "500"),
        ("/fail-late?5000", "503"),
    ]
    for target, status in rows:
        assert_equal(
            _status_of(Timeout(FnHandler(_answer), 1000), target),
            status,
            target,
        )


def test_the_inner_time_counts() raises:
    var rows: List[Tuple[Int, Int, Int, String]] = [
        (1000, 5000, 3000, "200"),
        (1000, 5000, 5001, "503"),
        (5000, 1000, 999, "200"),
        (5000, 1000, 1001, "503"),
        # The server's own time is 60 s.
        (61_000, 90_000, 80_000, "200"),
    ]
    for outer, inner, wait, status in rows:
        assert_equal(
            _status_of(
                Timeout(Limit(FnHandler(_answer), time_ms=inner), outer),
                String("/sleep?", wait),
            ),
            status,
            String(outer, " ", inner, " ", wait),
        )


def test_the_outer_time_is_restored() raises:
    # The wait after the inner handler, and the status; the server's time is 60
    # s.
    for inner in ["/sleep?900", "/sleep?5000"]:
        for wait, status in [(50_000, "200"), (60_000, "500")]:
            var handler = _Waits(Timeout(FnHandler(_answer), 1000), wait)
            var answer = _status_of(handler^, inner)
            if status == "200" and inner == "/sleep?5000":
                assert_equal(answer, "503")
            else:
                assert_equal(answer, status, String(inner, " ", wait))


def test_waiting_for_content_takes_no_time() raises:
    for wait, status in [(900, "200"), (1100, "503")]:
        var server = TestServer(
            _Waits(Timeout(FnHandler(_answer), 1000), 58_000)
        )
        var peer = server.connect()
        peer.send(String("POST /read-sleep?", wait, _CHUNKED))
        for _ in range(20):
            server.advance(5_000)
            peer.send(String("800\r\n", "x" * 0x800, "\r\n"))
        peer.send("0\r\n\r\n")
        server.advance(60_000)
        var answer = _text(server.receive(peer))
        assert_equal(_status(answer), status)
        server.stop()


def test_a_stream_outlasts_the_time_of_its_handler() raises:
    var server = TestServer(Timeout(FnHandler(_answer), 1000))
    var peer = server.connect()
    peer.send("GET /stream?5000 HTTP/1.1\r\nHost: a\r\n\r\n")
    server.advance(5001)
    assert_true(_text(server.receive(peer)).endswith("late\r\n0\r\n\r\n"))
    server.stop()


def test_content_over_the_limit_is_refused_before_it_is_read() raises:
    # Limit, octets of content, status.
    var rows: List[Tuple[Int, Int, String]] = [
        (100, 99, "200"),
        (100, 100, "200"),
        (100, 101, "413"),
        (100, 1_000_000_000, "413"),
        (0, 0, "200"),
        (0, 1, "413"),
        (20_000, 19_999, "200"),
    ]
    for limit, length, status in rows:
        for path in ["/octets", "/read"]:
            var server = TestServer(
                Limit(FnHandler(_answer), body_octets=limit),
                config=ServerConfig(log=LogSink.nowhere(), max_body_size=1000),
            )
            var peer = server.connect()
            peer.send(
                String(
                    "POST ",
                    path,
                    " HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n",
                    "Content-Length: ",
                    length,
                    "\r\n\r\n",
                )
            )
            server.settle()
            var answer = _text(peer.received())
            var what = String(path, " ", limit, " ", length)
            if status == "200" and length > 0:
                # Only content within the limit is asked for.
                assert_true(answer.startswith("HTTP/1.1 100 "), what)
                peer.send(String("x" * length))
                server.settle()
                answer = _text(peer.received())
            assert_equal(_status(answer), status, what)
            if status == "200":
                assert_true(answer.endswith(String("read ", length)), what)
            server.stop()


def test_content_without_a_length_is_refused_when_it_is_too_long() raises:
    for path in ["/octets", "/read"]:
        for length, status in [(100, "200"), (101, "413")]:
            var server = TestServer(Limit(FnHandler(_answer), body_octets=100))
            var peer = server.connect()
            peer.send(String("POST ", path, _CHUNKED))
            server.settle()
            for _ in range(length):
                peer.send("1\r\nx\r\n")
                server.settle()
            peer.send("0\r\n\r\n")
            var answer = _text(server.receive(peer))
            assert_equal(_status(answer), status, String(path, " ", length))
            server.stop()


def test_the_inner_limit_counts_in_both_directions() raises:
    # Outer limit, inner limit, path, octets, status.
    var rows: List[Tuple[Int, Int, String, Int, String]] = [
        (10, 100, "/octets", 50, "200"),
        (10, 100, "/octets", 101, "413"),
        (100, 10, "/octets", 50, "413"),
        (100, 10, "/read", 10, "200"),
        # The handler's own limit, 200, counts most.
        (10, 100, "/own", 200, "200"),
        (1000, 1000, "/own", 201, "413"),
    ]
    for outer, inner, path, length, status in rows:
        var router = Router()
        router.post(path, Limit(FnHandler(_answer), body_octets=inner))
        var server = TestServer(Limit(router^, body_octets=outer))
        var peer = server.connect()
        peer.send(
            String(
                "POST ",
                path,
                " HTTP/1.1\r\nHost: a\r\nContent-Length: ",
                length,
                "\r\n\r\n",
                "x" * length,
            )
        )
        var answer = _text(server.receive(peer))
        assert_equal(
            _status(answer),
            status,
            String(outer, " ", inner, " ", path, " ", length),
        )
        server.stop()


def test_limits_out_of_bounds_are_refused_at_once() raises:
    for time_ms in [0, -1, 2_147_483_648]:
        with assert_raises(contains="http.bad_limit time"):
            _ = Timeout(FnHandler(_answer), time_ms)
        with assert_raises(contains="http.bad_limit time"):
            _ = Limit(FnHandler(_answer), time_ms=time_ms)
    with assert_raises(contains="http.bad_limit body_octets"):
        _ = Limit(FnHandler(_answer), body_octets=-1)
    _ = Limit(FnHandler(_answer), body_octets=0, time_ms=2_147_483_647)


def test_a_client_regains_its_requests_with_time() raises:
    var server = TestServer(
        RateLimit(
            FnHandler(_answer),
            RateLimitConfig(requests=2, window_seconds=10, key=_one),
        )
    )
    # Milliseconds that pass before, status, Retry-After.
    var rows: List[Tuple[Int, String, String]] = [
        (0, "200", ""),
        (0, "200", ""),
        (0, "429", "5"),
        (3_000, "429", "2"),
        (2_000, "200", ""),
        (0, "429", "5"),
        (60_000, "200", ""),
        (0, "200", ""),
        (0, "429", "5"),
    ]
    for wait, status, after in rows:
        server.advance(wait)
        var answer = server.exchange("GET /sleep?0 HTTP/1.1\r\nHost: a\r\n\r\n")
        assert_equal(_status(answer), status, answer)
        if after:
            assert_true(
                answer.find(String("\r\nRetry-After: ", after, "\r\n")) > 0,
                answer,
            )
    server.stop()


comptime _CHUNKED: StaticString = (
    " HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
)
comptime TESTS = __functions_in_module()


@fieldwise_init
struct _Waits[H: Handler](Handler):
    var inner: Self.H
    var after_ms: Int

    def serve(self, req: Request) raises -> Response:
        var response = self.inner.serve(req)
        sleep(self.after_ms)
        return response^


def _one(req: Request, keys: RateKeys) raises -> Optional[UInt64]:
    return keys.of(1)


def _answer(req: Request) raises -> Response:
    var path = req.path
    if path == "/octets" or path == "/read" or path == "/own":
        return _count(req)
    var wait = Int(req.query)
    if path == "/stream":

        def write(req: Request, stream: ResponseStream) raises {var wait}:
            sleep(wait)
            stream.write_text("late")

        return Response.stream(write)
    if path == "/read-sleep":
        _ = req.body.octets()
    if path == "/swallow" or path == "/again" or path == "/fail-late":
        try:
            sleep(wait)
        except e:
            assert_true(String(e).startswith("net.timeout"), String(e))
        if path == "/again":
            sleep(1)
        if path == "/fail-late":
            raise Error("another error")
        return ok("swallowed")
    sleep(wait)
    if path == "/fail":
        raise Error("on purpose")
    return ok("answered")


def _count(req: Request) raises -> Response:
    if req.path == "/own":
        req.body.set_octets_max(200)
    if not (req.path == "/read"):
        return ok(String("read ", len(req.body.octets())))
    var octets = 0
    var piece = List[UInt8](length=4096, fill=0)
    while True:
        var count = req.body.read(Span(piece))
        if count == 0:
            return ok(String("read ", octets))
        octets += count


def _status_of[
    H: Handler
](var handler: H, target: StringSlice) raises -> String:
    var server = TestServer(handler^)
    var peer = server.connect()
    peer.send(String("GET ", target, " HTTP/1.1\r\nHost: a\r\n\r\n"))
    for _ in range(20):
        server.advance(10_000)
    var answer = _text(server.receive(peer))
    server.stop()
    return _status(answer)


def _status(answer: StringSlice) -> String:
    if answer.byte_length() < 12:
        return "no answer"
    return String(answer[byte=9:12])


def _text(octets: List[UInt8]) -> String:
    return String(StringSlice(unsafe_from_utf8=Span(octets)))

"""Breaks the rules of streams on purpose: the peer must not be misled."""

from flare.http.builders import ok
from flare.http.handler import Handler
from flare.http.request import Request
from flare.http.response import Response
from flare.http.response_stream import ResponseStream
from flare.http.server.config import ServerConfig
from flare.http.server.driver.connection import Connection
from flare.http.server.records.log import LogSink
from flare.http.upgraded_stream import UpgradedStream
from flare.runtime.backends.simulated_network import Peer
from flare.runtime.wait import sleep
from flare.testing.test_server import TestServer

from tests.asserting import assert_equal, assert_false, assert_true

comptime _CHUNKED: StaticString = (
    " HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
)
comptime _UPGRADE: StaticString = (
    " HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: raw\r\n\r\n"
)
comptime _NEXT: StaticString = "GET /now HTTP/1.1\r\nHost: a\r\n\r\n"


def test_status_without_content_calls_no_function() raises:
    for target in ["/status?204", "/status?304", "/status-length?304"]:
        var answer = _exchange(
            String("GET ", target, " HTTP/1.1\r\nHost: a\r\n\r\n", _NEXT)
        )
        var end = answer.find("\r\n\r\n")
        assert_true(
            String(answer[byte = end + 4 :]).startswith("HTTP/1.1 200 OK"),
            answer,
        )
        assert_true(answer.endswith("\r\n\r\nnow"), answer)


def test_status_that_is_none_is_500() raises:
    for status in [0, 99, 100, 103, 199, 600, 999]:
        var answer = _exchange(
            String(
                "GET /status?", status, " HTTP/1.1\r\nHost: a\r\n\r\n", _NEXT
            )
        )
        assert_true(answer.startswith("HTTP/1.1 500 "), answer)
        assert_true(answer.endswith("\r\n\r\nnow"), answer)


def test_framing_fields_of_a_handler_that_contradict_are_500() raises:
    for target in [
        "/field?transfer-encoding:chunked",
        "/field?transfer-encoding:gzip",
        "/field?content-length:x",
        "/field?content-length:-3",
        "/field?content-length:3, 4",
        "/twice",
        "/negative",
    ]:
        var answer = _exchange(
            String(
                "GET ",
                target.replace(" ", "%20"),
                " HTTP/1.1\r\nHost: a\r\n\r\n",
                _NEXT,
            )
        )
        assert_true(answer.startswith("HTTP/1.1 500 "), answer)
        assert_true(answer.endswith("\r\n\r\nnow"), answer)


def test_content_length_field_of_a_handler_counts_as_a_length() raises:
    var answer = _exchange(
        String("GET /field?content-length:3 HTTP/1.1\r\nHost: a\r\n\r\n", _NEXT)
    )
    assert_equal(answer.find("chunked"), -1)
    assert_true(answer.find("\r\n\r\nabcHTTP/1.1 200 OK\r\n") > 0, answer)


def test_error_that_the_function_swallows_does_not_complete_the_answer() raises:
    var server = _server()
    var peer = server.connect()
    peer.send("GET /swallow HTTP/1.1\r\nHost: a\r\n\r\n")
    server.settle()
    assert_true(peer.is_reset())
    _end(server^, [peer])


def test_field_that_may_not_be_a_trailer_breaks_the_answer_off() raises:
    for name in ["Content-Length", "transfer-encoding", "Host", "Set-Cookie"]:
        var server = _server()
        var peer = server.connect()
        peer.send(String("GET /trailer?", name, " HTTP/1.1\r\nHost: a\r\n\r\n"))
        server.settle()
        assert_true(peer.is_reset(), name)
        _end(server^, [peer])


def test_connection_persists_behind_a_stream_where_its_end_is_known() raises:
    # The request, the length of its answer or none, and whether it persists.
    var rows: List[Tuple[String, Bool]] = [
        ("GET /chunked HTTP/1.1\r\nHost: a\r\n\r\n", True),
        (
            "GET /chunked HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
            False,
        ),
        ("GET /field?connection:close HTTP/1.1\r\nHost: a\r\n\r\n", False),
        ("GET /chunked HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", False),
        ("GET /counted HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", True),
        ("GET /counted HTTP/1.0\r\n\r\n", False),
    ]
    for row in rows:
        var server = _server()
        var peer = server.connect()
        peer.send(row[0])
        var answer = _text(server.receive(peer))
        assert_equal(peer.is_closed(), not row[1], row[0])
        assert_false(peer.is_reset(), row[0])
        assert_equal(
            answer.lower().find("connection: close") > 0, not row[1], row[0]
        )
        if row[0].find("HTTP/1.0") > 0:
            assert_equal(answer.find("chunked"), -1, row[0])
        if row[1]:
            peer.send(_NEXT)
            assert_true(_text(server.receive(peer)).endswith("now"), row[0])
        _end(server^, [peer])


def test_content_that_a_stream_leaves_unread_is_dropped_up_to_a_bound() raises:
    var rows: List[Tuple[Int, Bool]] = [
        (1_000, True),
        (250_000, True),
        (400_000, False),
    ]
    for row in rows:
        var server = _server()
        var peer = server.connect()
        peer.send(
            String(
                "POST /counted HTTP/1.1\r\nHost: a\r\nContent-Length: ",
                row[0],
                "\r\n\r\n",
            )
        )
        var unsent = row[0]
        while unsent > 0 and not peer.is_closed():
            var count = min(unsent, peer.room())
            if count > 0:
                peer.send(String("x") * count)
                unsent -= count
            server.settle()
            if count == 0 and peer.room() == 0:
                break
        peer.send(_NEXT)
        var answer = _text(server.receive(peer))
        assert_true(answer.find("\r\n\r\nabc") > 0, answer)
        assert_equal(answer.endswith("now"), row[1], String(row[0]))
        _end(server^, [peer])


def test_trailers_over_the_limit_refuse_the_request() raises:
    for target in ["/read", "/trailers"]:
        for head in [String("X-A: "), String("X-A: b\r\n") * 101]:
            var octets = String(
                "POST ", target, _CHUNKED, "3\r\nabc\r\n0\r\n", head
            )
            if head.byte_length() < 100:
                octets += String("x") * 9000
            octets += "\r\n\r\n"
            var answer = _exchange(octets)
            assert_true(answer.startswith("HTTP/1.1 431 "), answer)
            assert_true(answer.find("\r\nConnection: close\r\n") > 0, answer)


def test_chunk_extensions_are_no_content() raises:
    var answer = _exchange(
        String(
            "POST /read",
            _CHUNKED,
            '3;a=b\r\nabc\r\n2 ;c="d"\r\nde\r\n0;e\r\n\r\n',
            _NEXT,
        )
    )
    assert_true(answer.find("\r\n\r\n5HTTP/1.1 200") > 0, answer)


def test_content_that_breaks_the_rules_is_told_to_who_reads() raises:
    # Before the head is out the answer is replaced, later it breaks off.
    for target in ["/read", "/echo"]:
        var server = _server()
        var peer = server.connect()
        peer.send(String("POST ", target, _CHUNKED, "3\r\nabc\r\n"))
        server.settle()
        _ = peer.received()
        peer.send("xyz\r\n")
        server.settle()
        if target == "/echo":
            assert_true(peer.is_reset())
        else:
            var answer = _text(server.receive(peer))
            assert_true(answer.startswith("HTTP/1.1 400 "), answer)
        assert_equal(server.worker.state[].in_flight, 0)
        _end(server^, [peer])


def test_content_over_a_late_small_limit_is_413() raises:
    # Much has come when the handler says how little it takes.
    for is_complete in [True, False]:
        var server = _server()
        var peer = server.connect()
        peer.send(String("POST /late-limit", _CHUNKED))
        for _ in range(10):
            peer.send(String("400\r\n", String("x") * 0x400, "\r\n"))
        if is_complete:
            peer.send("0\r\n\r\n")
        var answer = _text(server.receive(peer))
        assert_true(answer.startswith("HTTP/1.1 413 "), answer)
        _end(server^, [peer])


def test_open_streams_leave_requests_alone_and_have_a_bound() raises:
    var server = _server(max_requests_in_flight=1, max_streams=2)
    var streams: List[Peer] = [server.connect(), server.connect()]
    streams[0].send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
    streams[1].send(String("GET /raw", _UPGRADE))
    server.settle()
    ref counts = server.worker.state[]
    assert_equal(counts.streams, 2)
    assert_equal(counts.in_flight, 0)
    server.turn_now()
    assert_equal(server.statistics().streams, 2)
    assert_equal(server.statistics().requests_in_flight, 0)
    var other = server.connect()
    other.send(_NEXT)
    server.settle()
    assert_true(_text(other.received()).startswith("HTTP/1.1 200 "))
    var slow = String("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
    for request in [slow, String("GET /raw", _UPGRADE)]:
        other.send(request)
        server.settle()
        var refused = _text(other.received())
        assert_true(refused.startswith("HTTP/1.1 503 "), refused)
        assert_true(refused.find("\r\nRetry-After: ") > 0, refused)
    streams[0].reset()
    server.settle()
    other.send(slow)
    server.settle()
    assert_true(_text(other.received()).startswith("HTTP/1.1 200 "))
    streams.append(other)
    _end(server^, streams)


def test_abort_at_each_point_of_a_stream_leaves_nothing() raises:
    var requests: List[String] = [
        String("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n"),
        String("GET /endless HTTP/1.1\r\nHost: a\r\n\r\n"),
        String("POST /read", _CHUNKED, "3\r\nab"),
        String("POST /echo", _CHUNKED, "3\r\nab"),
        String("GET /raw", _UPGRADE),
        String("GET /swallow HTTP/1.1\r\nHost: a\r\n\r\n"),
    ]
    for request in requests:
        for turns in range(8):
            var server = _server()
            var peer = server.connect()
            peer.send(request)
            for _ in range(turns):
                server.turn_now()
            ref w = server.worker.state[]
            for slot in w.connections.handles():
                Connection(w.connections.find(slot).value()).abort()
            if turns == 0:
                # It was not accepted yet.
                peer.reset()
            server.settle()
            assert_equal(w.reactor.state[].fibers.busy(), 0, request)
            assert_equal(w.exchanges.lent, 0, request)
            assert_equal(w.outputs.lent, 0, request)
            _end(server^, [peer])


def test_http_1_0_stream_that_is_cut_off_ends_with_a_reset() raises:
    for is_stopped in [True, False]:
        var server = _server()
        var peer = server.connect()
        peer.send("GET /endless HTTP/1.0\r\n\r\n")
        server.settle()
        if is_stopped:
            server.stop()
        else:
            server.advance(31_000)
        assert_true(peer.is_reset())
        _end(server^, [peer])


def test_interim_responses_wait_for_their_reader() raises:
    var server = _server()
    var peer = server.connect()
    peer.send("GET /many-hints HTTP/1.1\r\nHost: a\r\n\r\n")
    server.settle()
    ref w = server.worker.state[]
    for slot in w.connections.handles():
        ref c = w.connections.find(slot).value()[]
        assert_true(len(c.outbox.output) < 70_000, String(len(c.outbox.output)))
    var answer = _text(server.receive(peer))
    assert_equal(answer.count("HTTP/1.1 103 "), 20_000)
    assert_true(answer.endswith("\r\n\r\nhinted"))
    _end(server^, [peer])


def test_changed_status_does_not_let_a_protocol_out_before_its_head() raises:
    var server = _server()
    var peer = server.connect()
    peer.send(String("GET /no-101", _UPGRADE))
    var answer = _text(server.receive(peer))
    assert_true(answer.startswith("HTTP/1.1 500"), answer)
    _end(server^, [peer])
    # The other way round the head is out.
    server = _server()
    peer = server.connect()
    peer.send(String("GET /is-101", _UPGRADE))
    server.settle()
    assert_true(peer.is_reset())
    _end(server^, [peer])


def test_101_does_not_wait_for_what_the_function_does() raises:
    for target in ["/raw", "/late-raw", "/mute", "/late-mute"]:
        var server = _server()
        var peer = server.connect()
        peer.send(String("GET ", target, _UPGRADE))
        server.advance(20)
        var answer = _text(peer.received())
        assert_true(answer.startswith("HTTP/1.1 101 "), target)
        assert_true(answer.endswith("\r\n\r\n"), answer)
        _end(server^, [peer])


struct _Rules(Handler):
    def __init__(out self):
        pass

    def serve(self, req: Request) raises -> Response:
        if req.path == "/status":
            return Response.stream(_write_abc, status=Int(req.query))
        if req.path == "/status-length":
            return Response.stream(_write_abc, status=304, length=3)
        if req.path == "/field":
            var at = req.query.find(":")
            return Response.stream(_write_abc).with_header(
                req.query[byte=:at],
                String(req.query[byte = at + 1 :]).replace("%20", " "),
            )
        if req.path == "/twice":
            var response = Response.stream(_write_abc, length=3)
            response.headers.append("Content-Length", "4")
            return response^
        if req.path == "/negative":
            return Response.stream(_write_abc, length=-1)
        if req.path == "/counted":
            return Response.stream(_write_abc, length=3)
        if req.path == "/chunked":
            return Response.stream(_write_abc)
        if req.path == "/swallow":
            return Response.stream(_swallow, length=3)
        if req.path == "/trailer":
            return Response.stream(_set_trailer)
        if req.path == "/read":
            return _read(req)
        if req.path == "/late-limit":
            sleep(10)
            req.body.set_octets_max(100)
            return _read(req)
        if req.path == "/trailers":
            return ok(String(len(req.body.trailers())))
        if req.path == "/echo":
            return Response.stream(_echo)
        if req.path == "/slow":
            return Response.stream(_write_slowly)
        if req.path == "/endless":
            return Response.stream(_write_for_ever)
        if req.path == "/raw":
            return Response.upgrade("raw", _read_for_ever)
        if req.path == "/late-raw":
            sleep(10)
            return Response.upgrade("raw", _read_for_ever)
        if req.path == "/mute":
            return Response.upgrade("raw", _say_nothing)
        if req.path == "/late-mute":
            sleep(10)
            return Response.upgrade("raw", _say_nothing)
        if req.path == "/many-hints":
            for _ in range(20_000):
                req.inform(103)
            return ok("hinted")
        if req.path == "/no-101":
            var response = Response.upgrade("raw", _write_raw)
            response.status = 200
            return response^
        if req.path == "/is-101":
            return Response.stream(_write_abc, status=101).with_header(
                "Upgrade", "raw"
            )
        return ok("now")


def _write_abc(req: Request, stream: ResponseStream) raises:
    stream.write_text("abc")


def _swallow(req: Request, stream: ResponseStream) raises:
    try:
        stream.write_text("too much")
    except:
        pass


def _set_trailer(req: Request, stream: ResponseStream) raises:
    stream.write_text("abc")
    stream.set_trailer(req.query, "3")


def _read(req: Request) raises -> Response:
    var piece = List[UInt8](length=100, fill=0)
    var total = 0
    while True:
        var count = req.body.read(Span(piece))
        if count == 0:
            return ok(String(total))
        total += count


def _echo(req: Request, stream: ResponseStream) raises:
    var piece = List[UInt8](length=100, fill=0)
    while True:
        var count = req.body.read(Span(piece))
        if count == 0:
            return
        stream.write_all(Span(piece)[:count])


def _write_slowly(req: Request, stream: ResponseStream) raises:
    for _ in range(3):
        stream.write_text("slow")
        sleep(10)


def _write_for_ever(req: Request, stream: ResponseStream) raises:
    while True:
        stream.write_all(Span(List[UInt8](length=5000, fill=120)))


def _read_for_ever(req: Request, stream: UpgradedStream) raises:
    var piece = List[UInt8](length=100, fill=0)
    while stream.read(Span(piece)) > 0:
        pass


def _say_nothing(req: Request, stream: UpgradedStream) raises:
    sleep(10_000)


def _write_raw(req: Request, stream: UpgradedStream) raises:
    stream.write_all("octets".as_bytes())


def _server(
    *, max_requests_in_flight: Int = 100, max_streams: Int = 100
) -> TestServer[_Rules]:
    return TestServer(
        _Rules(),
        config=ServerConfig(
            log=LogSink.nowhere(),
            max_requests_in_flight=max_requests_in_flight,
            max_streams=max_streams,
        ),
    )


def _end(var server: TestServer[_Rules], peers: List[Peer]) raises:
    for peer in peers:
        peer.close()
    server.stop()
    assert_equal(server.remains(), "")
    _ = server^


def _exchange(request: StringSlice) raises -> String:
    var server = _server()
    var peer = server.connect()
    peer.send(request)
    var answer = _text(server.receive(peer))
    _end(server^, [peer])
    return answer^


def _text(octets: List[UInt8]) -> String:
    return String(StringSlice(unsafe_from_utf8=Span(octets)))


comptime TESTS = __functions_in_module()

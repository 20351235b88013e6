"""Streams content both ways through the whole server."""

from flare.core import PointerTo, heap_create, heap_destroy
from flare.http.builders import ok
from flare.http.handler import Handler
from flare.http.request import Request
from flare.http.response import Response
from flare.http.response_stream import ResponseStream
from flare.http.server.config import ServerConfig
from flare.http.server.records.log import LogSink
from flare.http.upgraded_stream import UpgradedStream
from flare.message import HeaderMap
from flare.runtime.backends.simulated_network import Peer
from flare.runtime.wait import sleep
from flare.testing.test_server import TestServer

from tests.asserting import assert_equal, assert_false, assert_true

comptime _CHUNKED_HEAD: StaticString = (
    " HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
)


def test_content_of_any_length_is_read_bit_by_bit() raises:
    var server = _server()
    var peer = server.connect()
    peer.send(
        "POST /count HTTP/1.1\r\nHost: a\r\nContent-Length: 3000000\r\n\r\n"
    )
    for _ in range(30):
        peer.send(String("x") * 100_000)
        server.settle()
        # What the handler has read is not kept.
        assert_true(server.worker.state[].reactor.buffers().lent() < 100)
    var answer = _text(server.receive(peer))
    assert_true(answer.endswith("\r\n\r\n3000000"), answer)
    _end(server^, peer)


def test_reader_holds_its_peer_back() raises:
    var server = _server()
    var peer = server.connect()
    peer.send(
        "POST /slow?1000 HTTP/1.1\r\nHost: a\r\nContent-Length: 900000\r\n\r\n"
    )
    var unsent = 900_000
    for _ in range(20):
        if peer.room() > 0:
            var count = min(peer.room(), unsent)
            peer.send(String("x") * count)
            unsent -= count
        server.settle()
    assert_true(unsent > 500_000, String(unsent))
    while unsent > 0:
        var count = min(peer.room(), unsent)
        peer.send(String("x") * count)
        unsent -= count
        server.advance(1000)
    assert_true(_text(server.receive(peer)).endswith("\r\n\r\n900000"))
    _end(server^, peer)


def test_end_behind_content_is_no_departure_where_the_reader_was_late_before() raises:
    var server = _server()
    var peer = server.connect()
    # More than is read ahead while the handler sleeps.
    for request in ["/slow?1000", "/count"]:
        var unsent = 1_200_000
        peer.send(
            String(
                "POST ",
                request,
                " HTTP/1.1\r\nHost: a\r\nContent-Length: ",
                unsent,
                "\r\n\r\n",
            )
        )
        while unsent > 0:
            var count = min(peer.room(), unsent)
            peer.send(String("x") * count)
            unsent -= count
            if unsent == 0 and request == "/count":
                peer.end_sending()
            server.advance(100)
        var answer = _text(server.receive(peer))
        assert_true(answer.endswith("\r\n\r\n1200000"), answer)
    _end(server^, peer)


def test_trailers_of_a_request_are_there_at_its_end() raises:
    for target in ["/trailers", "/trailers?read"]:
        var answer = _exchange(
            String(
                "POST ",
                target,
                _CHUNKED_HEAD,
                "3\r\nabc\r\n0\r\nX-Sum: 17\r\nX-Other: b\r\n\r\n",
            )
        )
        assert_true(answer.endswith("\r\n\r\n17 of 2"), answer)
        answer = _exchange(
            String("POST ", target, _CHUNKED_HEAD, "3\r\nabc\r\n0\r\n\r\n")
        )
        assert_true(answer.endswith("\r\n\r\nnone of 0"), answer)


def test_trailers_are_not_those_of_an_earlier_request() raises:
    var answer = _exchange(
        String(
            "POST /trailers",
            _CHUNKED_HEAD,
            "0\r\nX-Sum: 1\r\n\r\nPOST /trailers",
            _CHUNKED_HEAD,
            "0\r\n\r\n",
        )
    )
    assert_true(answer.find("1 of 1") > 0, answer)
    assert_true(answer.endswith("none of 0"), answer)


def test_upgraded_connection_that_is_cut_off_is_reset() raises:
    # An orderly end would make what came the whole.
    var server = _server()
    var peer = server.connect()
    peer.send(
        "GET /upgrade HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\n"
        "Upgrade: shout\r\n\r\nabc"
    )
    server.settle()
    assert_true(_text(peer.received()).endswith("ABC"))
    server.begin_stop()
    server.abort()
    server.settle()
    assert_true(peer.is_reset())
    _end(server^, peer)


def test_streamed_response_is_chunked_or_counted() raises:
    var answer = _exchange("GET /lines?3 HTTP/1.1\r\nHost: a\r\n\r\n")
    assert_true(answer.find("\r\nTransfer-Encoding: chunked\r\n") > 0, answer)
    assert_true(
        answer.endswith(
            "\r\n\r\n7\r\nline 0\n\r\n7\r\nline 1\n\r\n7\r\nline"
            " 2\n\r\n0\r\n\r\n"
        ),
        answer,
    )
    answer = _exchange("GET /counted?14 HTTP/1.1\r\nHost: a\r\n\r\n")
    assert_true(answer.find("\r\nContent-Length: 14\r\n") > 0, answer)
    assert_true(answer.endswith("\r\n\r\nline 0\nline 1\n"), answer)
    # An HTTP/1.0 client is told by the end.
    answer = _exchange("GET /lines?2 HTTP/1.0\r\n\r\n")
    assert_true(answer.endswith("\r\n\r\nline 0\nline 1\n"), answer)


def test_head_and_first_octets_leave_in_one_piece_and_later_ones_at_once() raises:
    var server = _server()
    var peer = server.connect()
    peer.send("GET /ticks?1000 HTTP/1.1\r\nHost: a\r\n\r\n")
    server.settle()
    var first = _text(peer.received())
    assert_true(first.endswith("tick 0\n\r\n"), first)
    server.advance(1000)
    assert_equal(_text(peer.received()), "7\r\ntick 1\n\r\n")
    peer.reset()
    server.settle()
    assert_equal(server.worker.state[].connections.lent(), 0)
    _end(server^, peer)


def test_flush_lets_the_head_go_alone() raises:
    var server = _server()
    var peer = server.connect()
    peer.send("GET /flush?500 HTTP/1.1\r\nHost: a\r\n\r\n")
    server.settle()
    var first = _text(peer.received())
    assert_true(first.startswith("HTTP/1.1 200 OK\r\n"), first)
    assert_true(first.endswith("\r\n\r\n"), first)
    server.advance(500)
    assert_equal(_text(peer.received()), "4\r\nlate\r\n0\r\n\r\n")
    _end(server^, peer)


def test_trailers_of_a_response_follow_its_content() raises:
    var answer = _exchange("GET /sum HTTP/1.1\r\nHost: a\r\n\r\n")
    assert_true(answer.endswith("3\r\nabc\r\n0\r\nX-Sum: 3\r\n\r\n"), answer)


def test_answer_to_head_calls_no_function() raises:
    var answer = _exchange("HEAD /counted?14 HTTP/1.1\r\nHost: a\r\n\r\n")
    assert_true(answer.find("\r\nContent-Length: 14\r\n") > 0, answer)
    assert_true(answer.endswith("\r\n\r\n"), answer)
    answer = _exchange("HEAD /broken HTTP/1.1\r\nHost: a\r\n\r\n")
    assert_true(answer.startswith("HTTP/1.1 200"), answer)


def test_slow_reader_holds_the_function_back() raises:
    var server = _server()
    var peer = server.connect()
    peer.send("GET /counted?7000000 HTTP/1.1\r\nHost: a\r\n\r\n")
    server.settle()
    ref w = server.worker.state[]
    assert_equal(w.reactor.state[].fibers.busy(), 1)
    var count = 0
    while True:
        var octets = peer.received(50_000)
        if len(octets) == 0:
            break
        count += len(octets)
        server.settle()
        # Nothing piles up but one send and one buffer behind it.
        for slot in w.connections.handles():
            ref c = w.connections.find(slot).value()[]
            assert_true(
                len(c.outbox.output) < 70_000, String(len(c.outbox.output))
            )
            assert_true(
                len(c.outbox.sending) < 70_000, String(len(c.outbox.sending))
            )
    count += len(server.receive(peer))
    assert_true(count > 7_000_000, String(count))
    _end(server^, peer)


def test_function_that_raises_first_is_500_and_later_breaks_off() raises:
    var answer = _exchange("GET /broken HTTP/1.1\r\nHost: a\r\n\r\n")
    assert_true(answer.startswith("HTTP/1.1 500"), answer)
    for target in ["/broken?2", "/short", "/long"]:
        for version in ["1.1", "1.0"]:
            var server = _server()
            var peer = server.connect()
            peer.send(
                String("GET ", target, " HTTP/", version, "\r\nHost: a\r\n\r\n")
            )
            server.advance(100)
            assert_true(peer.is_reset(), target)
            assert_equal(server.statistics().handler_errors, 1)
            _end(server^, peer)


def test_peer_that_leaves_ends_the_function() raises:
    for waits_for in ["/ticks?100000", "/counted?9000000", "/echo"]:
        var server = _server()
        var peer = server.connect()
        peer.send(String("POST ", waits_for, _CHUNKED_HEAD, "3\r\nabc\r\n"))
        server.settle()
        assert_equal(server.worker.state[].reactor.state[].fibers.busy(), 1)
        peer.reset()
        server.settle()
        assert_equal(server.worker.state[].reactor.state[].fibers.busy(), 0)
        assert_equal(server.worker.state[].connections.lent(), 0)
        _end(server^, peer)


def test_both_ways_at_once() raises:
    var server = _server()
    var peer = server.connect()
    peer.send(String("POST /echo", _CHUNKED_HEAD))
    server.settle()
    for i in range(3):
        peer.send("4\r\nabcd\r\n")
        server.settle()
        var octets = _text(peer.received())
        assert_true(octets.endswith("4\r\nabcd\r\n"), String(i, octets))
    peer.send("0\r\n\r\nGET /lines?1 HTTP/1.1\r\nHost: a\r\n\r\n")
    var rest = _text(server.receive(peer))
    assert_true(rest.startswith("0\r\n\r\nHTTP/1.1 200"), rest)
    _end(server^, peer)


def test_stream_kept_beyond_its_end_is_refused() raises:
    var answer = _exchange(
        "GET /keep HTTP/1.1\r\nHost: a\r\n\r\n"
        "GET /use HTTP/1.1\r\nHost: a\r\n\r\n"
    )
    assert_true(answer.endswith("http.stream_over"), answer)


def test_early_hints_go_before_the_answer() raises:
    var answer = _exchange("GET /hints HTTP/1.1\r\nHost: a\r\n\r\n")
    assert_true(
        answer.startswith(
            "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 200"
        ),
        answer,
    )
    answer = _exchange("GET /hints HTTP/1.0\r\n\r\n")
    assert_true(answer.startswith("HTTP/1.1 200"), answer)


def test_upgraded_connection_belongs_to_the_function() raises:
    var server = _server()
    var peer = server.connect()
    peer.send(
        "GET /upgrade HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\n"
        "Upgrade: other, Shout\r\n\r\nleft over"
    )
    server.settle()
    var first = _text(peer.received())
    assert_true(first.startswith("HTTP/1.1 101 Switching Protocols\r\n"), first)
    assert_true(first.find("\r\nUpgrade: shout\r\n") > 0, first)
    assert_true(first.endswith("\r\n\r\nLEFT OVER"), first)
    peer.send("GET / HTTP/1.1\r\n\r\n")
    server.settle()
    assert_equal(_text(peer.received()), "GET / HTTP/1.1\r\n\r\n")
    # Its end is the end of a stream, not a departure.
    peer.send("more")
    peer.end_sending()
    assert_equal(_text(server.receive(peer)), "MOREbye")
    assert_true(peer.is_closed())
    assert_false(peer.is_reset())
    _end(server^, peer)


def test_end_of_an_upgraded_peer_is_no_departure_after_read_ahead_was_full() raises:
    var server = _server()
    var peer = server.connect()
    # While the first handler sleeps, so much lies unread that the peer's end
    # is polled for; the poll outlives it.
    peer.send(
        "POST /slow?1000 HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n"
    )
    peer.send(String("x") * 200_000)
    assert_true(_text(server.receive(peer)).endswith("\r\n\r\n200000"))
    peer.send(
        "GET /upgrade HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\n"
        "Upgrade: shout\r\n\r\n"
    )
    server.settle()
    assert_true(_text(peer.received()).startswith("HTTP/1.1 101"))
    peer.send("more")
    peer.end_sending()
    assert_equal(_text(server.receive(peer)), "MOREbye")
    assert_false(peer.is_reset())
    _end(server^, peer)


def test_upgrade_that_was_not_offered_is_426() raises:
    var rows: List[StaticString] = [
        "GET /upgrade HTTP/1.1\r\nHost: a\r\n\r\n",
        (
            "GET /upgrade HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\n"
            "Upgrade: whisper\r\n\r\n"
        ),
        "GET /upgrade HTTP/1.1\r\nHost: a\r\nUpgrade: shout\r\n\r\n",
        (
            "GET /upgrade HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\n"
            "Upgrade: shouts,,shou ,\tsho\xe9ut,\r\nUpgrade: shout/1\r\n\r\n"
        ),
        (
            "GET /upgrade HTTP/1.0\r\nConnection: upgrade\r\n"
            "Upgrade: shout\r\n\r\n"
        ),
        (
            "POST /upgrade HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\n"
            "Upgrade: shout\r\nContent-Length: 3\r\n\r\nabc"
        ),
    ]
    for row in rows:
        var answer = _exchange(row)
        assert_true(answer.startswith("HTTP/1.1 426"), String(row, answer))
        assert_true(answer.find("\r\nUpgrade: shout\r\n") > 0, answer)


def test_upgraded_peer_that_says_nothing_is_left_after_the_read_timeout() raises:
    var server = _server()
    var peer = server.connect()
    peer.send(
        "GET /upgrade HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\n"
        "Upgrade: shout\r\n\r\n"
    )
    server.settle()
    server.advance(59_000)
    assert_equal(server.worker.state[].connections.lent(), 1)
    server.advance(1_100)
    assert_equal(server.worker.state[].connections.lent(), 0)
    _end(server^, peer)


def test_stopping_lets_a_stream_finish_and_cuts_an_endless_one_off() raises:
    var server = _server()
    var finishes = server.connect()
    finishes.send("GET /flush?3000 HTTP/1.1\r\nHost: a\r\n\r\n")
    var endless = server.connect()
    endless.send("GET /ticks?1000 HTTP/1.1\r\nHost: a\r\n\r\n")
    server.settle()
    server.stop()
    assert_true(_text(finishes.received()).endswith("0\r\n\r\n"))
    var octets = _text(endless.received())
    assert_false(octets.endswith("0\r\n\r\n"), octets)
    endless.close()
    _end(server^, finishes)


struct _Memory(Movable):
    var kept: Optional[ResponseStream]

    def __init__(out self):
        self.kept = None


@fieldwise_init
struct _Streams(Handler):
    var memory: PointerTo[_Memory]

    def serve(self, req: Request) raises -> Response:
        if req.path == "/count":
            return _count(req)
        if req.path == "/slow":
            return _read_slowly(req)
        if req.path == "/trailers":
            return _trailers(req)
        if req.path == "/lines":
            return Response.stream(_write_lines)
        if req.path == "/counted":
            return Response.stream(_write_octets, length=Int(req.query))
        if req.path == "/ticks":
            return Response.stream(_tick)
        if req.path == "/flush":
            return Response.stream(_flush)
        if req.path == "/sum":
            return Response.stream(_sum)
        if req.path == "/broken":
            return Response.stream(_break)
        if req.path == "/short":
            return Response.stream(_write_three, length=4)
        if req.path == "/long":
            return Response.stream(_write_three, length=2)
        if req.path == "/echo":
            return Response.stream(_echo)
        if req.path == "/upgrade":
            return Response.upgrade("shout", _shout)
        if req.path == "/hints":
            var hints = HeaderMap()
            hints.set("Link", "</a.css>")
            req.inform(103, hints)
            return ok("page")
        return self._keep_or_use(req)

    def _keep_or_use(self, req: Request) raises -> Response:
        var memory = self.memory
        if req.path == "/use":
            try:
                memory[].kept.value().write_text("late")
            except e:
                var text = String(e)
                return ok(String(text[byte = : text.find(" ")]))
            return ok("written")

        def keep(req: Request, stream: ResponseStream) raises {var memory}:
            memory[].kept = stream
            stream.write_text("kept")

        return Response.stream(keep)


def _count(req: Request) raises -> Response:
    if Int(req.body.declared_octets().or_else(0)) > 1_000_000:
        req.body.set_octets_max(1 << 40)
    var piece = List[UInt8](length=10_000, fill=0)
    var count = 0
    while True:
        var read = req.body.read(Span(piece))
        if read == 0:
            return ok(String(count))
        count += read


def _read_slowly(req: Request) raises -> Response:
    req.body.set_octets_max(1 << 40)
    var piece = List[UInt8](length=50_000, fill=0)
    var count = 0
    while True:
        sleep(Int(req.query))
        var read = req.body.read(Span(piece))
        if read == 0:
            return ok(String(count))
        count += read


def _trailers(req: Request) raises -> Response:
    if req.query == "read":
        var piece = List[UInt8](length=2, fill=0)
        while req.body.read(Span(piece)) > 0:
            pass
    var trailers = req.body.trailers()
    var sum = trailers.get("X-Sum")
    if not sum:
        return ok(String("none of ", len(trailers)))
    return ok(String(sum.value(), " of ", len(trailers)))


def _write_lines(req: Request, stream: ResponseStream) raises:
    for i in range(Int(req.query)):
        stream.write_text(String("line ", i, "\n"))


def _write_octets(req: Request, stream: ResponseStream) raises:
    var left = Int(req.query)
    var i = 0
    while left > 0:
        var line = String("line ", i % 10, "\n")
        if left > 100_000:
            line = String("x") * 100_000
        var count = min(left, line.byte_length())
        stream.write_all(line.as_bytes()[:count])
        left -= count
        i += 1


def _tick(req: Request, stream: ResponseStream) raises:
    for i in range(1_000_000):
        stream.write_text(String("tick ", i, "\n"))
        sleep(Int(req.query))


def _flush(req: Request, stream: ResponseStream) raises:
    stream.flush()
    sleep(Int(req.query))
    stream.write_text("late")


def _sum(req: Request, stream: ResponseStream) raises:
    stream.write_text("abc")
    stream.set_trailer("X-Sum", "3")


def _break(req: Request, stream: ResponseStream) raises:
    if not req.query == "":
        for _ in range(Int(req.query)):
            stream.write_text("something")
    raise Error("on purpose")


def _write_three(req: Request, stream: ResponseStream) raises:
    stream.write_text("abc")


def _echo(req: Request, stream: ResponseStream) raises:
    stream.flush()
    var piece = List[UInt8](length=100, fill=0)
    while True:
        var count = req.body.read(Span(piece))
        if count == 0:
            return
        stream.write_all(Span(piece)[:count])


def _shout(req: Request, stream: UpgradedStream) raises:
    var piece = List[UInt8](length=4, fill=0)
    while True:
        var count = stream.read(Span(piece))
        if count == 0:
            stream.write_all("bye".as_bytes())
            return
        for i in range(count):
            if piece[i] >= 97 and piece[i] <= 122:
                piece[i] -= 32
        stream.write_all(Span(piece)[:count])


def _server() -> TestServer[_Streams]:
    return TestServer(
        _Streams(heap_create(_Memory())),
        config=ServerConfig(log=LogSink.nowhere(), max_body_size=16_384),
    )


def _end(var server: TestServer[_Streams], peer: Peer) raises:
    peer.close()
    server.stop()
    assert_equal(server.remains(), "")
    var memory = server._handler[].memory
    _ = server^
    heap_destroy(memory)


def _exchange(request: StringSlice) raises -> String:
    var server = _server()
    var peer = server.connect()
    peer.send(request)
    var answer = _text(server.receive(peer))
    _end(server^, peer)
    return answer^


def _text(octets: List[UInt8]) -> String:
    return String(StringSlice(unsafe_from_utf8=Span(octets)))


comptime TESTS = __functions_in_module()

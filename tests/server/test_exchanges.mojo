"""Follows exchanges through the whole server: order, endings, departures."""

from flare.core import heap_create, heap_destroy
from flare.http.builders import ok
from flare.http.handler import FnHandler
from flare.http.request import Request
from flare.http.response import Response
from flare.http.server.config import ServerConfig
from flare.http.server.records.log import LogSink
from flare.http.server.transport.worker_state import SPARE_CONTENT_OCTETS_MAX
from flare.runtime.wait import sleep
from flare.testing.test_server import TestServer

from tests.asserting import assert_equal, assert_true
from tests.server.answers import read_answers
from tests.server.handlers import Outcomes, Waiter


def test_connections_persist_as_their_version_says() raises:
    var rows: List[Tuple[String, Bool]] = [
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", False),
        ("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", True),
        ("GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n", True),
        ("GET / HTTP/1.0\r\n\r\n", True),
        ("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", False),
        ("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", False),
    ]
    var outcomes = heap_create(Outcomes())
    var server = TestServer(Waiter(outcomes))
    for row in rows:
        var peer = server.connect()
        peer.send(row[0])
        var octets = server.receive(peer)
        var answers = read_answers(Span(octets), [])
        assert_equal(len(answers), 1, row[0])
        assert_equal(answers[0].status, 200, row[0])
        assert_equal(peer.is_closed(), row[1], row[0])
        peer.close()
    server.stop()
    assert_equal(server.remains(), "")
    _ = server^
    heap_destroy(outcomes)


def test_answers_without_content_end_with_their_head() raises:
    var outcomes = heap_create(Outcomes())
    var server = TestServer(Waiter(outcomes))
    for line in ["HEAD / ", "GET /none ", "GET /unchanged ", "HEAD /large "]:
        var answer = server.exchange(
            String(line, "HTTP/1.1\r\nHost: a\r\n\r\n")
        )
        assert_true(answer.endswith("\r\n\r\n"), answer)
        assert_equal(answer.count("\r\n\r\n"), 1, answer)
    server.stop()
    _ = server^
    heap_destroy(outcomes)


def test_length_of_content_that_is_not_sent_is_said_where_it_is_known() raises:
    # The request, the status, and what Content-Length says.
    var rows: List[Tuple[String, Int, String]] = [
        ("GET /304", 304, ""),
        ("GET /304?1234", 304, "1234"),
        ("HEAD /304?1234", 304, "1234"),
        ("HEAD /200", 200, ""),
        ("HEAD /200?1234", 200, "1234"),
        ("HEAD /404?1234", 404, "1234"),
        ("HEAD /content", 200, "7"),
        ("HEAD /content?7", 200, "7"),
        ("GET /204", 204, ""),
        ("GET /200", 200, "0"),
        # What contradicts the content is refused.
        ("HEAD /content?8", 500, "21"),
        ("GET /204?5", 500, "21"),
        ("GET /200?1", 500, "21"),
    ]
    var server = TestServer(FnHandler(_answer_as_asked))
    for row in rows:
        for version in ["1.1", "1.0"]:
            var what = String(row[0], " HTTP/", version)
            var octets = server.exchange(
                String(
                    what,
                    "\r\nHost: a\r\nConnection: keep-alive\r\n\r\n",
                    "GET /content HTTP/1.1\r\nHost: a\r\n\r\n",
                )
            )
            var answers = read_answers(
                octets.as_bytes(), [row[0].startswith("HEAD")]
            )
            assert_equal(len(answers), 2, what)
            assert_equal(answers[0].status, row[1], what)
            var line = String("\r\nContent-Length: ", row[2], "\r\n")
            assert_equal(
                answers[0].head.count("Content-Length"),
                0 if row[2] == "" else 1,
                answers[0].head,
            )
            assert_true(row[2] == "" or line in answers[0].head, what)
            assert_equal(answers[1].content, "content", what)
    server.stop()
    _ = server^


def test_100_continue_goes_out_when_the_content_is_wanted() raises:
    comptime HEAD: StaticString = (
        " HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n"
        "Expect: 100-continue\r\n\r\n"
    )
    var outcomes = heap_create(Outcomes())
    var server = TestServer(Waiter(outcomes))
    var reads = server.connect()
    reads.send(String("POST /read", HEAD))
    server.settle()
    assert_equal(_taken(reads.received()), "HTTP/1.1 100 Continue\r\n\r\n")
    reads.send("abc")
    assert_true(_taken(server.receive(reads)).find("content abc") > 0)
    var ignores = server.connect()
    ignores.send(String("POST /ignore", HEAD))
    assert_true(_taken(server.receive(ignores)).startswith("HTTP/1.1 200"))
    reads.close()
    ignores.close()
    server.stop()
    assert_equal(server.remains(), "")
    _ = server^
    heap_destroy(outcomes)


def test_a_hundred_pipelined_requests_are_answered_in_order() raises:
    var text = String()
    for i in range(100):
        text += String("GET /", i, " HTTP/1.1\r\nHost: a\r\n\r\n")
    var outcomes = heap_create(Outcomes())
    var server = TestServer(Waiter(outcomes))
    var answer = server.exchange(text)
    var answers = read_answers(answer.as_bytes(), [])
    assert_equal(len(answers), 100)
    for i in range(100):
        assert_equal(answers[i].content, String("/", i))
    server.stop()
    _ = server^
    heap_destroy(outcomes)


def test_requests_behind_a_head_stay_where_they_are() raises:
    # To copy them for each head in front of them would cost their square.
    comptime REQUEST: StaticString = "GET /sleep?10 HTTP/1.1\r\nHost: a\r\n\r\n"
    var outcomes = heap_create(Outcomes())
    var server = TestServer(Waiter(outcomes))
    var peer = server.connect()
    # Octets are gathered where a head comes in pieces.
    peer.send(String(REQUEST, REQUEST[byte=:1]))
    server.settle()
    peer.send(String(REQUEST[byte=1:], String(REQUEST) * 100))
    server.advance(10)
    var w = server.worker.state
    var before = 0
    for i in range(90):
        assert_equal(outcomes[].finished, 1 + i)
        for slot in w[].connections.handles():
            ref gathered = w[].connections.find(slot).value()[].window.gathered
            var at = Int(gathered.unsafe_front())
            if i > 0:
                assert_equal(at - before, REQUEST.byte_length(), String(i))
            before = at
        server.advance(10)
    var octets = server.receive(peer)
    assert_equal(_taken(octets).count("HTTP/1.1 200"), 102)
    peer.close()
    server.stop()
    assert_equal(server.remains(), "")
    _ = server^
    heap_destroy(outcomes)


def test_peer_that_breaks_off_ends_its_handler() raises:
    var outcomes = heap_create(Outcomes())
    var server = TestServer(Waiter(outcomes))
    var peer = server.connect()
    peer.send("GET /sleep?50000 HTTP/1.1\r\nHost: a\r\n\r\n")
    server.settle()
    assert_equal(outcomes[].begun, 1)
    peer.reset()
    server.settle()
    assert_equal(outcomes[].cut_off, 1)
    assert_equal(server.worker.state[].connections.lent(), 0)
    peer.close()
    server.stop()
    assert_equal(server.remains(), "")
    _ = server^
    heap_destroy(outcomes)


def test_peer_that_ends_its_side_counts_as_gone_unless_allowed() raises:
    for allowed in [False, True]:
        var outcomes = heap_create(Outcomes())
        var config = ServerConfig(log=LogSink.nowhere())
        config.half_close_allowed = allowed
        var server = TestServer(Waiter(outcomes), config=config)
        var peer = server.connect()
        peer.send("GET /sleep?5000 HTTP/1.1\r\nHost: a\r\n\r\n")
        server.settle()
        peer.end_sending()
        var answer = _taken(server.receive(peer))
        assert_equal(answer.startswith("HTTP/1.1 200"), allowed)
        assert_true(peer.is_closed())
        assert_equal(outcomes[].cut_off, 0 if allowed else 1)
        peer.close()
        server.stop()
        assert_equal(server.remains(), "")
        _ = server^
        heap_destroy(outcomes)


def test_stopping_finishes_requests_and_ends_idle_connections() raises:
    var outcomes = heap_create(Outcomes())
    var server = TestServer(Waiter(outcomes))
    var idle = server.connect()
    var quick = server.connect()
    var slow = server.connect()
    quick.send("GET /sleep?3000 HTTP/1.1\r\nHost: a\r\n\r\n")
    slow.send("GET /sleep?50000 HTTP/1.1\r\nHost: a\r\n\r\n")
    server.settle()
    server.stop()
    assert_true(idle.is_closed())
    assert_true(_taken(quick.received()).startswith("HTTP/1.1 200"))
    assert_equal(len(slow.received()), 0)
    assert_true(slow.is_closed())
    assert_equal(outcomes[].finished, 1)
    assert_equal(outcomes[].cut_off, 1)
    assert_equal(server.remains(), "")
    _ = server^
    heap_destroy(outcomes)


def test_no_memory_for_long_content_is_kept_by_exchanges_at_rest() raises:
    var outcomes = heap_create(Outcomes())
    var server = TestServer(Waiter(outcomes))
    for octets in [100, SPARE_CONTENT_OCTETS_MAX + 1, 100_000]:
        var answer = server.exchange(
            String(
                "POST /read HTTP/1.1\r\nHost: a\r\nContent-Length: ",
                octets,
                "\r\n\r\n",
                "c" * octets,
            )
        )
        assert_true(answer.startswith("HTTP/1.1 200"), String(octets))
    server.stop()
    ref spares = server.worker.state[].exchanges.spare
    assert_true(len(spares) > 0)
    for exchange in spares:
        assert_true(
            exchange[].content.octets.capacity() <= SPARE_CONTENT_OCTETS_MAX,
            String(exchange[].content.octets.capacity()),
        )
    _ = server^
    heap_destroy(outcomes)


def test_content_takes_memory_for_what_may_come_and_no_more() raises:
    # The octets that come, how they are announced, the limit, and the memory.
    var rows: List[Tuple[Int, String, Int, Int]] = [
        (40_000, "Content-Length: 40000", 200_000, 65_536),
        (65_537, "Content-Length: 65537", 200_000, 65_537),
        (200_000, "Content-Length: 200000", 200_000, 200_000),
        (1_048_576, "Content-Length: 1048576", 1_100_000, 1_048_576),
        (66_000, "Content-Length: 5000000", 5_000_000, 4 * 66_000),
        (66_000, "Transfer-Encoding: chunked", 5_000_000, 4 * 66_000),
        (66_000, "Transfer-Encoding: chunked", 200_000, 200_000),
        (199_999, "Transfer-Encoding: chunked", 200_000, 200_000),
    ]
    for row in rows:
        var server = TestServer(
            FnHandler(_read_and_sleep),
            config=ServerConfig(
                log=LogSink.nowhere(),
                max_body_size=row[2],
                max_header_size=8192,
            ),
        )
        var peer = server.connect()
        peer.send(String("POST / HTTP/1.1\r\nHost: a\r\n", row[1], "\r\n\r\n"))
        if row[1].startswith("Transfer"):
            peer.send(String(hex(row[0] + 1, prefix=""), "\r\n"))
        var octets = 0
        var capacity = 0
        var moves = 0
        for at in range(0, row[0], 4000):
            peer.send("c" * min(4000, row[0] - at))
            server.settle()
            for slot in server.worker.state[].connections.handles():
                var c = server.worker.state[].connections.find(slot).value()
                ref content = c[].h1.exchange.value()[].content.octets
                moves += Int(content.capacity() != capacity)
                octets = len(content)
                capacity = content.capacity()
        var what = String(row[0], " of ", row[1], " takes ", capacity)
        assert_equal(octets, row[0], what)
        assert_true(capacity <= row[3], what)
        assert_true(moves <= 7, String(what, " and moves ", moves))
        peer.reset()
        server.stop()
        assert_equal(server.remains(), "", what)
        _ = server^


def test_what_a_handler_raises_stays_inside() raises:
    var outcomes = heap_create(Outcomes())
    var server = TestServer(Waiter(outcomes))
    var answer = server.exchange(
        "GET /sleep?many HTTP/1.1\r\nHost: a\r\n\r\n"
        "GET /next HTTP/1.1\r\nHost: a\r\n\r\n"
    )
    var answers = read_answers(answer.as_bytes(), [])
    assert_equal(len(answers), 2)
    assert_equal(answers[0].status, 500)
    assert_equal(answers[0].content.find("many"), -1)
    assert_equal(answers[1].content, "/next")
    assert_equal(server.statistics().handler_errors, 1)
    server.stop()
    _ = server^
    heap_destroy(outcomes)


def _answer_as_asked(req: Request) raises -> Response:
    var response: Response
    if req.path == "/content":
        response = ok("content")
    else:
        response = Response(Int(req.path[byte=1:]))
    if req.query.byte_length() > 0:
        response.headers.set("Content-Length", req.query)
    return response^


def _read_and_sleep(req: Request) raises -> Response:
    _ = req.body.octets()
    sleep(1000)
    return ok()


def _taken(octets: List[UInt8]) -> String:
    return String(StringSlice(unsafe_from_utf8=Span(octets)))


comptime TESTS = __functions_in_module()

"""Sends what is malformed, hostile or too large through the whole server.

Each row says which status comes back; the connection is closed, and no handler
runs. The rows beside them, which differ in one point, are served.
"""

from flare.core import PointerTo, heap_create, heap_destroy
from flare.http.builders import no_content, ok
from flare.http.handler import FnHandler, Handler
from flare.http.request import Request
from flare.http.response import Response
from flare.proto.h1 import H1Rule
from flare.testing.test_server import TestServer

from tests.asserting import assert_equal, assert_true
from tests.server.answers import read_answers


def test_contradictory_or_malformed_lengths_are_refused() raises:
    var rows = _Rows()
    comptime POST: StaticString = "POST / HTTP/1.1\r\nHost: a\r\n"
    rows.add(
        "Content-Length with Transfer-Encoding",
        400,
        POST,
        "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    )
    rows.add(
        "Transfer-Encoding with Content-Length",
        400,
        POST,
        "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nabc",
    )
    rows.add(
        "two different lengths",
        400,
        POST,
        "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
    )
    rows.add(
        "two different lengths in a list",
        400,
        POST,
        "Content-Length: 3, 4\r\n\r\nabcd",
    )
    rows.add("plus sign", 400, POST, "Content-Length: +3\r\n\r\nabc")
    rows.add("minus sign", 400, POST, "Content-Length: -3\r\n\r\nabc")
    rows.add("blank inside", 400, POST, "Content-Length: 1 1\r\n\r\nabc")
    rows.add("letters", 400, POST, "Content-Length: 3a\r\n\r\nabc")
    rows.add("hexadecimal", 400, POST, "Content-Length: 0x3\r\n\r\nabc")
    rows.add("empty", 400, POST, "Content-Length:\r\n\r\nabc")
    rows.add(
        "2^64 + 1", 400, POST, "Content-Length: 18446744073709551617\r\n\r\na"
    )
    rows.add("2^63", 400, POST, "Content-Length: 9223372036854775808\r\n\r\na")
    rows.add("a length", 200, POST, "Content-Length: 3\r\n\r\nabc")
    rows.add("blanks around", 200, POST, "Content-Length:  3 \r\n\r\nabc")
    rows.check()


def test_bad_transfer_codings_and_chunks_are_refused() raises:
    var rows = _Rows()
    comptime POST: StaticString = "POST / HTTP/1.1\r\nHost: a\r\n"
    comptime CHUNKED: StaticString = (
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    rows.add(
        "chunked not last",
        400,
        POST,
        "Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
    )
    rows.add(
        "chunked twice",
        400,
        POST,
        "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    )
    rows.add(
        "unknown coding",
        501,
        POST,
        "Transfer-Encoding: rot13, chunked\r\n\r\n0\r\n\r\n",
    )
    rows.add(
        "in HTTP/1.0",
        400,
        "POST / HTTP/1.0\r\nHost: a\r\n",
        "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    )
    rows.add("chunk size of letters", 400, CHUNKED, "xyz\r\nabc\r\n0\r\n\r\n")
    rows.add("empty chunk size", 400, CHUNKED, "\r\nabc\r\n0\r\n\r\n")
    rows.add("signed chunk size", 400, CHUNKED, "+3\r\nabc\r\n0\r\n\r\n")
    rows.add("prefixed chunk size", 400, CHUNKED, "0x3\r\nabc\r\n0\r\n\r\n")
    rows.add("chunk size over 2^63", 400, CHUNKED, "fffffffffffffffff\r\na\r\n")
    rows.add(
        "oversize chunk extension",
        400,
        CHUNKED,
        String("3;a=", "b" * 20_000, "\r\nabc\r\n0\r\n\r\n"),
    )
    rows.add("no CRLF behind a chunk", 400, CHUNKED, "3\r\nabcd\r\n0\r\n\r\n")
    rows.add("bad line behind a chunk", 400, CHUNKED, "3\r\nabc\n\n0\r\n\r\n")
    rows.add("chunks", 200, CHUNKED, "3\r\nabc\r\n0\r\n\r\n")
    rows.add("extension", 200, CHUNKED, "3;a=b\r\nabc\r\n0\r\n\r\n")
    rows.add("trailer", 200, CHUNKED, "3\r\nabc\r\n0\r\nA: b\r\n\r\n")
    rows.check()


def test_bad_lines_and_octets_are_refused() raises:
    var rows = _Rows()
    comptime GET: StaticString = "GET / HTTP/1.1\r\nHost: a\r\n"
    rows.add("obs-fold", 400, GET, "A: b\r\n c\r\n\r\n")
    rows.add("obs-fold with tab", 400, GET, "A: b\r\n\tc\r\n\r\n")
    rows.add("bare CR in a value", 400, GET, "A: b\rc\r\n\r\n")
    rows.add("bare CR as an end", 400, GET, "A: b\r\rB: c\r\n\r\n")
    rows.add("bare LF as an end", 400, GET, "A: b\nB: c\r\n\r\n")
    rows.add("bare LF behind the request line", 400, "GET / HTTP/1.1\n", "\n")
    rows.add("NUL in a value", 400, GET, "A: b\0c\r\n\r\n")
    rows.add("control octet in a value", 400, GET, "A: b\x01c\r\n\r\n")
    rows.add("DEL in a value", 400, GET, "A: b\x7fc\r\n\r\n")
    rows.add("NUL in a name", 400, GET, "A\0: b\r\n\r\n")
    rows.add("control octet in a name", 400, GET, "A\x02: b\r\n\r\n")
    rows.add("blank before the colon", 400, GET, "A : b\r\n\r\n")
    rows.add("blank before the name", 400, GET, " A: b\r\n\r\n")
    rows.add("empty name", 400, GET, ": b\r\n\r\n")
    rows.add("no colon", 400, GET, "A\r\n\r\n")
    rows.add("name with a bracket", 400, GET, "A(b): c\r\n\r\n")
    rows.add("tab in a value", 200, GET, "A: b\tc\r\n\r\n")
    rows.add("octets above 127 in a value", 200, GET, "A: \xc3\xa4\r\n\r\n")
    rows.add("empty value", 200, GET, "A:\r\n\r\n")
    rows.check()


def test_bad_targets_and_hosts_are_refused() raises:
    var rows = _Rows()
    comptime HOST: StaticString = " HTTP/1.1\r\nHost: a\r\n\r\n"
    rows.add("NUL in the target", 400, "GET /\0", HOST)
    rows.add("control octet in the target", 400, "GET /\x1f", HOST)
    rows.add("blank in the target", 400, "GET /a b", HOST)
    rows.add("no target", 400, "GET ", HOST)
    rows.add("a relative target", 400, "GET a", HOST)
    rows.add("CONNECT", 400, "CONNECT a:80", HOST)
    rows.add("asterisk for GET", 400, "GET *", HOST)
    rows.add("fragment in the target", 400, "GET /a#b", HOST)
    rows.add("missing Host", 400, "GET / HTTP/1.1\r\n", "\r\n")
    rows.add(
        "repeated Host", 400, "GET / HTTP/1.1\r\nHost: a\r\n", "Host: a\r\n\r\n"
    )
    rows.add("invalid Host", 400, "GET / HTTP/1.1\r\n", "Host: a/b\r\n\r\n")
    rows.add("Host with a user", 400, "GET / HTTP/1.1\r\n", "Host: a@b\r\n\r\n")
    rows.add("two hosts", 400, "GET / HTTP/1.1\r\n", "Host: a, b\r\n\r\n")
    rows.add("percent sign in a path", 400, "GET /100%", HOST)
    rows.add("percent sign in a query", 200, "GET /?q=100%", HOST)
    rows.add("octets over 127", 200, "GET /é?é", HOST)
    rows.add("a Host that is replaced", 200, "GET http://b/", HOST)
    rows.add("Host", 200, "GET /", HOST)
    rows.add("asterisk for OPTIONS", 200, "OPTIONS *", HOST)
    rows.add("absolute target", 200, "GET http://a/b", HOST)
    rows.add("no Host in HTTP/1.0", 200, "GET / HTTP/1.0\r\n", "\r\n")
    rows.check()


def test_other_versions_and_methods_are_refused() raises:
    var rows = _Rows()
    comptime HOST: StaticString = "\r\nHost: a\r\n\r\n"
    rows.add("HTTP/0.9", 400, "GET /\r\n", "")
    rows.add("HTTP/2.0", 505, "GET / HTTP/2.0", HOST)
    rows.add("HTTP/1.2", 200, "GET / HTTP/1.2", HOST)
    rows.add("HTTP/0.9 by name", 505, "GET / HTTP/0.9", HOST)
    rows.add("lower case", 400, "GET / http/1.1", HOST)
    rows.add("no digits", 400, "GET / HTTP/x.y", HOST)
    rows.add("three digits", 400, "GET / HTTP/1.10", HOST)
    rows.add("junk", 400, "GET / JUNK/1.1", HOST)
    rows.add("blank behind", 400, "GET / HTTP/1.1 ", HOST)
    rows.add("method of brackets", 400, "(GET) / HTTP/1.1", HOST)
    rows.add("blank before the method", 400, " GET / HTTP/1.1", HOST)
    rows.add("TLS client hello", 400, "\x16\x03\x01\x02\x00", "\x01\x00")
    rows.check()


def test_what_is_too_large_is_refused() raises:
    var rows = _Rows()
    comptime GET: StaticString = "GET / HTTP/1.1\r\nHost: a\r\n"
    comptime LINE: StaticString = " HTTP/1.1\r\nHost: a\r\n\r\n"
    rows.add("target of 8,193", 414, String("GET /", "t" * 8192), LINE)
    rows.add("target of 8,192", 200, String("GET /", "t" * 8191), LINE)
    rows.add("endless target", 414, "GET /", "t" * 100_000)
    rows.add("section over 8 KiB", 431, GET, String("A: ", "b" * 8192))
    rows.add(
        "section under 8 KiB", 200, GET, String("A: ", "b" * 8000, "\r\n\r\n")
    )
    # Host is one of the hundred.
    rows.add("101 field lines", 431, GET, "A: b\r\n" * 100 + "\r\n")
    rows.add("100 field lines", 200, GET, "A: b\r\n" * 99 + "\r\n")
    rows.add(
        "content over 10 MiB by its length",
        413,
        "POST / HTTP/1.1\r\nHost: a\r\n",
        "Content-Length: 10485761\r\n\r\n",
    )
    rows.check()


def test_chunked_content_over_the_limit_is_413() raises:
    var runs = heap_create(0)
    var server = TestServer(_Counted(runs))
    var peer = server.connect()
    peer.send(
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    var chunk = String("10000\r\n", "c" * 65536, "\r\n")
    for _ in range(161):
        peer.send(chunk)
        server.settle()
    var answers = read_answers(Span(server.receive(peer)), [])
    assert_equal(len(answers), 1)
    assert_equal(answers[0].status, 413)
    assert_true(peer.is_closed())
    peer.close()
    server.stop()
    assert_equal(server.remains(), "")
    _ = server^
    heap_destroy(runs)


def test_a_refusal_names_the_broken_rule_and_counts_it() raises:
    comptime CHUNKED: StaticString = (
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    var rows: List[Tuple[String, Int, String]] = [
        (
            "GET /\x01secret HTTP/1.1\r\n\r\n",
            400,
            "request target holds a forbidden octet",
        ),
        ("GET / HTTP/1.1\r\n\r\n", 400, "Host is missing"),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nA: b\n\r\n",
            400,
            "LF without CR in a field line",
        ),
        (
            "GET / HTTP/1.1\r\nHost: a\r\n" + "A: b\r\n" * 100,
            431,
            "too many field lines",
        ),
        ("GET / HTTP/9.1\r\n", 505, "major version is not 1"),
        # While the handler waits for it.
        (CHUNKED + "1\r\nsecret", 400, "chunk does not end at its size"),
        (CHUNKED + "1secret\r\n", 400, "chunk size is not hexadecimal"),
    ]
    var runs = heap_create(0)
    var server = TestServer(_Counted(runs))
    for row in rows:
        var octets = server.exchange(row[0].as_bytes())
        var answers = read_answers(Span(octets), [])
        assert_equal(len(answers), 1, row[2])
        assert_equal(answers[0].status, row[1], row[2])
        assert_equal(answers[0].content, row[2])
        var counts = server.statistics().broken_rules
        for i in range(H1Rule.COUNT):
            var rule = H1Rule(UInt8(i))
            if rule.phrase() == row[2]:
                assert_equal(counts.of(rule), 1, row[2])
    assert_equal(
        String(server.statistics().broken_rules).count("\n"), len(rows)
    )
    server.stop()
    assert_equal(server.remains(), "")
    _ = server^
    heap_destroy(runs)


def test_what_looks_like_framing_elsewhere_is_not() raises:
    var rows = _Rows()
    comptime GET: StaticString = "GET /?Content-Length:%203 HTTP/1.1\r\nHost: a"
    rows.add("X-Content-Length", 200, GET, "\r\nX-Content-Length: 3\r\n\r\n")
    rows.add("query", 200, GET, "\r\nX-Transfer-Encoding: chunked\r\n\r\n")
    rows.check()


def test_refusal_is_no_answer_to_the_request_before_it() raises:
    # What had no content, by its method or by its status, says nothing of it.
    for request in ["HEAD / HTTP/1.1\r\n", "GET /none HTTP/1.1\r\n"]:
        var server = TestServer(FnHandler(_answer_nothing))
        var octets = server.exchange(
            (request + "Host: a\r\n\r\nGET /bad HTTP/1.1\r\n\r\n").as_bytes()
        )
        server.stop()
        _ = server^
        var answers = read_answers(Span(octets), [True])
        assert_equal(len(answers), 2)
        assert_equal(answers[1].status, 400)
        assert_true(answers[1].is_whole, "the content of the 400 is missing")


def test_refusal_of_a_head_request_has_no_content() raises:
    var server = TestServer(FnHandler(_answer_nothing))
    var octets = server.exchange("HEAD / HTTP/1.1\r\n\r\n".as_bytes())
    server.stop()
    _ = server^
    var answers = read_answers(Span(octets), [True])
    assert_equal(len(answers), 1)
    assert_equal(answers[0].status, 400)


def test_refusals_take_no_memory_but_that_of_their_requests() raises:
    var server = TestServer(FnHandler(_answer_nothing))
    for octets in ["GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost"]:
        var peer = server.connect()
        peer.send(octets)
        server.settle()
        server.advance(60_000)
        var answers = read_answers(Span(peer.received()), [False])
        assert_equal(len(answers), 1)
        assert_true(answers[0].status in (400, 408))
        peer.close()
    assert_equal(server.worker.state[].outputs.usual.state[].count, 0)
    server.stop()
    assert_equal(server.remains(), "")


def test_requests_before_a_bad_one_are_answered() raises:
    var runs = heap_create(0)
    var server = TestServer(_Counted(runs))
    var answer = server.exchange(
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
        "GET / HTTP/1.1\r\n bad\r\n\r\n"
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    )
    var answers = read_answers(answer.as_bytes(), [])
    assert_equal(len(answers), 3)
    assert_equal(answers[0].status, 200)
    assert_equal(answers[1].status, 200)
    assert_equal(answers[2].status, 400)
    assert_equal(runs[], 2)
    _ = server^
    heap_destroy(runs)


@fieldwise_init
struct _Counted(Handler):
    var runs: PointerTo[Int]

    def serve(self, req: Request) raises -> Response:
        var octets = req.text().byte_length()
        self.runs[] += 1
        return ok(String("content of ", octets))


@fieldwise_init
struct _Row(Copyable, Movable):
    var name: String
    var status: Int
    var request: String


def _answer_nothing(req: Request) raises -> Response:
    return no_content()


struct _Rows(Movable):
    var rows: List[_Row]

    def __init__(out self):
        self.rows = []

    def add(
        mut self,
        name: StringSlice,
        status: Int,
        start: StringSlice,
        rest: StringSlice,
    ):
        self.rows.append(
            _Row(String(name), status, String(start) + String(rest))
        )

    def check(self) raises:
        var problems = String()
        for row in self.rows:
            problems += self._check(row)
        if problems != "":
            raise Error(problems)

    def _check(self, row: _Row) raises -> String:
        var runs = heap_create(0)
        var server = TestServer(_Counted(runs))
        var peer = server.connect()
        peer.send(row.request)
        var octets = server.receive(peer)
        var answers = read_answers(Span(octets), [])
        var problem = String()
        if len(answers) != 1 or not answers[0].is_whole:
            problem = String(len(answers), " answers")
        elif answers[0].status != row.status:
            problem = String("answered ", answers[0].status)
        elif row.status >= 400 and not answers[0].closes:
            problem = "without Connection: close"
        elif row.status >= 400 and not peer.is_closed():
            problem = "left open"
        elif row.status >= 400 and runs[] != 0:
            problem = "the handler ran"
        elif row.status == 200 and runs[] != 1:
            problem = "the handler did not run"
        peer.close()
        server.stop()
        if server.remains() != "":
            problem += "; left " + server.remains()
        _ = server^
        heap_destroy(runs)
        if problem == "":
            return ""
        return String(row.name, " (", row.status, "): ", problem, "\n")


comptime TESTS = __functions_in_module()

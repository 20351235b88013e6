"""Tests what a client does with what servers say, right and wrong."""

from flare.http import (
    ClientConfig,
    ClientError,
    ClientTimeouts,
    HttpClient,
    Response,
)
from flare.http.client import Phase
from flare.proto.h1 import H1Limits

from tests.asserting import assert_equal, assert_false, assert_true
from tests.client.stand import OK_ANSWER, Ending, Reply, Stand
from tests.tcp.loops import on_each_backend


def test_each_bad_answer_is_one_error_and_ends_its_connection() raises:
    on_each_backend(_bad_answers)


def test_long_heads_and_contents_are_refused_at_their_limits() raises:
    on_each_backend(_long_answers)


def test_each_good_answer_is_read_whole() raises:
    on_each_backend(_good_answers)


def test_octets_behind_an_answer_reach_no_later_request() raises:
    on_each_backend(_surplus)


def test_only_what_may_pass_can_be_retried() raises:
    for kind in range(ClientError.ENCODING + 1):
        var error = ClientError(kind, Phase.CONTENT, "x")
        assert_equal(
            error.can_retry(),
            kind == ClientError.RESOLVE
            or kind == ClientError.REFUSED
            or kind == ClientError.UNREACHABLE
            or kind == ClientError.TIMEOUT
            or kind == ClientError.CLOSED
            or kind == ClientError.RESET,
            String(error),
        )
    for status in [400, 404, 428, 429, 430, 500, 501, 502, 503, 504, 505]:
        var error = ClientError(
            ClientError.STATUS, Phase.ANSWER, "x", status=status
        )
        assert_equal(
            error.can_retry(),
            status == 429 or (status >= 502 and status <= 504),
            String(status),
        )


def test_an_error_is_read_back_from_its_text() raises:
    var error = ClientError(
        ClientError.STATUS, Phase.ANSWER, "Not Found", status=404
    )
    assert_equal(String(error), "client.status answer status=404: Not Found")
    var again = ClientError.of(Error(error)).value().copy()
    assert_equal(again.kind, ClientError.STATUS)
    assert_equal(again.status, 404)
    assert_equal(again.phase, "answer")
    assert_equal(again.detail, "Not Found")
    var rows: List[String] = [
        "client.status answer status=4: x",
        "client.status answer status=4o4: x",
        "client.status answer",
        "client.none answer: x",
        "client.status here: x",
        "client.status answer status=404 x: y",
        "net.refused connect",
    ]
    for row in rows:
        assert_false(ClientError.of(Error(row)), row)


def test_a_status_is_raised_where_it_is_asked_for() raises:
    for status in [200, 204, 301, 304, 399]:
        Response(status).raise_for_status()
    for status in [400, 404, 500, 599]:
        try:
            Response(status).raise_for_status()
        except e:
            var error = ClientError.of(e).value().copy()
            assert_equal(error.kind, ClientError.STATUS)
            assert_equal(error.status, status)
            continue
        assert_true(False, String(status))


@fieldwise_init
struct _Row(Copyable, Movable):
    var name: String
    var octets: String
    var ending: Int
    var kind: Int
    var phase: String


comptime _HEAD: StaticString = "HTTP/1.1 200 OK\r\n"
comptime _CHUNKED: StaticString = (
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
)


def _bad_rows() -> List[_Row]:
    var rows = List[_Row]()

    def bad(name: StringSlice, octets: StringSlice) {mut rows}:
        rows.append(
            _Row(
                String(name),
                String(octets),
                Ending.HOLD,
                ClientError.PROTOCOL,
                "head",
            )
        )

    bad(
        "two lengths",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
    )
    bad(
        "two lengths in a list",
        "HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\n",
    )
    bad(
        "two lengths and chunks",
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n"
            "Transfer-Encoding: chunked\r\n\r\n"
        ),
    )
    bad("a negative length", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n")
    bad("a length with a sign", "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\n")
    bad(
        "a length over all numbers",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
    )
    bad(
        "a coding that is none of ours",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
    )
    bad(
        "chunked twice",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n",
    )
    bad("another version", "HTTP/2.0 200 OK\r\n\r\n")
    bad("no version", "200 OK\r\n\r\n")
    bad("a status of two digits", "HTTP/1.1 20 OK\r\n\r\n")
    bad("a status of four digits", "HTTP/1.1 2000 OK\r\n\r\n")
    bad("no answer at all", "\x01\x02\x03\x04\r\n\r\n")
    bad("a mail server", "220 mail ready\r\n\r\n")
    bad(
        "a folded length",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n  2\r\n\r\n",
    )
    bad("a blank before the colon", "HTTP/1.1 200 OK\r\nX-A : 1\r\n\r\n")
    bad("a NUL in a value", "HTTP/1.1 200 OK\r\nX-A: 1\x002\r\n\r\n")
    bad("a CR in a value", "HTTP/1.1 200 OK\r\nX-A: 1\r2\r\n\r\n")
    bad("a name that is no token", "HTTP/1.1 200 OK\r\nX A: 1\r\n\r\n")
    bad(
        "a switch that nobody asked for",
        "HTTP/1.1 101 Go\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
    )
    return rows^


def _bad_chunk_rows() -> List[_Row]:
    var rows = List[_Row]()

    def bad(
        name: StringSlice, octets: StringSlice, phase: StringSlice
    ) {mut rows}:
        rows.append(
            _Row(
                String(name),
                String(octets),
                Ending.HOLD,
                ClientError.PROTOCOL,
                String(phase),
            )
        )

    bad("a chunk size that is none", String(_CHUNKED, "zz\r\n"), "content")
    bad("a chunk without a size", String(_CHUNKED, "\r\n"), "content")
    bad("a chunk with a minus", String(_CHUNKED, "-1\r\n"), "content")
    bad(
        "a chunk size over all numbers",
        String(_CHUNKED, "11111111111111111\r\n"),
        "content",
    )
    bad(
        "a chunk longer than its size",
        String(_CHUNKED, "1\r\nab\r\n"),
        "content",
    )
    bad(
        "a bad line behind the chunks",
        String(_CHUNKED, "0\r\nX A: 1\r\n\r\n"),
        "content",
    )
    return rows^


def _other_rows() -> List[_Row]:
    var rows = List[_Row]()

    def row(
        name: StringSlice,
        octets: StringSlice,
        ending: Int,
        kind: Int,
        phase: StringSlice,
    ) {mut rows}:
        rows.append(
            _Row(String(name), String(octets), ending, kind, String(phase))
        )

    row("no octet", "", Ending.CLOSE, ClientError.CLOSED, "head")
    row("half a line", "HTTP/1.1 2", Ending.CLOSE, ClientError.CLOSED, "head")
    row("half a head", _HEAD, Ending.CLOSE, ClientError.CLOSED, "head")
    row(
        "only 103",
        "HTTP/1.1 103 Early Hints\r\n\r\n",
        Ending.CLOSE,
        ClientError.CLOSED,
        "head",
    )
    row(
        "half a content",
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello",
        Ending.CLOSE,
        ClientError.CLOSED,
        "content",
    )
    row(
        "a chunk is missing",
        String(_CHUNKED, "5\r\nhello\r\n"),
        Ending.CLOSE,
        ClientError.CLOSED,
        "content",
    )
    row(
        "the end of the chunks is missing",
        String(_CHUNKED, "5\r\nhello\r\n0\r\n"),
        Ending.CLOSE,
        ClientError.CLOSED,
        "content",
    )
    row("a reset for an answer", "", Ending.RESET, ClientError.RESET, "head")
    row("silence", "", Ending.HOLD, ClientError.TIMEOUT, "head")
    row(
        "half a head and silence",
        _HEAD,
        Ending.HOLD,
        ClientError.TIMEOUT,
        "head",
    )
    row(
        "half a content and silence",
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello",
        Ending.HOLD,
        ClientError.TIMEOUT,
        "content",
    )
    row(
        "an end that does not come",
        "HTTP/1.0 200 OK\r\n\r\nhello",
        Ending.HOLD,
        ClientError.TIMEOUT,
        "content",
    )
    return rows^


def _limits() -> ClientConfig:
    return ClientConfig(
        timeouts=ClientTimeouts(first_octet_ms=60, read_ms=60, total_ms=5_000),
        limits=H1Limits(
            field_section_octets_max=1024,
            field_lines_max=20,
            trailer_section_octets_max=128,
            chunk_extension_octets_max=16,
            informational_responses_max=3,
            body_octets_max=4096,
        ),
    )


def _bad_answers() raises:
    for row in _bad_rows():
        _assert_fails(row)
    for row in _bad_chunk_rows():
        _assert_fails(row)
    for row in _other_rows():
        _assert_fails(row)


def _long_answers() raises:
    var rows: List[Tuple[String, Int, String]] = []
    rows.append(
        ("a long value", 1, String(_HEAD, "X-A: ", "a" * 1100, "\r\n\r\n"))
    )
    rows.append(("no end of lines", 1, String(_HEAD, "X-A: 1\r\n" * 200)))
    rows.append(("many lines", 1, String(_HEAD, "X: 1\r\n" * 21, "\r\n")))
    rows.append(
        ("a long reason", 1, String("HTTP/1.1 200 ", "a" * 9000, "\r\n\r\n"))
    )
    rows.append(("many 103", 1, String("HTTP/1.1 103 E\r\n\r\n") * 4))
    rows.append(
        ("a long content", 1, String(_HEAD, "Content-Length: 4097\r\n\r\n"))
    )
    rows.append(("a long chunk", 2, String(_CHUNKED, "1001\r\n")))
    rows.append(
        (
            "many chunks",
            2,
            String(_CHUNKED, String("100\r\n", "a" * 256, "\r\n") * 17),
        )
    )
    rows.append(
        ("a long extension", 2, String(_CHUNKED, "1;", "a" * 17, "\r\n"))
    )
    rows.append(
        ("long trailers", 2, String(_CHUNKED, "0\r\nX: ", "a" * 150, "\r\n"))
    )
    rows.append(("no end of content", 2, String(_HEAD, "\r\n", "a" * 4097)))
    for row in rows:
        _assert_fails(
            _Row(
                row[0],
                row[2],
                Ending.HOLD,
                ClientError.TOO_LARGE,
                "head" if row[1] == 1 else "content",
            )
        )


def _assert_fails(row: _Row) raises:
    var stand = Stand(
        [
            Reply(row.octets, row.ending),
            Reply(String(OK_ANSWER), Ending.KEEP),
        ]
    )
    var client = HttpClient(stand.url(), config=_limits())
    var failure = Optional[Error](None)
    try:
        _ = client.get("/")
    except e:
        failure = e^
    assert_true(failure, row.name)
    var error = ClientError.of(failure.value())
    assert_true(error, String(row.name, ": ", failure.value()))
    ref found = error.value()
    assert_equal(found.kind, row.kind, String(row.name, ": ", found))
    assert_equal(found.phase, row.phase, String(row.name, ": ", found))
    assert_equal(client.get("/").text(), "ok", row.name)
    assert_equal(stand.connections(), 2, row.name)
    stand^.join()


def _good_rows() -> List[Tuple[String, String, String, Bool]]:
    # Name, answer, content; a last field says whether the connection stays.
    var rows: List[Tuple[String, String, String, Bool]] = []
    rows.append(
        (
            "a length",
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
            "abc",
            True,
        )
    )
    rows.append(
        ("no content", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "", True)
    )
    rows.append(("204", "HTTP/1.1 204 No Content\r\n\r\n", "", True))
    rows.append(
        (
            "304 with a length",
            "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
            "",
            True,
        )
    )
    rows.append(
        (
            "chunks",
            String(_CHUNKED, "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n"),
            "abcde",
            True,
        )
    )
    rows.append(
        (
            "trailers",
            String(_CHUNKED, "3\r\nabc\r\n0\r\nX-T: 1\r\n\r\n"),
            "abc",
            True,
        )
    )
    return rows^


def _other_good_rows() -> List[Tuple[String, String, String, Bool]]:
    var rows: List[Tuple[String, String, String, Bool]] = []
    rows.append(
        ("no reason", "HTTP/1.1 200 \r\nContent-Length: 1\r\n\r\na", "a", True)
    )
    rows.append(
        (
            "103 first",
            (
                "HTTP/1.1 103 E\r\nLink: x\r\n\r\nHTTP/1.1 200"
                " OK\r\nContent-Length: 1\r\n\r\na"
            ),
            "a",
            True,
        )
    )
    rows.append(
        (
            "100 unasked",
            (
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200"
                " OK\r\nContent-Length: 1\r\n\r\na"
            ),
            "a",
            True,
        )
    )
    rows.append(("an end", "HTTP/1.1 200 OK\r\n\r\nabc", "abc", False))
    rows.append(
        (
            "version 1.0",
            "HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nabc",
            "abc",
            False,
        )
    )
    rows.append(
        (
            "1.0 that stays",
            (
                "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length:"
                " 3\r\n\r\nabc"
            ),
            "abc",
            True,
        )
    )
    rows.append(
        (
            "the last one",
            (
                "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length:"
                " 3\r\n\r\nabc"
            ),
            "abc",
            False,
        )
    )
    rows.append(
        (
            "a status of another",
            "HTTP/1.1 299 X\r\nContent-Length: 1\r\n\r\na",
            "a",
            True,
        )
    )
    return rows^


def _good_answers() raises:
    var rows = _good_rows()
    rows.extend(_other_good_rows())
    for row in rows:
        var ending = Ending.KEEP if row[3] else Ending.CLOSE
        var stand = Stand(
            [Reply(row[1], ending), Reply(String(OK_ANSWER), Ending.KEEP)]
        )
        var client = HttpClient(stand.url(), config=_limits())
        var response = client.get("/")
        assert_equal(response.text(), row[2], row[0])
        if row[0] == "trailers":
            assert_equal(response.trailers().get("x-t").value(), "1")
        assert_equal(client.get("/").text(), "ok", row[0])
        assert_equal(stand.connections(), 1 if row[3] else 2, row[0])
        stand^.join()


def _surplus() raises:
    # A second response that nobody asked for, at once and later.
    var stand = Stand(
        [
            Reply(String(OK_ANSWER, "HTTP/1.1 200 OK\r\n"), Ending.HOLD),
            Reply(String(OK_ANSWER), Ending.KEEP),
        ]
    )
    var client = HttpClient(stand.url(), config=_limits())
    assert_equal(client.get("/").text(), "ok")
    assert_equal(client.get("/").text(), "ok")
    assert_equal(stand.connections(), 2)
    stand^.join()


comptime TESTS = __functions_in_module()

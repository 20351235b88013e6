"""Tests for `flare.proto.h1.rule`: each rule is broken by some octets."""

from flare.proto.h1 import H1Error, H1Limits, H1Rule, Role

from tests.asserting import assert_equal, assert_true
from tests.proto.conversation import Conversation


@fieldwise_init
struct _Row(Copyable):
    var phrase: StaticString
    var octets: String


comptime _GET: StaticString = "GET / HTTP/1.1\r\nHost: a\r\n"
comptime _POST: StaticString = "POST / HTTP/1.1\r\nHost: a\r\n"
comptime _OK: StaticString = "HTTP/1.1 200 OK\r\n"
# What no octets break: time, and a request that is not whole.
comptime _OF_OTHERS: List[StaticString] = [
    "the head took too long",
    "101 before the request was complete",
]


def test_each_broken_rule_is_named_by_its_phrase() raises:
    var seen = List[StaticString]()
    for row in _requests():
        seen.append(_check(Role.SERVER, row))
    for row in _framed_requests():
        seen.append(_check(Role.SERVER, row))
    for row in _chunked_requests():
        seen.append(_check(Role.SERVER, row))
    for row in _responses():
        seen.append(_check(Role.CLIENT, row))
    for i in range(H1Rule.COUNT):
        var phrase = H1Rule(UInt8(i)).phrase()
        assert_true(
            phrase in seen or phrase in materialize[_OF_OTHERS](), phrase
        )


def test_phrases_are_short_printable_and_different() raises:
    for i in range(H1Rule.COUNT):
        var phrase = H1Rule(UInt8(i)).phrase()
        assert_true(1 <= phrase.byte_length() <= 60, phrase)
        for octet in phrase.as_bytes():
            assert_true(32 <= Int(octet) <= 126, phrase)
        for k in range(i):
            assert_true(H1Rule(UInt8(k)).phrase() != phrase, phrase)
    assert_equal(H1Rule.NONE.phrase(), "")
    assert_equal(H1Rule.of["Host is missing"]().phrase(), "Host is missing")


def test_what_is_no_rule_names_none() raises:
    assert_true(H1Error.peer(413, "the content").rule == H1Rule.NONE)
    assert_true(H1Error.local("a phrase").rule == H1Rule.NONE)


def _check(role: UInt8, row: _Row) raises -> StaticString:
    var limits = H1Limits(
        request_target_octets_max=64,
        field_section_octets_max=128,
        field_lines_max=4,
        chunk_extension_octets_max=8,
        chunk_extensions_octets_max=16,
        empty_lines_max=1,
        informational_responses_max=1,
        body_octets_max=32,
    )
    var conversation = Conversation(role, limits)
    if role == Role.CLIENT and row.phrase != "octets that answer no request":
        conversation.act("field Host: a")
        conversation.act("request GET / none")
        conversation.act("finish")
    conversation.receive(row.octets.as_bytes())
    assert_equal(conversation.reason, row.phrase, repr(row.octets))
    assert_equal(conversation.rule.phrase(), row.phrase, repr(row.octets))
    return row.phrase


def _requests() -> List[_Row]:
    var rows: List[_Row] = [
        _Row("method is too long", "A" * 33),
        _Row("method is not a token before one space", "G(T / HTTP/1.1\r\n"),
        _Row("request target exceeds the limit", String("GET /", "a" * 64)),
        _Row("request target holds a forbidden octet", "GET /\0 HTTP/1.1\r\n"),
        _Row("too many empty lines before a request", "\r\n\r\n"),
        _Row("CR without LF before a request line", "\r\t"),
        _Row("request line does not end at its version", "GET / HTTP/1.1 \r\n"),
        _Row("LF without CR in a request line", "GET / HTTP/1.1\n"),
        _Row("CR without LF in a request line", "GET / HTTP/1.1\rH"),
        _Row("version is not HTTP/digit.digit", "GET / HTTP/1.x\r\n"),
        _Row("major version is not 1", "GET / HTTP/2.0\r\n"),
        _Row("too many field lines", String(_GET, "A: b\r\n" * 4)),
        _Row("CR without LF in a section", String(_GET, "\rA")),
        _Row("field value holds a forbidden octet", String(_GET, "A: b\0\r\n")),
        _Row("LF without CR in a field line", String(_GET, "A: b\n")),
        _Row("CR without LF in a field line", String(_GET, "A: b\rc")),
        _Row("field section exceeds the limit", String(_GET, "A: ", "b" * 128)),
        _Row("field name is empty", String(_GET, ": b\r\n")),
        _Row("white space before a colon", String(_GET, "A : b\r\n")),
        _Row("folded field line", String(_GET, " A: b\r\n")),
        _Row("field line without a colon", String(_GET, "A\r\n")),
        _Row("field name holds a forbidden octet", String(_GET, "A(: b\r\n")),
        _Row("more than one Host", String(_GET, "Host: a\r\n")),
        _Row("Host is not valid", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"),
        _Row("Host is missing", "GET / HTTP/1.1\r\nA: b\r\n\r\n"),
        _Row("CONNECT to an origin server", "CONNECT a:1 HTTP/1.1\r\nHost: a"),
        _Row("request target is not valid", "GET a HTTP/1.1\r\nHost: a"),
        _Row(
            "Connection is not a list of tokens", String(_GET, "Connection: ;")
        ),
    ]
    return _with_ends(rows^)


def _framed_requests() -> List[_Row]:
    var rows: List[_Row] = [
        _Row(
            "Expect is not 100-continue",
            String(_POST, "Expect: x\r\nContent-Length: 1"),
        ),
        _Row(
            "Content-Length is not a number",
            String(_POST, "Content-Length: +1"),
        ),
        _Row(
            "Content-Length is empty or too long",
            String(_POST, "Content-Length:"),
        ),
        _Row(
            "Content-Length is out of range",
            String(_POST, "Content-Length: 9999999999999999999"),
        ),
        _Row(
            "Content-Length exceeds the body limit",
            String(_POST, "Content-Length: 33"),
        ),
        _Row(
            "more than one Content-Length",
            String(_POST, "Content-Length: 1\r\nContent-Length: 1"),
        ),
        _Row(
            "Content-Length beside Transfer-Encoding",
            String(_POST, "Content-Length: 1\r\nTransfer-Encoding: chunked"),
        ),
        _Row(
            "Transfer-Encoding in HTTP/1.0",
            "POST / HTTP/1.0\r\nTransfer-Encoding: chunked",
        ),
        _Row(
            "transfer coding is not chunked",
            String(_POST, "Transfer-Encoding: gzip"),
        ),
        _Row(
            "Transfer-Encoding is empty", String(_POST, "Transfer-Encoding: ,")
        ),
        _Row(
            "chunked is repeated or not last",
            String(_POST, "Transfer-Encoding: chunked, a"),
        ),
        _Row(
            "transfer coding is not a token",
            String(_POST, "Transfer-Encoding: ("),
        ),
        _Row(
            "chunked with parameters",
            String(_POST, "Transfer-Encoding: chunked;a"),
        ),
    ]
    return _with_ends(rows^)


def _with_ends(var rows: List[_Row]) -> List[_Row]:
    for i in range(len(rows)):
        # What is judged at the end of the head needs one.
        if (
            not rows[i].octets.endswith("\n")
            and rows[i].octets.find("\r\n") >= 0
        ):
            rows[i].octets.write("\r\n\r\n")
    return rows^


def _chunked_requests() -> List[_Row]:
    var rows: List[_Row] = [
        _Row("blank in a chunk size", "1 1"),
        _Row("control octet in a chunk extension", "1;\0"),
        _Row("chunk size has more than 16 digits", "0" * 17),
        _Row("chunk size is missing", "\r\n"),
        _Row("chunk size is not hexadecimal", "1x"),
        _Row("chunked body exceeds the limit", "21\r\n"),
        _Row("chunk does not end at its size", "1\r\nab"),
        _Row("CR without LF between chunks", "1\ra"),
        _Row("chunk extension exceeds the limit", "1;aaaaaaaa"),
        _Row("chunk extensions exceed the limit", "1;aaaaaaa\r\na\r\n" * 3),
        _Row("CR without LF behind the chunks", "0\r\n\ra"),
        _Row("white space before the first field line", "0\r\n A: b\r\n"),
    ]
    for i in range(len(rows)):
        rows[i].octets = String(
            _POST, "Transfer-Encoding: chunked\r\n\r\n", rows[i].octets
        )
    return rows^


def _responses() -> List[_Row]:
    return [
        _Row("octets that answer no request", "H"),
        _Row("no space between version and status", "HTTP/1.1\t200"),
        _Row("status code is not a number over 99", "HTTP/1.1 099 A\r\n"),
        _Row("status code has more than three digits", "HTTP/1.1 2000\r\n"),
        _Row(
            "reason phrase exceeds the limit",
            String("HTTP/1.1 200 ", "a" * 65),
        ),
        _Row("reason phrase holds a forbidden octet", "HTTP/1.1 200 \0"),
        _Row("CR without LF in a status line", "HTTP/1.1 200 \ra"),
        _Row(
            "folded field line about framing",
            String(_OK, "Content-Length: 1\r\n 1"),
        ),
        _Row(
            "two different Content-Lengths",
            String(_OK, "Content-Length: 1, 2\r\n\r\n"),
        ),
        _Row(
            "too many informational responses",
            "HTTP/1.1 103 A\r\n\r\nHTTP/1.1 103 A\r\n\r\n",
        ),
        _Row(
            "101 without an offer to upgrade",
            "HTTP/1.1 101 A\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
        ),
        _Row("body exceeds the limit", String(_OK, "\r\n", "a" * 33)),
    ]


comptime TESTS = __functions_in_module()

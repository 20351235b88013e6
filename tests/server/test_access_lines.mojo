"""Checks the formats of the access log, with octets that want to break out."""

from flare.core.text_buffer import TextBuffer
from flare.http.server.records.access_entry import trace_id_of
from flare.http.server.records.access_facts import (
    AccessEnd,
    AccessFacts,
    AccessFields,
    AccessOutcome,
    AccessTexts,
)
from flare.http.server.records.access_format import AccessFormat, append_line
from flare.http.server.records.access_record import AccessRecord
from flare.json import loads
from flare.message import Method
from flare.net import IpAddr, SocketAddr

from tests.asserting import assert_equal, assert_false, assert_true

comptime _AGENT: StaticString = "Mozilla/5.0 (X11; Linux x86_64)"


def test_common_log_format() raises:
    var record = make_record("/a?b=c", _AGENT, "https://b.example/", "")
    assert_equal(
        line_of(record, AccessFormat.COMMON),
        (
            '192.0.2.7 - - [10/Oct/2000:13:55:36 +0000] "GET /a?b=c HTTP/1.1"'
            " 200 2326"
        ),
    )


def test_combined_log_format() raises:
    var record = make_record("/a?b=c", _AGENT, "https://b.example/", "")
    assert_equal(
        line_of(record, AccessFormat.COMBINED),
        (
            '192.0.2.7 - - [10/Oct/2000:13:55:36 +0000] "GET /a?b=c HTTP/1.1"'
            ' 200 2326 "https://b.example/" "Mozilla/5.0 (X11; Linux x86_64)"'
        ),
    )


def test_json_lines() raises:
    var record = make_record("/a?b=c", _AGENT, "", "id-7")
    assert_equal(
        line_of(record, AccessFormat.JSON),
        (
            '{"time":"2000-10-10T13:55:36.000123Z","worker":3,"id":42,'
            '"client":"192.0.2.7","port":4711,"tls":true,"version":"1.1",'
            '"method":"GET","target":"/a?b=c","target_octets":6,'
            '"route":"/:name","status":200,"end":"complete",'
            '"duration_us":1500,"request_octets":11,"response_octets":2326,'
            '"user_agent":"Mozilla/5.0 (X11; Linux x86_64)",'
            '"request_id":"id-7",'
            '"trace_id":"0af7651916cd43dd8448eb211c80319c"}'
        ),
    )


def test_what_is_not_known_has_a_place_of_its_own() raises:
    var record = AccessRecord()
    var facts = AccessFacts()
    facts.outcome.status = 400
    facts.outcome.end = AccessEnd.REFUSED
    record.load(facts, Span[UInt8, ImmStaticOrigin](), 0)
    assert_equal(
        line_of(record, AccessFormat.COMBINED),
        '- - - [01/Jan/1970:00:00:00 +0000] "-" 400 0 "-" "-"',
    )
    assert_equal(
        line_of(record, AccessFormat.JSON),
        (
            '{"time":"1970-01-01T00:00:00.000000Z","worker":0,"id":0,'
            '"client":null,"port":null,"tls":false,"version":"1.1",'
            '"method":null,"target":null,"target_octets":0,"route":null,'
            '"status":400,"end":"refused","duration_us":0,"request_octets":0,'
            '"response_octets":0,"user_agent":null,"request_id":null,'
            '"trace_id":null}'
        ),
    )


def test_each_octet_is_escaped_in_common_log_format() raises:
    for octet in range(256):
        var agent: List[UInt8] = [UInt8(ord("a")), UInt8(octet)]
        agent.append(UInt8(ord("z")))
        var record = AccessRecord()
        load(record, "/", Span(agent), "", "")
        var shown = String("a", chr(octet), "z")
        if octet < 32 or octet > 126 or octet == 34 or octet == 92:
            shown = String("a\\x", hexadecimal(octet), "z")
        assert_true(
            line_of(record, AccessFormat.COMBINED).endswith(
                String(' "-" "', shown, '"')
            ),
            String(octet),
        )


def test_each_octet_is_escaped_in_json() raises:
    for octet in range(256):
        var agent: List[UInt8] = [UInt8(ord("a")), UInt8(octet)]
        agent.append(UInt8(ord("z")))
        var record = AccessRecord()
        load(record, "/", Span(agent), "", "")
        var line = line_of(record, AccessFormat.JSON)
        for each in line.as_bytes():
            assert_true(each >= 32 and each < 127, String(octet))
        # Alone, no octet above 127 is UTF-8.
        var expected = String("a", chr(octet if octet < 128 else 0xFFFD), "z")
        assert_equal(agent_in(line), expected)


def test_json_shows_characters_and_replaces_what_is_none() raises:
    var rows: List[Row] = [
        Row([0xC3, 0xA9], "\\u00e9"),
        Row([0xE2, 0x82, 0xAC], "\\u20ac"),
        Row([0xF0, 0x9F, 0x94, 0xA5], "\\ud83d\\udd25"),
        # U+009B begins a control sequence of a terminal.
        Row([0xC2, 0x9B], "\\u009b"),
        # Half a character, an overlong form, and a surrogate.
        Row([0xE2, 0x82], "\\ufffd\\ufffd"),
        Row([0xC0, 0xAF], "\\ufffd\\ufffd"),
        Row([0xED, 0xA0, 0x80], "\\ufffd\\ufffd\\ufffd"),
        Row([0xF4, 0x90, 0x80, 0x80], "\\ufffd\\ufffd\\ufffd\\ufffd"),
    ]
    for row in rows:
        var record = AccessRecord()
        load(record, "/", Span(row.octets), "", "")
        var line = line_of(record, AccessFormat.JSON)
        assert_true(
            line.find(String('"user_agent":"', row.shown, '",')) > 0, line
        )


def test_no_field_forges_a_line_or_another_field() raises:
    var hostile: StaticString = (
        '" 200 5 "x" "y"\r\n10.0.0.1 - - [x] "GET /admin HTTP/1.1\x00\x1b[2J\\'
    )
    var record = make_record("/", hostile, hostile, hostile)
    var combined = line_of(record, AccessFormat.COMBINED)
    assert_equal(combined.count('"'), 6)
    assert_false("\n" in combined)
    assert_false("\r" in combined)
    var json = line_of(record, AccessFormat.JSON)
    assert_false("\n" in json)
    var tree = loads(json)
    assert_equal(tree["user_agent"].string_value(), String(hostile))
    assert_equal(tree["request_id"].string_value(), String(hostile))


def test_a_method_without_number_is_shown() raises:
    var facts = AccessFacts()
    facts.texts.target = 1
    facts.texts.method = 8
    var record = AccessRecord()
    record.load(facts, "/PROPFIND".as_bytes(), 0)
    assert_equal(record.target(), "/")
    assert_equal(record.method_text(), "PROPFIND")
    assert_true(
        ' "PROPFIND / HTTP/1.1" ' in line_of(record, AccessFormat.COMMON)
    )


def test_an_address_of_ipv6_has_its_text() raises:
    var facts = AccessFacts()
    facts.has_client = True
    facts.client = SocketAddr(IpAddr.parse("2001:db8::1"), 80)
    var record = AccessRecord()
    record.load(facts, Span[UInt8, ImmStaticOrigin](), 0)
    assert_true(
        line_of(record, AccessFormat.COMMON).startswith("2001:db8::1 - - [")
    )
    assert_true(
        '"client":"2001:db8::1","port":80,'
        in line_of(record, AccessFormat.JSON)
    )


def test_only_a_valid_traceparent_has_a_trace_id() raises:
    comptime ID: StaticString = "0af7651916cd43dd8448eb211c80319c"
    comptime PARENT: StaticString = "b7ad6b7169203331"
    # Of a later version, the known part is read.
    for version in ["00", "01"]:
        var parent = String(version, "-", ID, "-", PARENT, "-01")
        assert_equal(trace_of(parent), ID)
    for bad in [
        "",
        String("ff-", ID, "-", PARENT, "-01"),
        String("00-", ID, "-", PARENT, "-0"),
        String("00-", ID, "-", PARENT, "-011"),
        String("00-", ID, "-", PARENT, "-0g"),
        String("00-", ID, "_", PARENT, "-01"),
        String("00_", ID, "-", PARENT, "-01"),
        String("00-", ID, "-", PARENT, "_01"),
        String("00-", ID, "-0000000000000000-01"),
        String("00-", String("0") * 32, "-", PARENT, "-01"),
        String("00-0AF7651916cd43dd8448eb211c80319c-", PARENT, "-01"),
    ]:
        assert_equal(trace_of(bad), "", bad)


def test_formats_want_only_what_they_show() raises:
    assert_equal(AccessFormat.COMMON.fields().bits, 0)
    assert_equal(AccessFormat.PLAIN.fields().bits, 0)
    assert_false(AccessFormat.COMBINED.fields().has(AccessFields.TRACE_ID))
    assert_true(AccessFormat.COMBINED.fields().has(AccessFields.REFERER))
    assert_false(AccessFormat.JSON.fields().has(AccessFields.REFERER))
    assert_true(AccessFormat.JSON.fields().has(AccessFields.ROUTE))


comptime TESTS = __functions_in_module()


@fieldwise_init
struct Row(Copyable, Movable):
    var octets: List[UInt8]
    var shown: StaticString


def make_record(
    target: StaticString,
    agent: StaticString,
    referer: StaticString,
    id: StaticString,
) -> AccessRecord:
    var record = AccessRecord()
    load(record, target, agent.as_bytes(), referer, id)
    return record^


def load(
    mut record: AccessRecord,
    target: StaticString,
    agent: Span[UInt8, _],
    referer: StaticString,
    id: StaticString,
):
    comptime ROUTE: StaticString = "/:name"
    comptime TRACE: StaticString = "0af7651916cd43dd8448eb211c80319c"
    var facts = AccessFacts()
    facts.outcome = AccessOutcome(200, AccessEnd.COMPLETE, True, 2326, 5_000)
    facts.duration_ns = 1_500_999
    facts.request_octets = 11
    facts.request_id = 42
    facts.worker = 3
    facts.target_octets = Int32(target.byte_length())
    facts.method = Method.GET.id
    facts.has_client = True
    facts.client = SocketAddr(IpAddr.v4(192, 0, 2, 7), 4711)
    facts.texts = AccessTexts(
        UInt16(target.byte_length()),
        0,
        UInt16(ROUTE.byte_length()),
        UInt16(len(agent)),
        UInt16(referer.byte_length()),
        UInt16(id.byte_length()),
        32,
    )
    var texts = List[UInt8]()
    texts.extend(target.as_bytes())
    texts.extend(ROUTE.as_bytes())
    texts.extend(agent)
    texts.extend(referer.as_bytes())
    texts.extend(id.as_bytes())
    texts.extend(TRACE.as_bytes())
    record.load(facts, texts, 971_186_136_000_123_000 - 5_000)


def line_of(record: AccessRecord, format: AccessFormat) -> String:
    var line = TextBuffer()
    append_line(line, record, format)
    return line.take()


def agent_in(line: String) raises -> String:
    return loads(line)["user_agent"].string_value()


def trace_of(value: String) -> String:
    return String(
        unsafe_from_utf8=trace_id_of(
            rebind[Span[UInt8, ImmUntrackedOrigin]](value.as_bytes())
        )
    )


def hexadecimal(octet: Int) -> String:
    comptime DIGITS: StaticString = "0123456789ABCDEF"
    return String(DIGITS[byte=octet >> 4], DIGITS[byte=octet & 15])

"""Tests for `flare.net.proxy_header`."""

from flare.net import SocketAddr
from flare.net.proxy_header import parse_proxy_header

from tests.asserting import assert_equal, assert_true

comptime SIGNATURE: StaticString = "\r\n\r\n\x00\r\nQUIT\n"


@fieldwise_init
struct _Row(Copyable):
    var line: StaticString
    # Source, destination and length, or the reason of the refusal.
    var wanted: StaticString


def test_lines_are_read() raises:
    var rows: List[_Row] = [
        _Row(
            "PROXY TCP4 192.0.2.1 198.51.100.7 56324 443\r\n",
            "192.0.2.1:56324 198.51.100.7:443 45",
        ),
        _Row(
            "PROXY TCP6 2001:db8::1 ::1 0 65535\r\n",
            "[2001:db8::1]:0 [::1]:65535 36",
        ),
        _Row("PROXY UNKNOWN\r\n", "none none 15"),
        _Row("PROXY UNKNOWN ffff:: what ever \r\n", "none none 33"),
    ]
    for row in rows:
        assert_equal(_outcome(row.line.as_bytes()), row.wanted, row.line)


def test_other_lines_are_refused() raises:
    comptime OTHERWISE = "the connection begins otherwise"
    comptime PORT = "a port has one to five digits"
    comptime DIGIT = "a port has an octet that is no digit"
    comptime RANGE = "a port is over 65535 or begins with 0"
    comptime FAMILY = "the address is of another family"
    var rows: List[_Row] = [
        _Row("GET / HTTP/1.1\r\n", OTHERWISE),
        _Row("POST / HTTP/1.1\r\n", OTHERWISE),
        _Row("PROXY\tTCP4 1.1.1.1 2.2.2.2 1 2\r\n", OTHERWISE),
        _Row("proxy TCP4 1.1.1.1 2.2.2.2 1 2\r\n", OTHERWISE),
        _Row(
            "PROXY UDP4 1.1.1.1 2.2.2.2 1 2\r\n",
            "the line names no known protocol",
        ),
        _Row("PROXY \r\n", "the line names no known protocol"),
        _Row("PROXY TCP4\r\n", "the line has too few fields"),
        _Row("PROXY TCP4 1.1.1.1 2.2.2.2 1\r\n", "the line has too few fields"),
        _Row(
            "PROXY TCP4 1.1.1.1 2.2.2.2 1 2 \r\n",
            "the line has too many fields",
        ),
        _Row(
            "PROXY TCP4 1.1.1.1 2.2.2.2 1 2 3\r\n",
            "the line has too many fields",
        ),
        _Row("PROXY TCP4  1.1.1.1 2.2.2.2 1 2\r\n", "the text is empty"),
        _Row("PROXY TCP4 ::1 2.2.2.2 1 2\r\n", FAMILY),
        _Row("PROXY TCP6 ::1 2.2.2.2 1 2\r\n", FAMILY),
        _Row("PROXY TCP4 1.1.1.1 2.2.2.2 1 \r\n", PORT),
        _Row("PROXY TCP4 1.1.1.1 2.2.2.2 1 000001\r\n", PORT),
        _Row("PROXY TCP4 1.1.1.1 2.2.2.2 1 65536\r\n", RANGE),
        _Row("PROXY TCP4 1.1.1.1 2.2.2.2 01 2\r\n", RANGE),
        _Row("PROXY TCP4 1.1.1.1 2.2.2.2 -1 2\r\n", DIGIT),
        _Row("PROXY TCP4 1.1.1.1 2.2.2.2 1 2\n", "LF without CR"),
        _Row("PROXY TCP4 1.1.1.1 2.2.2.2 1 2\rX", "CR without LF"),
    ]
    for row in rows:
        assert_equal(_outcome(row.line.as_bytes()), row.wanted, row.line)


def test_a_line_has_107_octets_at_most() raises:
    for octets in [106, 107, 108]:
        var line = _octets("PROXY UNKNOWN ")
        while len(line) < octets - 2:
            line.append(120)
        line.extend("\r\n".as_bytes())
        var wanted = String("none none ", octets)
        if octets > 107:
            wanted = "the line is longer than 107 octets"
        assert_equal(_outcome(line), wanted)
    var endless = _octets("PROXY UNKNOWN ")
    while len(endless) < 105:
        endless.append(120)
    assert_equal(_outcome(endless), "more")
    # CR and LF would no longer fit.
    endless.append(120)
    assert_equal(_outcome(endless), "the line is longer than 107 octets")


def test_binary_addresses_are_read() raises:
    var v4 = _binary(0x21, 0x11, [192, 0, 2, 1, 198, 51, 100, 7, 1, 2, 3, 4])
    assert_equal(_outcome(v4), "192.0.2.1:258 198.51.100.7:772 28")
    var addresses = List[UInt8](length=36, fill=0)
    addresses[15] = 1
    addresses[31] = 2
    addresses[33] = 80
    addresses[34] = 255
    addresses[35] = 255
    var v6 = _binary(0x21, 0x21, addresses)
    assert_equal(_outcome(v6), "[::1]:80 [::2]:65535 52")


def test_what_follows_the_addresses_is_passed_over() raises:
    var octets = List[UInt8](length=12 + 300, fill=9)
    var header = _binary(0x21, 0x11, octets)
    assert_equal(_outcome(header), "9.9.9.9:2313 9.9.9.9:2313 328")
    header.extend("GET / HTTP/1.1\r\n".as_bytes())
    assert_equal(_outcome(header), "9.9.9.9:2313 9.9.9.9:2313 328")


def test_a_proxy_may_speak_for_itself_or_know_nothing() raises:
    var none = List[UInt8]()
    assert_equal(_outcome(_binary(0x20, 0x00, none)), "none none 16")
    assert_equal(_outcome(_binary(0x21, 0x00, none)), "none none 16")
    var addresses = List[UInt8](length=12, fill=1)
    # Where it speaks for itself the family is passed over too.
    for family in [0x11, 0x12, 0x41, 0x1F]:
        assert_equal(
            _outcome(_binary(0x20, UInt8(family), addresses)), "none none 28"
        )
    # What speaks of datagrams, or of nothing known, names no peer of a stream.
    for family in [0x10, 0x12]:
        assert_equal(
            _outcome(_binary(0x21, UInt8(family), addresses)), "none none 28"
        )
    var longer = List[UInt8](length=36, fill=1)
    for family in [0x20, 0x22]:
        assert_equal(
            _outcome(_binary(0x21, UInt8(family), longer)), "none none 52"
        )
    var paths = List[UInt8](length=216, fill=0)
    assert_equal(_outcome(_binary(0x21, 0x31, paths)), "none none 232")


def test_other_binary_headers_are_refused() raises:
    comptime COMMAND = "the version or the command is unknown"
    comptime FAMILY = "the family or the transport is unknown"
    comptime CUT = "the addresses are cut off"
    var twelve = List[UInt8](length=12, fill=1)
    for command in [0x00, 0x11, 0x22, 0x2F, 0x31]:
        assert_equal(_outcome(_binary(UInt8(command), 0x11, twelve)), COMMAND)
    for family in [0x41, 0x13, 0xF1, 0x1F]:
        assert_equal(_outcome(_binary(0x21, UInt8(family), twelve)), FAMILY)
    twelve.resize(11, 0)
    assert_equal(_outcome(_binary(0x21, 0x11, twelve)), CUT)
    var more = List[UInt8](length=35, fill=1)
    assert_equal(_outcome(_binary(0x21, 0x21, more)), CUT)
    more.resize(215, 0)
    assert_equal(_outcome(_binary(0x21, 0x31, more)), CUT)


def test_the_limit_of_a_binary_header_is_inclusive() raises:
    var octets = List[UInt8](length=100 - 16, fill=1)
    var header = _binary(0x21, 0x11, octets)
    assert_equal(parse_proxy_header(header, 100).value().octets, 100)
    var refused = String()
    try:
        # It is refused before its octets come.
        _ = parse_proxy_header(Span(header)[:16], 99)
    except e:
        refused = String(e)
    assert_equal(
        refused,
        "net.bad_proxy_header: the header is longer than the limit",
    )


def test_every_cut_waits_for_more() raises:
    var headers: List[List[UInt8]] = [
        _octets("PROXY TCP4 192.0.2.1 198.51.100.7 56324 443\r\n"),
        _octets("PROXY UNKNOWN\r\n"),
        _binary(0x21, 0x11, List[UInt8](length=20, fill=1)),
        _binary(0x20, 0x00, List[UInt8]()),
    ]
    for header in headers:
        for end in range(len(header)):
            assert_equal(_outcome(Span(header)[:end]), "more")
        assert_true(Bool(parse_proxy_header(header)))


def _octets(text: StringSlice) -> List[UInt8]:
    var octets = List[UInt8]()
    octets.extend(text.as_bytes())
    return octets^


def _binary(command: UInt8, family: UInt8, rest: List[UInt8]) -> List[UInt8]:
    var octets = _octets(SIGNATURE)
    octets.append(command)
    octets.append(family)
    octets.append(UInt8(len(rest) >> 8))
    octets.append(UInt8(len(rest) & 255))
    octets.extend(Span(rest))
    return octets^


def _outcome(octets: Span[UInt8, _]) -> String:
    try:
        var header = parse_proxy_header(octets)
        if not header:
            return "more"
        ref h = header.value()
        return String(_text(h.source), " ", _text(h.destination), " ", h.octets)
    except e:
        return String(e.reason)


def _text(address: Optional[SocketAddr]) -> String:
    return String(address.value()) if address else String("none")


comptime TESTS = __functions_in_module()

"""Tests for `flare.net.ip_text`: what is read and how it is written."""

from std.ffi import c_int, external_call

from flare.net import IpAddr

from tests.asserting import assert_equal, assert_true


@fieldwise_init
struct _Row(Copyable):
    var text: StaticString
    # The canonical text, or the reason of the refusal.
    var wanted: StaticString


def _outcome(text: StringSlice) -> String:
    try:
        return String(IpAddr.parse_octets(text.as_bytes()))
    except e:
        return String(e.reason)


def _libc_accepts(text: StringSlice) -> Bool:
    var copy = String(text)
    var family = 10 if ":" in text else 2
    var octets = Array[UInt8, 16](fill=0)
    return (
        external_call["inet_pton", c_int](
            c_int(family), copy.as_c_string_span(), octets.unsafe_ptr()
        )
        == 1
    )


def _check(rows: List[_Row], accepted: Bool) raises:
    for row in rows:
        assert_equal(_outcome(row.text), row.wanted, row.text)
        if "\0" not in row.text:
            # libc knows the same grammar.
            assert_equal(_libc_accepts(row.text), accepted, row.text)


def test_dotted_quads_are_read() raises:
    var rows: List[_Row] = [
        _Row("0.0.0.0", "0.0.0.0"),
        _Row("1.2.3.4", "1.2.3.4"),
        _Row("9.10.99.100", "9.10.99.100"),
        _Row("199.200.249.250", "199.200.249.250"),
        _Row("255.255.255.255", "255.255.255.255"),
    ]
    _check(rows, True)


def test_other_forms_of_v4_are_refused() raises:
    comptime PARTS = "an IPv4 address has four parts"
    comptime RANGE = "a part of an IPv4 address is over 255"
    comptime ZERO = "a part of an IPv4 address has a leading zero"
    comptime EMPTY = "a part of an IPv4 address is empty"
    comptime LETTER = (
        "a letter that no address has; names are not resolved here"
    )
    comptime NO_OCTET = "an octet that no address has"
    var rows: List[_Row] = [
        _Row("1", PARTS),
        _Row("1.2.3", PARTS),
        _Row("1.2.3.4.5", PARTS),
        _Row("1.2.3.4.", PARTS),
        _Row("1.2.3.", EMPTY),
        _Row(".1.2.3", EMPTY),
        _Row("1..2.3", EMPTY),
        _Row("256.1.1.1", RANGE),
        _Row("1.1.1.256", RANGE),
        _Row("1.1.1.1000", RANGE),
        _Row("99999999999999999999", RANGE),
        _Row("2130706433", RANGE),
        _Row("01.2.3.4", ZERO),
        _Row("1.2.3.00", ZERO),
        _Row("1.2.3.04", ZERO),
        _Row("0x7f.0.0.1", LETTER),
        _Row("+1.2.3.4", NO_OCTET),
        _Row("-1.2.3.4", NO_OCTET),
        _Row("1,2,3,4", NO_OCTET),
        _Row("1.2.3.4x", LETTER),
        _Row("\xff.2.3.4", NO_OCTET),
        _Row("localhost", LETTER),
    ]
    _check(rows, False)


def test_v6_is_read_and_written_canonically() raises:
    var rows: List[_Row] = [
        _Row("::", "::"),
        _Row("::1", "::1"),
        _Row("1::", "1::"),
        _Row("0:0:0:0:0:0:0:0", "::"),
        _Row("0000:0000:0000:0000:0000:0000:0000:0001", "::1"),
        # RFC 5952 section 4.1: no leading zeros.
        _Row("2001:0db8::0001", "2001:db8::1"),
        _Row("2001:db8:10:100:1000:fff:ff:f", "2001:db8:10:100:1000:fff:ff:f"),
        # Section 4.2.2: a single group is not shortened.
        _Row("2001:db8::1:1:1:1:1", "2001:db8:0:1:1:1:1:1"),
        _Row("::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"),
        _Row("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"),
        # Section 4.2.3: the longest run, the first of two equal ones.
        _Row("2001:0:0:1:0:0:0:1", "2001:0:0:1::1"),
        _Row("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"),
        _Row("0:0:1:0:0:1:0:0", "::1:0:0:1:0:0"),
        _Row("1:0:0:2:3:4:0:0", "1::2:3:4:0:0"),
        _Row("1:2:3:4:5:0:0:0", "1:2:3:4:5::"),
        # Section 4.3: small letters.
        _Row("2001:DB8::ABCD:EF", "2001:db8::abcd:ef"),
        # Section 5: the mapped form keeps its dotted quad.
        _Row("::ffff:1.2.3.4", "::ffff:1.2.3.4"),
        _Row("::FFFF:102:304", "::ffff:1.2.3.4"),
        _Row("0:0:0:0:0:ffff:255.255.255.255", "::ffff:255.255.255.255"),
        _Row("::ffff:0:0", "::ffff:0.0.0.0"),
        _Row("::1.2.3.4", "::102:304"),
        _Row("64:ff9b::192.0.2.33", "64:ff9b::c000:221"),
        _Row("::ffff:0:1.2.3.4", "::ffff:0:102:304"),
        _Row("1::ffff:1.2.3.4", "1::ffff:102:304"),
        _Row("1:2:3:4:5:6:7.8.9.10", "1:2:3:4:5:6:708:90a"),
        _Row(
            "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255",
            "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        ),
    ]
    _check(rows, True)


def test_other_forms_of_v6_are_refused() raises:
    comptime GROUPS = "an IPv6 address has eight groups"
    comptime EMPTY = "a group of an IPv6 address is empty"
    comptime DIGITS = "a group of an IPv6 address has over four digits"
    comptime GAPS = "an IPv6 address has two gaps"
    comptime END = "an IPv6 address ends in a colon"
    comptime LETTER = (
        "a letter that no address has; names are not resolved here"
    )
    comptime NO_OCTET = "an octet that no address has"
    var rows: List[_Row] = [
        _Row(":", EMPTY),
        _Row(":::", EMPTY),
        _Row("1:::2", EMPTY),
        _Row(":1::", EMPTY),
        _Row(":1:2:3:4:5:6:7", EMPTY),
        _Row("1:", END),
        _Row("::1:", END),
        _Row("1:2:3:4:5:6:7:", END),
        _Row("1::2::3", GAPS),
        _Row("::1::", GAPS),
        _Row("1:2:3:4:5:6:7", GROUPS),
        _Row("1:2:3:4:5:6:7:8:9", GROUPS),
        _Row("1:2:3:4:5:6:7:8:", END),
        _Row("::1:2:3:4:5:6:7:8", "an IPv6 address has a gap for no group"),
        _Row("1:2:3:4:5:6:7:8::", "an IPv6 address has a gap for no group"),
        _Row("1:2:3:4:5:6:7:8::9", GROUPS),
        _Row("12345::", DIGITS),
        _Row("::00001", DIGITS),
        _Row("1:2:3:4:5:6:7:1.2.3.4", GROUPS),
        _Row("1:2:3:4:5:1.2.3.4", GROUPS),
        _Row("::1.2.3", "an IPv4 address has four parts"),
        _Row("::1.2.3.4:5", "a port does not belong here"),
        _Row("::01.2.3.4", "a part of an IPv4 address has a leading zero"),
        _Row("::a.2.3.4", LETTER),
        _Row("::.2.3.4", EMPTY),
        _Row("::g", LETTER),
        _Row("::1x", LETTER),
        _Row("::-1", NO_OCTET),
    ]
    _check(rows, False)


def test_what_stands_around_an_address_is_refused_by_name() raises:
    comptime LETTER = (
        "a letter that no address has; names are not resolved here"
    )
    comptime BLANK = "a blank does not belong here"
    comptime CONTROL = "a control octet does not belong here"
    var rows: List[_Row] = [
        _Row("", "the text is empty"),
        _Row("fe80::1%eth0", "an address with a zone is not accepted"),
        _Row("1.2.3.4%1", "an address with a zone is not accepted"),
        _Row("[::1]", "brackets do not belong here"),
        _Row("::1]", "brackets do not belong here"),
        _Row("user@1.2.3.4", LETTER),
        _Row("1.2.3.4@host", "user information does not belong here"),
        _Row(" 1.2.3.4", BLANK),
        _Row("1.2.3.4 ", BLANK),
        _Row("::1\t", BLANK),
        _Row("1.2.3.4\0", CONTROL),
        _Row("::1\0", CONTROL),
        _Row("1.2.3.4\r\n", CONTROL),
        _Row("::1\n", CONTROL),
        _Row("\x7f::1", CONTROL),
        _Row("1.2.3.4/8", "a prefix length or path does not belong here"),
        _Row("1.2.3.4:80", "a port does not belong here"),
    ]
    _check(rows, False)


def test_the_length_limit_is_that_of_the_longest_address() raises:
    comptime LONGEST = "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255"
    assert_equal(StaticString(LONGEST).byte_length(), 45)
    assert_true(_outcome(LONGEST).startswith("ffff:"))
    assert_equal(
        _outcome(String(LONGEST, "0")), "the text is longer than any address"
    )
    var long = String()
    for _ in range(100_000):
        long += ":"
    assert_equal(_outcome(long), "the text is longer than any address")


comptime TESTS = __functions_in_module()

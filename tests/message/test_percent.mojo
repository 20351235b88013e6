"""Tests for `flare.message.percent`."""

from flare.message import (
    equals_decoded,
    escaped_percents,
    percent_decode,
    percent_decoded,
    percent_encoded,
)

from tests.asserting import assert_equal, assert_false, assert_true


@fieldwise_init
struct Row(Copyable):
    var escaped: StaticString
    var decoded: StaticString


def test_escapes_are_decoded_and_incomplete_ones_kept() raises:
    var rows: List[Row] = [
        Row("", ""),
        Row("abc", "abc"),
        Row("%41", "A"),
        Row("%4a%4A", "JJ"),
        Row("a%20b", "a b"),
        Row("%C3%A9", "é"),
        Row("%2525", "%25"),
        Row("%", "%"),
        Row("%4", "%4"),
        Row("a%", "a%"),
        Row("%4g", "%4g"),
        Row("%g4", "%g4"),
        Row("%%41", "%A"),
        Row("%:0%/0%@0%G0%`0", "%:0%/0%@0%G0%`0"),
        Row("a+b", "a+b"),
    ]
    for row in rows:
        assert_equal(percent_decoded(row.escaped), row.decoded)
        assert_true(
            equals_decoded(row.escaped.as_bytes(), row.decoded.as_bytes())
        )


def test_plus_is_a_blank_only_where_asked() raises:
    assert_equal(percent_decoded[plus_is_blank=True]("a+b%2B"), "a b+")
    assert_equal(percent_decoded("a+b%2B"), "a+b+")


def test_any_octet_survives_an_escape() raises:
    var digits = StaticString("0123456789abcdef").as_bytes()
    for octet in range(256):
        var escaped: List[UInt8] = [37, digits[octet >> 4], digits[octet & 15]]
        var decoded = List[UInt8]()
        percent_decode(Span(escaped), decoded)
        assert_equal(len(decoded), 1)
        assert_equal(Int(decoded[0]), octet)


def test_decoding_adds_to_what_is_there() raises:
    var decoded: List[UInt8] = [1]
    percent_decode("%02".as_bytes(), decoded)
    percent_decode("".as_bytes(), decoded)
    assert_equal(len(decoded), 2)
    assert_equal(decoded[0], 1)
    assert_equal(decoded[1], 2)


def test_octets_that_are_no_text_become_the_replacement() raises:
    assert_equal(percent_decoded("a%FFb"), "a\ufffdb")


def test_comparing_needs_the_whole_of_both() raises:
    assert_false(equals_decoded("%41b".as_bytes(), "A".as_bytes()))
    assert_false(equals_decoded("%41".as_bytes(), "Ab".as_bytes()))
    assert_false(equals_decoded("%41".as_bytes(), "a".as_bytes()))
    assert_false(equals_decoded("a+".as_bytes(), "a ".as_bytes()))
    assert_true(
        equals_decoded[plus_is_blank=True]("a+".as_bytes(), "a ".as_bytes())
    )


def test_all_but_unreserved_octets_are_escaped() raises:
    assert_equal(
        percent_encoded("aZ09-._~ /?#%&=+\né"),
        "aZ09-._~%20%2F%3F%23%25%26%3D%2B%0A%C3%A9",
    )


def test_percent_signs_that_begin_no_escape_are_escaped() raises:
    var rows: List[Row] = [
        Row("", ""),
        Row("/a?q=100%", "/a?q=100%25"),
        Row("%", "%25"),
        Row("%4", "%254"),
        Row("%zz%41%4g", "%25zz%41%254g"),
        Row("%%41%%", "%25%41%25%25"),
        Row("%25", "%25"),
    ]
    for row in rows:
        assert_equal(escaped_percents(row.escaped), row.decoded)
        assert_equal(
            percent_decoded(escaped_percents(row.escaped)),
            percent_decoded(row.escaped),
        )


def test_what_is_encoded_decodes_to_itself() raises:
    for octet in range(256):
        var octets: List[UInt8] = [UInt8(octet)]
        var text = percent_encoded(StringSlice(unsafe_from_utf8=Span(octets)))
        assert_true(equals_decoded(text.as_bytes(), Span(octets)), text)


comptime TESTS = __functions_in_module()

"""Tests for `flare.postgres.numeric_text`."""

from flare.postgres.big_endian import append_big_endian
from flare.postgres.numeric_text import numeric_octets, numeric_text

from tests.asserting import assert_equal, assert_false


@fieldwise_init
struct _Row(Copyable, Movable):
    var text: String
    # Weight, sign, scale, then the digits of base 10,000.
    var words: List[Int]


def test_numbers_as_the_server_writes_them() raises:
    var rows: List[_Row] = [
        _Row("0", [0, 0, 0]),
        _Row("0.00", [0, 0, 2]),
        _Row("1", [0, 0, 0, 1]),
        _Row("-9999", [0, 0x4000, 0, 9999]),
        _Row("10000", [1, 0, 0, 1]),
        _Row("10001.5", [1, 0, 1, 1, 1, 5000]),
        _Row("0.0001", [-1, 0, 4, 1]),
        _Row("0.00001000", [-2, 0, 8, 1000]),
        _Row("-0.5", [-1, 0x4000, 1, 5000]),
        _Row("123456789.00780", [2, 0, 5, 1, 2345, 6789, 78]),
        _Row("NaN", [0, 0xC000, 0]),
        _Row("Infinity", [0, 0xD000, 0]),
        _Row("-Infinity", [0, 0xF000, 0]),
    ]
    for row in rows:
        assert_equal(numeric_text(_octets(row.words)).value(), row.text)
        assert_equal(numeric_octets(row.text.as_bytes()), _octets(row.words))


def test_other_texts_of_numbers() raises:
    for row in [
        ("+1", "1"),
        (".5", "0.5"),
        ("7.", "7"),
        ("000123.450", "123.450"),
        ("-0.00", "0.00"),
        ("nan", "NaN"),
        ("-infinity", "-Infinity"),
    ]:
        var octets = numeric_octets(String(row[0]).as_bytes())
        assert_equal(numeric_text(octets).value(), String(row[1]))
    for text in ["", "-", "+", ".", "1e5", "1.2.3", "0x1", " 1", "-nan", "1,5"]:
        assert_equal(len(numeric_octets(String(text).as_bytes())), 0)
    assert_equal(len(numeric_octets((String("1") * 131_073).as_bytes())), 0)


def test_malformed_octets_are_no_number() raises:
    var whole = _octets([0, 0, 0, 1])
    for length in range(len(whole)):
        assert_false(Bool(numeric_text(Span(whole)[0:length])))
    whole.append(0)
    assert_false(Bool(numeric_text(Span(whole))))
    assert_false(Bool(numeric_text(_octets([0, 0, -1, 1]))))
    # Signs and groups that the server never writes.
    assert_false(Bool(numeric_text(_octets([0, 1, 0, 1]))))
    assert_false(Bool(numeric_text(_octets([0, 0x2000, 0, 1]))))
    assert_false(Bool(numeric_text(_octets([0, 0, 0, 10_000]))))
    assert_false(Bool(numeric_text(_octets([1, 0, 0, 1, -1]))))


def _octets(words: List[Int]) -> List[UInt8]:
    var octets = List[UInt8]()
    append_big_endian(octets, len(words) - 3, 2)
    for word in words:
        append_big_endian(octets, word, 2)
    return octets^


comptime TESTS = __functions_in_module()

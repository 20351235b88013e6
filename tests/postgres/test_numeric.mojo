"""Tests for `flare.postgres.numeric_text`."""

from flare.postgres.big_endian import append_big_endian
from flare.postgres.numeric_text import numeric_text

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

"""Tests for `flare.postgres.parameter`, `big_endian` and `types`."""

from std.testing import assert_raises

from flare.postgres import Date, Timestamp
from flare.postgres.big_endian import append_big_endian, read_big_endian
from flare.postgres.parameter import encode_parameters
from flare.postgres.type_ids import TypeId
from flare.sys.pg_parameters import PgParameters

from tests.asserting import assert_equal


def test_numbers_of_each_width_in_both_directions() raises:
    for count in range(1, 9):
        for value in [0, 1, -1, 127, -128]:
            var octets = List[UInt8]()
            append_big_endian(octets, value, count)
            assert_equal(len(octets), count)
            assert_equal(read_big_endian(octets), value)
    for value in [Int.MAX, Int.MIN]:
        var octets = List[UInt8]()
        append_big_endian(octets, value, 8)
        assert_equal(read_big_endian(octets), value)


def test_types_and_forms() raises:
    var p = encode_parameters(
        1,
        Int32(-2),
        Int16(3),
        True,
        2.5,
        Float32(0.5),
        "text",
        Optional[Int](None),
        List[UInt8](),
        Timestamp(0),
        Date(0),
        List[Int](),
    )
    var types: List[Int32] = [
        20,
        23,
        21,
        16,
        701,
        700,
        0,
        20,
        17,
        1184,
        1082,
        1016,
    ]
    assert_equal(p.types, types)
    var lengths: List[Int32] = [8, 4, 2, 1, 8, 4, 4, 0, 0, 8, 4, 12]
    assert_equal(p.lengths, lengths)
    assert_equal(p.formats[6], PgParameters.TEXT)
    assert_equal(p.starts[7], PgParameters.NULL)
    var addresses = p.pointers()
    assert_equal(addresses[7], 0)
    # An empty value is not NULL.
    assert_equal(addresses[8] != 0, True)
    assert_equal(
        read_big_endian(Span(p.octets)[p.starts[1] : p.starts[1] + 4]), -2
    )
    # A text ends with NUL, by which the library finds its end.
    assert_equal(p.octets[p.starts[6] + 4], UInt8(0))


def test_an_only_value_that_is_empty_is_not_null() raises:
    assert_equal(encode_parameters(List[UInt8]()).pointers()[0] != 0, True)
    assert_equal(encode_parameters("").pointers()[0] != 0, True)


def test_arrays_with_null() raises:
    var values: List[Optional[Int32]] = [Int32(7), None]
    var p = encode_parameters(values)
    var words: List[Int] = [1, 1, TypeId.INT4, 2, 1, 4, 7, -1]
    assert_equal(p.types[0], 1007)
    assert_equal(Int(p.lengths[0]), 4 * len(words))
    for i in range(len(words)):
        assert_equal(
            read_big_endian(Span(p.octets)[4 * i : 4 * i + 4]), words[i]
        )


def test_nul_in_a_text_is_refused() raises:
    with assert_raises(contains="postgres.bad_parameter"):
        _ = encode_parameters("a\0b")
    var texts: List[String] = ["a", "b\0"]
    with assert_raises(contains="postgres.bad_parameter"):
        _ = encode_parameters(texts)


comptime TESTS = __functions_in_module()

"""Tests for `flare.postgres.copy_row`."""

from std.testing import assert_raises

from flare.json import loads
from flare.postgres.copy_row import (
    append_copy_end,
    append_copy_head,
    append_copy_row,
)
from flare.postgres.type_ids import TypeId
from flare.sys.pg_parameters import PgParameters

from tests.asserting import assert_equal


def test_the_octets_around_the_rows() raises:
    var octets = List[UInt8]()
    append_copy_head(octets)
    append_copy_end(octets)
    var expected: List[UInt8] = [
        80, 71, 67, 79, 80, 89, 10, 255, 13, 10, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 255, 255,
    ]  # fmt: skip
    assert_equal(octets, expected)


def test_integers_take_the_width_of_their_column() raises:
    assert_equal(_of(5, TypeId.INT2), [0, 1, 0, 0, 0, 2, 0, 5])
    assert_equal(_of(-2, TypeId.INT4), [0, 1, 0, 0, 0, 4, 255, 255, 255, 254])
    assert_equal(
        _of(Int16(1), TypeId.INT8),
        [0, 1, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 1],
    )
    assert_equal(List(_of(-32_768, TypeId.INT2)[6:]), [128, 0])
    assert_equal(List(_of(Int.MIN, TypeId.INT8)[6:8]), [128, 0])
    for number in [32_768, -32_769]:
        with assert_raises(contains="the field value does not fit"):
            _ = _of(number, TypeId.INT2)
    with assert_raises(contains="does not fit"):
        _ = _of(1 << 31, TypeId.INT4)


def test_texts_fit_texts() raises:
    assert_equal(_of(String("ab"), TypeId.TEXT), [0, 1, 0, 0, 0, 2, 97, 98])
    assert_equal(_of(String("7"), TypeId.JSONB), [0, 1, 0, 0, 0, 2, 1, 55])
    assert_equal(_of(String("a"), 20_000), [0, 1, 0, 0, 0, 1, 97])
    assert_equal(_of(loads("[]"), TypeId.JSON), [0, 1, 0, 0, 0, 2, 91, 93])
    for column in [TypeId.INT4, TypeId.NUMERIC, TypeId.DATE, TypeId.UUID]:
        with assert_raises(contains="does not fit"):
            _ = _of(String("1"), column)
    with assert_raises(contains="NUL"):
        _ = _of(String("a\0b"), TypeId.TEXT)


def test_null_is_null() raises:
    assert_equal(
        _of(Optional[Int](None), TypeId.INT4), [0, 1, 255, 255, 255, 255]
    )
    assert_equal(_of(Optional[Int](1), TypeId.INT2), [0, 1, 0, 0, 0, 2, 0, 1])


def test_other_types_are_refused() raises:
    for column in [TypeId.INT8, TypeId.TEXT, TypeId.FLOAT4]:
        with assert_raises(contains="does not fit"):
            _ = _of(Float64(1), column)
    with assert_raises(contains="does not fit"):
        _ = _of(True, TypeId.INT4)
    with assert_raises(contains="does not fit"):
        _ = _of(1, TypeId.BOOL)


comptime TESTS = __functions_in_module()


@fieldwise_init
struct _One[T: Copyable & Deinitable](Copyable, Movable):
    var value: Self.T


def _of[T: Copyable & Deinitable](value: T, column: Int) raises -> List[UInt8]:
    var octets = List[UInt8]()
    var scratch = PgParameters()
    append_copy_row(octets, _One[T](value.copy()), [column], scratch)
    return octets^

"""Tests for `flare.sql.rows`, with a result that is no database's."""

from std.testing import assert_raises

from flare.sql.rows import decode_rows, only_row, optional_row

from tests.asserting import assert_equal, assert_false

from .numbers import Numbers, Piece


@fieldwise_init
struct Three(Movable):
    var first: Piece
    var second: Piece
    var third: Piece


def test_columns_are_found_by_name() raises:
    var source = Numbers(["third", "first", "second"], [3, 1, 2, 6, 4, 5])
    var rows = decode_rows[Three](source)
    assert_equal(len(rows), 2)
    assert_equal(rows[0].first.number, 1)
    assert_equal(rows[0].second.number, 2)
    assert_equal(rows[1].third.number, 6)
    rows.clear()
    assert_equal(source.live[], 0)


def test_columns_and_fields_differ() raises:
    var lists: List[List[String]] = [
        ["first", "second"],
        ["first", "second", "fourth"],
        ["first", "second", "second"],
        ["first", "second", "third", "fourth"],
    ]
    for names in lists:
        with assert_raises(contains="the fields of"):
            _ = decode_rows[Three](Numbers(names.copy(), []))
    with assert_raises(contains="has 2 columns: a type that is no struct"):
        _ = decode_rows[Piece](Numbers(["a", "b"], []))


def test_a_row_that_fails_drops_its_fields_once() raises:
    # Negative numbers fail.
    var lists: List[List[Int]] = [
        [1, 2, 3, -4, 5, 6],
        [1, 2, 3, 4, -5, 6],
        [1, 2, 3, 4, 5, -6],
    ]
    for values in lists:
        var source = Numbers(["first", "second", "third"], values.copy())
        with assert_raises(contains="negative"):
            _ = decode_rows[Three](source)
        assert_equal(source.live[], 0)


def test_the_number_of_rows() raises:
    var none = Numbers(["a"], [])
    var one = Numbers(["a"], [7])
    var two = Numbers(["a"], [7, 8])
    assert_equal(len(decode_rows[Piece](none)), 0)
    assert_equal(only_row[Piece](one).number, 7)
    assert_equal(optional_row[Piece](one).value().number, 7)
    assert_equal(len(decode_rows[Piece](two)), 2)
    assert_false(optional_row[Piece](none))
    with assert_raises(contains="no rows"):
        _ = only_row[Piece](none)
    with assert_raises(contains="too many rows"):
        _ = only_row[Piece](two)
    with assert_raises(contains="too many rows"):
        _ = optional_row[Piece](two)


comptime TESTS = __functions_in_module()

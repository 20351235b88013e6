"""Tests for `tests.asserting`, by the functions of `std.testing`: an assertion
that never fails would let everything pass.
"""

from std.testing import assert_raises

from tests.asserting import assert_equal, assert_false, assert_true


def test_what_is_as_wanted_passes() raises:
    assert_equal(1, 1)
    assert_equal(1, 1, "why")
    assert_equal(String("a"), "a")
    assert_equal(StringSlice("a"), "a")
    assert_equal(StringSlice("a"), "a", "why")
    assert_equal(List([1, 2]), [1, 2])
    assert_true(True)
    assert_true(Optional(1), "why")
    assert_false(False)
    assert_false(Optional[Int](None), "why")


def test_values_that_differ_are_both_named() raises:
    with assert_raises(contains="test_asserting.mojo:"):
        assert_equal(1, 2)
    with assert_raises(contains=": 1 is not 2"):
        assert_equal(1, 2)
    with assert_raises(contains=": 1 is not 2: why"):
        assert_equal(1, 2, "why")
    with assert_raises(contains="[1, 2] is not [1]"):
        assert_equal(List([1, 2]), [1])


def test_texts_that_differ_are_both_named() raises:
    with assert_raises(contains=": a is not b"):
        assert_equal(String("a"), "b")
    with assert_raises(contains="test_asserting.mojo:"):
        assert_equal(StringSlice("a"), "b")
    with assert_raises(contains=": a is not b: why"):
        assert_equal(StringSlice("a"), "b", "why")


def test_a_condition_that_does_not_hold_raises() raises:
    with assert_raises(contains="test_asserting.mojo:"):
        assert_true(False)
    with assert_raises(contains=": why"):
        assert_true(Optional[Int](None), "why")


def test_a_condition_that_holds_raises_where_it_must_not() raises:
    with assert_raises(contains="test_asserting.mojo:"):
        assert_false(True)
    with assert_raises(contains=": why"):
        assert_false(Optional(1), "why")


comptime TESTS = __functions_in_module()

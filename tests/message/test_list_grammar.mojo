"""Tests for `flare.message.list_grammar`."""

from flare.message.list_grammar import lists_member

from tests.asserting import assert_equal


def test_a_list_has_a_member_in_any_case_and_between_any_blanks() raises:
    for value in ["raw", "RAW", "a, raw", "raw,b", ",, \traw ,", "a,rAw\t"]:
        _check(value, "raw", True)
        _check(value, "Raw", True)


def test_a_list_does_not_have_what_only_resembles_a_member() raises:
    for value in ["", "ra", "raws", "r aw", "raw/1", "ra,w", "a b raw"]:
        _check(value, "raw", False)


def test_no_list_has_an_empty_member() raises:
    for value in ["", ",", " ", "raw,", ",raw", "raw, ,b"]:
        _check(value, "", False)


def test_no_list_has_a_member_with_a_comma() raises:
    _check("a,b", "a,b", False)


def _check(value: String, member: StaticString, expected: Bool) raises:
    assert_equal(
        lists_member(value.as_bytes(), member.as_bytes()), expected, value
    )


comptime TESTS = __functions_in_module()

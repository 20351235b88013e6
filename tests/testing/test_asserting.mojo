"""Tests `tests.asserting`: an assertion that never fails would let everything
pass. What they print is checked by tests/python/test_run_tests.py.
"""

from flare.sys.process import exit_process, fork_process, wait_for_end
from flare.sys.file import STANDARD_OUTPUT, close_descriptor

from tests.asserting import (
    FAILURE_CODE,
    assert_equal,
    assert_false,
    assert_true,
)


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


def test_what_differs_ends_the_process() raises:
    assert_equal(_code_of[_differ](), FAILURE_CODE)
    assert_equal(_code_of[_differ_because](), FAILURE_CODE)
    assert_equal(_code_of[_differ_in_text](), FAILURE_CODE)
    assert_equal(_code_of[_differ_in_text_because](), FAILURE_CODE)
    assert_equal(_code_of[_is_not_true](), FAILURE_CODE)
    assert_equal(_code_of[_is_not_true_because](), FAILURE_CODE)
    assert_equal(_code_of[_is_not_false](), FAILURE_CODE)
    assert_equal(_code_of[_is_not_false_because](), FAILURE_CODE)


comptime TESTS = __functions_in_module()


def _code_of[check: def() thin -> None]() -> Int:
    var process = fork_process()
    if process == 0:
        # Its message is not one of the suite.
        _ = close_descriptor(STANDARD_OUTPUT)
        check()
        exit_process(0)
    return wait_for_end(process).exit_code()


def _differ():
    assert_equal(1, 2)


def _differ_because():
    assert_equal(1, 2, "why")


def _differ_in_text():
    assert_equal(String("a"), "b")


def _differ_in_text_because():
    assert_equal(StringSlice("a"), "b", "why")


def _is_not_true():
    assert_true(False)


def _is_not_true_because():
    assert_true(Optional[Int](None), "why")


def _is_not_false():
    assert_false(True)


def _is_not_false_because():
    assert_false(Optional(1), "why")

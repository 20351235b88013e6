"""Tests for `flare.postgres.entry`."""

from std.testing import assert_equal, assert_false, assert_true

from flare.postgres.entry import (
    controls_transaction,
    first_word,
    is_repeatable,
)


def test_the_first_word() raises:
    assert_equal(first_word(""), "")
    assert_equal(first_word(" \t\n\r Select 1"), "select")
    assert_equal(first_word("BEGIN;"), "begin")
    assert_equal(first_word("(SELECT 1)"), "")
    assert_equal(first_word("/* x */ SELECT"), "")
    assert_equal(first_word("abcdefghijklmnopqrst").byte_length(), 16)


def test_statements_that_may_commit_are_not_repeated() raises:
    for sql in ["SELECT 1", "insert into t", "WITH x AS", "VALUES (1)"]:
        assert_true(is_repeatable(String(sql)))
    for sql in ["CALL p()", "DO $$", "VACUUM", "", "/* */ SELECT 1"]:
        assert_false(is_repeatable(String(sql)))


def test_statements_that_control_transactions() raises:
    for sql in ["begin", "START TRANSACTION", "Commit", "ROLLBACK TO x"]:
        assert_true(controls_transaction(String(sql)))
    for sql in ["SELECT 1", "SET x = 1", ""]:
        assert_false(controls_transaction(String(sql)))


comptime TESTS = __functions_in_module()

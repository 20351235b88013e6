"""Tests for `flare.postgres.entry`."""

from flare.postgres.entry import (
    controls_transaction,
    is_repeatable,
    needs_own_protocol,
)

from tests.asserting import assert_false, assert_true


def test_the_first_word_counts_behind_blanks_and_comments() raises:
    for before in [
        "",
        " \t\n\r ",
        "/* x */",
        "/*/ BEGIN */ ",
        "/* a /* b */ BEGIN */",
        "-- BEGIN\n",
        "--\n/**/ --x\n",
    ]:
        assert_true(needs_own_protocol(String(before, "Copy t")), before)
        assert_false(controls_transaction(String(before, "Copy t")), before)
        assert_true(controls_transaction(String(before, "BEGIN;")), before)
    for sql in ["(COPY", "COPYING", "- COPY", "/* COPY", "--COPY", "/* */", ""]:
        assert_false(needs_own_protocol(String(sql)), sql)


def test_statements_that_may_commit_are_not_repeated() raises:
    for sql in ["SELECT 1", "insert into t", "WITH x AS", "VALUES (1)"]:
        assert_true(is_repeatable(String(sql)))
    for sql in ["CALL p()", "DO $$", "VACUUM", "", "(SELECT 1)"]:
        assert_false(is_repeatable(String(sql)))


def test_statements_that_control_transactions() raises:
    for sql in ["begin", "START TRANSACTION", "Commit", "ROLLBACK TO x"]:
        assert_true(controls_transaction(String(sql)))
    for sql in ["SELECT 1", "SET x = 1", ""]:
        assert_false(controls_transaction(String(sql)))


comptime TESTS = __functions_in_module()

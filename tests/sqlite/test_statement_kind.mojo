"""Tests for `flare.sqlite.statement_kind`."""

from flare.sqlite.statement_kind import StatementKind, kind_of

from tests.asserting import assert_equal


def test_the_first_word_decides() raises:
    for text in [
        "SELECT 1",
        "\n\t select",
        "With x AS (SELECT 1) SELECT 1",
        "values (1)",
        "-- insert\nSELECT 1",
        "/* /* insert */ SELECT 1",
        "/**/SELECT 1",
    ]:
        assert_equal(kind_of(text), StatementKind.QUERY, text)
    for text in ["INSERT INTO t", "update t", "DELETE", "Replace INTO t"]:
        assert_equal(kind_of(text), StatementKind.CHANGE, text)
    for text in [
        "",
        "/",
        "-",
        "/*",
        "/* SELECT 1",
        "-- SELECT 1",
        "CREATE TABLE t (a)",
        "selected",
        "(SELECT 1)",
        "BEGIN",
        "/* */ */ SELECT",
    ]:
        assert_equal(kind_of(text), StatementKind.OTHER, text)


comptime TESTS = __functions_in_module()

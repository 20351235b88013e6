"""Tests for `flare.sql.text`."""

from flare.sql.text import begins_with_word, has_nul

from tests.asserting import assert_equal, assert_false, assert_true

comptime _WORDS: List[StaticString] = ["select"]


def test_the_first_word_decides() raises:
    for text in [
        StaticString("select"),
        "\n\t SeLeCt 1",
        "-- a\nselect",
        "/* a */select 1",
        "/**/ select(1)",
    ]:
        assert_true(begins_with_word[_WORDS, is_postgresql=True](text), text)
        assert_true(begins_with_word[_WORDS, is_postgresql=False](text), text)
    for text in [
        StaticString(""),
        "selected",
        "(select 1)",
        "/* select",
        "-- select",
        "/",
        "/*",
        "/*/ select",
    ]:
        assert_false(begins_with_word[_WORDS, is_postgresql=True](text), text)
        assert_false(begins_with_word[_WORDS, is_postgresql=False](text), text)


def test_comments_nest_in_some_dialects() raises:
    for row in [
        ("/* /* a */ select", False, True),
        ("/* /* a */ */ select", True, False),
    ]:
        var text = row[0]
        assert_equal(begins_with_word[_WORDS, is_postgresql=True](text), row[1])
        assert_equal(
            begins_with_word[_WORDS, is_postgresql=False](text), row[2]
        )


def test_what_postgresql_skips_before_a_statement() raises:
    for text in [
        StaticString(";select"),
        " ; ;/* a */; select",
        "-- a\rselect",
        "-- a\r\n;select",
    ]:
        assert_true(begins_with_word[_WORDS, is_postgresql=True](text), text)
        assert_false(begins_with_word[_WORDS, is_postgresql=False](text), text)


def test_nul_is_found() raises:
    assert_false(has_nul(""))
    assert_false(has_nul("a" * 100))
    for i in range(70):
        assert_true(has_nul(String("a" * i, "\0", "a" * (69 - i))))


comptime TESTS = __functions_in_module()

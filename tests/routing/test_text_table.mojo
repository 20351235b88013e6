"""Tests for `flare.http.routing.text_table`."""

from flare.http.routing.text_table import TEXT_OCTETS_MAX, TextTable

from tests.asserting import assert_equal


def test_texts_of_every_length_differ_in_every_octet() raises:
    for length in List(range(40)) + [256, 257, 2048]:
        var table = TextTable()
        var text = List[UInt8](length=length, fill=UInt8(ord("x")))
        table.add(3, text, 4)
        assert_equal(table.find(3, text).value, 4)
        assert_equal(table.find(2, text).value, 0)
        for at in range(length):
            text[at] = UInt8(ord("y"))
            assert_equal(table.find(3, text).value, 0)
            text[at] = UInt8(ord("x"))
        text.append(UInt8(ord("x")))
        assert_equal(table.find(3, text).value, 0)


def test_the_longest_text_is_found_and_longer_ones_are_not() raises:
    var table = TextTable()
    var text = List[UInt8](length=TEXT_OCTETS_MAX, fill=UInt8(ord("x")))
    table.add(0, text, 1)
    assert_equal(table.find(0, text).value, 1)
    text.append(UInt8(ord("x")))
    assert_equal(table.find(0, text).value, 0)
    # Its length would run into the number.
    table.add(1, Span(text)[:0], 2)
    assert_equal(table.find(0, text).value, 0)


def test_an_empty_table_has_no_text_not_even_the_empty_one() raises:
    var table = TextTable()
    assert_equal(table.find(0, "".as_bytes()).value, 0)
    assert_equal(table.find(0, "a".as_bytes()).value, 0)


def test_a_table_that_grows_keeps_its_texts() raises:
    var table = TextTable()
    for i in range(1000):
        var text = String("/text-", i)
        table.add(1, text.as_bytes(), 2 * i + 1)
        table.add(3, text.as_bytes(), 2 * i + 2)
    for i in range(1000):
        var text = String("/text-", i)
        var found = table.find(1, text.as_bytes())
        assert_equal(found.value, 2 * i + 1)
        assert_equal(found.text, text)
        assert_equal(table.find(3, text.as_bytes()).value, 2 * i + 2)
        assert_equal(table.find(2, text.as_bytes()).value, 0)
        var other = String("/text_", i)
        assert_equal(table.find(1, other.as_bytes()).value, 0)


comptime TESTS = __functions_in_module()

"""Tests for `flare.sqlite.digits`."""

from flare.sqlite.digits import append_digits, read_digits

from tests.asserting import assert_equal


def test_digits() raises:
    var text = String()
    append_digits(text, 7, 4)
    append_digits(text, 0, 2)
    append_digits(text, 123_456, 6)
    assert_equal(text, "000700123456")
    assert_equal(read_digits("0123".as_bytes(), 1, 3), 123)
    assert_equal(read_digits("0123".as_bytes(), 2, 3), -1)
    assert_equal(read_digits("01 3".as_bytes(), 1, 2), -1)
    assert_equal(read_digits("+123".as_bytes(), 0, 2), -1)


comptime TESTS = __functions_in_module()

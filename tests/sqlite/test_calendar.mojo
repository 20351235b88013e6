"""Tests for `flare.sqlite.calendar`."""

from std.testing import assert_equal

from flare.sqlite.calendar import (
    DAYS_MAX,
    DAYS_MIN,
    CivilDate,
    append_digits,
    read_digits,
)


def test_each_day_comes_back() raises:
    var before = CivilDate.from_days(DAYS_MIN - 1)
    for days in range(DAYS_MIN, DAYS_MAX + 1):
        var date = CivilDate.from_days(days)
        if date.days() != days or not _follows(date, before):
            raise Error("day ", days)
        before = date


def test_known_days() raises:
    assert_equal(CivilDate(1970, 1, 1).days(), 0)
    assert_equal(CivilDate(1900, 1, 1).days(), -25_567)
    assert_equal(CivilDate(2000, 2, 29).days(), 11_016)
    assert_equal(CivilDate(0, 1, 1).days(), DAYS_MIN)
    assert_equal(CivilDate(9999, 12, 31).days(), DAYS_MAX)


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


def _follows(date: CivilDate, before: CivilDate) -> Bool:
    if date.day > 1:
        return (
            date.day == before.day + 1
            and date.month == before.month
            and date.year == before.year
        )
    if date.month > 1:
        return date.month == before.month + 1 and date.year == before.year
    return before.month == 12 and date.year == before.year + 1

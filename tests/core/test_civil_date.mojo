"""Tests for `flare.core.civil_date`."""

from flare.core import CivilDate

from tests.asserting import assert_equal, assert_false, assert_true

# The first day of the year 0, and the last one of the year 9999.
comptime _DAYS_MIN = -719_528
comptime _DAYS_MAX = 2_932_896


def test_each_day_comes_back() raises:
    var before = CivilDate.from_days(_DAYS_MIN - 1)
    for days in range(_DAYS_MIN, _DAYS_MAX + 1):
        var date = CivilDate.from_days(days)
        if (
            date.days() != days
            or not date.exists()
            or not _follows(date, before)
        ):
            raise Error("day ", days)
        before = date


def test_known_days() raises:
    assert_equal(CivilDate(1970, 1, 1).days(), 0)
    assert_equal(CivilDate(1900, 1, 1).days(), -25_567)
    assert_equal(CivilDate(2000, 2, 29).days(), 11_016)
    assert_equal(CivilDate(0, 1, 1).days(), _DAYS_MIN)
    assert_equal(CivilDate(9999, 12, 31).days(), _DAYS_MAX)


def test_dates_that_do_not_exist() raises:
    for date in [
        CivilDate(2023, 2, 29),
        CivilDate(1900, 2, 29),
        CivilDate(2024, 2, 30),
        CivilDate(2024, 4, 31),
        CivilDate(2024, 8, 32),
        CivilDate(2024, 13, 1),
        CivilDate(2024, 0, 1),
        CivilDate(2024, 1, 0),
    ]:
        assert_false(date.exists())


def test_dates_are_in_order() raises:
    assert_true(CivilDate(2023, 12, 31) < CivilDate(2024, 1, 1))
    assert_true(CivilDate(2024, 2, 30) < CivilDate(2024, 3, 1))
    assert_false(CivilDate(2024, 3, 1) < CivilDate(2024, 3, 1))
    assert_true(CivilDate(2024, 3, 1) >= CivilDate(2024, 3, 1))


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

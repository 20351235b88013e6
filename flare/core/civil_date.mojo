"""Converts between days since 1970 and dates of the Gregorian calendar."""

comptime _ERA_DAYS = 146_097
"""The days of 400 years."""


@fieldwise_init
struct CivilDate(Comparable, TrivialRegisterPassable):
    """A date of the Gregorian calendar, also before its introduction."""

    var year: Int
    """The year; 0 is the one before 1."""
    var month: Int
    """The month, 1 to 12."""
    var day: Int
    """The day of the month, from 1."""

    @staticmethod
    def from_days(days: Int) -> Self:
        """Returns the date of a day.

        Args:
            days: Days since 1970-01-01.

        Returns:
            The date.
        """
        # Years are counted from 1 March, so that a leap day ends one: 719,468
        # days lie between 0000-03-01 and 1970-01-01. Five months from March on
        # have 153 days together.
        var shifted = days + 719_468
        var era = shifted // _ERA_DAYS
        var of_era = shifted - era * _ERA_DAYS
        var year = (
            of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096
        ) // 365
        var of_year = of_era - (365 * year + year // 4 - year // 100)
        var month = (5 * of_year + 2) // 153
        var day = of_year - (153 * month + 2) // 5 + 1
        month = month + 3 if month < 10 else month - 9
        return Self(year + era * 400 + Int(month <= 2), month, day)

    def days(self) -> Int:
        """Returns the day of a date.

        Returns:
            Days since 1970-01-01.
        """
        var year = self.year - Int(self.month <= 2)
        var era = year // 400
        var of_era = year - era * 400
        var month = self.month - 3 if self.month > 2 else self.month + 9
        var of_year = (153 * month + 2) // 5 + self.day - 1
        var day = of_era * 365 + of_era // 4 - of_era // 100 + of_year
        return era * _ERA_DAYS + day - 719_468

    @always_inline
    def exists(self) -> Bool:
        """Returns whether the calendar has this date.

        Returns:
            False if the month has no such day, or the year no such month.
        """
        return 1 <= self.month <= 12 and 1 <= self.day <= self._month_days()

    def __lt__(self, other: Self) -> Bool:
        """Returns whether a date is earlier, whether it exists or not.

        Args:
            other: The other date.

        Returns:
            True if its year, month and day come first.
        """
        return self._rank() < other._rank()

    def _rank(self) -> Int:
        return (self.year * 16 + self.month) * 128 + self.day

    @always_inline
    def _month_days(self) -> Int:
        if self.month == 2:
            # A multiple of 25 is one of 400 exactly if it is one of 16.
            var is_leap = self.year % (4 if self.year % 25 != 0 else 16) == 0
            return 29 if is_leap else 28
        # 31 and 30 take turns, and start again with 31 in August.
        return 30 + (self.month + self.month // 8) % 2

"""Converts between days since 1970 and dates of the Gregorian calendar."""

comptime DAYS_MIN = -719_528
"""The first day of the year 0, the first year of SQLite."""
comptime DAYS_MAX = 2_932_896
"""The last day of the year 9999, the last year of SQLite."""
comptime _ERA_DAYS = 146_097


@fieldwise_init
struct CivilDate(Equatable, ImplicitlyCopyable):
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
        # Years are counted from 1 March, so that a leap day ends one.
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


def append_digits(mut text: String, number: Int, count: Int):
    """Appends a number with leading zeros.

    Args:
        text: The text.
        number: The number, at least 0.
        count: How many digits it gets.
    """
    var divisor = 10 ** (count - 1)
    for _ in range(count):
        text += chr(48 + number // divisor % 10)
        divisor //= 10


def read_digits(octets: Span[UInt8, _], start: Int, count: Int) -> Int:
    """Reads a number of a fixed length.

    Args:
        octets: The text.
        start: Where the number begins.
        count: How many digits it has.

    Returns:
        The number; -1 if there are other octets, or too few.
    """
    if start + count > len(octets):
        return -1
    var number = 0
    for i in range(start, start + count):
        var digit = Int(octets[i]) - 48
        if not 0 <= digit <= 9:
            return -1
        number = number * 10 + digit
    return number

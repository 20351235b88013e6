"""Defines the types of columns that neither SQLite nor Mojo has a type for.

Both are stored as texts of SQLite's own form, so that its functions and
`CURRENT_TIMESTAMP` agree with them. The texts are in the order of the times.
"""

from .calendar import (
    DAYS_MAX,
    DAYS_MIN,
    CivilDate,
    append_digits,
    read_digits,
)
from .column import Column, FromColumn
from .parameter import ToParameter, bad_parameter
from .values import ValueBlock
from flare.sys.libsqlite_statement import SqliteType

comptime _DAY_US = 86_400 * 1_000_000
comptime _DASH: UInt8 = 45
comptime _COLON: UInt8 = 58
comptime _DOT: UInt8 = 46
comptime _SPACE: UInt8 = 32
comptime _DATE_OCTETS = 10
comptime _TIME_OCTETS = 19


@fieldwise_init
struct Timestamp(Equatable, FromColumn, ImplicitlyCopyable, ToParameter):
    """A point in time: a `TEXT` as `2001-02-03 04:05:06.789000`, in UTC.

    The fraction is left out if it is 0.
    """

    var unix_us: Int
    """Microseconds since 1970-01-01 00:00 UTC."""

    @staticmethod
    def from_column(column: Column) raises -> Self:
        """Reads a time. `T` may stand for the blank, and `Z` at the end.

        Args:
            column: The value.

        Returns:
            The time.

        Raises:
            SqliteError: If the value has another type or form.
        """
        if column.type() != SqliteType.TEXT:
            raise column.mismatch("Timestamp")
        var read = _read_time(column.octets())
        if not read:
            raise column.problem("is no time as 2001-02-03 04:05:06")
        return Self(read.value())

    def add_to(self, mut parameters: ValueBlock) raises:
        """Appends the time.

        Args:
            parameters: The parameters of a statement.

        Raises:
            SqliteError: If the year is not 0 to 9999.
        """
        var days = self.unix_us // _DAY_US
        var text = _date_text(days)
        var us = self.unix_us - days * _DAY_US
        var seconds = us // 1_000_000
        us -= seconds * 1_000_000
        text += " "
        append_digits(text, seconds // 3600, 2)
        text += ":"
        append_digits(text, seconds // 60 % 60, 2)
        text += ":"
        append_digits(text, seconds % 60, 2)
        if us > 0:
            text += "."
            append_digits(text, us, 6)
        parameters.add_octets(SqliteType.TEXT, text.as_bytes())


@fieldwise_init
struct Date(Equatable, FromColumn, ImplicitlyCopyable, ToParameter):
    """A day of the calendar: a `TEXT` as `2001-02-03`."""

    var unix_days: Int
    """Days since 1970-01-01; -25,567 is 1900-01-01."""

    @staticmethod
    def from_column(column: Column) raises -> Self:
        """Reads a date.

        Args:
            column: The value.

        Returns:
            The day.

        Raises:
            SqliteError: If the value has another type or form.
        """
        if column.type() != SqliteType.TEXT:
            raise column.mismatch("Date")
        var octets = column.octets()
        var days = _read_date(octets)
        if not days or len(octets) != _DATE_OCTETS:
            raise column.problem("is no date as 2001-02-03")
        return Self(days.value())

    def add_to(self, mut parameters: ValueBlock) raises:
        """Appends the day.

        Args:
            parameters: The parameters of a statement.

        Raises:
            SqliteError: If the year is not 0 to 9999.
        """
        parameters.add_octets(
            SqliteType.TEXT, _date_text(self.unix_days).as_bytes()
        )


def _date_text(days: Int) raises -> String:
    if not DAYS_MIN <= days <= DAYS_MAX:
        raise bad_parameter("the year is not in 0 to 9999")
    var date = CivilDate.from_days(days)
    var text = String()
    append_digits(text, date.year, 4)
    text += "-"
    append_digits(text, date.month, 2)
    text += "-"
    append_digits(text, date.day, 2)
    return text^


def _read_date(octets: Span[UInt8, _]) -> Optional[Int]:
    var year = read_digits(octets, 0, 4)
    var month = read_digits(octets, 5, 2)
    var day = read_digits(octets, 8, 2)
    if year < 0 or month < 0 or day < 0:
        return None
    if octets[4] != _DASH or octets[7] != _DASH:
        return None
    var date = CivilDate(year, month, day)
    if not 1 <= month <= 12 or day < 1:
        return None
    var days = date.days()
    # A day that the month lacks comes back as one of the next month.
    if CivilDate.from_days(days) != date:
        return None
    return days


def _read_time(octets: Span[UInt8, _]) -> Optional[Int]:
    var days = _read_date(octets)
    var hours = read_digits(octets, 11, 2)
    var minutes = read_digits(octets, 14, 2)
    var seconds = read_digits(octets, 17, 2)
    if not days or hours < 0 or minutes < 0 or seconds < 0:
        return None
    if hours > 23 or minutes > 59 or seconds > 59:
        return None
    var separator = octets[_DATE_OCTETS]
    if (separator != _SPACE and separator != UInt8(84)) or (
        octets[13] != _COLON or octets[16] != _COLON
    ):
        return None
    var us = 0
    var end = len(octets)
    if octets[end - 1] == UInt8(90):
        end -= 1
    if end > _TIME_OCTETS:
        var digits = end - _TIME_OCTETS - 1
        if octets[_TIME_OCTETS] != _DOT or not 1 <= digits <= 6:
            return None
        us = read_digits(octets, _TIME_OCTETS + 1, digits)
        if us < 0:
            return None
        us *= 10 ** (6 - digits)
    return (
        days.value() * _DAY_US
        + (hours * 3600 + minutes * 60 + seconds) * 1_000_000
        + us
    )

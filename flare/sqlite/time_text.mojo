"""Writes and reads points in time as texts in the form of SQLite itself, so that
its functions and `CURRENT_TIMESTAMP` agree with them. The texts are in the order
of the times.
"""

from flare.core import CivilDate

from .digits import append_digits, read_digits

comptime DAYS_MIN = -719_528
"""The first day of the year 0, the first year of SQLite."""
comptime DAYS_MAX = 2_932_896
"""The last day of the year 9999, the last year of SQLite."""
comptime _DAY_US = 86_400 * 1_000_000
comptime _DASH: UInt8 = 45
comptime _COLON: UInt8 = 58
comptime _DOT: UInt8 = 46
comptime _SPACE: UInt8 = 32
comptime _DATE_OCTETS = 10
comptime _TIME_OCTETS = 19


def date_text(days: Int) -> Optional[String]:
    """Returns the text of a day, as `2001-02-03`.

    Args:
        days: Days since 1970-01-01.

    Returns:
        The text; `None` if the year is not 0 to 9999.
    """
    if not DAYS_MIN <= days <= DAYS_MAX:
        return None
    var date = CivilDate.from_days(days)
    var text = String()
    append_digits(text, date.year, 4)
    text += "-"
    append_digits(text, date.month, 2)
    text += "-"
    append_digits(text, date.day, 2)
    return text^


def time_text(unix_us: Int) -> Optional[String]:
    """Returns the text of a time, as `2001-02-03 04:05:06.789000`.

    Args:
        unix_us: Microseconds since 1970-01-01 00:00 UTC.

    Returns:
        The text, without a fraction of 0; `None` if the year is not 0 to 9999.
    """
    var days = unix_us // _DAY_US
    var date = date_text(days)
    if not date:
        return None
    var text = date.take()
    var us = unix_us - days * _DAY_US
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
    return text^


def read_date(octets: Span[UInt8, _]) -> Optional[Int]:
    """Reads the text of a day.

    Args:
        octets: The text.

    Returns:
        Days since 1970-01-01; `None` if it is not exactly a day.
    """
    if len(octets) != _DATE_OCTETS:
        return None
    return _date_at_start(octets)


def read_time(octets: Span[UInt8, _]) -> Optional[Int]:
    """Reads the text of a time. `T` may stand for the blank, and `Z` at the end.

    Args:
        octets: The text.

    Returns:
        Microseconds since 1970-01-01 00:00 UTC; `None` if it is no such text.
    """
    var days = _date_at_start(octets)
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


def _date_at_start(octets: Span[UInt8, _]) -> Optional[Int]:
    var year = read_digits(octets, 0, 4)
    var month = read_digits(octets, 5, 2)
    var day = read_digits(octets, 8, 2)
    if year < 0 or month < 0 or day < 0:
        return None
    if octets[4] != _DASH or octets[7] != _DASH:
        return None
    var date = CivilDate(year, month, day)
    if not date.exists():
        return None
    return date.days()

"""Parses and writes the dates of HTTP (RFC 9110 section 5.6.7).

A date is a number of seconds since 1970-01-01 00:00 UTC, without leap seconds.
No function here asks a clock: the current time is an argument.
"""

from std.builtin.globals import global_constant

from flare.core import CivilDate, SPACE, equals, find_octet

comptime HTTP_DATE_OCTETS = 29
"""The length of an IMF-fixdate."""


@fieldwise_init
struct HttpDate(Comparable, TrivialRegisterPassable, Writable):
    """A point in time with a resolution of one second."""

    comptime SECONDS_MIN = -62135596800
    """0001-01-01 00:00:00; earlier years cannot be written."""
    comptime SECONDS_MAX = 253402300799
    """9999-12-31 23:59:59, the last second with four digits of year."""

    var seconds: Int
    """Seconds since 1970-01-01 00:00:00 UTC."""

    @staticmethod
    def parse(octets: Span[UInt8, _], now_seconds: Int) -> Optional[Self]:
        """Parses any of the three formats, strictly.

        Args:
            octets: The whole field value.
            now_seconds: The current time, in seconds since 1970. It decides
                the century of a two-digit year: a date more than 50 years
                ahead counts as past.

        Returns:
            The time; `None` if the octets are not a date, or their day or time
            does not exist. The day's name must be valid, but need not match
            the date, because it has no effect.
        """
        var seconds = _parse_date(octets, now_seconds)
        if not seconds:
            return None
        return Self(seconds.unsafe_value())

    @staticmethod
    def of_civil(
        year: Int, month: Int, day: Int, second_of_day: Int
    ) -> Optional[Self]:
        """Returns the time of a calendar day.

        Args:
            year: The year, 1 to 9999.
            month: The month, 1 to 12.
            day: The day of the month, from 1.
            second_of_day: Seconds since midnight UTC, below 86400.

        Returns:
            The time; `None` if there is no such day or second.
        """
        if year < 1 or year > 9999 or month < 1 or month > 12:
            return None
        if day < 1 or day > 31 or not 0 <= second_of_day < _DAY_SECONDS:
            return None
        var seconds = _join(CivilDate(year, month, day), second_of_day)
        if not seconds:
            return None
        return Self(seconds.unsafe_value())

    @always_inline
    def __eq__(self, other: Self) -> Bool:
        """Returns whether two times are equal.

        Args:
            other: The other moment.

        Returns:
            True if they are the same second.
        """
        return self.seconds == other.seconds

    @always_inline
    def __lt__(self, other: Self) -> Bool:
        """Returns whether this time is earlier than another one.

        Args:
            other: The other moment.

        Returns:
            True if this one is earlier.
        """
        return self.seconds < other.seconds

    def octets(self) -> Array[UInt8, HTTP_DATE_OCTETS]:
        """Returns the date as it is sent.

        Returns:
            An IMF-fixdate such as `Sun, 06 Nov 1994 08:49:37 GMT`.
        """
        var date = Array[UInt8, HTTP_DATE_OCTETS](fill=SPACE)
        write_http_date(self.seconds, Span(date))
        return date^

    def write_to(self, mut writer: Some[Writer]):
        """Writes the date as an IMF-fixdate.

        Args:
            writer: The destination.
        """
        var date = self.octets()
        writer.write(StringSlice(unsafe_from_utf8=Span(date)))


def write_http_date(seconds: Int, into: Span[mut=True, UInt8, _]):
    """Writes an IMF-fixdate.

    Args:
        seconds: Seconds since 1970-01-01 00:00:00 UTC, limited to
            `HttpDate.SECONDS_MIN` and `SECONDS_MAX`.
        into: The destination of the 29 octets; if it is shorter, no octet is
            written.
    """
    if len(into) < HTTP_DATE_OCTETS:
        return
    var bounded = max(HttpDate.SECONDS_MIN, min(HttpDate.SECONDS_MAX, seconds))
    var days = bounded // _DAY_SECONDS
    var second = bounded - days * _DAY_SECONDS
    var date = CivilDate.from_days(days)
    # 1970-01-01 was a Thursday.
    _write_three(into, 0, _DAYS, 3 * ((days + 4) % 7))
    into[3] = _COMMA
    into[4] = SPACE
    _write_two(into, 5, date.day)
    into[7] = SPACE
    _write_three(into, 8, _MONTHS, 3 * (date.month - 1))
    into[11] = SPACE
    _write_two(into, 12, date.year // 100)
    _write_two(into, 14, date.year % 100)
    into[16] = SPACE
    _write_two(into, 17, second // 3600)
    into[19] = _COLON
    _write_two(into, 20, second // 60 % 60)
    into[22] = _COLON
    _write_two(into, 23, second % 60)
    into[25] = SPACE
    _write_three(into, 26, "GMT", 0)


comptime _DAY_SECONDS = 86400
comptime _DAYS: StaticString = "SunMonTueWedThuFriSat"
comptime _LONG_DAYS: Array[StaticString, 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
]
comptime _MONTHS: StaticString = "JanFebMarAprMayJunJulAugSepOctNovDec"
comptime _COMMA: UInt8 = 44
comptime _COLON: UInt8 = 58
comptime _MINUS: UInt8 = 45
comptime _ZERO: UInt8 = 48
comptime _YEARS_AHEAD_MAX = 50
# How far ahead of now a two-digit year may be meant (RFC 9110 section 5.6.7).


def _write_two(into: Span[mut=True, UInt8, _], at: Int, number: Int):
    into[at] = _ZERO + UInt8(number // 10)
    into[at + 1] = _ZERO + UInt8(number % 10)


def _write_three(
    into: Span[mut=True, UInt8, _], at: Int, text: StaticString, start: Int
):
    for i in range(3):
        into[at + i] = text.as_bytes()[start + i]


def _parse_date(octets: Span[UInt8, _], now_seconds: Int) -> Optional[Int]:
    # The octet after the day's short name distinguishes the formats.
    if len(octets) < _ASCTIME_OCTETS:
        return None
    if octets[3] == _COMMA:
        return _parse_fixdate(octets)
    if octets[3] == SPACE:
        return _parse_asctime(octets)
    return _parse_two_digit_year(octets, now_seconds)


comptime _ASCTIME_OCTETS = 24


def _parse_fixdate(octets: Span[UInt8, _]) -> Optional[Int]:
    if len(octets) != HTTP_DATE_OCTETS or not (
        octets[4] == SPACE
        and octets[7] == SPACE
        and octets[11] == SPACE
        and octets[16] == SPACE
        and _has(octets, 25, " GMT")
        and _index_of[_DAYS](octets, 0) >= 0
    ):
        return None
    var date = CivilDate(
        _number(octets, 12, 4),
        _index_of[_MONTHS](octets, 8) + 1,
        _number(octets, 5, 2),
    )
    return _join(date, _second_of_day(octets, 17))


def _parse_asctime(octets: Span[UInt8, _]) -> Optional[Int]:
    if len(octets) != _ASCTIME_OCTETS or not (
        octets[7] == SPACE
        and octets[10] == SPACE
        and octets[19] == SPACE
        and _index_of[_DAYS](octets, 0) >= 0
    ):
        return None
    var has_one_digit = octets[8] == SPACE
    var date = CivilDate(
        _number(octets, 20, 4),
        _index_of[_MONTHS](octets, 4) + 1,
        _number(octets, 9, 1) if has_one_digit else _number(octets, 8, 2),
    )
    return _join(date, _second_of_day(octets, 11))


def _parse_two_digit_year(
    octets: Span[UInt8, _], now_seconds: Int
) -> Optional[Int]:
    var comma = find_octet(octets, _COMMA)
    var rest = octets[comma:]
    if len(rest) != 24 or not (
        _is_long_day(octets[:comma])
        and rest[1] == SPACE
        and rest[4] == _MINUS
        and rest[8] == _MINUS
        and rest[11] == SPACE
        and _has(rest, 20, " GMT")
    ):
        return None
    var two_digits = _number(rest, 9, 2)
    var second = _second_of_day(rest, 12)
    if two_digits < 0 or second < 0:
        return None
    var now_day = now_seconds // _DAY_SECONDS
    var now = CivilDate.from_days(now_day)
    var year = (now.year + _YEARS_AHEAD_MAX) // 100 * 100 + two_digits
    var date = CivilDate(
        year, _index_of[_MONTHS](rest, 5) + 1, _number(rest, 2, 2)
    )
    var bound = CivilDate(now.year + _YEARS_AHEAD_MAX, now.month, now.day)
    if date > bound or (
        date == bound and second > now_seconds - now_day * _DAY_SECONDS
    ):
        date.year -= 100
    return _join(date, second)


def _join(date: CivilDate, second: Int) -> Optional[Int]:
    if second < 0 or date.year < 1 or not date.exists():
        return None
    return date.days() * _DAY_SECONDS + second


def _second_of_day(octets: Span[UInt8, _], at: Int) -> Int:
    # Gives -1 for a time that does not exist.
    var hour = _number(octets, at, 2)
    var minute = _number(octets, at + 3, 2)
    var second = _number(octets, at + 6, 2)
    if not (octets[at + 2] == _COLON and octets[at + 5] == _COLON):
        return -1
    var is_leap_second = hour == 23 and minute == 59 and second == 60
    if not (
        0 <= hour < 24
        and 0 <= minute < 60
        and (0 <= second < 60 or is_leap_second)
    ):
        return -1
    return hour * 3600 + minute * 60 + second


def _number(octets: Span[UInt8, _], at: Int, digits: Int) -> Int:
    # Gives -1 if an octet is no digit.
    var number = 0
    for b in octets[at : at + digits]:
        if b - _ZERO > 9:
            return -1
        number = number * 10 + Int(b - _ZERO)
    return number


def _index_of[names: StaticString](octets: Span[UInt8, _], at: Int) -> Int:
    # Gives which of the three-letter names stands there, or -1.
    var wanted = _three(octets, at)
    comptime for i in range(names.byte_length() // 3):
        comptime name = _three(names.as_bytes(), 3 * i)
        if wanted == name:
            return i
    return -1


def _three(octets: Span[UInt8, _], at: Int) -> UInt32:
    return (
        UInt32(octets[at])
        | UInt32(octets[at + 1]) << 8
        | UInt32(octets[at + 2]) << 16
    )


def _is_long_day(octets: Span[UInt8, _]) -> Bool:
    for i in range(7):
        ref name = global_constant[_LONG_DAYS]().unsafe_get(i)
        if equals(octets, name.as_bytes()):
            return True
    return False


def _has(octets: Span[UInt8, _], at: Int, text: StaticString) -> Bool:
    return equals(octets[at : at + text.byte_length()], text.as_bytes())

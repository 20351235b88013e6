"""Parses the dates of cookies, in any order and format.

The algorithm is that of RFC 6265 section 5.1.1, which all clients share. The
text is split into tokens. The first token that looks like a time, a day, a
month or a year is used. No function here asks a clock.
"""

from flare.core import COLON, OctetSet, find_member, lower_octet

from .date import HttpDate

comptime _MONTHS: StaticString = "janfebmaraprmayjunjulaugsepoctnovdec"
comptime _YEAR_MIN = 1601


def parse_cookie_date(octets: Span[UInt8, _]) -> Optional[HttpDate]:
    """Parses a date as in the attribute Expires.

    Args:
        octets: The value of the attribute, unchecked.

    Returns:
        The time; `None` if a part is missing or there is no such time.
    """
    var second_of_day = -1
    var day = -1
    var month = -1
    var year = -1
    var i = 0
    while True:
        i = find_member[_DELIMITERS, False](octets, i)
        if i == len(octets):
            break
        var end = find_member[_DELIMITERS](octets, i)
        var token = octets[i:end]
        i = end
        if second_of_day < 0:
            second_of_day = _time_of(token)
            if second_of_day >= 0:
                continue
        if day < 0:
            day = _number_of(token, 1, 2)
            if day >= 0:
                continue
        if month < 0:
            month = _month_of(token)
            if month >= 0:
                continue
        if year < 0:
            year = _number_of(token, 2, 4)
    if second_of_day == _NO_SUCH_TIME:
        return None
    if 70 <= year <= 99:
        year += 1900
    elif 0 <= year <= 69:
        year += 2000
    if year < _YEAR_MIN:
        return None
    # A part that was not found is below its smallest value.
    return HttpDate.of_civil(year, month, day, second_of_day)


def _delimiters() -> OctetSet:
    var set = OctetSet.of("\t")
    for b in range(128):
        if (
            (0x20 <= b <= 0x2F)
            or (0x3B <= b <= 0x40)
            or (0x5B <= b <= 0x60)
            or (0x7B <= b <= 0x7E)
        ):
            set.add(UInt8(b))
    return set


comptime _DELIMITERS = _delimiters()
# A time of this form whose hour, minute or second is out of range. The first
# token of the form decides, so the date is invalid.
comptime _NO_SUCH_TIME = 86400


def _digits_at(octets: Span[UInt8, _], start: Int) -> Int:
    var i = start
    while i < len(octets) and octets[i] - 48 < 10:
        i += 1
    return i - start


def _value_at(octets: Span[UInt8, _], start: Int, digits: Int) -> Int:
    var number = 0
    for b in octets[start : start + digits]:
        number = number * 10 + Int(b - 48)
    return number


def _number_of(token: Span[UInt8, _], least: Int, most: Int) -> Int:
    # The digits in front, unless they are too few or too many; else -1.
    var digits = _digits_at(token, 0)
    if digits < least or digits > most:
        return -1
    return _value_at(token, 0, digits)


def _time_of(token: Span[UInt8, _]) -> Int:
    # The second of the day, -1 for what is no time, or `_NO_SUCH_TIME`.
    var parts = SIMD[DType.int64, 4](0)
    var i = 0
    for part in range(3):
        if part > 0:
            if i == len(token) or token[i] != COLON:
                return -1
            i += 1
        var digits = _digits_at(token, i)
        if digits < 1 or digits > 2:
            return -1
        parts[part] = Int64(_value_at(token, i, digits))
        i += digits
    if parts[0] > 23 or parts[1] > 59 or parts[2] > 59:
        return _NO_SUCH_TIME
    return Int(parts[0] * 3600 + parts[1] * 60 + parts[2])


def _month_of(token: Span[UInt8, _]) -> Int:
    # The number of the month whose first three letters are in front, or -1.
    if len(token) < 3:
        return -1
    var names = StaticString(_MONTHS).as_bytes()
    for i in range(0, len(names), 3):
        if (
            lower_octet(token[0]) == names[i]
            and lower_octet(token[1]) == names[i + 1]
            and lower_octet(token[2]) == names[i + 2]
        ):
            return i // 3 + 1
    return -1

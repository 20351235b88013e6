"""Dates are read exactly as they are written, in each of the three formats.

Invariant: what is read from octets, written again in the format they have, is
those octets but for the name of the day and a leap second; and a date built
from a moment is read as that moment.
"""

from flare.message import HttpDate

from fuzz.harness import Histogram, run
from fuzz.random import Random, mutate

comptime _NOW = 1795255200
comptime _LONG_DAYS: List[StaticString] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
]


def fuzz_date(mut random: Random, mut histogram: Histogram) raises:
    """Feeds one date, damaged or not.

    Args:
        random: Draws and damages it.
        histogram: Counts the outcome.

    Raises:
        Error: If the invariant does not hold.
    """
    var format = random.below(3)
    var seconds = _moment(random, format)
    var octets = List[UInt8](_written(seconds, format).as_bytes())
    var is_whole = random.chance(40)
    if not is_whole and random.chance(50):
        octets = mutate(octets, random)
    elif not is_whole:
        _change_digits(octets, random)
    histogram.input(octets)
    var date = HttpDate.parse(Span(octets), _NOW)
    if not date:
        histogram.count("refused")
        if is_whole:
            raise Error("refused the date of ", seconds)
        return
    histogram.count_whole("accepted")
    var read = date.value().seconds
    if is_whole and read != seconds:
        raise Error("read ", read, " instead of ", seconds)
    var got = String(from_utf8_lossy=Span(octets))
    var is_leap = "23:59:60" in got
    var again = _written(read - Int(is_leap), _format_of(got))
    if is_leap:
        again = again.replace("23:59:59", "23:59:60")
    if _without_day(again) != _without_day(got):
        raise Error("it is written as ", again)


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the command line is wrong.
    """
    run(fuzz_date)


def _moment(mut random: Random, format: Int) -> Int:
    # A two-digit year says nothing outside of the hundred years around now.
    var low = HttpDate.SECONDS_MIN
    var high = HttpDate.SECONDS_MAX
    if format == 1:
        low = _NOW - 49 * 31556952
        high = _NOW + 50 * 31536000
    var seconds = random.between(low, high)
    if random.chance(30):
        # The first and the last second of a day.
        seconds = seconds // 86400 * 86400 - random.below(2)
    return max(seconds, low)


def _change_digits(mut octets: List[UInt8], mut random: Random):
    # The form stays right, so that only days and times can be wrong.
    for _ in range(1 + random.below(3)):
        var at = random.below(len(octets))
        if octets[at] >= 48 and octets[at] <= 57:
            octets[at] = UInt8(48 + random.below(10))


def _written(seconds: Int, format: Int) -> String:
    # `Sun, 06 Nov 1994 08:49:37 GMT` holds all that the other formats need.
    var fixdate = String(HttpDate(seconds))
    if format == 0:
        return fixdate^
    var day = fixdate[byte=5:7]
    var month = fixdate[byte=8:11]
    var time = fixdate[byte=17:25]
    if format == 1:
        var name = materialize[_LONG_DAYS]()[(seconds // 86400 + 4) % 7]
        var year = fixdate[byte=14:16]
        return String(name, ", ", day, "-", month, "-", year, " ", time, " GMT")
    var blank_day = String(day)
    if blank_day.startswith("0"):
        blank_day = String(" ", day[byte=1:2])
    var year = fixdate[byte=12:16]
    return String(
        fixdate[byte=0:3], " ", month, " ", blank_day, " ", time, " ", year
    )


def _format_of(text: String) -> Int:
    if not text.endswith(" GMT"):
        return 2
    return 1 if text.byte_length() != 29 or "-" in text else 0


def _without_day(text: String) -> String:
    # An asctime date may have a zero in the place of the blank.
    var comma = text.find(",")
    var rest = text[byte = comma + 1 if comma >= 0 else 3 :]
    if comma < 0:
        return String(rest).replace(" 0", "  ")
    return String(rest)

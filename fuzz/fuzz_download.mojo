"""Content-Range and the record of a part are read as they were written.

Invariant: Content-Range gives the numbers that a model finds, and never a range
outside of its representation. A record gives its validator for its own URL
only. None of its beginnings gives any, as a program may be killed while it
writes one.
"""

from flare.core import equals_lower
from flare.http.client.download.content_range import ContentRange
from flare.http.client.download.part_record import record_of, validator_in
from flare.message import ETag

from fuzz.harness import Histogram, run
from fuzz.random import Random, mutate

comptime _NOW = 1_800_000_000
comptime _URL = "http://a.example/x?y=1"


def fuzz_download(mut random: Random, mut histogram: Histogram) raises:
    """Feeds one Content-Range and one record.

    Args:
        random: Draws and damages them.
        histogram: Counts the outcome.

    Raises:
        Error: If the invariant does not hold.
    """
    _check_range(random, histogram)
    _check_record(random, histogram)


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the command line is wrong.
    """
    run(fuzz_download)


def _check_range(mut random: Random, mut histogram: Histogram) raises:
    var start = random.below(9)
    var text = String("bytes ", start, "-", start + random.below(4), "/")
    if random.chance(20):
        text = String("BYTES */")
    text += String(random.between(1, 14))
    if random.chance(10):
        text += String("0") * random.between(14, 20)
    var octets = List[UInt8](text.as_bytes())
    if random.chance(50):
        octets = mutate(octets, random)
    histogram.input(octets)
    var found = ContentRange.parse(Span(octets))
    var expected = _model(octets)
    if Bool(found) != (len(expected) > 0):
        raise Error("a Content-Range is refused wrongly, or taken")
    if not found:
        histogram.count("no range")
        return
    var range = found.value()
    if (
        range.start != expected[0]
        or range.end != expected[1]
        or range.size != expected[2]
    ):
        raise Error("a Content-Range gives other numbers")
    if not 0 <= range.start <= range.end <= range.size:
        raise Error("a range leads outside of its representation")
    histogram.count("a range")


def _model(octets: List[UInt8]) -> List[Int]:
    """Reads a Content-Range from its end to its front; gives start, end, size.
    """
    var text = octets.copy()
    _drop_blanks(text, 0)
    var size = _take_number(text)
    if size < 0 or not _take(text, 47):
        return []
    var first = size
    var end = size
    if not _take(text, 42):
        end = _take_number(text) + 1
        if end == 0 or not _take(text, 45):
            return []
        first = _take_number(text)
        if first < 0 or first >= end or end > size:
            return []
    _drop_blanks(text, 6)
    if not equals_lower(Span(text), "bytes ".as_bytes()):
        return []
    return [first, end, size]


def _drop_blanks(mut text: List[UInt8], least: Int):
    while len(text) > least and (
        text[len(text) - 1] == 32 or text[len(text) - 1] == 9
    ):
        _ = text.pop()


def _take(mut text: List[UInt8], octet: UInt8) -> Bool:
    if len(text) == 0 or text[len(text) - 1] != octet:
        return False
    _ = text.pop()
    return True


def _take_number(mut text: List[UInt8]) -> Int:
    var number = 0
    var weight = 1
    var count = 0
    while len(text) > 0 and text[len(text) - 1] - 48 <= 9:
        count += 1
        if count > 18:
            return -1
        number += weight * (Int(text.pop()) - 48)
        weight *= 10
    return number if count > 0 else -1


def _check_record(mut random: Random, mut histogram: Histogram) raises:
    var validator = String('"', random.below(1000), '"')
    if random.chance(20):
        validator = String(ETag.parse('"\xC3\xA9"'.as_bytes()).value())
    if random.chance(20):
        validator = "Thu, 26 Nov 2026 08:00:00 GMT"
    var record = record_of(validator, _URL)
    if validator_in(Span(record), _URL, _NOW) != validator:
        raise Error("a record is not read as it was written")
    var front = Span(record)[: random.below(len(record))]
    if validator_in(front, _URL, _NOW):
        raise Error("the beginning of a record gives a validator")
    if validator_in(Span(record), "http://a.example/x?y=2", _NOW):
        raise Error("a record gives the validator of another URL")
    var damaged = mutate(record, random)
    histogram.input(damaged)
    var found = validator_in(Span(damaged), _URL, _NOW)
    if found and record_of(found, _URL) != damaged:
        raise Error("a record gives a validator that it does not have")
    histogram.count_whole("a damaged validator" if found else "no validator")

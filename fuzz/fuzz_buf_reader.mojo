"""Octets are divided alike however they arrive and however small the buffer.

Invariant: each function of `BufReader` gives what a search over all octets at
once gives, or the same `IoError`, and never takes a limit for more than it is.
"""

from flare.core import equals
from flare.io import BufReader, IoError, MemoryReader

from fuzz.harness import Histogram, run
from fuzz.random import Random, mutate

comptime _CALLS_MAX = 40


def fuzz_buf_reader(mut random: Random, mut histogram: Histogram) raises:
    """Reads one stream to its end or to its first error.

    Args:
        random: Draws the stream, its pieces and what is read of it.
        histogram: Counts the outcome.

    Raises:
        Error: If the invariant does not hold.
    """
    var octets = _draw(random)
    if random.chance(30):
        octets = mutate(octets, random)
    histogram.input(octets)
    var reader = BufReader(
        MemoryReader(octets.copy(), piece_octets_max=random.between(1, 9)),
        buffer_octets=random.between(1, 12),
    )
    # Where the naive search goes on.
    var at = 0
    for _ in range(_CALLS_MAX):
        var problem = _line(reader, octets, at, random) if random.chance(
            60
        ) else _other(reader, octets, at, random)
        if problem:
            histogram.count(problem.value())
            return
        if at == len(octets):
            if reader.read_line(0):
                raise Error("there is more than all octets")
            histogram.count_whole("read to the end")
            return
    histogram.count("many calls")


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the command line is wrong.
    """
    run(fuzz_buf_reader)


def _draw(mut random: Random) -> List[UInt8]:
    var octets = List[UInt8]()
    for _ in range(random.below(8)):
        octets.extend(Span(random.octets_of("ab;\r", random.below(10))))
        if random.chance(10):
            octets.extend("é".as_bytes())
        if random.chance(30):
            octets.append(13)
        octets.append(UInt8(10) if random.chance(85) else UInt8(59))
    return octets^


def _limit(mut random: Random) -> Int:
    return 64 if random.chance(85) else random.below(12)


def _line(
    reader: BufReader[MemoryReader],
    octets: List[UInt8],
    mut at: Int,
    mut random: Random,
) raises -> Optional[StaticString]:
    var limit = _limit(random)
    var end = _find(octets, at, 10)
    var line = Span(octets)[at:end]
    var ended = end < len(octets)
    if ended and len(line) > 0 and line[len(line) - 1] == 13:
        line = line[0 : len(line) - 1]
    var expected = -1
    if len(line) > limit:
        expected = IoError.LINE_TOO_LONG
    elif not _is_utf8(line):
        expected = IoError.NOT_UTF8
    var found: Optional[String]
    try:
        found = reader.read_line(limit)
    except e:
        return _judge(e, expected)
    if expected >= 0:
        raise Error("a line that must be refused was read")
    if at == len(octets):
        if found:
            raise Error("there is a line behind the end")
    elif not found or not equals(found.value().as_bytes(), line):
        raise Error("the line at octet ", at, " differs")
    at = end + 1 if ended else end
    return None


def _other(
    reader: BufReader[MemoryReader],
    octets: List[UInt8],
    mut at: Int,
    mut random: Random,
) raises -> Optional[StaticString]:
    if random.chance(40):
        return _run(reader, octets, at, random)
    var count = random.below(20)
    if random.chance(50):
        var into = List[UInt8](length=count, fill=0)
        var came = reader.read(Span(into))
        if came < min(1, min(count, len(octets) - at)) or came > count:
            raise Error("read gave ", came, " of ", count, " octets")
        _compare(Span(into)[0:came], octets, at)
        at += came
        return None
    var missing = count - (len(octets) - at)
    var exact: List[UInt8]
    try:
        exact = reader.read_exactly(count)
    except e:
        if missing > 0 and IoError.of(e).value().octets != missing:
            raise Error("the count of missing octets differs: ", e)
        return _judge(e, IoError.UNEXPECTED_END if missing > 0 else -1)
    if len(exact) != count:
        raise Error("read_exactly gave ", len(exact), " of ", count)
    _compare(Span(exact), octets, at)
    at += count
    return None


def _run(
    reader: BufReader[MemoryReader],
    octets: List[UInt8],
    mut at: Int,
    mut random: Random,
) raises -> Optional[StaticString]:
    var limit = _limit(random)
    var end = _find(octets, at, 59)
    var expected = -1
    if end - at > limit:
        expected = IoError.LINE_TOO_LONG
    elif end == len(octets) and end > at:
        expected = IoError.UNEXPECTED_END
    var found: Optional[List[UInt8]]
    try:
        found = reader.read_until(59, limit)
    except e:
        return _judge(e, expected)
    if expected >= 0:
        raise Error("a run that must be refused was read")
    if at == len(octets):
        if found:
            raise Error("there is a run behind the end")
        return None
    if not found or len(found.value()) != end - at:
        raise Error("the run at octet ", at, " differs")
    _compare(Span(found.value()), octets, at)
    at = end + 1
    return None


def _judge(e: Error, expected: Int) raises -> StaticString:
    var error = IoError.of(e)
    if not error or error.value().kind != expected:
        raise Error("an error that the naive search does not have: ", e)
    if expected == IoError.LINE_TOO_LONG:
        return "too long"
    return "not UTF-8" if expected == IoError.NOT_UTF8 else "unexpected end"


def _compare(part: Span[UInt8, _], octets: List[UInt8], at: Int) raises:
    if at + len(part) > len(octets):
        raise Error("there is more than all octets")
    if not equals(part, Span(octets)[at : at + len(part)]):
        raise Error("the octets from ", at, " on differ")


def _find(octets: List[UInt8], start: Int, wanted: UInt8) -> Int:
    for i in range(start, len(octets)):
        if octets[i] == wanted:
            return i
    return len(octets)


def _is_utf8(octets: Span[UInt8, _]) -> Bool:
    try:
        _ = StringSlice(from_utf8=octets)
        return True
    except:
        return False

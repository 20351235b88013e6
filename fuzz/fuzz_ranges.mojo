"""Ranges are selected as by a reader who works on texts and joins pairs.

Invariant: any value of Range selects the ranges that a model selects, which
reads the grammar from whole texts and joins two ranges until no two are near.
The ranges lie within the representation and apart from each other, and their
parts, assembled, are the announced octets.
"""

from flare.core import Buffer
from flare.http.range_parts import RangeParts
from flare.http.ranges import (
    GAP_OCTETS_MIN,
    RANGES_MAX,
    ByteRanges,
    RangeKind,
)

from fuzz.harness import Histogram, run
from fuzz.random import Random, mutate

comptime _MOST: StaticString = "9223372036854775807"
comptime _ASSEMBLED_MAX = 4096
comptime _BOUNDARY: StaticString = "a-boundary"
comptime _TYPE: StaticString = "text/plain"


def fuzz_ranges(mut random: Random, mut histogram: Histogram) raises:
    """Selects ranges once, from an intact or a damaged value.

    Args:
        random: Draws the value and the length of the representation.
        histogram: Counts the outcome.

    Raises:
        Error: If the invariant does not hold.
    """
    var size = _size(random)
    var octets = List[UInt8](_value(random, size).as_bytes())
    if random.chance(25):
        octets = mutate(Span(octets), random)
    histogram.input(Span(octets))
    var model = Model(Span(octets), size)
    var ranges = ByteRanges.of(Span(octets), size)
    var got = String("whole")
    if ranges.kind == RangeKind.UNSATISFIABLE:
        got = "unsatisfiable"
    elif ranges.kind == RangeKind.PARTIAL:
        got = "partial"
    if got != model.kind:
        raise Error("of ", size, " octets: ", got, " and not ", model.kind)
    if len(ranges) != len(model.firsts):
        raise Error(len(ranges), " ranges and not ", len(model.firsts))
    for i in range(len(ranges)):
        if (
            ranges[i].start != model.firsts[i]
            or ranges[i].end() - 1 != model.lasts[i]
        ):
            raise Error(
                "range ",
                i,
                " begins at ",
                ranges[i].start,
                " and ends at ",
                ranges[i].end(),
                ", not ",
                model.firsts[i],
                " and ",
                model.lasts[i] + 1,
            )
        if ranges[i].octets < 1 or ranges[i].end() > size:
            raise Error("range ", i, " is not within ", size, " octets")
        for k in range(i):
            if (
                ranges[i].start - ranges[k].end() < GAP_OCTETS_MIN
                and ranges[k].start - ranges[i].end() < GAP_OCTETS_MIN
            ):
                raise Error("ranges ", k, " and ", i, " are near")
    if len(ranges) > 0:
        _check_parts(ranges, size)
    if model.is_well_formed:
        histogram.count_whole(String(got, " ", min(len(ranges), 3)))
    else:
        histogram.count("malformed")


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the command line is wrong.
    """
    run(fuzz_ranges)


struct Model(Movable):
    """Reads a value of Range as a text."""

    var kind: String
    """`whole`, `partial` or `unsatisfiable`."""
    var firsts: List[Int]
    """The first octet of each range to send."""
    var lasts: List[Int]
    """The last octet of each."""
    var is_well_formed: Bool
    """Whether the value has the form of the grammar."""

    def __init__(out self, octets: Span[UInt8, _], size: Int) raises:
        """Reads a value.

        Args:
            octets: The value.
            size: The length of the representation.

        Raises:
            Error: If a number cannot be read.
        """
        self.kind = "whole"
        self.firsts = []
        self.lasts = []
        self.is_well_formed = False
        var text = String()
        for octet in octets:
            # Octets beyond ASCII have no place in the grammar.
            text += chr(Int(octet)) if octet < 128 else "?"
        if not text.lower().startswith("bytes="):
            return
        var specs = List[String]()
        for part in String(text[byte=6:]).split(","):
            var spec = _trimmed(String(part))
            if spec != "":
                specs.append(spec)
        var sum = 0
        for spec in specs:
            if not self._read(spec, size, sum):
                self.firsts.clear()
                self.lasts.clear()
                return
        self.is_well_formed = len(specs) > 0
        if len(specs) == 0 or len(specs) > RANGES_MAX or size == 0:
            self.firsts.clear()
            self.lasts.clear()
        elif len(self.firsts) == 0:
            self.kind = "unsatisfiable"
        elif len(self.firsts) > 1 and (sum >= size or self._crowd() > 2):
            self.firsts.clear()
            self.lasts.clear()
        else:
            self.kind = "partial"
            while self._join():
                pass

    def _read(mut self, spec: String, size: Int, mut sum: Int) raises -> Bool:
        var sides = spec.split("-")
        if len(sides) != 2:
            return False
        var left = String(sides[0])
        var right = String(sides[1])
        if not _is_number(left) or not _is_number(right):
            return False
        if left == "" and right == "":
            return False
        var first: Int
        var last = size - 1
        if left == "":
            first = max(size - _number(right), 0)
        elif right == "":
            first = _number(left)
        else:
            first = _number(left)
            last = min(_number(right), last)
            if _number(left) > _number(right):
                return False
        if first < size and first <= last:
            self.firsts.append(first)
            self.lasts.append(last)
            # The sum of many may not fit.
            var count = last - first + 1
            sum = Int.MAX if sum > Int.MAX - count else sum + count
        return True

    def _crowd(self) -> Int:
        var crowd = 0
        for i in range(len(self.firsts)):
            var others = 0
            for k in range(len(self.firsts)):
                var first = max(self.firsts[i], self.firsts[k])
                if k != i and first <= min(self.lasts[i], self.lasts[k]):
                    others += 1
            crowd += 1 if others > 0 else 0
        return crowd

    def _join(mut self) -> Bool:
        # Joins the first two that are near.
        for i in range(len(self.firsts)):
            for k in range(i + 1, len(self.firsts)):
                var gap = (
                    max(
                        self.firsts[k] - self.lasts[i],
                        self.firsts[i] - self.lasts[k],
                    )
                    - 1
                )
                if gap < 80:
                    self.firsts[i] = min(self.firsts[i], self.firsts[k])
                    self.lasts[i] = max(self.lasts[i], self.lasts[k])
                    _ = self.firsts.pop(k)
                    _ = self.lasts.pop(k)
                    return True
        return False


def _size(mut random: Random) -> Int:
    var kind = random.below(10)
    if kind == 0:
        return random.below(3)
    if kind == 1:
        return random.between(1 << 32, 1 << 40)
    if kind == 2:
        return Int.MAX - random.below(3)
    return random.between(1, 2000)


def _value(mut random: Random, size: Int) -> String:
    var text = String(
        random.pick[StaticString](["Bytes=", "items=", "bytes ", "bytes = "])
    ) if random.chance(6) else String("bytes=")
    var count = random.between(1, 5)
    if random.chance(4):
        count = random.between(14, 19)
    var near = random.below(min(size, 1000) + 1)
    for i in range(count):
        if i > 0:
            text += random.pick[StaticString]([",", ", ", " ,\t", ",,"])
        var first = near + random.between(-3, 3)
        if random.chance(25):
            first = random.below(min(size, 2000) + 2)
        first = max(first, 0)
        var last = first + random.below(30)
        var kind = random.below(20)
        if kind == 0:
            text += String(first, "-")
        elif kind == 1:
            text += String("-", random.below(40))
        elif kind == 2:
            text += _odd(random)
        elif kind == 3:
            text += String(first, "-", _huge(random))
        elif kind == 4:
            text += String("000", first, "-", "00000000000000000000", last)
        else:
            text += String(first, "-", last)
        # The next one lies about a head further.
        near = last + random.pick([1, 0, -20, 78, 80, 81, 82, 84, 200])
        near = max(near, 0)
    return text^


def _odd(mut random: Random) -> String:
    var huge = _huge(random)
    return random.pick[String](
        [
            "-",
            "--5",
            "5--7",
            "5-7-9",
            "+5-7",
            "5 -7",
            "a-b",
            "9-3",
            "-0",
            "5",
            String(huge, "-"),
            String("-", huge),
            String(huge, "-", _huge(random)),
            "0x1-2",
            "99999999999999999999-",
        ]
    )


def _huge(mut random: Random) -> String:
    return random.pick[String](
        [
            String(_MOST),
            "9223372036854775806",
            "9223372036854775808",
            "18446744073709551616",
            "18446744073709551617",
            "4294967296",
            "99999999999999999999999999999999999999",
            "00000000000000000000000000000000000007",
        ]
    )


def _trimmed(text: String) -> String:
    var octets = text.as_bytes()
    var start = 0
    var end = len(octets)
    while start < end and (octets[start] == 32 or octets[start] == 9):
        start += 1
    while start < end and (octets[end - 1] == 32 or octets[end - 1] == 9):
        end -= 1
    return String(StringSlice(unsafe_from_utf8=octets[start:end]))


def _is_number(text: String) -> Bool:
    for octet in text.as_bytes():
        if octet < 48 or octet > 57:
            return False
    return True


def _number(text: String) raises -> Int:
    var octets = text.as_bytes()
    var start = 0
    while start < len(octets) - 1 and octets[start] == 48:
        start += 1
    var digits = String(StringSlice(unsafe_from_utf8=octets[start:]))
    var count = digits.byte_length()
    if count > 19 or (count == 19 and digits > _MOST):
        return Int.MAX
    return Int(digits)


def _check_parts(ranges: ByteRanges, size: Int) raises:
    var parts = RangeParts(
        ranges.copy(), size, boundary=_BOUNDARY, part_type=_TYPE
    )
    var sum = 0
    for i in range(len(ranges)):
        sum += min(ranges[i].octets, 1 << 40)
    if sum > _ASSEMBLED_MAX:
        return
    var output = Buffer()
    var expected = String()
    for i in range(len(ranges)):
        var content = String("x") * ranges[i].octets
        var before = len(output)
        parts.append_head(i, output)
        if len(output) - before != parts.head_octets(i):
            raise Error("the head of part ", i, " has another length")
        output.append(content.as_bytes())
        expected += String(
            "--",
            _BOUNDARY,
            "\r\nContent-Type: ",
            _TYPE,
            "\r\nContent-Range: bytes ",
            ranges[i].start,
            "-",
            ranges[i].start + ranges[i].octets - 1,
            "/",
            size,
            "\r\n\r\n",
            content,
            "\r\n",
        )
    parts.append_end(output)
    expected += String("--", _BOUNDARY, "--\r\n")
    if StringSlice(unsafe_from_utf8=output.span()) != expected:
        raise Error("the parts are not as expected")
    if len(output) != parts.content_length():
        raise Error("announced ", parts.content_length(), " octets")

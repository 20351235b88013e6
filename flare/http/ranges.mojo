"""Selects the ranges of a representation that a request asks for (RFC 9110
section 14).

A request may ask for many ranges, which may overlap. The answer must not grow
beyond the representation because of that: the rules are in `ByteRanges`.
"""

from flare.core import Buffer, equals_lower, find_octet
from flare.message import FieldName, FieldSection, Method, Status
from flare.message.list_grammar import COMMA, trim_blanks
from flare.sys.clock import unix_seconds

from .builders import error_response
from .conditions import Validators, range_applies
from .request import Request
from .response import Response

comptime RANGES_MAX = 16
"""How many ranges a request may ask for. If it asks for more, the answer is the
whole representation.
"""
comptime GAP_OCTETS_MIN = 80
"""The shortest gap between two ranges that are sent apart. A shorter one costs
less than the head of another part.
"""
comptime _OVERLAPPING_MAX = 2
comptime _UNIT: StaticString = "bytes"
comptime _EQUALS_SIGN: UInt8 = 61
comptime _MINUS: UInt8 = 45
comptime _ZERO: UInt8 = 48
comptime _ABSENT = -1


@fieldwise_init
struct ByteRange(Equatable, TrivialRegisterPassable):
    """A range of octets of a representation."""

    var start: Int
    """The first octet, from 0."""
    var octets: Int
    """The number of octets, at least 1."""

    @always_inline
    def end(self) -> Int:
        """Returns the position after the last octet.

        Returns:
            The position.
        """
        return self.start + self.octets

    def __eq__(self, other: Self) -> Bool:
        """Returns whether two ranges are equal.

        Args:
            other: The other range.

        Returns:
            True if they have the same octets.
        """
        return self.start == other.start and self.octets == other.octets


@fieldwise_init
struct RangeKind(Equatable, TrivialRegisterPassable):
    """The kinds of answers to a request for ranges."""

    comptime WHOLE = Self(0)
    """200 with the whole representation."""
    comptime PARTIAL = Self(1)
    """206 with one range, or with several as `multipart/byteranges`."""
    comptime UNSATISFIABLE = Self(2)
    """416: no range begins within the representation."""

    var _value: UInt8

    def __eq__(self, other: Self) -> Bool:
        """Returns whether two kinds are equal.

        Args:
            other: The other kind.

        Returns:
            True if both are equal.
        """
        return self._value == other._value


struct ByteRanges(Copyable, Movable, Sized):
    """The ranges to send.

    - Malformed ranges, an unknown unit and more than `RANGES_MAX` ranges are
      ignored: the whole representation is sent.
    - Ranges that begin after the end are left out. If none is left, the answer
      is 416. For an empty representation it is the whole one.
    - If more than two ranges overlap others, or if several have as many octets
      as the representation or more, the whole representation is sent.
    - Other ranges that overlap, or are less than `GAP_OCTETS_MIN` apart, are
      merged. Each takes the place of the first of its ranges.
    """

    var kind: RangeKind
    """The kind of the answer."""
    var _count: Int
    var _ranges: Array[ByteRange, RANGES_MAX]

    def __init__(out self):
        """Creates the selection of the whole representation."""
        self.kind = RangeKind.WHOLE
        self._count = 0
        self._ranges = Array[ByteRange, RANGES_MAX](fill=ByteRange(0, 0))

    @staticmethod
    def of(value: Span[UInt8, _], size: Int) -> Self:
        """Selects the ranges of the value of a Range field.

        Args:
            value: The value, unchecked.
            size: The length of the representation.

        Returns:
            The ranges.
        """
        var whole = Self()
        var asked = Self()
        var set_start = _start_of_set(value)
        if set_start < 0 or size <= 0:
            return whole^
        var specs = 0
        # How many octets the ranges may still have together.
        var left = size
        var start = set_start
        while start < len(value):
            var end = find_octet(value, COMMA, start)
            var text = trim_blanks(value[start:end])
            start = end + 1
            # A list may have empty members (RFC 9110 section 5.6.1.2).
            if len(text) == 0:
                continue
            var spec = _RangeSpec.parse(text)
            specs += 1
            if not spec or specs > RANGES_MAX:
                return whole^
            var found = spec.unsafe_value().within(size)
            if found:
                asked._append(found.unsafe_value())
                left = max(left - found.unsafe_value().octets, 0)
        if asked._count == 0:
            if specs > 0:
                whole.kind = RangeKind.UNSATISFIABLE
            return whole^
        if asked._count > 1 and (
            left == 0 or asked._overlapping() > _OVERLAPPING_MAX
        ):
            return whole^
        return asked._merged()

    def __len__(self) -> Int:
        """Returns the number of ranges to send.

        Returns:
            The number; 0 unless the kind is `PARTIAL`.
        """
        return self._count

    def __getitem__(self, index: Int) -> ByteRange:
        """Returns one range.

        Args:
            index: The place of the range, from 0.

        Returns:
            The range.
        """
        debug_assert(0 <= index < self._count, "no range ", index)
        return self._ranges[index]

    def _append(mut self, found: ByteRange):
        self._ranges[self._count] = found
        self._count += 1

    def _overlapping(self) -> Int:
        # How many ranges have an octet in common with another one.
        var found = 0
        for i in range(self._count):
            for k in range(self._count):
                if (
                    i != k
                    and self[i].start < self[k].end()
                    and self[k].start < self[i].end()
                ):
                    found += 1
                    break
        return found

    def _merged(self) -> Self:
        var merged = Self()
        merged.kind = RangeKind.PARTIAL
        for i in range(self._count):
            merged._merge(self[i])
        return merged^

    def _merge(mut self, added: ByteRange):
        # The ranges so far are apart from each other. The new one may join
        # several of them, at the place of the first.
        var union = added
        var place = self._count
        var kept = 0
        for i in range(self._count):
            var present = self._ranges[i]
            if not _are_near(present, union):
                self._ranges[kept] = present
                kept += 1
                continue
            union = _union(present, union)
            if place == self._count:
                place = kept
                kept += 1
        if place == self._count:
            self._append(union)
            return
        self._ranges[place] = union
        self._count = kept


def requested_ranges(
    req: Request, validators: Validators, size: Int
) -> ByteRanges:
    """Returns the ranges that a request asks for.

    Call it after the other conditions: see `unchanged` and
    `precondition_fails`.

    Args:
        req: The request.
        validators: The tag or the date of the representation, or both.
        size: The length of the representation.

    Returns:
        The ranges; the whole representation unless it is a GET with one Range,
        which If-Range does not forbid.
    """
    if req.unsafe_exchange()[].head.known & FieldName.bit(FieldName.RANGE) == 0:
        return ByteRanges()
    return select_ranges(
        req.method, req.headers, validators, size, unix_seconds()
    )


def select_ranges(
    method: Method,
    fields: FieldSection,
    validators: Validators,
    size: Int,
    now_seconds: Int,
) -> ByteRanges:
    """Returns the ranges that a request asks for, without asking a clock.

    Call it after the other conditions (`evaluate_conditions`) have passed.

    Args:
        method: The method; only GET has ranges (RFC 9110 section 14.2).
        fields: The header section of the request.
        validators: Those of the representation that was selected.
        size: The length of the representation.
        now_seconds: The current time, in seconds since 1970, for two-digit
            years in If-Range.

    Returns:
        The ranges; the whole representation without Range, with two of them,
        or if If-Range is about another representation.
    """
    var line = fields.find("Range")
    if (
        line == len(fields)
        or method != Method.GET
        or fields.find("Range", line + 1) < len(fields)
        or not range_applies(fields, validators, now_seconds)
    ):
        return ByteRanges()
    return ByteRanges.of(fields.value(line).as_bytes(), size)


def append_content_range(mut output: Buffer, part: ByteRange, size: Int):
    """Writes the value of Content-Range for one range (RFC 9110 section 14.4).

    Args:
        output: Grows by `bytes 0-99/1000` or similar.
        part: The range.
        size: The length of the representation.
    """
    output.append("bytes ")
    output.append_decimal(part.start)
    output.append("-")
    output.append_decimal(part.end() - 1)
    output.append("/")
    output.append_decimal(size)


def content_range(part: ByteRange, size: Int) -> String:
    """Returns the value of Content-Range for one range.

    Args:
        part: The range.
        size: The length of the representation.

    Returns:
        A text such as `bytes 0-99/1000`.
    """
    var output = Buffer()
    append_content_range(output, part, size)
    return String(unsafe_from_utf8=output.span())


def range_not_satisfiable(size: Int) raises -> Response:
    """Returns a 416 response with the length of the representation.

    Args:
        size: The length.

    Returns:
        The response.

    Raises:
        Error: Never.
    """
    var response = error_response(Status.RANGE_NOT_SATISFIABLE)
    response.headers.set("Content-Range", String("bytes */", size))
    return response^


@fieldwise_init
struct _RangeSpec(TrivialRegisterPassable):
    # As written: `first-last`, `first-`, or `-suffix`, whose length is in
    # `last`.
    var first: Int
    var last: Int

    @staticmethod
    def parse(octets: Span[UInt8, _]) -> Optional[Self]:
        var minus = find_octet(octets, _MINUS)
        if minus == len(octets):
            return None
        var first = _position(octets[:minus])
        var last = _position(octets[minus + 1 :])
        if not first or not last:
            return None
        var spec = Self(first.unsafe_value(), last.unsafe_value())
        if spec.last == _ABSENT:
            return None if spec.first == _ABSENT else Optional(spec)
        if spec.first > spec.last:
            return None
        return spec

    def within(self, size: Int) -> Optional[ByteRange]:
        if self.first == _ABSENT:
            var octets = min(self.last, size)
            if octets == 0:
                return None
            return ByteRange(size - octets, octets)
        if self.first >= size:
            return None
        var last = size - 1
        if self.last != _ABSENT:
            last = min(self.last, last)
        return ByteRange(self.first, last - self.first + 1)


def _start_of_set(value: Span[UInt8, _]) -> Int:
    # Returns -1 unless the unit is that of octets.
    var count = _UNIT.byte_length()
    if (
        len(value) <= count
        or value.unsafe_get(count) != _EQUALS_SIGN
        or not equals_lower(value[:count], _UNIT.as_bytes())
    ):
        return -1
    return count + 1


def _position(digits: Span[UInt8, _]) -> Optional[Int]:
    # A number that does not fit is read as the largest: it lies after the end
    # of any representation (RFC 9110 section 14.1.1).
    if len(digits) == 0:
        return _ABSENT
    var number = 0
    for octet in digits:
        var digit = Int(octet - _ZERO)
        if digit > 9:
            return None
        if number > (Int.MAX - digit) // 10:
            number = Int.MAX
        else:
            number = number * 10 + digit
    return number


@always_inline
def _are_near(a: ByteRange, b: ByteRange) -> Bool:
    return (
        b.start - a.end() < GAP_OCTETS_MIN
        and a.start - b.end() < GAP_OCTETS_MIN
    )


def _union(a: ByteRange, b: ByteRange) -> ByteRange:
    var start = min(a.start, b.start)
    return ByteRange(start, max(a.end(), b.end()) - start)

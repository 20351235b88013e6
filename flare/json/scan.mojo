"""Scans strings, numbers and white space in a padded copy of a text.

The memory of every text ends with `PADDING_OCTETS` zeros. JSON allows a zero
nowhere, so scanners need no check for the end, and a vector may be loaded at
each octet of the text.

Safety: each pointer points into such memory, at or before the first zero of
the padding.
"""

from std.bit import count_trailing_zeros
from std.memory import pack_bits
from std.sys.info import simd_byte_width

from flare.core import OctetPointer

from .escape import unescape_string
from .problem import (
    LEADING_ZERO,
    NONE,
    NO_DIGIT,
    NO_VALUE,
    Problem,
)

comptime PADDING_OCTETS = 64
"""The number of zeros after each text."""
comptime LANES = 64 if simd_byte_width() >= 64 else 32
"""How many octets are examined in one step."""

comptime QUOTE: UInt8 = 34
"""Starts and ends a string."""
comptime BACKSLASH: UInt8 = 92
"""Starts an escape."""


@fieldwise_init
struct ScannedString(TrivialRegisterPassable):
    """The content of a scanned string, and the place after it."""

    var content: OctetPointer
    """The first octet of the content."""
    var octets: Int
    """The length of the content; of the decoded content if decoding was asked
    for.
    """
    var next: OctetPointer
    """After the closing quote, or at the error."""
    var problem: Problem
    """The error, or `NONE`."""


@fieldwise_init
struct ScannedNumber(TrivialRegisterPassable):
    """A scanned number, without its fraction and exponent."""

    var next: OctetPointer
    """After the number, or at the error."""
    var integer: Int
    """The value, if `is_int`."""
    var is_int: Bool
    """Whether the number is an `Int`. Otherwise its text holds the value."""
    var problem: Problem
    """The error, or `NONE`."""


@always_inline
def skip_white(start: OctetPointer) -> OctetPointer:
    """Skips white space.

    Args:
        start: The first octet.

    Returns:
        The first octet that is not white space.
    """
    if start[] > 32:
        return start
    return _skip_white_run(start)


@no_inline
def _skip_white_run(start: OctetPointer) -> OctetPointer:
    var at = start
    if at[] == 32 and at[unsafe_offset=1] > 32:
        return at.unsafe_offset(1)
    while True:
        var x = at.unsafe_load[width=LANES]()
        var other = pack_bits(x.ne(32) & x.ne(10) & x.ne(13) & x.ne(9))
        if other != 0:
            return at.unsafe_offset(Int(count_trailing_zeros(other)))
        at = at.unsafe_offset(LANES)


@fieldwise_init
struct PlainRun(TrivialRegisterPassable):
    """The plain octets at the start of a string."""

    var end: OctetPointer
    """The first quote, backslash or control octet."""
    var is_ascii: Bool
    """Whether all octets before the end are ASCII."""


@always_inline
def scan_plain(start: OctetPointer) -> PlainRun:
    """Skips octets of a string that need no decoding.

    Args:
        start: The first octet.

    Returns:
        The end of the run.
    """
    var at = start
    var seen = SIMD[DType.uint8, LANES](0)
    while True:
        var x = at.unsafe_load[width=LANES]()
        var hits = pack_bits(x.eq(QUOTE) | x.eq(BACKSLASH) | x.lt(32))
        if hits != 0:
            # Only the octets in front of the hit belong to the string.
            var front = (hits & (~hits + 1)) - 1
            var high = pack_bits(x.ge(128)) & front
            return PlainRun(
                at.unsafe_offset(Int(count_trailing_zeros(hits))),
                high == 0 and seen.lt(128).reduce_and(),
            )
        seen |= x
        at = at.unsafe_offset(LANES)


@always_inline
def scan_string[*, decode: Bool](start: OctetPointer) -> ScannedString:
    """Scans a string to its closing quote.

    Parameters:
        decode: Whether to decode escapes in place. Otherwise the text stays as
            it is, and only the length of a string without escapes is right.

    Args:
        start: After the opening quote.

    Returns:
        The content.
    """
    var run = scan_plain(start)
    if run.is_ascii and run.end[] == QUOTE:
        var octets = Int(run.end) - Int(start)
        return ScannedString(start, octets, run.end.unsafe_offset(1), NONE)
    return unescape_string[decode=decode](start, run)


@always_inline
def scan_number(start: OctetPointer) -> ScannedNumber:
    """Scans a number up to the first octet that cannot belong to it.

    Args:
        start: A minus sign or a digit.

    Returns:
        The number.
    """
    var at = start
    var is_negative = at[] == UInt8(ord("-"))
    if is_negative:
        at = at.unsafe_offset(1)
    var first = at
    var digit = at[] - 48
    if digit > 9:
        return ScannedNumber(
            at, 0, False, NO_DIGIT if is_negative else NO_VALUE
        )
    var magnitude = UInt64(0)
    while digit <= 9:
        magnitude = magnitude * 10 + UInt64(digit)
        at = at.unsafe_offset(1)
        digit = at[] - 48
    var digits = Int(at) - Int(first)
    if first[] == 48 and digits > 1:
        return ScannedNumber(first.unsafe_offset(1), 0, False, LEADING_ZERO)
    if digit == UInt8(ord(".") - 48 & 255) or (at[] | 32) == UInt8(ord("e")):
        return _scan_fraction(at)
    # Nineteen digits do not overflow 64 bits, though perhaps 63.
    var bound = UInt64(Int.MAX) + UInt64(1 if is_negative else 0)
    if digits > 19 or magnitude > bound or (is_negative and magnitude == 0):
        return ScannedNumber(at, 0, False, NONE)
    var integer = Int(~magnitude + 1) if is_negative else Int(magnitude)
    return ScannedNumber(at, integer, True, NONE)


@always_inline
def _scan_fraction(start: OctetPointer) -> ScannedNumber:
    var at = start
    if at[] == UInt8(ord(".")):
        at = at.unsafe_offset(1)
        if at[] - 48 > 9:
            return ScannedNumber(at, 0, False, NO_DIGIT)
        while at[] - 48 <= 9:
            at = at.unsafe_offset(1)
    if (at[] | 32) == UInt8(ord("e")):
        at = at.unsafe_offset(1)
        if at[] == UInt8(ord("+")) or at[] == UInt8(ord("-")):
            at = at.unsafe_offset(1)
        if at[] - 48 > 9:
            return ScannedNumber(at, 0, False, NO_DIGIT)
        while at[] - 48 <= 9:
            at = at.unsafe_offset(1)
    return ScannedNumber(at, 0, False, NONE)


@always_inline
def starts_with[word: StaticString](at: OctetPointer) -> Bool:
    """Returns whether a word comes next.

    Parameters:
        word: The word.

    Args:
        at: The place to look at.

    Returns:
        True if the text continues with the word.
    """
    comptime for i in range(word.byte_length()):
        comptime octet = word.as_bytes()[i]
        if at[unsafe_offset=i] != octet:
            return False
    return True

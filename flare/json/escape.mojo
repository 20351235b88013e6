"""Decodes the escapes of strings in place (RFC 8259 section 7).

An escape is never shorter than the text it encodes, so the decoded string
never overwrites octets that were not read yet.
"""

from flare.core import OctetPointer

from .problem import (
    BAD_ESCAPE,
    CONTROL_OCTET,
    LONE_SURROGATE,
    NONE,
    NOT_UTF8,
    Problem,
)
from .scan import BACKSLASH, PlainRun, QUOTE, ScannedString, scan_plain
from .utf8 import find_malformed

comptime _LANES = 16
comptime _BAD_UNIT = 0x10000


@no_inline
def unescape_string[
    *, decode: Bool
](start: OctetPointer, first: PlainRun) -> ScannedString:
    """Scans a string that has escapes or is not ASCII.

    Parameters:
        decode: Whether to decode the string; if False, only checks it.

    Args:
        start: The first octet of the content.
        first: The run of plain octets at `start`.

    Returns:
        The content.

    Safety:
        Both point into a padded text, as `scan` demands.
    """
    var at = start
    var target = start
    var run = first
    while True:
        var octets = Int(run.end) - Int(at)
        if not run.is_ascii:
            var malformed = find_malformed(Span(unsafe_ptr=at, length=octets))
            if malformed < octets:
                return ScannedString(
                    start, 0, at.unsafe_offset(malformed), NOT_UTF8
                )
        comptime if decode:
            if target != at:
                _move_down(target, at, octets)
        target = target.unsafe_offset(octets)
        at = run.end
        # Most escapes stand alone; some follow each other.
        while at[] == BACKSLASH:
            var written = 0
            var problem = _unescape[decode=decode](at, target, written)
            if problem != NONE:
                return ScannedString(start, 0, at, problem)
            target = target.unsafe_offset(written)
        if at[] == QUOTE:
            var length = Int(target) - Int(start)
            return ScannedString(start, length, at.unsafe_offset(1), NONE)
        if at[] < 32:
            return ScannedString(start, 0, at, CONTROL_OCTET)
        run = scan_plain(at)


@always_inline
def _move_down(target: OctetPointer, source: OctetPointer, octets: Int):
    # Each vector is loaded before it is stored, and the target lies in front
    # of the source. A last vector would reach over what has not been read.
    var i = 0
    while i + _LANES <= octets:
        target.unsafe_store(i, source.unsafe_load[width=_LANES](i))
        i += _LANES
    while i < octets:
        target[unsafe_offset=i] = source[unsafe_offset=i]
        i += 1


@always_inline
def _unescape[
    *, decode: Bool
](mut at: OctetPointer, target: OctetPointer, mut written: Int) -> Problem:
    # `at` moves past a valid escape, and stays at the backslash of another
    # one.
    var letter = at[unsafe_offset=1]
    if letter == UInt8(ord("u")):
        return _unescape_unit[decode=decode](at, target, written)
    var octet: UInt8
    if letter == QUOTE or letter == BACKSLASH or letter == UInt8(ord("/")):
        octet = letter
    elif letter == UInt8(ord("n")):
        octet = 10
    elif letter == UInt8(ord("t")):
        octet = 9
    elif letter == UInt8(ord("r")):
        octet = 13
    elif letter == UInt8(ord("b")):
        octet = 8
    elif letter == UInt8(ord("f")):
        octet = 12
    else:
        return BAD_ESCAPE
    comptime if decode:
        target[] = octet
    written = 1
    at = at.unsafe_offset(2)
    return NONE


def _unescape_unit[
    *, decode: Bool
](mut at: OctetPointer, target: OctetPointer, mut written: Int) -> Problem:
    var code = _unit(at.unsafe_offset(2))
    if code == _BAD_UNIT:
        return BAD_ESCAPE
    if code & 0xFC00 == 0xDC00:
        return LONE_SURROGATE
    var octets_read = 6
    if code & 0xFC00 == 0xD800:
        # RFC 8259 section 8.2 leaves a lone half to the reader; it has no
        # form in UTF-8.
        if at[unsafe_offset=6] != BACKSLASH or at[unsafe_offset=7] != UInt8(
            ord("u")
        ):
            return LONE_SURROGATE
        var low = _unit(at.unsafe_offset(8))
        if low == _BAD_UNIT or low & 0xFC00 != 0xDC00:
            return LONE_SURROGATE
        code = 0x10000 + ((code & 0x3FF) << 10) + (low & 0x3FF)
        octets_read = 12
    written = _encode[decode=decode](code, target)
    at = at.unsafe_offset(octets_read)
    return NONE


@always_inline
def _unit(digits: OctetPointer) -> Int:
    # The padding stops at the first octet that is no digit.
    var value = 0
    comptime for i in range(4):
        var octet = digits[unsafe_offset=i]
        var digit = Int(octet) - 48
        if digit < 0 or digit > 9:
            digit = Int(octet | 32) - 87
            if digit < 10 or digit > 15:
                return _BAD_UNIT
        value = value * 16 + digit
    return value


@always_inline
def _encode[*, decode: Bool](code: Int, target: OctetPointer) -> Int:
    var octets = 1 if code < 0x80 else (
        2 if code < 0x800 else (3 if code < 0x10000 else 4)
    )
    comptime if decode:
        if octets == 1:
            target[] = UInt8(code)
            return 1
        var rest = code
        for i in range(octets - 1, 0, -1):
            target[unsafe_offset=i] = UInt8(0x80 | (rest & 0x3F))
            rest >>= 6
        # The count of leading ones is the length.
        target[] = UInt8(((0xF00 >> octets) & 0xFF) | rest)
    return octets

"""Appends a peer's octets to a line of the access log.

They can neither end the line nor a part of it, nor control a terminal.
"""

from flare.core.text_buffer import TextBuffer
from flare.json.utf8 import sequence_octets

comptime _QUOTE = UInt8(ord('"'))
comptime _BACKSLASH = UInt8(ord("\\"))
comptime _UPPER: StaticString = "0123456789ABCDEF"
comptime _LOWER: StaticString = "0123456789abcdef"
# Of an octet that is not UTF-8 (The Unicode Standard, section 3.9).
comptime _REPLACEMENT: UInt32 = 0xFFFD


def append_common(mut line: TextBuffer, octets: Span[UInt8, _]):
    """Appends octets between the quotes of a Common Log Format line.

    Args:
        line: The destination.
        octets: Any octets. Quotes, backslashes and all but printable ASCII
            become `\\xHH`, as in nginx.
    """
    var i = 0
    while i < len(octets):
        var end = _end_of_plain(octets, i)
        line.append(octets[i:end])
        if end < len(octets):
            var octet = octets.unsafe_get(end)
            line.append("\\x")
            line.append_octet(_UPPER.as_bytes()[Int(octet >> 4)])
            line.append_octet(_UPPER.as_bytes()[Int(octet & 15)])
        i = end + 1


def append_json(mut line: TextBuffer, octets: Span[UInt8, _]):
    """Appends octets as a JSON string of printable ASCII (RFC 8259 section 7).

    Args:
        line: The destination.
        octets: Any octets. An octet that is not part of UTF-8 becomes U+FFFD.
    """
    line.append('"')
    var i = 0
    while i < len(octets):
        var end = _end_of_plain(octets, i)
        line.append(octets[i:end])
        i = end
        if end < len(octets):
            i += _append_escape(line, octets, end)
    line.append('"')


@no_inline
def _append_escape(
    mut line: TextBuffer, octets: Span[UInt8, _], at: Int
) -> Int:
    # Returns how many octets it has escaped.
    var octet = octets.unsafe_get(at)
    if octet == _QUOTE or octet == _BACKSLASH:
        line.append_octet(_BACKSLASH)
        line.append_octet(octet)
        return 1
    if octet < 128:
        _append_unit(line, UInt32(octet))
        return 1
    var count = sequence_octets(octets, at)
    if count == 0:
        _append_unit(line, _REPLACEMENT)
        return 1
    # The lead has one bit less for each octet that follows.
    var point = UInt32(octet) & ((UInt32(1) << UInt32(7 - count)) - 1)
    for i in range(1, count):
        point = point << 6 | UInt32(octets.unsafe_get(at + i) & 0x3F)
    if point < 0x10000:
        _append_unit(line, point)
    else:
        _append_unit(line, 0xD800 + ((point - 0x10000) >> 10))
        _append_unit(line, 0xDC00 + ((point - 0x10000) & 0x3FF))
    return count


def _append_unit(mut line: TextBuffer, unit: UInt32):
    line.append("\\u")
    for shift in [12, 8, 4, 0]:
        line.append_octet(_LOWER.as_bytes()[Int((unit >> UInt32(shift)) & 15)])


@always_inline
def append_number(mut line: TextBuffer, number: Int):
    """Appends a number.

    Args:
        line: The destination.
        number: The number.
    """
    if number < 0:
        line.append("-")
    line.append_decimal(abs(number))


@always_inline
def append_digits[count: Int](mut line: TextBuffer, number: Int):
    """Appends the last digits of a number, with leading zeros.

    Parameters:
        count: How many digits.

    Args:
        line: The destination.
        number: Not negative.
    """
    var target = line.reserve(count)
    var rest = number
    for i in range(count - 1, -1, -1):
        target[unsafe_offset=i] = UInt8(48 + rest % 10)
        rest //= 10
    line.advance(count)


def _end_of_plain(octets: Span[UInt8, _], start: Int) -> Int:
    comptime LANES = 16
    var i = start
    while i + LANES <= len(octets):
        var x = octets.unsafe_ptr().unsafe_load[width=LANES](i)
        if (x.lt(32) | x.gt(126) | x.eq(_QUOTE) | x.eq(_BACKSLASH)).reduce_or():
            break
        i += LANES
    while i < len(octets):
        var octet = octets.unsafe_get(i)
        if octet < 32 or octet > 126 or octet == _QUOTE or octet == _BACKSLASH:
            break
        i += 1
    return i

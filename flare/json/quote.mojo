"""Writes strings with the required escapes only (RFC 8259 section 7).

Vectors are stored first and checked for escapes afterwards, so a string
without escapes is copied at the speed of memory.
"""

from std.bit import count_trailing_zeros
from std.memory import pack_bits

from flare.core import OctetPointer

from .scan import BACKSLASH, LANES, QUOTE
from flare.core.text_buffer import TextBuffer

comptime _ESCAPE_OCTETS_MAX = 6
comptime _PIECE_OCTETS = 256
comptime _DIGITS: StaticString = "0123456789abcdef"


@always_inline
def append_quoted[
    *, unsafe_is_padded: Bool = False
](mut buffer: TextBuffer, text: Span[UInt8, _]):
    """Appends a string, quoted and escaped.

    Parameters:
        unsafe_is_padded: Whether a vector may be loaded at, and past, each
            octet.

    Args:
        buffer: The destination.
        text: The content, UTF-8.

    Safety:
        If `unsafe_is_padded`, the content must lie in a `PaddedText`.
    """
    var n = len(text)
    var source = text.unsafe_ptr()
    # Two quotes, and a vector that is stored before it is judged.
    var target = buffer.reserve(n + 2 + LANES)
    target[] = QUOTE
    var copied = _copy_plain[unsafe_is_padded](
        target.unsafe_offset(1), source, n
    )
    if copied < n:
        buffer.advance(copied + 1)
        _append_rest[unsafe_is_padded](buffer, text[copied:])
        return
    target[unsafe_offset=n + 1] = QUOTE
    buffer.advance(n + 2)


@always_inline
def unsafe_write_quoted(
    target: OctetPointer, text: Span[UInt8, _]
) -> OctetPointer:
    """Writes a string of a padded text, quoted and escaped.

    Args:
        target: The destination.
        text: The content, UTF-8.

    Returns:
        The address after the closing quote.

    Safety:
        A vector may be loaded past the content's end, and stored past the end
        of the output.
    """
    var n = len(text)
    target[] = QUOTE
    var behind = target.unsafe_offset(1)
    var copied = _copy_padded(behind, text.unsafe_ptr(), n)
    behind = behind.unsafe_offset(copied)
    if copied < n:
        behind = behind.unsafe_offset(
            _write_escaped[True](behind, text[copied:])
        )
    behind[] = QUOTE
    return behind.unsafe_offset(1)


@no_inline
def _append_rest[is_padded: Bool](mut buffer: TextBuffer, text: Span[UInt8, _]):
    # In pieces: room for six times a long text would rarely be filled.
    for start in range(0, len(text), _PIECE_OCTETS):
        var piece = text[start : min(start + _PIECE_OCTETS, len(text))]
        var target = buffer.reserve(_ESCAPE_OCTETS_MAX * len(piece) + LANES)
        buffer.advance(_write_escaped[is_padded](target, piece))
    buffer.append_octet(QUOTE)


@no_inline
def _write_escaped[
    is_padded: Bool
](target: OctetPointer, text: Span[UInt8, _]) -> Int:
    var n = len(text)
    var source = text.unsafe_ptr()
    var i = 0
    var written = 0
    while True:
        var copied = _copy_plain[is_padded](
            target.unsafe_offset(written), source.unsafe_offset(i), n - i
        )
        i += copied
        written += copied
        if i == n:
            return written
        written += _write_escape(
            target.unsafe_offset(written), source[unsafe_offset=i]
        )
        i += 1


@always_inline
def _copy_plain[
    is_padded: Bool
](target: OctetPointer, source: Pointer[UInt8, _], count: Int) -> Int:
    # Copies to the first octet that needs an escape, and says how many.
    comptime if is_padded:
        return _copy_padded(target, source, count)
    # The last vector overlaps the one before it: each length takes one branch.
    if count >= LANES:
        var i = 0
        while i + LANES <= count:
            var hits = _copy_vector[LANES](target, source, i)
            if hits != 0:
                return i + Int(count_trailing_zeros(hits))
            i += LANES
        if i == count:
            return count
        var hits = _copy_vector[LANES](target, source, count - LANES)
        if hits != 0:
            return count - LANES + Int(count_trailing_zeros(hits))
        return count
    comptime for width in [32, 16, 8]:
        comptime if width < LANES:
            if count >= width:
                var front = _copy_vector[width](target, source, 0)
                if front != 0:
                    return Int(count_trailing_zeros(front))
                var rear = _copy_vector[width](target, source, count - width)
                if rear != 0:
                    return count - width + Int(count_trailing_zeros(rear))
                return count
    if count >= 4:
        var front = source.unsafe_load[width=4]()
        var rear = source.unsafe_load[width=4](count - 4)
        if not (_needs_escape(front) | _needs_escape(rear)).reduce_or():
            target.unsafe_store(0, front)
            target.unsafe_store(count - 4, rear)
            return count
    return _copy_octets(target, source, count)


@always_inline
def _copy_padded(
    target: OctetPointer, source: Pointer[UInt8, _], count: Int
) -> Int:
    var i = 0
    while True:
        var hits = _copy_vector[LANES](target, source, i)
        var left = count - i
        if left < LANES:
            # Lanes past the content's end do not count.
            hits &= (UInt64(1) << UInt64(left)) - 1
        if hits != 0:
            return i + Int(count_trailing_zeros(hits))
        if left <= LANES:
            return count
        i += LANES


@always_inline
def _needs_escape[
    lanes: SIMDLength
](x: SIMD[DType.uint8, lanes]) -> SIMD[DType.bool, lanes]:
    return x.lt(32) | x.eq(QUOTE) | x.eq(BACKSLASH)


@always_inline
def _copy_vector[
    width: SIMDLength
](target: OctetPointer, source: Pointer[UInt8, _], at: Int) -> UInt64:
    var x = source.unsafe_load[width=width](at)
    target.unsafe_store(at, x)
    return UInt64(pack_bits(_needs_escape(x)))


@always_inline
def _copy_octets(
    target: OctetPointer, source: Pointer[UInt8, _], count: Int
) -> Int:
    for i in range(count):
        var octet = source[unsafe_offset=i]
        if octet < 32 or octet == QUOTE or octet == BACKSLASH:
            return i
        target[unsafe_offset=i] = octet
    return count


def _write_escape(target: OctetPointer, octet: UInt8) -> Int:
    target[] = BACKSLASH
    var letter: UInt8 = 0
    if octet == QUOTE or octet == BACKSLASH:
        letter = octet
    elif octet == 10:
        letter = UInt8(ord("n"))
    elif octet == 13:
        letter = UInt8(ord("r"))
    elif octet == 9:
        letter = UInt8(ord("t"))
    elif octet == 8:
        letter = UInt8(ord("b"))
    elif octet == 12:
        letter = UInt8(ord("f"))
    if letter != 0:
        target[unsafe_offset=1] = letter
        return 2
    target[unsafe_offset=1] = UInt8(ord("u"))
    target[unsafe_offset=2] = 48
    target[unsafe_offset=3] = 48
    target[unsafe_offset=4] = _DIGITS.as_bytes()[Int(octet >> 4)]
    target[unsafe_offset=5] = _DIGITS.as_bytes()[Int(octet & 15)]
    return 6

"""Checks request paths and finds their segments.

A path is split at each `/` as received: it is not decoded, merged or resolved
first. So `%2F` is part of a segment, and `//` encloses an empty segment. A
path with a dot segment, plain or encoded, is refused. A proxy in front of the
server or a program after it may resolve it differently.
"""

from std.bit import count_trailing_zeros
from std.memory import pack_bits

from flare.core import find_octet

comptime _SLASH: UInt8 = 47
comptime _DOT: UInt8 = 46
comptime _PERCENT: UInt8 = 37
comptime _WINDOW = 64


@fieldwise_init
struct PathScan(TrivialRegisterPassable):
    """The result of one pass over a path."""

    var slashes: UInt64
    """One bit per `/` among the first 64 octets."""
    var has_escapes: Bool
    """Whether an octet is `%`."""
    var is_bad: Bool
    """Whether the path must be refused."""


@fieldwise_init
struct _Masks(TrivialRegisterPassable):
    var slashes: UInt64
    var dots: UInt64
    var percents: UInt64
    var nuls: UInt64

    @always_inline
    def __or__(self, other: Self) -> Self:
        return Self(
            self.slashes | other.slashes,
            self.dots | other.dots,
            self.percents | other.percents,
            self.nuls | other.nuls,
        )

    @always_inline
    def shifted(self, count: Int) -> Self:
        var n = UInt64(count)
        return Self(
            self.slashes << n,
            self.dots << n,
            self.percents << n,
            self.nuls << n,
        )


@always_inline
def scan_path(path: Span[UInt8, _]) -> PathScan:
    """Checks a path and finds its slashes.

    A path is refused if it does not start with `/` or has a malformed escape.
    So is one with a NUL (plain or encoded), or a segment that decodes to `.`
    or `..`.

    Args:
        path: The path as received, without query.

    Returns:
        The result.
    """
    var n = len(path)
    if n == 0 or path.unsafe_get(0) != _SLASH or n > Int(UInt32.MAX):
        return PathScan(0, False, True)
    var first = _masks(path, 0, min(n, _WINDOW))
    var suspects = (first.slashes << 1) & first.dots | first.nuls
    var percents = first.percents
    if n > _WINDOW:
        var start = _WINDOW
        var carry = first.slashes >> 63
        while start < n:
            var next = _masks(path, start, min(n - start, _WINDOW))
            suspects |= (next.slashes << 1 | carry) & next.dots | next.nuls
            percents |= next.percents
            carry = next.slashes >> 63
            start += _WINDOW
    if suspects | percents == 0:
        return PathScan(first.slashes, False, False)
    return PathScan(first.slashes, percents != 0, not _segments_are_good(path))


@always_inline
def segment_end(path: Span[UInt8, _], scan: PathScan, start: Int) -> Int:
    """Returns the end of a segment.

    Args:
        path: The path.
        scan: The result of `scan_path`.
        start: The start of the segment; at most the length.

    Returns:
        The index of the next `/`, or the length.
    """
    var n = len(path)
    if n > _WINDOW:
        return find_octet(path, _SLASH, start)
    if start >= n:
        return n
    var ahead = scan.slashes >> UInt64(start)
    return n if ahead == 0 else start + Int(count_trailing_zeros(ahead))


def decode_escape(octets: Span[UInt8, _], index: Int) -> Int:
    """Returns the octet of a percent escape.

    Args:
        octets: The octets that contain the escape.
        index: The index of its `%`.

    Returns:
        The octet, or -1 if two hexadecimal digits do not follow.
    """
    if index + 2 >= len(octets):
        return -1
    var high = _hexadecimal(octets[index + 1])
    var low = _hexadecimal(octets[index + 2])
    return -1 if high < 0 or low < 0 else high * 16 + low


@always_inline
def _hexadecimal(digit: UInt8) -> Int:
    if digit >= 48 and digit <= 57:
        return Int(digit) - 48
    var lower = digit | 32
    return Int(lower) - 87 if lower >= 97 and lower <= 102 else -1


@no_inline
def _segments_are_good(path: Span[UInt8, _]) -> Bool:
    # Counts the dots of a segment as long as it has nothing else.
    var dots = 0
    var only_dots = True
    var i = 1
    while i < len(path):
        var octet = Int(path[i])
        if octet == Int(_SLASH):
            if only_dots and (dots == 1 or dots == 2):
                return False
            dots = 0
            only_dots = True
            i += 1
            continue
        if octet == Int(_PERCENT):
            octet = decode_escape(path, i)
            i += 2
        if octet <= 0:
            return False
        if octet == Int(_DOT):
            dots += 1
        else:
            only_dots = False
        i += 1
    return not (only_dots and (dots == 1 or dots == 2))


@always_inline
def _masks(path: Span[UInt8, _], start: Int, count: Int) -> _Masks:
    comptime for width in [32, 16, 8]:
        if count >= width:
            var masks = _masks_of[width](path, start)
            # The last vector overlaps the one before it: no scalar tail.
            return masks | _masks_of[width](
                path, start + count - width
            ).shifted(count - width)
    var masks = _Masks(0, 0, 0, 0)
    for i in range(count):
        var octet = path.unsafe_get(start + i)
        var bit = UInt64(1) << UInt64(i)
        masks.slashes |= bit if octet == _SLASH else 0
        masks.dots |= bit if octet == _DOT else 0
        masks.percents |= bit if octet == _PERCENT else 0
        masks.nuls |= bit if octet == 0 else 0
    return masks


@always_inline
def _masks_of[width: SIMDLength](path: Span[UInt8, _], start: Int) -> _Masks:
    var x = path.unsafe_ptr().unsafe_load[width=width](start)
    return _Masks(
        UInt64(pack_bits(x.eq(_SLASH))),
        UInt64(pack_bits(x.eq(_DOT))),
        UInt64(pack_bits(x.eq(_PERCENT))),
        UInt64(pack_bits(x.eq(0))),
    )

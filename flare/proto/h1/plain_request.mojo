"""Recognizes the usual form of a request line at once.

Lines that it accepts are valid. Others may be valid too; the general code
decides. So the sets below contain only octets that need no further check.
"""

from flare.core import OctetSet, PointerTo, SPACE
from flare.message import Method, RequestTarget

from ..head import Head
from .field_stops import FirstLook, PLAIN_PATH_OCTETS
from .scan import Window, eight_octets, four_octets
from std.bit import count_trailing_zeros
from std.memory import pack_bits
from std.sys.intrinsics import unlikely

comptime _QUERY_OCTETS = _query_octets()
comptime _QUESTION_MARK: UInt8 = 63
comptime _SLASH: UInt8 = 47
comptime _GET: UInt32 = 0x20544547
# "GET ", loaded little-endian.
comptime _SPACE_HTTP_1: UInt64 = 0x2E312F5054544820
comptime _1_CR_LF: UInt32 = 0x0A0D312E
# " HTTP/1." and ".1\r\n", likewise.


def _query_octets() -> OctetSet:
    var set = materialize[PLAIN_PATH_OCTETS]()
    set.add(_QUESTION_MARK)
    return set


@always_inline
def take_plain_request_line(
    window: Window,
    head: PointerTo[Head],
    first: FirstLook,
    target_octets_max: Int,
) -> Int:
    """Parses a whole request line of HTTP/1.1 whose target is a plain path.

    Args:
        window: The received octets, at least `STOPS_WINDOW_MIN`.
        head: A head that has just begun.
        first: The first look at the window.
        target_octets_max: The limit of the target.

    Returns:
        The place of the line's CR LF; 0 if the line is not plain, and the
        state is unchanged.
    """
    ref h = head[]
    var n = len(window)
    var p = window.unsafe_ptr()
    var start = 4
    var method = Method.GET
    if unlikely(four_octets(p, 0) != _GET):
        start = _method_end(p)
        method = Method.from_octets(window[:start])
        if (
            p[unsafe_offset=start] != SPACE
            or method == Method.OTHER
            or method == Method.CONNECT
        ):
            return 0
        start += 1
    if p[unsafe_offset=start] != _SLASH:
        return 0
    var others = first.paths >> UInt64(start)
    var octets = Int(count_trailing_zeros(others))
    if unlikely(others == 0):
        octets = _scan[PLAIN_PATH_OCTETS](p, start, n) - start
    var path_octets = octets
    var end = start + octets
    if unlikely(not _is_version(p, end, n)):
        if end >= n or p[unsafe_offset=end] != _QUESTION_MARK:
            return 0
        end = _query_end(p, start, others, n)
        octets = end - start
        if not _is_version(p, end, n):
            return 0
    if unlikely(octets > target_octets_max):
        return 0
    h.method = method
    h.method_octets = start - 1
    h.target_start = start
    h.target_octets = octets
    h.target = RequestTarget()
    h.target.form = RequestTarget.ORIGIN_FORM
    h.target.path_octets = UInt32(path_octets)
    if unlikely(octets != path_octets):
        h.target.query_start = UInt32(path_octets + 1)
        h.target.query_octets = UInt32(octets - path_octets - 1)
    h.version.minor = 1
    return end + 9


@always_inline
def _is_version(p: Pointer[mut=False, UInt8, _], at: Int, n: Int) -> Bool:
    # " HTTP/1.1" CR LF.
    return (
        at + 11 <= n
        and eight_octets(p, at) == _SPACE_HTTP_1
        and four_octets(p, at + 7) == _1_CR_LF
    )


@always_inline
def _method_end(p: Pointer[mut=False, UInt8, _]) -> Int:
    # The space within the first eight octets, or 7.
    var x = p.unsafe_load[width=8](0)
    var spaces = pack_bits(x.eq(SPACE))
    return Int(count_trailing_zeros(spaces | 0x80))


@no_inline
def _query_end(
    p: Pointer[mut=False, UInt8, _], start: Int, stops: UInt64, n: Int
) -> Int:
    # The stops count from `start`; the first is the question mark in front.
    var others = stops & (stops - 1)
    while others != 0:
        var end = start + Int(count_trailing_zeros(others))
        if end >= n or p[unsafe_offset=end] != _QUESTION_MARK:
            return end
        others &= others - 1
    return _scan[_QUERY_OCTETS](p, start, n)


@no_inline
def _scan[
    set: OctetSet
](p: Pointer[mut=False, UInt8, _], start: Int, n: Int) -> Int:
    # Gives the first octet outside the set; `n` needs to be 16 at least.
    var members = materialize[set]()
    var i = start
    while i + 16 <= n:
        var hits = ~pack_bits(members.matches(p.unsafe_load[width=16](i)))
        if hits != 0:
            return i + Int(count_trailing_zeros(hits))
        i += 16
    var seen = UInt16(i - (n - 16))
    var hits = ~pack_bits(members.matches(p.unsafe_load[width=16](n - 16)))
    if seen > 15 or hits >> seen == 0:
        return n
    return i + Int(count_trailing_zeros(hits >> seen))

"""Takes what nearly every request has at its front and in Host, at a glance.

What is taken here is right; what is not may be right too, and the general code
judges it. So the sets below name only octets that need no thought.
"""

from flare.core import COLON, OctetSet, PointerTo, SPACE
from flare.message import Method, RequestTarget

from .field_stops import PLAIN_PATH_OCTETS
from .head import Head
from .scan import Window, eight_octets, four_octets
from std.bit import byte_swap, count_trailing_zeros
from std.memory import pack_bits
from std.sys.intrinsics import unlikely

comptime _HOST: StaticString = (
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-."
)
comptime _HOST_OCTETS = OctetSet.of(_HOST)
comptime _QUERY_OCTETS = _query_octets()
comptime _QUESTION_MARK: UInt8 = 63
comptime _SLASH: UInt8 = 47
comptime _GET: UInt32 = 0x20544547
# "GET ", loaded little-endian.
comptime _SPACE_HTTP_1: UInt64 = 0x2E312F5054544820
comptime _1_CR_LF: UInt32 = 0x0A0D312E
# " HTTP/1." and ".1\r\n", likewise.
comptime _HOST_OCTETS_MAX = 32
comptime _PORT_DIGITS_MAX = 5
comptime _PORT_MAX: UInt64 = 0x3635353335
# "65535" as `_last_octets` loads it.


def _query_octets() -> OctetSet:
    var set = materialize[PLAIN_PATH_OCTETS]()
    set.add(_QUESTION_MARK)
    return set


@always_inline
def take_plain_request_line(
    window: Window,
    head: PointerTo[Head],
    stops: UInt64,
    target_octets_max: Int,
) -> Int:
    """Takes a whole request line of HTTP/1.1 whose target is a plain path.

    Args:
        window: The received octets, at least `STOPS_WINDOW_MIN`.
        head: A head that has just begun.
        stops: A bit for each of the first 64 octets that is not among
            `PLAIN_PATH_OCTETS`, or lies behind the window.
        target_octets_max: The limit of the target.

    Returns:
        Where the CR LF of the line lies, or 0 if nothing was taken and
        nothing has changed.
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
    var others = stops >> UInt64(start)
    var octets = Int(count_trailing_zeros(others))
    if unlikely(others == 0):
        octets = _scan[PLAIN_PATH_OCTETS](p, start, n) - start
    var path_octets = octets
    if start + octets < n and unlikely(
        p[unsafe_offset=start + octets] == _QUESTION_MARK
    ):
        octets = _query_end(p, start, others, n) - start
    var end = start + octets
    if unlikely(
        end + 11 > n
        or octets > target_octets_max
        or eight_octets(p, end) != _SPACE_HTTP_1
        or four_octets(p, end + 7) != _1_CR_LF
    ):
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
    h.version_minor = 1
    return end + 9


@always_inline
def is_plain_host(window: Window, start: Int, octets: Int) -> Bool:
    """Tells whether a value of Host is a plain name or IPv4 address.

    Args:
        window: The received octets; a blank or CR follows the value.
        start: Where the value begins.
        octets: Its length.

    Returns:
        True if it is, with or without a port of up to five digits.
    """
    if octets >= _HOST_OCTETS_MAX or len(window) < _HOST_OCTETS_MAX:
        return False
    # Near the end of the window the vector begins before the value.
    var p = window.unsafe_ptr()
    var first = min(start, len(window) - _HOST_OCTETS_MAX)
    var before = UInt32(start - first)
    var x = p.unsafe_load[width=_HOST_OCTETS_MAX](first)
    var members = materialize[_HOST_OCTETS]()
    var others = ~pack_bits(members.matches(x)) >> before
    # What follows the value is in neither set and ends both runs.
    var name_octets = Int(count_trailing_zeros(others))
    if name_octets == octets:
        return octets > 0
    if name_octets == 0 or p[unsafe_offset=start + name_octets] != COLON:
        return False
    var behind = before + UInt32(name_octets) + 1
    var others_behind = ~pack_bits((x - 48).lt(10)) >> behind
    var digits = Int(count_trailing_zeros(others_behind))
    if name_octets + 1 + digits != octets or digits > _PORT_DIGITS_MAX:
        return False
    return (
        digits < _PORT_DIGITS_MAX
        or _last_octets(p, start + octets) <= _PORT_MAX
    )


@always_inline
def _last_octets(p: Pointer[mut=False, UInt8, _], end: Int) -> UInt64:
    # The first of the five is the most significant one, as in a number.
    return byte_swap(eight_octets(p, end - 8)) & 0xFFFFFFFFFF


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

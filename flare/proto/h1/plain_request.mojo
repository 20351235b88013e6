"""Takes what nearly every request has at its front and in Host, at a glance.

What is taken here is right; what is not may be right too, and the general code
judges it. So the sets below name only octets that need no thought.
"""

from flare.core import COLON, OctetSet, PointerTo, SPACE
from flare.message import Method, RequestTarget

from .head import Head, HeadProgress
from .scan import CR_LF, Window, two_octets
from std.bit import byte_swap, count_trailing_zeros
from std.memory import pack_bits

comptime _HOST: StaticString = (
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-."
)
comptime _HOST_OCTETS = OctetSet.of(_HOST)
comptime _PATH_OCTETS = _with("/_~!$&'()*+,;=:@")
comptime _QUERY_OCTETS = _with("/_~!$&'()*+,;=:@?")
comptime _QUESTION_MARK: UInt8 = 63
comptime _SLASH: UInt8 = 47
comptime _GET: UInt32 = 0x20544547
# "GET ", loaded little-endian.
comptime _HTTP_1_1: UInt64 = 0x312E312F50545448
# "HTTP/1.1", likewise.
comptime _LEAST_OCTETS = 16
comptime _HOST_OCTETS_MAX = 32
comptime _PORT_DIGITS_MAX = 5
comptime _PORT_MAX: UInt64 = 0x3635353335
# "65535" as `_last_octets` loads it.


def _with(more: StaticString) -> OctetSet:
    var set = OctetSet.of(_HOST)
    for b in more.as_bytes():
        set.add(b)
    return set


@always_inline
def take_plain_request_line(
    window: Window, head: PointerTo[Head], target_octets_max: Int
) -> Bool:
    """Takes a whole request line of HTTP/1.1 whose target is a plain path.

    Args:
        window: The received octets.
        head: The head, at its front.
        target_octets_max: The limit of the target.

    Returns:
        True if it was taken and the field section follows; else nothing has
        changed.
    """
    ref h = head[]
    var n = len(window)
    var p = window.unsafe_ptr()
    if n < _LEAST_OCTETS or h.progress.part_start != 0:
        return False
    var start = 4
    var method = Method.GET
    if p.unsafe_bitcast[UInt32]().unsafe_load[alignment=1]() != _GET:
        start = _method_end(p)
        method = Method.from_octets(window[:start])
        if (
            p[unsafe_offset=start] != SPACE
            or method == Method.OTHER
            or method == Method.CONNECT
        ):
            return False
        start += 1
    if p[unsafe_offset=start] != _SLASH:
        return False
    var path_end = _scan[_PATH_OCTETS](p, start + 1, n)
    var end = path_end
    if end < n and p[unsafe_offset=end] == _QUESTION_MARK:
        end = _scan[_QUERY_OCTETS](p, end + 1, n)
    if (
        end + 11 > n
        or end - start > target_octets_max
        or p[unsafe_offset=end] != SPACE
        or p.unsafe_offset(end + 1)
        .unsafe_bitcast[UInt64]()
        .unsafe_load[alignment=1]()
        != _HTTP_1_1
        or two_octets(p, end + 9) != CR_LF
    ):
        return False
    h.start = 0
    h.method = method
    h.method_octets = start - 1
    h.target_start = start
    h.target_octets = end - start
    h.target = RequestTarget()
    h.target.form = RequestTarget.ORIGIN_FORM
    h.target.path_octets = UInt32(path_end - start)
    if end != path_end:
        h.target.query_start = UInt32(path_end + 1 - start)
        h.target.query_octets = UInt32(end - path_end - 1)
    h.version_minor = 1
    h.progress.part = HeadProgress.LINE
    h.progress.scanned = UInt32(end + 11)
    h.progress.section_start = UInt32(end + 11)
    return True


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
    var word = (
        p.unsafe_offset(end - 8)
        .unsafe_bitcast[UInt64]()
        .unsafe_load[alignment=1]()
    )
    return byte_swap(word) & 0xFFFFFFFFFF


@always_inline
def _method_end(p: Pointer[mut=False, UInt8, _]) -> Int:
    # The space within the first eight octets, or 7.
    var x = p.unsafe_load[width=8](0)
    var spaces = pack_bits(x.eq(SPACE))
    return Int(count_trailing_zeros(spaces | 0x80))


@always_inline
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

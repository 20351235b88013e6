"""Recognizes the usual form of Host at once.

Values that it accepts are valid. Others may be valid too; the general code
decides.
"""

from flare.core import COLON

from std.bit import byte_swap, count_trailing_zeros
from std.memory import pack_bits
from std.sys.intrinsics import unlikely

from .field_stops import FieldStops, FirstLook, PLAIN_HOST_OCTETS
from .scan import CR_LF, Window, eight_octets, two_octets

comptime HOST_NAME_OCTETS = 4
"""The length of the name of the field."""
comptime HOST_VALUE = 8
"""The offset of a value in a line `Host: value`, from the CR LF of the
previous line.
"""
comptime _HOST_COLON_SPACE: UInt64 = 0x203A74736F68
# "host: ", loaded little-endian.
comptime _LOOK_OCTETS = 32
comptime _PORT_DIGITS_MAX = 5
comptime _PORT_MAX: UInt64 = 0x3635353335
# "65535" as `_last_octets` loads it.


@always_inline
def first_host_octets(
    window: Window,
    first: FirstLook,
    stops: FieldStops,
    line_end: Int,
    limit: Int,
) -> Int:
    """Recognizes a whole line `Host: value` right after a short request line,
    where most requests have it.

    Args:
        window: The received octets.
        first: The first look at the window, if any.
        stops: The stops from the previous line on.
        line_end: The place of the CR LF of the previous line.
        limit: The largest offset at which the line may end, at most the length
            of the window.

    Returns:
        The length of the value if it is a plain name or IPv4 address, with or
        without a port. 0 for any other value, and if the line contains more,
        or ends after `limit` or the octets of `first`.
    """
    var p = window.unsafe_ptr()
    var value = line_end + HOST_VALUE
    if unlikely(value + 2 > limit or value >= FirstLook.OCTETS):
        return 0
    # Bit 5 is set in the letters alone.
    if (
        (eight_octets(p, line_end + 2) | 0x20202020) & 0xFFFFFFFFFFFF
    ) != _HOST_COLON_SPACE:
        return 0
    var ends = stops.values >> UInt64(value)
    var octets = Int(count_trailing_zeros(ends))
    var end = value + octets
    if unlikely(
        ends == 0
        or octets == 0
        or end + 2 > limit
        or two_octets(p, end) != CR_LF
    ):
        return 0
    if _is_plain_host(
        p,
        value,
        octets,
        first.hosts >> UInt64(value),
        first.digits >> UInt64(value),
    ):
        return octets
    return 0


@always_inline
def is_plain_host(window: Window, start: Int, octets: Int) -> Bool:
    """Returns whether a value of Host is a plain name or IPv4 address.

    Args:
        window: The received octets; a blank or CR follows the value.
        start: The start of the value.
        octets: The length of the value.

    Returns:
        True if it is, with or without a port of up to five digits.
    """
    if octets == 0 or octets >= _LOOK_OCTETS:
        return False
    if len(window) < _LOOK_OCTETS:
        return False
    # Near the end of the window the vector begins before the value.
    var p = window.unsafe_ptr()
    var first = min(start, len(window) - _LOOK_OCTETS)
    var before = UInt64(start - first)
    var x = p.unsafe_load[width=_LOOK_OCTETS](first)
    var members = materialize[PLAIN_HOST_OCTETS]()
    return _is_plain_host(
        p,
        start,
        octets,
        UInt64(pack_bits(~members.matches(x))) >> before,
        UInt64(pack_bits((x - 48).ge(10))) >> before,
    )


@always_inline
def _is_plain_host(
    p: Pointer[mut=False, UInt8, _],
    start: Int,
    octets: Int,
    other_names: UInt64,
    other_digits: UInt64,
) -> Bool:
    # A bit for each octet, from the start of the value, that is in no name,
    # and one for each that is not a digit. The value is not empty. The octet
    # after it is neither, and ends both runs.
    var name_octets = Int(count_trailing_zeros(other_names))
    if name_octets == octets:
        return True
    if name_octets == 0 or p[unsafe_offset=start + name_octets] != COLON:
        return False
    var port = other_digits >> UInt64(name_octets + 1)
    var digits = Int(count_trailing_zeros(port))
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

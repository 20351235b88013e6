"""Recognizes the usual form of a status line at once.

It refuses no line: other forms are left to `start_line`.
"""

from std.sys.intrinsics import unlikely

from flare.core import PointerTo, SPACE

from ..head import Head
from .field_stops import FieldStops
from .scan import (
    CR_LF,
    HTTP_1_1,
    Window,
    eight_octets,
    four_octets,
    two_octets,
)

comptime _SPACE_000: UInt32 = 0x30303020
# " 000", loaded little-endian.
comptime _CODE = 8
comptime _REASON = 13


@always_inline
def take_plain_status_line(
    window: Window,
    head: PointerTo[Head],
    mut stops: FieldStops,
    reason_octets_max: Int,
) -> Int:
    """Parses a whole status line of HTTP/1.1 with a space after its code.

    Args:
        window: The received octets, at least `STOPS_WINDOW_MIN`.
        head: A head that has just begun.
        stops: The stops from the start of the window on; advanced past the
            reason phrase.
        reason_octets_max: The limit of the reason phrase.

    Returns:
        The place of the line's CR LF; 0 if the line is not plain, and only
        `stops` has changed.
    """
    ref h = head[]
    var p = window.unsafe_ptr()
    # A space, then digits: below ten each, and the first not zero.
    var code = four_octets(p, _CODE) ^ _SPACE_000
    if unlikely(
        eight_octets(p, 0) != HTTP_1_1
        or (code | (code + 0x06060600)) & 0xF0F0F0FF != 0
        or code & 0xFF00 == 0
        or p[unsafe_offset=_REASON - 1] != SPACE
    ):
        return 0
    var end = stops.value_end(window, _REASON - 1)
    if unlikely(
        end + 2 > len(window)
        or end - _REASON > reason_octets_max
        or two_octets(p, end) != CR_LF
    ):
        return 0
    h.status = Int(
        ((code >> 8) & 15) * 100 + ((code >> 16) & 15) * 10 + (code >> 24)
    )
    h.target_start = _REASON
    h.target_octets = end - _REASON
    h.version.minor = 1
    return end

"""Defines which frames may arrive in which state of a stream (RFC 9113 section
5.1).

Theory of operation. A stream has two sides. Each ends with END_STREAM of its
sender, or both end with RST_STREAM. The connection itself counts as a state,
for the frames without a stream. So one table answers for all frames. A stream
that is `CLOSED` ended with both sides; the peer cannot send more by mistake. A
stream that is `RESET` ended because this end reset it. Its peer may have sent
frames before it learned of that.
"""

from std.builtin.globals import global_constant


struct H2StreamState:
    """The states of a stream, as this end sees it."""

    comptime CONNECTION: UInt8 = 0
    """No stream: the connection."""
    comptime IDLE: UInt8 = 1
    """It has not begun."""
    comptime OPEN: UInt8 = 2
    """Both ends may send."""
    comptime HALF_CLOSED_LOCAL: UInt8 = 3
    """This end has sent its last frame."""
    comptime HALF_CLOSED_REMOTE: UInt8 = 4
    """The peer has sent its last frame."""
    comptime RESET: UInt8 = 5
    """This end has reset it."""
    comptime CLOSED: UInt8 = 6
    """It ended in another way."""
    comptime COUNT = 7
    """How many states there are."""


struct FrameVerdict:
    """The possible consequences of a frame."""

    comptime TAKE: UInt8 = 0
    """It has its effect."""
    comptime DROP: UInt8 = 1
    """It affects only the state that all streams share."""
    comptime CLOSED_STREAM: UInt8 = 2
    """The stream ends with STREAM_CLOSED."""
    comptime CLOSED_CONNECTION: UInt8 = 3
    """The connection ends with STREAM_CLOSED."""
    comptime VIOLATION: UInt8 = 4
    """The connection ends with PROTOCOL_ERROR."""


comptime FRAME_TYPES = 10
"""How many types of frames the table knows: those of RFC 9113."""

# A column for each type, in the order of their numbers: DATA, HEADERS, PRIORITY,
# RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION.
# `.` is TAKE, `d` DROP, `s` CLOSED_STREAM, `c` CLOSED_CONNECTION, `x` VIOLATION.
# A PUSH_PROMISE is always a violation, because this end never allows one. So is
# a CONTINUATION that continues no field block.
comptime _ROWS: StaticString = (
    "xxxx.x...x"  # CONNECTION
    "x..xxxxxxx"  # IDLE
    "....xxxx.x"  # OPEN
    "....xxxx.x"  # HALF_CLOSED_LOCAL
    "ss..xxxx.x"  # HALF_CLOSED_REMOTE
    "dd.dxxxxdx"  # RESET
    "cc.dxxxxdx"  # CLOSED
)

comptime _PAIRS = H2StreamState.COUNT * FRAME_TYPES
comptime _TABLE = _table()


def _table() -> Array[UInt8, _PAIRS]:
    var table = Array[UInt8, _PAIRS](fill=FrameVerdict.VIOLATION)
    var rows = _ROWS.as_bytes()
    for i in range(_PAIRS):
        for verdict in range(5):
            if rows[i] == ".dscx".as_bytes()[verdict]:
                table[i] = UInt8(verdict)
    return table^


@always_inline
def frame_verdict(state: UInt8, kind: UInt8) -> UInt8:
    """Returns what happens to a frame.

    Args:
        state: The state of its stream, one of `H2StreamState`.
        kind: The type of the frame, below `FRAME_TYPES`.

    Returns:
        One of `FrameVerdict`.
    """
    debug_assert(
        state < UInt8(H2StreamState.COUNT) and kind < UInt8(FRAME_TYPES),
        "no such pair",
    )
    return global_constant[_TABLE]().unsafe_get(
        Int(state) * FRAME_TYPES + Int(kind)
    )

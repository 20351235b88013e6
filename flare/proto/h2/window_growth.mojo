"""Widens the windows of content that is received, where a peer needs that.

A window bounds how much content arrives within a round trip. The machine asks the
peer for an answer (PING) when it widens a window again, unless one is due. If half
a window or more arrives from one answer to the next, and the owner keeps up with
it, the window is too small. A slow peer sends a quarter of a window before the
next question, and little more.
"""

from flare.core import Buffer, PointerTo

from .frame import H2FrameType, append_frame_header
from .h2_state import H2State
from .window_update import append_window_update

comptime STREAM_WINDOW_MAX = 8 << 20
"""The widest window of a stream."""
comptime CONNECTION_WINDOW_MAX = 16 << 20
"""The widest window of a connection."""
comptime PROBE: StaticString = "flare-bw"
"""The content of the PING that measures."""


@always_inline
def begin_probe(state: PointerTo[H2State], output: PointerTo[Buffer]):
    """Begins to measure, unless that is of no use.

    Args:
        state: The connection, which has just widened a window again.
        output: The destination of a PING.
    """
    ref window = state[].window
    if window.probe.is_open or window.stream_max >= STREAM_WINDOW_MAX:
        return
    window.probe.is_open = True
    if not window.probe.has_begun:
        window.probe.has_begun = True
        window.probe.octets = 0
    append_frame_header(PROBE.byte_length(), H2FrameType.PING, 0, 0, output)
    output[].append(PROBE)


def end_probe(state: PointerTo[H2State]) -> Bool:
    """Ends the measurement, because the peer has answered.

    Args:
        state: The connection.

    Returns:
        True if the windows are too small.
    """
    ref window = state[].window
    if not window.probe.is_open:
        return False
    var octets = window.probe.octets
    window.probe.is_open = False
    window.probe.octets = 0
    var held = window.receive_max - window.receive - window.due
    return octets >= window.stream_max // 2 and held <= window.receive_max // 2


def grow_windows(state: PointerTo[H2State], output: PointerTo[Buffer]) -> Int:
    """Doubles the windows, up to the widest.

    Args:
        state: The connection.
        output: The destination of a frame. Streams follow when content of theirs
            is taken.

    Returns:
        By how many octets the window of the connection grew.
    """
    ref window = state[].window
    window.stream_max = min(2 * window.stream_max, STREAM_WINDOW_MAX)
    var wider = min(
        2 * window.receive_max,
        max(CONNECTION_WINDOW_MAX, window.receive_max),
    )
    var growth = wider - window.receive_max
    if growth > 0:
        append_window_update(0, growth, output)
        window.receive += growth
        window.receive_max = wider
    return growth

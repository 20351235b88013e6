"""Counts windows in both directions (RFC 9113 section 5.2)."""

from flare.core import Buffer, PointerTo

from .window_update import append_window_update
from .h2_error import H2Code, H2Error
from .h2_state import DEFAULT_WINDOW, H2State
from .window_growth import begin_probe
from .settings import WINDOW_MAX
from .stream_state import H2StreamState
from .stream_table import H2Stream

comptime CREDIT_SHARE = 4
"""The divisor of a window that yields how much of it may be due. The peer cannot
use this part of the window."""


def return_credit(
    state: PointerTo[H2State], octets: Int, output: PointerTo[Buffer]
):
    """Returns credit for content that was taken or dropped, on the connection.

    Args:
        state: The connection.
        octets: The number of octets.
        output: The destination of a frame, which follows when a quarter of a
            window is due.
    """
    ref window = state[].window
    window.due += octets
    if window.due >= window.receive_max // CREDIT_SHARE:
        append_window_update(0, window.due, output)
        window.receive += window.due
        window.due = 0
        begin_probe(state, output)


def return_stream_credit(
    state: PointerTo[H2State],
    slot: Int,
    octets: Int,
    output: PointerTo[Buffer],
):
    """Returns credit for content that was taken, on the stream and on the
    connection.

    Args:
        state: The connection.
        slot: The slot of the stream.
        octets: The number of octets.
        output: The destination of frames, which follow when a quarter of a
            window is due.
    """
    ref stream = state[].streams[slot]
    if may_receive(stream):
        ref receiving = stream.receiving
        receiving.due += Int32(octets)
        if receiving.due >= receiving.window_max // CREDIT_SHARE:
            # The windows may have grown since.
            receiving.due += (
                Int32(state[].window.stream_max) - receiving.window_max
            )
            receiving.window_max = Int32(state[].window.stream_max)
            append_window_update(Int(stream.id), Int(receiving.due), output)
            receiving.window += receiving.due
            receiving.due = 0
            begin_probe(state, output)
    return_credit(state, octets, output)


@always_inline
def may_receive(stream: H2Stream) -> Bool:
    """Returns whether a stream may still receive content.

    Args:
        stream: The stream.

    Returns:
        False once the peer has ended its side.
    """
    return (
        stream.state == H2StreamState.OPEN
        or stream.state == H2StreamState.HALF_CLOSED_LOCAL
    )


@always_inline
def may_send(stream: H2Stream) -> Bool:
    """Returns whether a stream may still send.

    Args:
        stream: The stream.

    Returns:
        False once this end has ended its side.
    """
    return (
        stream.state == H2StreamState.OPEN
        or stream.state == H2StreamState.HALF_CLOSED_REMOTE
    )


def reschedule(state: PointerTo[H2State], slot: Int):
    """Adds a stream to the schedule, or removes it, after a change of its
    content or window.

    Args:
        state: The connection.
        slot: The slot of the stream.
    """
    ref stream = state[].streams[slot]
    var wants = (
        stream.queued_octets > 0 and stream.send_window > 0 and may_send(stream)
    )
    if wants and not stream.turn.is_scheduled:
        state[].schedule.add(state[].streams, slot)
    elif not wants and stream.turn.is_scheduled:
        state[].schedule.remove(state[].streams, slot)


def shrink_early_streams(state: PointerTo[H2State]):
    """Counts windows with the settings of this end, because the peer has
    acknowledged them. Before, it could not know them (section 6.9.3).

    Args:
        state: The connection.
    """
    ref s = state[]
    var excess = early_window(state) - s.limits.stream_window_octets
    if excess == 0:
        return
    for slot in range(s.streams.slots()):
        if s.streams[slot].id != 0:
            s.streams[slot].receiving.window -= Int32(excess)


@always_inline
def early_window(state: PointerTo[H2State]) -> Int:
    """Returns the window with which a stream begins before the peer has
    acknowledged this end's settings.

    Args:
        state: The connection.

    Returns:
        The number of octets: not less than the peer assumes.
    """
    return max(state[].limits.stream_window_octets, DEFAULT_WINDOW)


def widen_streams(state: PointerTo[H2State], change: Int) raises H2Error:
    """Changes the windows of all streams after a change of
    INITIAL_WINDOW_SIZE (section 6.9.2).

    Args:
        state: The connection.
        change: By how many octets; may be negative.

    Raises:
        H2Error: If a window exceeds the largest.
    """
    for slot in range(state[].streams.slots()):
        ref stream = state[].streams[slot]
        if stream.id == 0:
            continue
        var window = Int(stream.send_window) + change
        if window > WINDOW_MAX:
            raise H2Error.connection(
                H2Code.FLOW_CONTROL_ERROR, "a window exceeds 2^31-1"
            )
        stream.send_window = Int32(window)
        reschedule(state, slot)

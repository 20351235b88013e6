"""Writes DATA frames, within the windows of the peer (RFC 9113 section 6.1)."""

from flare.core import Buffer, PointerTo

from .flow_control import may_send, reschedule
from .frame import (
    FRAME_HEADER_OCTETS,
    H2Flag,
    H2FrameType,
    append_frame_header,
)
from .h2_error import H2Error
from .h2_state import H2State
from .stream_state import H2StreamState
from .stream_table import NO_SLOT

comptime DATA_OCTETS_MAX = 16375
"""The longest payload of a DATA frame that is written. With its header, it fills
one record of TLS."""


@fieldwise_init
struct SendTurn(TrivialRegisterPassable):
    """The stream that sends next."""

    var slot: Int
    """Its slot; `NO_SLOT` if no stream may send."""
    var octets: Int
    """How much content it may send in one frame; over 0."""


@always_inline
def next_turn(state: PointerTo[H2State], room: Int) -> SendTurn:
    """Returns the stream that sends next.

    Args:
        state: The connection.
        room: The longest frame for which there is room, over 9 octets.

    Returns:
        The stream.
    """
    ref s = state[]
    if s.window.send <= 0:
        return SendTurn(NO_SLOT, 0)
    var slot = s.schedule.next()
    if slot == NO_SLOT:
        return SendTurn(NO_SLOT, 0)
    ref stream = s.streams[slot]
    var octets = min(
        min(stream.queued_octets, Int(stream.send_window)),
        min(s.window.send, min(DATA_OCTETS_MAX, s.peer.frame_octets_max)),
    )
    octets = min(octets, room - FRAME_HEADER_OCTETS)
    return SendTurn(slot, octets)


def queue_content(state: PointerTo[H2State], slot: Int, octets: Int):
    """Announces that content of a stream is ready to be sent.

    Args:
        state: The connection.
        slot: The slot of the stream.
        octets: The number of octets.
    """
    state[].streams[slot].queued_octets += octets
    reschedule(state, slot)


def send_data(
    state: PointerTo[H2State],
    slot: Int,
    octets: Span[UInt8, _],
    ends: Bool,
    output: PointerTo[Buffer],
):
    """Writes one frame of content that was queued.

    Args:
        state: The connection.
        slot: The slot of the stream, as `next_turn` returned it.
        octets: The content; no more than `next_turn` allowed.
        ends: Whether it is the last of the stream.
        output: The destination.
    """
    ref s = state[]
    var count = len(octets)
    append_frame_header(
        count,
        H2FrameType.DATA,
        H2Flag.END_STREAM if ends else 0,
        Int(s.streams[slot].id),
        output,
    )
    output[].append(octets)
    s.window.send -= count
    s.meters.note_sent(count)
    ref stream = s.streams[slot]
    stream.send_window -= Int32(count)
    stream.queued_octets -= count
    s.schedule.note_sent(s.streams, slot)
    if ends:
        end_sending(state, slot)
    reschedule(state, slot)


@always_inline
def sendable_octets(state: PointerTo[H2State], slot: Int) -> Int:
    """Returns how much content of a stream the peer accepts now.

    Args:
        state: The connection.
        slot: The slot of the stream.

    Returns:
        The number of octets; 0 if the peer must widen a window first.
    """
    ref s = state[]
    return max(min(Int(s.streams[slot].send_window), s.window.send), 0)


def send_within_windows(
    state: PointerTo[H2State],
    slot: Int,
    octets: Span[UInt8, _],
    ends: Bool,
    output: PointerTo[Buffer],
) -> Int:
    """Writes as much content as the peer accepts now, out of the schedule.

    Args:
        state: The connection.
        slot: The slot of the stream.
        octets: The content, which was counted.
        ends: Whether it is the last of the stream.
        output: The destination.

    Returns:
        The number of octets that were written.
    """
    var most = min(len(octets), sendable_octets(state, slot))
    var frame_max = min(DATA_OCTETS_MAX, state[].peer.frame_octets_max)
    var sent = 0
    while sent < most:
        var count = min(most - sent, frame_max)
        queue_content(state, slot, count)
        send_data(
            state,
            slot,
            octets[sent : sent + count],
            ends and sent + count == len(octets),
            output,
        )
        sent += count
    return sent


def count_content(
    state: PointerTo[H2State], slot: Int, octets: Int
) raises H2Error:
    """Checks content of a stream against its Content-Length.

    Args:
        state: The connection.
        slot: The slot of the stream, whose head was sent.
        octets: The number of octets that are to be queued.

    Raises:
        H2Error: If the content would be longer than that.
    """
    ref stream = state[].streams[slot]
    if stream.send_left < 0:
        return
    if octets > stream.send_left:
        raise H2Error.local("the content exceeds its Content-Length")
    stream.send_left -= octets


def is_content_short(state: PointerTo[H2State], slot: Int) -> Bool:
    """Returns whether content is missing.

    Args:
        state: The connection.
        slot: The slot of the stream.

    Returns:
        True if less than the Content-Length was counted.
    """
    ref stream = state[].streams[slot]
    return stream.send_left > 0 and not stream.response.is_bodiless


def send_end(state: PointerTo[H2State], slot: Int, output: PointerTo[Buffer]):
    """Ends a stream whose content was sent.

    Args:
        state: The connection.
        slot: The slot of the stream. If its head has ended it, no frame is
            written.
        output: The destination.
    """
    if not may_send(state[].streams[slot]):
        return
    append_frame_header(
        0,
        H2FrameType.DATA,
        H2Flag.END_STREAM,
        Int(state[].streams[slot].id),
        output,
    )
    end_sending(state, slot)


@always_inline
def end_sending(state: PointerTo[H2State], slot: Int):
    """Ends this end's side of a stream.

    Args:
        state: The connection.
        slot: The slot of the stream.
    """
    ref stream = state[].streams[slot]
    if stream.state == H2StreamState.OPEN:
        stream.state = H2StreamState.HALF_CLOSED_LOCAL
    else:
        stream.state = H2StreamState.CLOSED

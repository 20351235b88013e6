"""Reads the frames of priorities, old and new."""

from flare.core import PointerTo

from .frame import H2FrameHeader, read_uint32
from .h2_error import H2Code, H2Error
from .h2_state import EarlyPriority, H2State, Reading
from .priority_field import H2Priority, parse_priority
from .settings import WINDOW_MAX
from .stream_ends import count_glitch
from .stream_table import NO_SLOT


def take_priority(
    state: PointerTo[H2State],
    header: H2FrameHeader,
    payload: Span[UInt8, _],
    now_ms: Int,
) raises H2Error:
    """Checks a PRIORITY frame, which has no effect (RFC 9113 section 5.3.2).

    Args:
        state: The connection.
        header: The header of the frame.
        payload: The whole payload.
        now_ms: The time.

    Raises:
        H2Error: If the connection has to end.
    """
    if header.length != 5:
        raise H2Error.connection(
            H2Code.FRAME_SIZE_ERROR, "PRIORITY has another length"
        )
    var dependency = Int(read_uint32(payload, 0) & UInt32(WINDOW_MAX))
    if dependency == header.stream_id:
        raise H2Error.connection(
            H2Code.PROTOCOL_ERROR, "a stream depends on itself"
        )
    count_glitch(state, now_ms)


def take_priority_update(
    reading: Reading, header: H2FrameHeader, payload: Span[UInt8, _]
) raises H2Error:
    """Changes the priority of a stream (RFC 9218 section 7.1).

    Args:
        reading: The connection, the time and the output.
        header: The header of the frame.
        payload: The whole payload.

    Raises:
        H2Error: If the connection has to end.
    """
    count_glitch(reading.state, reading.now_ms)
    if header.stream_id != 0 or reading.state[].is_client:
        raise H2Error.connection(
            H2Code.PROTOCOL_ERROR, "PRIORITY_UPDATE on a stream or at a client"
        )
    if header.length < 4:
        raise H2Error.connection(
            H2Code.FRAME_SIZE_ERROR, "PRIORITY_UPDATE is incomplete"
        )
    var id = Int(read_uint32(payload, 0) & UInt32(WINDOW_MAX))
    if id & 1 == 0:
        raise H2Error.connection(
            H2Code.PROTOCOL_ERROR, "PRIORITY_UPDATE for no stream of a client"
        )
    var priority = parse_priority(payload[4:])
    ref s = reading.state[]
    var slot = s.streams.find(id)
    if slot != NO_SLOT:
        set_priority(reading.state, slot, priority)
    elif id > s.ids.last_begun:
        # Only one is kept: a peer could name any number of streams.
        s.early_priority = EarlyPriority(id, priority)


def take_early_priority(state: PointerTo[H2State], slot: Int):
    """Applies to a new stream the priority that came before it.

    Args:
        state: The connection, which keeps such a priority.
        slot: The slot of the stream.
    """
    ref s = state[]
    if s.early_priority.stream_id == Int(s.streams[slot].id):
        set_priority(state, slot, s.early_priority.priority)
        s.early_priority.stream_id = 0


def set_priority(state: PointerTo[H2State], slot: Int, priority: H2Priority):
    """Sets the priority of a stream.

    Args:
        state: The connection.
        slot: The slot of the stream.
        priority: The priority.
    """
    ref s = state[]
    var is_scheduled = s.streams[slot].turn.is_scheduled
    s.schedule.remove(s.streams, slot)
    s.streams[slot].turn.urgency = priority.urgency
    s.streams[slot].turn.is_incremental = priority.is_incremental
    if is_scheduled:
        s.schedule.add(s.streams, slot)

"""Finds the state of any stream, also of those that have ended."""

from flare.core import PointerTo

from .h2_state import H2State
from .stream_state import H2StreamState
from .stream_table import NO_SLOT


def state_of_stream(state: PointerTo[H2State], id: Int) -> UInt8:
    """Returns the state of a stream.

    Args:
        state: The connection.
        id: The number of the stream; 0 for the connection.

    Returns:
        One of `H2StreamState`.
    """
    ref s = state[]
    if id == 0:
        return H2StreamState.CONNECTION
    var slot = s.streams.find(id)
    if slot != NO_SLOT:
        return s.streams[slot].state
    # No server begins a stream: clients have the odd numbers.
    if id & 1 == 0 or id > s.ids.last_begun:
        return H2StreamState.IDLE
    if s.meters.recent_resets.may_contain(id):
        return H2StreamState.RESET
    return H2StreamState.CLOSED

"""Sends the octets of another protocol after an upgrade."""

from flare.http.exchange import Exchange, OutputRoom

from ..transport.connection_state import connection_of
from ..transport.outbox import make_room, output_of, stream_room
from ..transport.worker_state import worker_of
from .h2_responses import (
    end_h2_stream,
    gathered_of,
    h2_stream_room,
    may_answer,
    queue_gathered,
)

# Room for the framing of the protocol.
comptime _FRAMING_OCTETS = 16


def upgraded_room(x: Exchange, count: Int) -> OutputRoom:
    """Returns the output of an upgraded request, and reserves memory.

    Args:
        x: The request, whose handler runs. Its stream may send.
        count: How many octets are to be appended. There is room for one, or the
            number is negated: then there may be none.

    Returns:
        The output, and how many of the octets it takes.
    """
    var c = connection_of(x)
    var is_stream = Bool(c[].h2)
    var output = gathered_of(x) if is_stream else output_of(c)
    var free: Int
    if is_stream:
        free = h2_stream_room(x)
    else:
        free = stream_room(c) - len(output[])
    var room: Int
    if count > 0:
        # The room may be gone meanwhile: a write always gets on.
        room = min(count, max(free, 1))
    else:
        room = max(free, 0)
        if room < -count and len(output[]) > 0:
            room = 0
    if room > 0:
        var octets = room if count > 0 else -count
        if is_stream:
            worker_of(c)[].make_room(output[], octets + _FRAMING_OCTETS)
        else:
            make_room(c, octets)
    return OutputRoom(output, room)


def may_write_upgraded(x: Exchange) -> Bool:
    """Returns whether the output of an upgraded request takes octets.

    Args:
        x: The request, whose handler runs.

    Returns:
        False once its stream has ended or was reset.
    """
    return not connection_of(x)[].h2 or may_answer(x)


def unsent_of_upgraded(x: Exchange) -> Int:
    """Returns how many octets of an upgraded request wait until they are sent.

    Args:
        x: The request.

    Returns:
        The octets; over HTTP/2, those that wait for their turn or a window.
    """
    var c = connection_of(x)
    if c[].h2:
        return len(gathered_of(x)[]) if may_answer(x) else 0
    return len(c[].outbox.output) + len(c[].outbox.sending)


def queue_upgraded(x: Exchange):
    """Announces octets that were appended to the output.

    Args:
        x: The request.
    """
    if connection_of(x)[].h2:
        queue_gathered(x)


def end_upgraded(x: Exchange):
    """Ends the output of an upgraded request whose function is over. The
    connection of HTTP/1.1 ends by itself.

    Args:
        x: The request.
    """
    if not connection_of(x)[].h2 or x[].peer_gone:
        return
    try:
        end_h2_stream(x)
    except:
        debug_assert(False, "an upgraded stream has no Content-Length")

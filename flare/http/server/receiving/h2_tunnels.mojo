"""Receives octets of another protocol on a stream of HTTP/2 (RFC 8441).

A client begins with an extended CONNECT. Its later octets are no content of the
request, so they are kept apart until the handler speaks the protocol.
"""

from flare.core import (
    Buffer,
    OctetPointer,
    PointerTo,
    heap_create,
    heap_destroy,
)
from flare.http.exchange import Exchange, MutOctets
from flare.proto.h2.h2_event import H2Event

from ..exchange.request_content import READ_AHEAD_OCTETS
from ..transport.upgraded import tell_octets
from ..sending.h2_responses import h2_machine, side_of
from ..transport.connection_state import ConnectionState, connection_of
from ..transport.h2_connection import FREE_OCTETS, H2Tunnel
from ..transport.worker_state import worker_of
from .h2_content import release_taken

# A tunnel that is silent keeps no more memory than that.
comptime _KEPT_OCTETS = 1024


def begin_tunnel(x: Exchange, has_ended: Bool):
    """Begins to keep the octets that follow an extended CONNECT.

    Args:
        x: The request, whose head has arrived.
        has_ended: Whether the client sends none.
    """
    # The request has no content.
    x[].content.is_complete = True
    side_of(connection_of(x), x[].stream_slot).tunnel = heap_create(
        H2Tunnel(has_ended)
    )


def drop_tunnel(c: PointerTo[ConnectionState], slot: Int):
    """Frees the octets of a tunnel.

    Args:
        c: The connection.
        slot: The slot of the stream.
    """
    var tunnel = side_of(c, slot).tunnel
    if tunnel:
        side_of(c, slot).tunnel = None
        heap_destroy(tunnel.unsafe_value())


def take_tunnel_octets(
    c: PointerTo[ConnectionState],
    event: H2Event,
    octets: Span[UInt8, MutUntrackedOrigin],
):
    """Takes octets that have arrived.

    Args:
        c: The connection.
        event: The octets.
        octets: The window in which they were reported.
    """
    ref tunnel = side_of(c, event.slot).tunnel.unsafe_value()[]
    worker_of(c)[].make_room(tunnel.received, event.length)
    tunnel.received.append(octets[event.start : event.start + event.length])
    tunnel.has_ended = tunnel.has_ended or event.ends
    c[].share.moved_octets += event.length
    var x = side_of(c, event.slot).exchange.unsafe_value()
    release_taken(x)
    if x[].is_upgraded():
        tell_octets(x)


def tell_unread_tunnels(c: PointerTo[ConnectionState]):
    """Announces octets that handlers have left unread.

    Args:
        c: The connection.
    """
    ref h2 = c[].h2.unsafe_value()[]
    h2.has_unread_tunnel = False
    for slot in range(len(h2.streams)):
        var tunnel = h2.streams[slot].tunnel
        if not tunnel or len(tunnel.unsafe_value()[].received) == 0:
            continue
        var x = h2.streams[slot].exchange.unsafe_value()
        # A fiber that waits has seen them, and wants more.
        if x[].is_upgraded() and not x[].waiter:
            tell_octets(x)


def _tunnel_of(x: Exchange) -> PointerTo[H2Tunnel]:
    return side_of(connection_of(x), x[].stream_slot).tunnel.unsafe_value()


def unread_of_tunnel(x: Exchange) -> MutOctets:
    """Returns the octets that have arrived and were not consumed.

    Args:
        x: The request, whose handler runs.

    Returns:
        The octets, contiguous; valid until more arrive.
    """
    ref received = _tunnel_of(x)[].received
    if len(received) == 0:
        # It may have no memory.
        return MutOctets(
            unsafe_ptr=OctetPointer(unsafe_from_address=64), length=0
        )
    return MutOctets(unsafe_ptr=received.unsafe_front(), length=len(received))


def consume_of_tunnel(x: Exchange, count: Int):
    """Drops octets, so that the client may send more.

    Args:
        x: The request, whose handler runs.
        count: The number of octets; no more than there are.
    """
    ref received = _tunnel_of(x)[].received
    received.consume(count)
    if len(received) > 0:
        connection_of(x)[].h2.unsafe_value()[].has_unread_tunnel = True
    elif received.capacity() > _KEPT_OCTETS:
        received = Buffer()
    release_taken(x)


def note_early_octets(x: Exchange):
    """Announces the octets that came before the handler speaks the protocol.

    Args:
        x: The request, whose handler runs.
    """
    if len(_tunnel_of(x)[].received) > 0:
        connection_of(x)[].h2.unsafe_value()[].has_unread_tunnel = True


def has_tunnel_ended(x: Exchange) -> Bool:
    """Returns whether the client sends no more octets.

    Args:
        x: The request, whose handler runs.

    Returns:
        True after END_STREAM.
    """
    return _tunnel_of(x)[].has_ended


def is_tunnel_full(x: Exchange) -> Bool:
    """Returns whether a window may hold the client back, its own one or that of
    the connection.

    Args:
        x: The request, whose handler runs.

    Returns:
        True if many octets are unread.
    """
    ref config = worker_of(connection_of(x))[].config.http2
    if h2_machine(connection_of(x)).state[].window.receive <= 0:
        # Other streams have taken all of it.
        return True
    # The window opens again when half of it was taken.
    return len(_tunnel_of(x)[].received) >= min(
        READ_AHEAD_OCTETS, FREE_OCTETS + (config.stream_window_octets + 1) // 2
    )

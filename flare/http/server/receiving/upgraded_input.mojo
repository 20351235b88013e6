"""Receives the octets of another protocol after an upgrade.

Over HTTP/1.1 they are those of the connection; over HTTP/2, those of a stream.
"""

from flare.http.exchange import Exchange, MutOctets

from ..transport.connection_state import connection_of
from ..transport.window import consume, window
from ..transport.worker_state import worker_of
from .h2_requests import abort_h2_exchange
from .h2_tunnels import (
    consume_of_tunnel,
    has_tunnel_ended,
    is_tunnel_full,
    note_early_octets,
    unread_of_tunnel,
)


def upgraded_octets(x: Exchange) -> MutOctets:
    """Returns the octets that have arrived and were not consumed.

    Args:
        x: The request, whose handler runs.

    Returns:
        The octets, contiguous; valid until more arrive.
    """
    var c = connection_of(x)
    if c[].h2:
        return unread_of_tunnel(x)
    return window(c)


def consume_upgraded(x: Exchange, count: Int):
    """Drops octets, so that the peer may send more.

    Args:
        x: The request, whose handler runs.
        count: The number of octets; no more than there are.
    """
    var c = connection_of(x)
    if c[].h2:
        consume_of_tunnel(x, count)
    else:
        consume(c, worker_of(c)[].reactor.buffers(), count)
        c[].share.moved_octets += count


def has_upgraded_ended(x: Exchange) -> Bool:
    """Returns whether the peer sends no more octets.

    Args:
        x: The request, whose handler runs.

    Returns:
        True after its end of the connection, or of the stream.
    """
    var c = connection_of(x)
    if c[].h2:
        return has_tunnel_ended(x)
    return c[].ending.peer_ended


def note_early(x: Exchange):
    """Announces the octets that came before the head of the upgrade was sent.

    Args:
        x: The request, whose handler runs.
    """
    if connection_of(x)[].h2:
        note_early_octets(x)


def is_held_back(x: Exchange) -> Bool:
    """Returns whether the peer's octets are not received for now.

    Args:
        x: The request, whose handler runs.

    Returns:
        True if enough of them are unread, or memory is short.
    """
    var c = connection_of(x)
    if c[].h2 and is_tunnel_full(x):
        return True
    return c[].window.is_paused or c[].window.is_starved


def abort_stream(x: Exchange) -> Bool:
    """Ends the stream of an upgraded request at once.

    Args:
        x: The request, whose handler runs.

    Returns:
        False if it has a connection of its own, which must end.
    """
    if not connection_of(x)[].h2:
        return False
    abort_h2_exchange(x)
    return True

"""Passes a peer's departure, or half-close, on to the requests of its connection."""

from flare.core import PointerTo
from flare.http.exchange import Exchange

from ..sending.h1_responses import end_at_once
from ..transport.connection_state import ConnectionState, Stage, connection_of
from .lifecycle import cancel_handler, note_half_close, stop_stream


def connection_lost(c: PointerTo[ConnectionState]):
    """Ends a connection at once, because its peer has left.

    Args:
        c: The connection.
    """
    if c[].stage == Stage.CLOSING:
        return
    end_at_once(c)
    if c[].running > 0:
        cancel_handler(c[].h1.exchange.value())


def half_closed(c: PointerTo[ConnectionState]):
    """Cancels the next wait of each handler, because the peer sends no more.

    Args:
        c: The connection, whose handler runs.
    """
    note_half_close(c[].h1.exchange.value())


def stop_streams(c: PointerTo[ConnectionState]):
    """Notifies the functions of open streams that the server is stopping.

    Args:
        c: The connection.
    """
    if c[].running > 0 and c[].h1.exchange.value()[].stream.is_open:
        stop_stream(c[].h1.exchange.value())


def cut_off(x: Exchange):
    """Abandons a request whose peer has left, without an answer.

    Args:
        x: The request.
    """
    x[].peer_gone = True
    end_at_once(connection_of(x))

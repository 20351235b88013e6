"""Passes a peer's departure, or half-close, on to the requests of its connection."""

from flare.core import PointerTo
from flare.http.exchange import Exchange

from ..sending.protocol_output import break_off_at_once, end_at_once
from ..transport.connection_state import ConnectionState, Stage
from .lifecycle import cancel_handler, note_half_close, stop_stream


def connection_lost(c: PointerTo[ConnectionState]):
    """Ends a connection at once, because its peer has left.

    Args:
        c: The connection.
    """
    if c[].stage == Stage.CLOSING:
        return
    end_at_once(c)
    cancel_all(c)


def cancel_all(c: PointerTo[ConnectionState]):
    """Cancels the handlers of a connection whose responses cannot be sent.

    Args:
        c: The connection.
    """
    if c[].running == 0:
        return
    if not c[].h2:
        return cancel_handler(c[].h1.exchange.value())
    for i in range(len(c[].h2.unsafe_value()[].streams)):
        var x = c[].h2.unsafe_value()[].streams[i].exchange
        if x and x.unsafe_value()[].is_running():
            cancel_handler(x.unsafe_value())


def half_closed(c: PointerTo[ConnectionState]):
    """Cancels the next wait of each handler, because the peer sends no more.

    Args:
        c: The connection, of which a handler runs.
    """
    if c[].h2:
        # A client that ends a connection of many requests gets no answers.
        return connection_lost(c)
    note_half_close(c[].h1.exchange.value())


def stop_streams(c: PointerTo[ConnectionState]):
    """Notifies the functions of open streams that the server is stopping.

    Args:
        c: The connection.
    """
    if c[].running == 0:
        return
    if not c[].h2:
        return _stop_stream(c[].h1.exchange.value())
    for i in range(len(c[].h2.unsafe_value()[].streams)):
        var x = c[].h2.unsafe_value()[].streams[i].exchange
        if x:
            _stop_stream(x.unsafe_value())


def _stop_stream(x: Exchange):
    if x[].stream.is_open:
        stop_stream(x)


def cut_off(x: Exchange):
    """Abandons a request whose peer has left, without an answer.

    Args:
        x: The request.
    """
    x[].peer_gone = True
    break_off_at_once(x)

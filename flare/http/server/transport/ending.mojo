"""Ends requests and connections, and gives back what they held."""

from flare.core import Buffer, PointerTo
from flare.http.exchange import Exchange

from .connection_state import ConnectionState, Stage, Wait
from .deadline import forget_deadline, set_deadline
from .encryption import free_transport
from .window import drop_input, take_head_back
from .output import (
    drop_output,
    send_operation,
    worker_of,
)
from .poison import poison_views
from .read_ahead import receive_operation, submit_receive, watch_operation
from ..records.statistics import WorkerStatistics

# How long a peer that was told of the end, and may have sent more before it
# knew, is listened to if nothing comes.
comptime _SILENCE_MS = 100


@always_inline
def give_exchange(c: PointerTo[ConnectionState], x: Exchange):
    """Gives the block of a request back that is over.

    Args:
        c: The connection.
        x: The request.
    """
    var w = worker_of(c)
    c[].exchange = None
    poison_views(c, x)
    take_head_back(c, w[].reactor.buffers(), x)
    if c[].gathered.capacity() > 0 and len(c[].gathered) == 0:
        c[].gathered = Buffer()
    w[].give_exchange(x)


@always_inline
def renew_exchange(c: PointerTo[ConnectionState], x: Exchange):
    """Uses the block of a request that is over for the next one, of which
    octets have come.

    Args:
        c: The connection.
        x: The request.
    """
    var w = worker_of(c)
    poison_views(c, x)
    take_head_back(c, w[].reactor.buffers(), x)
    w[].end_exchange(x)
    x[].begin()


def drop_exchange(c: PointerTo[ConnectionState]):
    """Gives the block of a request back that no handler answers.

    Args:
        c: The connection.
    """
    if c[].exchange and not c[].running:
        give_exchange(c, c[].exchange.value())


def end_sending(c: PointerTo[ConnectionState]):
    """Ends our side once all was sent, and listens on if there is a reason.

    Args:
        c: The connection.
    """
    if c[].resets or c[].peer_ended or not (c[].lingers or c[].may_send_more):
        c[].stage = Stage.CLOSING
        return
    # Closing with octets unread would reset the connection, and the reset
    # would take the answer with it before the peer has read it.
    c[].stage = Stage.LINGERING
    worker_of(c)[].reactor.end_sending(c[].descriptor)
    var timeout_ms = worker_of(c)[].config.linger_timeout_ms
    if not c[].lingers:
        timeout_ms = min(timeout_ms, _SILENCE_MS)
    set_deadline(c, Wait.PEER_ENDS, timeout_ms)
    if receive_operation(c).is_idle():
        submit_receive(c)


def close(c: PointerTo[ConnectionState]):
    """Ends the operations, then closes and frees the slot; call it again while
    something still uses the connection.

    Args:
        c: The connection, in the stage `CLOSING`.
    """
    var w = worker_of(c)
    var reactor = w[].reactor
    if not receive_operation(c).is_idle():
        reactor.cancel(receive_operation(c))
    if not send_operation(c).is_idle():
        reactor.cancel(send_operation(c))
    if not watch_operation(c).is_idle():
        reactor.cancel(watch_operation(c))
    if (
        c[].running
        or c[].processing
        or not receive_operation(c).is_idle()
        or not send_operation(c).is_idle()
        or not watch_operation(c).is_idle()
    ):
        return
    drop_exchange(c)
    drop_input(c, reactor.buffers())
    drop_output(c)
    if c[].tls:
        free_transport(c)
    forget_deadline(c)
    if c[].resets:
        reactor.reset(c[].descriptor)
    else:
        reactor.close(c[].descriptor)
    # What it still has dies with its slot.
    w[].budget.charged -= c[].charged
    w[].has_freed = True
    _ = w[].connections.give(c[].slot)
    WorkerStatistics.set(
        Pointer(to=w[].statistics[].connections), w[].connections.lent()
    )
    w[].slot_freed(w.unsafe_bitcast[NoneType]())

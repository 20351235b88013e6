"""Closes a connection and frees its slot."""

from flare.core import PointerTo

from ..receiving.protocol_input import drop_requests
from ..records.statistics import set_counter
from ..transport.connection_state import Attention, ConnectionState
from ..transport.deadline import forget_deadline
from ..transport.encryption import free_transport
from ..transport.outbox import drop_output, send_operation
from ..transport.read_ahead import receive_operation, watch_operation
from ..transport.window import drop_input
from ..transport.worker_state import worker_of


def close(c: PointerTo[ConnectionState]):
    """Ends the operations, then closes and frees the slot. Call it again until
    no operation uses the connection.

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
        c[].running > 0
        or c[].attention == Attention.PROCESSING
        or not receive_operation(c).is_idle()
        or not send_operation(c).is_idle()
        or not watch_operation(c).is_idle()
    ):
        return
    drop_requests(c)
    drop_input(c, reactor.buffers())
    drop_output(c)
    if c[].tls:
        free_transport(c)
    forget_deadline(c)
    if c[].ending.resets:
        reactor.reset(c[].descriptor)
    else:
        reactor.close(c[].descriptor)
    # Its remaining resources are freed with its slot.
    w[].budget.charged -= c[].share.charged
    w[].trimming.has_freed = True
    _ = w[].connections.give(c[].slot)
    set_counter(w[].statistics[].connections, w[].connections.lent())
    w[].accepting.slot_freed(w.unsafe_bitcast[NoneType]())

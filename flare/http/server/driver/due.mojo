"""Continues connections at the end of the turn in which their handlers ran.

A handler that continues after a wait may write many times in a turn. Its
connection looks at the output once, when all fibers of the turn have run: then
one send takes all of it.
"""

from flare.core import PointerTo

from ..exchange.of_connection import held_by_exchanges
from ..transport.buffered import has_usual_output, recount
from ..transport.connection_state import Attention, ConnectionState
from ..transport.worker_state import WorkerState, worker_of
from .connection import Connection


@always_inline
def note_due(c: PointerTo[ConnectionState]):
    """Makes the worker look at a connection at the end of the turn.

    Its memory is charged at once: many connections may answer in one turn.

    Args:
        c: The connection. If the loop is looking at it already, it does so to
            the end, and charges its memory then. If it is due already, more
            output counts once it outgrows the memory that the worker lent.
    """
    if c[].attention == Attention.PROCESSING or (
        c[].attention == Attention.DUE and has_usual_output(c)
    ):
        return
    recount(c, held_by_exchanges(c))
    if c[].attention == Attention.NONE:
        c[].attention = Attention.DUE
        worker_of(c)[].turn_end.due.append(c[].slot)
        worker_of(c)[].reactor.note_work_after_turn()


def continue_due(w: PointerTo[WorkerState]):
    """Continues the connections that are due.

    Args:
        w: The worker, whose turn ends.
    """
    ref due = w[].turn_end.due
    var next = 0
    while next < len(due):
        var c = w[].connections.find(due[next])
        next += 1
        # Another event of the turn may have made the loop look before.
        if c and c.value()[].attention == Attention.DUE:
            Connection(c.value()).process()
    due.clear()

"""Resumes receiving on connections that found no free receive buffer."""

from flare.core import PointerTo, SlotHandle

from ..receiving.protocol_input import receive_wish
from ..transport.connection_state import Stage
from ..transport.read_ahead import (
    adjust_receive,
    receive_operation,
    submit_receive,
)
from ..transport.worker_state import WorkerState, turn_again

comptime STARVED_SPARE = 64
"""How many entries of connections that have ended may always stay in the list
of those that found no buffer."""


def note_starved(w: PointerTo[WorkerState], slot: SlotHandle):
    """Adds a connection that found no free buffer to the waiting list.

    A connection that ends leaves its entry in the list. The worker drops such
    entries when they may outnumber the others.

    Args:
        w: The worker.
        slot: The slot of the connection.
    """
    ref starved = w[].turn_end.starved
    if len(starved) >= 2 * w[].connections.lent() + STARVED_SPARE:
        var kept = 0
        for i in range(len(starved)):
            var c = w[].connections.find(starved[i])
            if c and c.value()[].window.is_starved:
                starved[kept] = starved[i]
                kept += 1
        starved.shrink(kept)
    starved.append(slot)
    w[].reactor.note_work_after_turn()


def feed_starved(w: PointerTo[WorkerState]):
    """Resumes receiving on connections that found no free buffer.

    It resumes one connection for each free buffer, the longest waiting first.
    Resuming all of them for each buffer would take quadratic time.

    Args:
        w: The worker.
    """
    var count = min(
        w[].reactor.buffers().available(), len(w[].turn_end.starved)
    )
    var waiting = List[SlotHandle](w[].turn_end.starved[:count])
    var rest = List[SlotHandle](w[].turn_end.starved[count:])
    w[].turn_end.starved = rest^
    if len(w[].turn_end.starved) > 0:
        # If no octets wait for them, it is the turn of the others.
        turn_again(w)
    for slot in waiting:
        var c = w[].connections.find(slot)
        if c:
            c.value()[].window.is_starved = False
            if c.value()[].stage == Stage.OPEN:
                adjust_receive(c.value(), receive_wish(c.value()))
            elif (
                c.value()[].stage in (Stage.LINGERING, Stage.SHAKING_HANDS)
                and receive_operation(c.value()).is_idle()
            ):
                submit_receive(c.value())

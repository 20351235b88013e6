"""Ends connections that hold more than their share of a full budget.

Peers that send and do not read can fill the budget of a worker with few
connections. Each would keep its part until a deadline ends it, and all other
requests would be answered 503 meanwhile. So a worker that is full ends those
that hold most beyond what a handler waits for, until there is some room.
"""

from flare.core import PointerTo, SlotHandle

from .buffered import buffered_octets
from .connection import Connection
from .connection_state import ConnectionState, Stage, Wait
from .input import window
from .read_ahead import READ_AHEAD_OCTETS
from .statistics import WorkerStatistics
from .worker_state import WorkerState

# Looking at all connections takes time, which the others lack.
comptime _PERIOD_MS = 10
# Ending one calls its handler, so that few end in a turn.
comptime _ENDED_MAX = 16
# The share of the budget that is free afterwards.
comptime _FREED_SHARE = 16
# A peer that has taken octets since then reads: its network may be slow.
comptime _UNREAD_MS = 1000


@fieldwise_init
struct _Holder(Copyable, Movable):
    var slot: SlotHandle
    var surplus_octets: Int


def shed(w: PointerTo[WorkerState]):
    """Ends the connections that hold most, if there was no look at them just
    now.

    Args:
        w: The worker, whose budget is used up.
    """
    ref budget = w[].budget
    var now_ms = w[].reactor.now_ms()
    if now_ms < budget.shed_ms + _PERIOD_MS:
        return
    budget.shed_ms = now_ms
    var held = buffered_octets(w)
    var room = budget.octets_max - budget.octets_max // _FREED_SHARE
    var holders = _holders(w, now_ms)
    for _ in range(min(_ENDED_MAX, len(holders))):
        if held <= room:
            return
        var most = 0
        for i in range(len(holders)):
            if holders[i].surplus_octets > holders[most].surplus_octets:
                most = i
        # The content of the request stays charged until its handler ends.
        held -= holders[most].surplus_octets
        holders[most].surplus_octets = 0
        var c = w[].connections.find(holders[most].slot)
        if c and c.value()[].stage != Stage.CLOSING:
            WorkerStatistics.add(
                Pointer(to=w[].statistics[].connections_shed), 1
            )
            var connection = Connection(c.value())
            connection.peer_is_gone()
            connection.settle()


def _holders(w: PointerTo[WorkerState], now_ms: Int) -> List[_Holder]:
    var holders = List[_Holder]()
    for slot in w[].connections.handles():
        var c = w[].connections.find(slot)
        if c:
            var surplus = _surplus_octets(c.value(), now_ms)
            if surplus > READ_AHEAD_OCTETS:
                holders.append(_Holder(slot, surplus))
    return holders^


def _surplus_octets(c: PointerTo[ConnectionState], now_ms: Int) -> Int:
    """Returns what a connection holds though nobody waits for it, or 0 if its
    peer reads and sends as it should."""
    if c[].stage == Stage.CLOSING:
        return 0
    var is_silent = (
        c[].wait == Wait.PEER_READS and now_ms - c[].send_began_ms >= _UNREAD_MS
    )
    if not is_silent and len(window(c)) <= READ_AHEAD_OCTETS:
        return 0
    var surplus = c[].charged
    if c[].running:
        # Content has a rule of its own.
        surplus -= c[].exchange.unsafe_value()[].content.capacity()
    return surplus

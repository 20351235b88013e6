"""Ends connections that hold much of a full budget and are slow.

Peers that read slowly, that send and do not read, or that send a part of a
content and no more can fill the budget of a worker with few connections. Each
would keep its part until a deadline ends it, and others would wait and be
answered 503. So a worker that is full, or where others wait for room, ends the
connections that hold most, until there is some room. Connections whose octets
move at a fair rate are left alone.
"""

from flare.core import Buffer, PointerTo, SlotHandle

from .buffered import buffered_octets, is_favoured
from .connection import Connection
from .connection_state import ConnectionState, Stage
from .output import flush
from .statistics import WorkerStatistics
from .worker_state import OUTPUT_OCTETS, WorkerState

# Looking at all connections takes time, which the others lack.
comptime _PERIOD_MS = 10
# Ending one calls its handler, so that few end in a turn.
comptime _ENDED_MAX = 16
# The share of the budget that is free afterwards.
comptime _FREED_SHARE = 16
# How long a peer is looked at before it is judged: its network may be slow.
comptime _LOOKED_AT_MS = 1000
# A quarter of a megabit in a second: a fair rate where others get nothing.
comptime _FAIR_OCTETS_PER_SECOND = 32 * 1024


@fieldwise_init
struct _Holder(Copyable, Movable):
    var slot: SlotHandle
    var surplus_octets: Int


def shed(w: PointerTo[WorkerState]):
    """Ends the connections that hold most, if there was no look at them just
    now.

    Args:
        w: The worker, whose budget is used up, or where others wait for room.
    """
    ref budget = w[].budget
    var now_ms = w[].reactor.now_ms()
    if now_ms < budget.shed_ms + _PERIOD_MS:
        return
    if now_ms >= budget.shed_ms + _LOOKED_AT_MS:
        # What was noted before tells how fast octets moved while none had to.
        budget.shedding_since_ms = now_ms
    budget.shed_ms = now_ms
    var held = buffered_octets(w)
    var room = budget.octets_max
    if len(budget.waiting) > 0:
        room = budget.contents_max()
    room -= room // _FREED_SHARE
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
        holders[most].surplus_octets = -1
        var c = w[].connections.find(holders[most].slot)
        if c and c.value()[].stage != Stage.CLOSING:
            _end(w, c.value())


def _end(w: PointerTo[WorkerState], c: PointerTo[ConnectionState]):
    WorkerStatistics.add(Pointer(to=w[].statistics[].connections_shed), 1)
    var connection = Connection(c)
    if _owes_content(c) and _surplus_octets(c, False) < OUTPUT_OCTETS:
        connection.refuse_content(503)
        flush(c)
    else:
        connection.peer_is_gone()
    connection.settle()


def _holders(w: PointerTo[WorkerState], now_ms: Int) -> List[_Holder]:
    var holders = List[_Holder]()
    var others_wait = len(w[].budget.waiting) > 0
    for slot in w[].connections.handles():
        var c = w[].connections.find(slot)
        if c:
            var surplus = _surplus_octets(c.value(), others_wait)
            if surplus < OUTPUT_OCTETS and not is_favoured(c.value()):
                c.value()[].noted_ms = 0
            elif _is_slow(w, c.value(), now_ms):
                holders.append(_Holder(slot, surplus))
    return holders^


def _surplus_octets(c: PointerTo[ConnectionState], others_wait: Bool) -> Int:
    """Returns what a connection holds that may be taken from it.

    The content of its request is part of that only if others wait for room and
    it is not complete. A connection that itself waits has a rule of its own.
    """
    if c[].stage == Stage.CLOSING:
        return 0
    var surplus = c[].charged + _lent(c[].output) + _lent(c[].sending)
    if c[].running:
        ref x = c[].exchange.unsafe_value()[]
        if c[].awaits_room and not x.content_complete:
            return 0
        if not (others_wait and _owes_content(c)):
            surplus -= x.content.capacity()
    return surplus


def _owes_content(c: PointerTo[ConnectionState]) -> Bool:
    if not c[].running or c[].upgraded:
        return False
    ref x = c[].exchange.unsafe_value()[]
    return not x.content_complete and x.content_status == 0


def _lent(buffer: Buffer) -> Int:
    return min(buffer.capacity(), OUTPUT_OCTETS)


def _is_slow(
    w: PointerTo[WorkerState], c: PointerTo[ConnectionState], now_ms: Int
) -> Bool:
    """Tells whether octets of a connection have moved at less than a fair rate
    since it was looked at first. A fast one is looked at anew."""
    var looked_at_ms = now_ms - c[].noted_ms
    if c[].noted_ms < w[].budget.shedding_since_ms or c[].noted_ms == 0:
        c[].noted_ms = now_ms
        c[].noted_octets = c[].moved_octets
        return False
    if looked_at_ms < _LOOKED_AT_MS:
        return False
    var moved = c[].moved_octets - c[].noted_octets
    if moved * 1000 < _FAIR_OCTETS_PER_SECOND * looked_at_ms:
        return True
    c[].noted_ms = now_ms
    c[].noted_octets = c[].moved_octets
    return False

"""Closes slow connections that hold much of a full memory budget.

A few connections can fill the budget of a worker, if their peers read slowly,
send without reading, or send only a part of a content. Each would keep its
part until a deadline ends it; others would wait and be answered 503. So a
worker that is full, or has requests waiting for room, closes the connections
that hold most, until there is some room. Connections whose octets move at a
fair rate are left alone.
"""

from flare.core import Buffer, PointerTo, SlotHandle
from flare.sys.socket import unacknowledged_octets

from ..driver.connection import Connection
from ..exchange.departures import connection_lost
from ..exchange.of_connection import (
    any_gathers_content,
    any_is_favoured,
    filtered_octets,
    needed_by_handlers,
)
from ..receiving.protocol_input import refuse_contents
from ..records.statistics import count
from ..transport.buffered import buffered_octets, is_overfull
from ..transport.connection_state import ConnectionState, Stage
from ..transport.outbox import flush, has_output
from ..transport.worker_parts import OUTPUT_OCTETS
from ..transport.worker_state import WorkerState

# Looking at all connections takes time, which the others lack.
comptime _PERIOD_MS = 10
comptime _LOOKED_AT_PER_MS = 256
comptime _PERIOD_MS_MAX = 200
# Ending one calls its handler, so that few end in a turn.
comptime _ENDED_MAX = 16
# The share of the budget that is free afterwards.
comptime _FREED_SHARE = 16
# How long a peer is looked at before it is judged: its network may be slow.
comptime _LOOKED_AT_MS = 1000
# And while every new request is refused: no other client is served then.
comptime _LOOKED_AT_OVERFULL_MS = 200
# A quarter of a megabit per second: a fair rate while others get none. A
# connection that holds much must be faster.
comptime _FAIR_OCTETS_PER_SECOND = 32 * 1024
comptime _HELD_SECONDS_MAX = 10
comptime _MUCH_OCTETS = 256 * 1024


@fieldwise_init
struct _Holder(Copyable, Movable):
    var slot: SlotHandle
    var surplus_octets: Int
    # The memory that is freed with it.
    var all_octets: Int
    var is_favoured: Bool


def shed(w: PointerTo[WorkerState]):
    """Ends the connections that hold most memory, at most once per interval.

    Args:
        w: The worker, whose budget is used up, or which has connections that
            wait for room.
    """
    ref budget = w[].budget
    var now_ms = w[].reactor.now_ms()
    var period_ms = min(
        _PERIOD_MS + w[].connections.lent() // _LOOKED_AT_PER_MS, _PERIOD_MS_MAX
    )
    if now_ms < budget.shed_ms + period_ms:
        return
    if now_ms >= budget.shed_ms + _LOOKED_AT_MS:
        # The earlier check shows how fast octets moved while that was not
        # required.
        budget.shedding_since_ms = now_ms
    budget.shed_ms = now_ms
    var held = buffered_octets(w)
    var room = budget.octets_max
    if len(budget.waiting) > 0:
        room = budget.contents_max()
    room -= room // _FREED_SHARE
    var holders = _holders(w, now_ms)
    var total = 0
    for holder in holders:
        total += holder.all_octets
    # Ending many that hold little helps only if it makes the room.
    var least = 0 if held - total <= room else _MUCH_OCTETS
    for _ in range(min(_ENDED_MAX, len(holders))):
        if held <= room:
            return
        var most = 0
        for i in range(len(holders)):
            if holders[i].surplus_octets > holders[most].surplus_octets:
                most = i
        if holders[most].surplus_octets < least:
            most = _favoured_of(holders)
            if most < 0:
                return
        # The content of the request stays charged until its handler ends.
        held -= holders[most].surplus_octets
        holders[most].surplus_octets = -1
        holders[most].is_favoured = False
        var c = w[].connections.find(holders[most].slot)
        if c and c.value()[].stage != Stage.CLOSING:
            _end(w, c.value())


def _end(w: PointerTo[WorkerState], c: PointerTo[ConnectionState]):
    count(w[].statistics[].connections_shed)
    var connection = Connection(c)
    if any_gathers_content(c) and _surplus_octets(c, False) < OUTPUT_OCTETS:
        refuse_contents(c, 503)
        flush(c)
    else:
        connection_lost(c)
    connection.settle()


def _favoured_of(holders: List[_Holder]) -> Int:
    # It keeps others waiting, however little it holds.
    for i in range(len(holders)):
        if holders[i].is_favoured:
            return i
    return -1


def _holders(w: PointerTo[WorkerState], now_ms: Int) -> List[_Holder]:
    var holders = List[_Holder]()
    var others_wait = len(w[].budget.waiting) > 0
    for slot in w[].connections.handles():
        var c = w[].connections.find(slot)
        if c:
            var surplus = _surplus_octets(c.value(), others_wait)
            var favoured = any_is_favoured(c.value())
            if surplus < OUTPUT_OCTETS and not favoured:
                c.value()[].share.noted_ms = 0
            elif _is_slow(w, c.value(), surplus, now_ms):
                var all = c.value()[].share.charged + _lent_octets(c.value())
                holders.append(_Holder(slot, surplus, all, favoured))
    return holders^


def _surplus_octets(c: PointerTo[ConnectionState], others_wait: Bool) -> Int:
    """Returns how much of the memory of a connection its handlers can do
    without."""
    if c[].stage == Stage.CLOSING:
        return 0
    var held = c[].share.charged + _lent_octets(c)
    return held - needed_by_handlers(c, held, others_wait)


def _lent_octets(c: PointerTo[ConnectionState]) -> Int:
    return _lent(c[].outbox.output) + _lent(c[].outbox.sending)


def _lent(buffer: Buffer) -> Int:
    return min(buffer.capacity(), OUTPUT_OCTETS)


def _is_slow(
    w: PointerTo[WorkerState],
    c: PointerTo[ConnectionState],
    surplus_octets: Int,
    now_ms: Int,
) -> Bool:
    """Returns whether octets of a connection have moved at less than a fair
    rate since the first check. A fast one is checked from the start again.
    """
    var looked_at_ms = now_ms - c[].share.noted_ms
    # One that has taken all goes at the pace of its handler.
    var is_new = (
        c[].share.noted_ms < w[].budget.shedding_since_ms
        or c[].share.noted_ms == 0
        or not (any_gathers_content(c) or has_output(c))
    )
    var least_ms = _LOOKED_AT_OVERFULL_MS if is_overfull(w) else _LOOKED_AT_MS
    if not is_new and looked_at_ms < least_ms:
        return False
    # The kernel takes much at once from a connection, and then nothing for long.
    # A simulated one takes all, and its descriptor is unknown here.
    var waiting = unacknowledged_octets(c[].descriptor)
    var all_moved = (
        c[].share.moved_octets - max(waiting, 0) + filtered_octets(c)
    )
    var moved = all_moved - c[].share.noted_octets
    var fair = max(_FAIR_OCTETS_PER_SECOND, surplus_octets // _HELD_SECONDS_MAX)
    if not is_new and moved >= 0 and moved * 1000 < fair * looked_at_ms:
        return True
    c[].share.noted_ms = now_ms
    c[].share.noted_octets = all_moved
    return False

"""Resumes connections that wait for room in the memory budget of their worker.

The longest waiting is first. If every upload held a part and waited for room,
none would complete. So one of them, the longest waiting, continues although
there is no room, and after it the next one. If no connection has continued for
`overload_timeout_ms` even so, those that hold most are answered 503, so that
there is room for the others.
"""

from flare.core import Erased, PointerTo, SlotHandle

from ..driver.connection import Connection
from ..exchange.departures import connection_lost
from ..exchange.of_connection import (
    any_gathers_content,
    any_is_favoured,
    first_to_favour,
    has_request,
    only_answer_is_due,
)
from ..receiving.protocol_input import (
    end_behind_answer,
    is_upgraded,
    refuse_contents,
    resume_contents,
)
from ..transport.buffered import (
    arm_tick,
    buffered_octets,
    is_full,
    is_short_of_room,
    stop_tick,
)
from ..transport.connection_state import ConnectionState, Stage
from ..transport.outbox import flush
from ..transport.worker_parts import OUTPUT_OCTETS
from ..transport.worker_state import WorkerState, turn_again

# A resumed connection takes in the octets of its window: more of them in a
# turn would block the loop.
comptime _PER_TURN_MAX = 32
# The share of the waiting requests that is refused at a time.
comptime _REFUSED_SHARE = 8


def begin_budget(w: PointerTo[WorkerState]):
    """Binds the budget's timer to the worker.

    Args:
        w: The worker, which begins.
    """
    w[].budget.task.owner = w.unsafe_bitcast[NoneType]()
    w[].budget.task.fire = _on_tick
    w[].budget.timer.owner = (
        Pointer(to=w[].budget.task)
        .unsafe_origin_cast[MutUntrackedOrigin]()
        .unsafe_bitcast[NoneType]()
    )


def feed_waiting(w: PointerTo[WorkerState]):
    """Resumes connections that wait for room, as far as there is room.

    Args:
        w: The worker, at the end of a turn.
    """
    if len(w[].budget.waiting) == 0:
        return
    if is_full(w) and _has_favoured(w):
        return
    # A connection that has to wait again goes to the end of the queue for the
    # next turn: otherwise the loop would never end.
    var waiting = List[SlotHandle]()
    swap(waiting, w[].budget.waiting)
    var rest = List[SlotHandle]()
    var fed = 0
    for slot in waiting:
        var c = w[].connections.find(slot)
        if not _stays_in_line(c):
            continue
        if fed == _PER_TURN_MAX or not _may_go_on(w, c.value()):
            rest.append(slot)
            continue
        fed += 1
        _go_on(w, slot)
    if fed == _PER_TURN_MAX:
        # The next turn must not wait for something else to happen.
        turn_again(w)
    rest.extend(Span(w[].budget.waiting))
    w[].budget.waiting = rest^
    if len(w[].budget.waiting) == 0 and not is_full(w):
        stop_tick(w)


def _may_go_on(
    w: PointerTo[WorkerState], c: PointerTo[ConnectionState]
) -> Bool:
    """Returns whether there is room for a connection, or makes it the one that
    needs none.
    """
    if not is_short_of_room(w):
        return True
    if not any_gathers_content(c):
        # It waits only while the whole budget is used up.
        return not is_full(w)
    if _has_favoured(w):
        return False
    w[].budget.favoured = c[].slot
    w[].budget.favoured_request = first_to_favour(c)
    return True


def _go_on(w: PointerTo[WorkerState], slot: SlotHandle):
    var stuck_since_ms = w[].budget.stuck_since_ms
    var c = w[].connections.find(slot).value()
    _leave_line(c)
    resume_contents(c)
    Connection(c).process()
    var again = w[].connections.find(slot)
    if not (again and again.value()[].share.awaits_room):
        stuck_since_ms = w[].reactor.now_ms()
    w[].budget.stuck_since_ms = stuck_since_ms


def _has_favoured(w: PointerTo[WorkerState]) -> Bool:
    """Returns whether the favoured request still receives content."""
    if w[].budget.favoured_request == 0:
        return False
    var c = w[].connections.find(w[].budget.favoured)
    if c and any_gathers_content(c.value()) and any_is_favoured(c.value()):
        return True
    w[].budget.favoured_request = 0
    return False


def _on_tick(owner: Erased):
    var w = owner.unsafe_bitcast[WorkerState]()
    _drop_stale(w)
    var stuck_ms = w[].reactor.now_ms() - w[].budget.stuck_since_ms
    if stuck_ms >= w[].config.overload_timeout_ms and is_short_of_room(w):
        _refuse_some(w)
    if len(w[].budget.waiting) > 0 or is_full(w):
        # Slow connections are looked for at the end of a turn.
        arm_tick(w)


def _refuse_some(w: PointerTo[WorkerState]):
    """Refuses the connections that hold most, until there is some room; if no
    waiting one holds much, the latest.
    """
    var refused = List[SlotHandle]()
    var to_free = buffered_octets(w) - w[].budget.contents_max()
    while to_free > 0 and len(refused) < _PER_TURN_MAX:
        var most = _heaviest(w)
        if most < 0:
            break
        var slot = w[].budget.waiting.pop(most)
        to_free -= _weight(w[].connections.find(slot).value())
        refused.append(slot)
    var count = len(w[].budget.waiting)
    if len(refused) == 0:
        for _ in range(count // _REFUSED_SHARE + min(count, 1)):
            refused.append(w[].budget.waiting.pop())
    # One that waits anew stands in the list again, and is not refused now.
    for slot in refused:
        _refuse(w, slot)


def _heaviest(w: PointerTo[WorkerState]) -> Int:
    var most = -1
    var most_octets = OUTPUT_OCTETS
    for i in range(len(w[].budget.waiting)):
        var c = w[].connections.find(w[].budget.waiting[i]).value()
        if _weight(c) > most_octets:
            most = i
            most_octets = _weight(c)
    return most


def _weight(c: PointerTo[ConnectionState]) -> Int:
    """Returns how much refusing a connection that waits frees."""
    return (
        c[]
        .share.charged if any_gathers_content(c) else c[]
        .window.gathered.capacity()
    )


def _drop_stale(w: PointerTo[WorkerState]):
    # Requests that came and went while others wait must not add up.
    var live = List[SlotHandle]()
    for slot in w[].budget.waiting:
        var c = w[].connections.find(slot)
        if _stays_in_line(c):
            live.append(slot)
    w[].budget.waiting = live^


def _refuse(w: PointerTo[WorkerState], slot: SlotHandle):
    var c = w[].connections.find(slot)
    if not _stays_in_line(c):
        return
    _leave_line(c.value())
    var connection = Connection(c.value())
    if c.value()[].stage != Stage.OPEN:
        connection.settle()
        return
    if not has_request(c.value()) or only_answer_is_due(c.value()):
        # The requests after that one were not started, and are dropped.
        end_behind_answer(c.value())
    elif is_upgraded(c.value()):
        # No part of another protocol may be left out.
        connection_lost(c.value())
    else:
        refuse_contents(c.value(), 503)
        flush(c.value())
    connection.settle()


def _stays_in_line(c: Optional[PointerTo[ConnectionState]]) -> Bool:
    """Returns whether a connection still waits in line. If not, it clears the
    connection's part; the caller drops the entry.
    """
    if c and not c.value()[].share.awaits_room:
        _leave_line(c.value())
    return Bool(c) and c.value()[].share.awaits_room


def _leave_line(c: PointerTo[ConnectionState]):
    c[].share.awaits_room = False
    c[].share.stands_in_line = False

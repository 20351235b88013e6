"""Turns received octets of HTTP/2 into requests.

A connection has many requests at a time. Each begins when its head has arrived,
whatever the others do.
"""

from flare.core import (
    Buffer,
    PointerTo,
    exchange_values,
    heap_create,
    heap_destroy,
)
from flare.http.builders import refusal, service_unavailable
from flare.http.exchange import Exchange, ExchangeStage
from flare.proto.h1 import H1Rule
from flare.proto.h2.h2_error import H2Code, H2Error
from flare.proto.h2.h2_event import H2Event
from flare.runtime.backend import BackendKind
from flare.sys.socket import set_socket_option
from flare.sys.socket_constants import IPPROTO_TCP, TCP_NOTSENT_LOWAT

from ..exchange.departures import cancel_all, connection_lost
from ..exchange.lifecycle import (
    begin_exchange,
    cancel_handler,
    end_handler,
    start_handler,
)
from ..exchange.of_connection import any_reads_in_large
from ..exchange.poison import poison_views
from ..exchange.record import answer, record_departure
from ..exchange.request_content import READ_AHEAD_OCTETS
from ..records.statistics import count
from ..sending.h2_pump import note_stalls
from ..sending.h2_responses import (
    drop_unsent,
    forget_h2,
    h2_machine,
    reset_h2,
    side_of,
)
from ..transport.buffered import is_short_of_room
from ..transport.connection_state import ConnectionState, Stage, connection_of
from ..transport.h2_connection import Drain, H2Connection, StreamSide
from ..transport.outbox import output_of
from ..transport.read_ahead import ReceiveWish
from ..transport.window import consume, drop_input, window
from ..transport.worker_state import worker_of
from .h2_content import take_content, take_trailers
from .h2_tunnels import (
    begin_tunnel,
    drop_tunnel,
    take_tunnel_octets,
    tell_unread_tunnels,
)

# While more is unsent, no frames are read: they may ask for more.
comptime _UNSENT_OCTETS_MAX = 256 * 1024
# By how much the windows of all connections of a worker may grow.
comptime _GROWN_OCTETS_MAX = 256 << 20
# As many streams at a time cost an idle connection no memory worth freeing.
comptime _SLOTS_KEPT = 8
comptime _LAST_ID = (1 << 31) - 1
comptime _URGENCIES = 8
# The most unsent octets that the kernel holds: enough for it to have some while
# the worker is busy.
comptime _KERNEL_OCTETS_MAX = 128 * 1024
# How long after the first announcement a client may begin streams, because it
# may not have received it.
comptime _DRAIN_MS = 1000


def begin_h2(c: PointerTo[ConnectionState]):
    """Makes a connection speak HTTP/2.

    Args:
        c: The connection, which has carried no request.
    """
    var w = worker_of(c)
    c[].h2 = heap_create(H2Connection(w[].config.h2_limits()))
    h2_machine(c).begin(output_of(c))
    if w[].config.backend != BackendKind.SIMULATED:
        # Octets in the kernel are sent before a more urgent response. A Unix
        # socket has no such option, and holds few.
        _ = set_socket_option(
            c[].descriptor, IPPROTO_TCP, TCP_NOTSENT_LOWAT, _KERNEL_OCTETS_MAX
        )
    if w[].stopping:
        go_away_h2(c)


def advance_h2(c: PointerTo[ConnectionState]) -> Bool:
    """Handles one event of the protocol.

    Args:
        c: The connection.

    Returns:
        False if the connection waits for octets or for room.
    """
    if c[].stage != Stage.OPEN:
        return False
    if c[].h2.unsafe_value()[].waiting > 0:
        _start_waiting(c)
    if c[].h2.unsafe_value()[].has_unread_tunnel:
        tell_unread_tunnels(c)
    var octets = window(c)
    if len(octets) == 0 or len(c[].outbox.output) > _UNSENT_OCTETS_MAX:
        if c[].ending.peer_ended and len(octets) == 0:
            connection_lost(c)
        return False
    var w = worker_of(c)
    var event: H2Event
    try:
        event = h2_machine(c).next_event(
            octets, w[].reactor.now_ms(), output_of(c)
        )
    except e:
        _fail(c, e)
        return False
    if event.kind == H2Event.REQUEST_HEAD:
        consume(c, w[].reactor.buffers(), event.consumed)
        _begin_request(c, event)
        return True
    if event.kind == H2Event.DATA:
        if side_of(c, event.slot).tunnel:
            take_tunnel_octets(c, event, octets)
        else:
            take_content(c, event, octets)
        consume(c, w[].reactor.buffers(), event.consumed)
        return True
    consume(c, w[].reactor.buffers(), event.consumed)
    if event.kind == H2Event.NEED_OCTETS:
        if c[].ending.peer_ended:
            connection_lost(c)
        return False
    _take_other(c, event)
    return True


@always_inline
def _begin_request(c: PointerTo[ConnectionState], event: H2Event):
    var w = worker_of(c)
    var x = w[].take_exchange(c.unsafe_bitcast[NoneType]())
    ref heads = h2_machine(c).state[].input.heads
    # The block of an earlier request becomes the reader's next one.
    exchange_values(
        Pointer(to=x[].head).unsafe_origin_cast[MutUntrackedOrigin](),
        Pointer(to=heads.head).unsafe_origin_cast[MutUntrackedOrigin](),
    )
    swap(x[].gathered, heads.octets)
    x[].octets = x[].gathered.unsafe_front()
    x[].octet_count = len(x[].gathered)
    x[].stream_slot = event.slot
    _set_exchange(c, event.slot, x)
    begin_exchange(x)
    x[].content.is_complete = event.ends
    if x[].head.wants_upgrade:
        begin_tunnel(x, event.ends)
    ref h2 = c[].h2.unsafe_value()[]
    h2.requests += 1
    if h2.requests == w[].config.http2.max_requests:
        go_away_h2(c)
    if h2.drain != Drain.NONE:
        _finish_drain_if_late(c)
    if event.status != 0:
        _refuse_head(c, x, event.status)
    elif _has_much_unsent(c) and not _is_urgent(c, event.slot):
        # Its stream stays open. To refuse it would be no help: frames are read
        # all the same, because they may open windows.
        h2.waiting += 1
    else:
        _start(c, x)


@always_inline
def _start(c: PointerTo[ConnectionState], x: Exchange):
    if not start_handler(x):
        answer(x, service_unavailable())
        finish_h2_exchange(c, x)


@always_inline
def _has_much_unsent(c: PointerTo[ConnectionState]) -> Bool:
    return (
        c[].h2.unsafe_value()[].unsent_octets
        > worker_of(c)[].config.http2.max_unsent_octets
    )


@no_inline
def _start_waiting(c: PointerTo[ConnectionState]):
    """Starts requests that waited until less content was unsent."""
    ref h2 = c[].h2.unsafe_value()[]
    var least = _least_urgency(c)
    var slot = 0
    while slot < len(h2.streams) and h2.waiting > 0 and c[].stage == Stage.OPEN:
        var x = h2.streams[slot].exchange
        if x and x.unsafe_value()[].stage == ExchangeStage.STARTING:
            var urgency = Int(h2.state.streams[slot].turn.urgency)
            if not _has_much_unsent(c) or urgency < least:
                least = min(least, urgency)
                h2.waiting -= 1
                _start(c, x.unsafe_value())
        slot += 1


def _is_urgent(c: PointerTo[ConnectionState], slot: Int) -> Bool:
    """Returns whether a request starts although much content is unsent: if it
    passes all others. So no more than one of each urgency adds to the content.
    """
    ref streams = c[].h2.unsafe_value()[].state.streams
    return Int(streams[slot].turn.urgency) < _least_urgency(c)


def _least_urgency(c: PointerTo[ConnectionState]) -> Int:
    """Returns the urgency of the most urgent response that is made or unsent.
    """
    ref h2 = c[].h2.unsafe_value()[]
    var least = _URGENCIES
    for slot in range(len(h2.streams)):
        var x = h2.streams[slot].exchange
        if h2.streams[slot].unsent or (
            x and x.unsafe_value()[].stage != ExchangeStage.STARTING
        ):
            least = min(least, Int(h2.state.streams[slot].turn.urgency))
    return least


def reset_stalled(c: PointerTo[ConnectionState]):
    """Resets the streams whose client has kept a window closed for too long.

    Args:
        c: The connection.
    """
    ref h2 = c[].h2.unsafe_value()[]
    var now_ms = worker_of(c)[].reactor.now_ms()
    for slot in range(len(h2.streams)):
        var unsent = h2.streams[slot].unsent
        if (
            unsent
            and unsent.unsafe_value()[].awaits_window
            and unsent.unsafe_value()[].budget.deadline_ms() <= now_ms
        ):
            _reset(c, slot, H2Code.CANCEL)
    note_stalls(c)


@always_inline
def _set_exchange(c: PointerTo[ConnectionState], slot: Int, x: Exchange):
    ref streams = c[].h2.unsafe_value()[].streams
    while len(streams) <= slot:
        streams.append(StreamSide())
    side_of(c, slot).exchange = x


@no_inline
def _refuse_head(c: PointerTo[ConnectionState], x: Exchange, status: Int):
    count(worker_of(c)[].statistics[].refused)
    x[].stage = ExchangeStage.HEAD
    answer(x, refusal(status, H1Rule.NONE))
    _give_exchange(c, x)


@no_inline
def _take_other(c: PointerTo[ConnectionState], event: H2Event):
    if event.kind == H2Event.TRAILERS:
        if side_of(c, event.slot).tunnel:
            # RFC 9113 section 8.5.
            _reset(c, event.slot, H2Code.PROTOCOL_ERROR)
        else:
            take_trailers(c, event)
    elif event.kind == H2Event.RESET:
        _end_stream(c, event.slot)
    elif event.kind == H2Event.WINDOW_SMALL:
        _grow_windows(c)
    elif event.kind == H2Event.PONG:
        # The client has received the first GOAWAY, and all that it had sent
        # before has arrived.
        _finish_drain(c)


def _grow_windows(c: PointerTo[ConnectionState]):
    ref budget = worker_of(c)[].budget
    if budget.grown_octets < _GROWN_OCTETS_MAX and not is_short_of_room(
        worker_of(c)
    ):
        budget.grown_octets += h2_machine(c).grow_windows(output_of(c))


def abort_h2_exchange(x: Exchange):
    """Ends a request at once, as if its client had left.

    Args:
        x: The request, whose handler runs.
    """
    _reset(connection_of(x), x[].stream_slot, H2Code.CANCEL)


def _reset(c: PointerTo[ConnectionState], slot: Int, code: UInt32):
    """Resets a stream, and ends it."""
    if not h2_machine(c).has_ended(slot):
        h2_machine(c).reset(slot, code, output_of(c))
    _end_stream(c, slot)


def _end_stream(c: PointerTo[ConnectionState], slot: Int):
    """Ends a stream that was reset, by either end."""
    drop_unsent(c, slot)
    var exchange = side_of(c, slot).exchange
    if not exchange:
        forget_h2(c, slot)
    elif exchange.unsafe_value()[].is_running():
        # The stream keeps its place until the handler has ended.
        cancel_handler(exchange.unsafe_value())
    elif exchange.unsafe_value()[].stage == ExchangeStage.STARTING:
        c[].h2.unsafe_value()[].waiting -= 1
        record_departure(exchange.unsafe_value())
        _give_exchange(c, exchange.unsafe_value())


def finish_h2_exchange(c: PointerTo[ConnectionState], x: Exchange):
    """Ends a request whose response is written.

    Args:
        c: The connection.
        x: The request.
    """
    end_handler(x)
    _give_exchange(c, x)


def _give_exchange(c: PointerTo[ConnectionState], x: Exchange):
    var slot = x[].stream_slot
    poison_views(c, x)
    drop_tunnel(c, slot)
    side_of(c, slot).exchange = None
    if not side_of(c, slot).unsent:
        forget_h2(c, slot)
    worker_of(c)[].give_exchange(x)
    if c[].h2.unsafe_value()[].drain == Drain.FINAL:
        end_drained(c)


def forget_h2_exchange(c: PointerTo[ConnectionState], x: Exchange):
    """Ends the stream of a lost fiber, whose block stays.

    Args:
        c: The connection.
        x: The request.
    """
    c[].running -= 1
    reset_h2(x, H2Code.INTERNAL_ERROR)
    drop_tunnel(c, x[].stream_slot)
    side_of(c, x[].stream_slot).exchange = None
    forget_h2(c, x[].stream_slot)


def go_away_h2(c: PointerTo[ConnectionState]):
    """Announces that the connection takes no further streams. Those that are on
    their way are still taken.

    Args:
        c: The connection.
    """
    ref h2 = c[].h2.unsafe_value()[]
    if h2.drain != Drain.NONE or c[].stage != Stage.OPEN:
        return
    h2.drain = Drain.ANNOUNCED
    h2.drain_since_ms = worker_of(c)[].reactor.now_ms()
    var machine = h2_machine(c)
    machine.go_away(_LAST_ID, H2Code.NO_ERROR, output_of(c))
    machine.ping(UInt64(h2.drain_since_ms), output_of(c))


def _finish_drain_if_late(c: PointerTo[ConnectionState]):
    ref h2 = c[].h2.unsafe_value()[]
    if worker_of(c)[].reactor.now_ms() > h2.drain_since_ms + _DRAIN_MS:
        _finish_drain(c)


def _finish_drain(c: PointerTo[ConnectionState]):
    ref h2 = c[].h2.unsafe_value()[]
    if h2.drain != Drain.ANNOUNCED:
        return
    h2.drain = Drain.FINAL
    h2_machine(c).go_away(
        h2.state.ids.last_taken, H2Code.NO_ERROR, output_of(c)
    )
    end_drained(c)


def end_drained(c: PointerTo[ConnectionState]):
    """Ends a connection that takes no further streams after the last one.

    Args:
        c: The connection, which has said so.
    """
    if (
        c[].h2.unsafe_value()[].drain == Drain.FINAL
        and h2_machine(c).count() == 0
        and c[].stage == Stage.OPEN
    ):
        c[].ending.may_send_more = True
        c[].stage = Stage.LAST_SEND


def end_idle_h2(c: PointerTo[ConnectionState]):
    """Ends a connection without streams.

    Args:
        c: The connection.
    """
    ref h2 = c[].h2.unsafe_value()[]
    h2.drain = Drain.FINAL
    h2_machine(c).go_away(
        h2.state.ids.last_taken, H2Code.NO_ERROR, output_of(c)
    )
    c[].ending.may_send_more = True
    if c[].stage == Stage.OPEN:
        c[].stage = Stage.LAST_SEND


def refuse_late_h2(c: PointerTo[ConnectionState]):
    """Ends a connection whose client does not send the rest of a head.

    Args:
        c: The connection.
    """
    _fail(
        c,
        H2Error.connection(
            H2Code.ENHANCE_YOUR_CALM, "a field block took too long"
        ),
    )


@no_inline
def _fail(c: PointerTo[ConnectionState], error: H2Error):
    """Ends a connection whose client has violated the protocol."""
    count(worker_of(c)[].statistics[].refused)
    h2_machine(c).fail(error, output_of(c))
    c[].ending.lingers = True
    drop_input(c, worker_of(c)[].reactor.buffers())
    c[].window.gathered.clear()
    if c[].stage == Stage.OPEN:
        c[].stage = Stage.LAST_SEND
    cancel_all(c)


def h2_receive_wish(c: PointerTo[ConnectionState]) -> ReceiveWish:
    """Returns how a connection should receive now.

    Args:
        c: An open connection.

    Returns:
        The request of its window.
    """
    return ReceiveWish(
        len(window(c)) >= READ_AHEAD_OCTETS,
        c[].running > 0 and any_reads_in_large(c),
        False,
        False,
        False,
    )


def trim_h2(c: PointerTo[ConnectionState]):
    """Frees the memory that a connection needed for many streams at a time.

    Args:
        c: The connection.
    """
    ref h2 = c[].h2.unsafe_value()[]
    if len(h2.state.streams) == 0 and h2.state.streams.slots() > _SLOTS_KEPT:
        h2.state.streams.release_memory()
        h2.streams = []
    if len(c[].window.gathered) == 0:
        c[].window.gathered = Buffer()


def free_h2(c: PointerTo[ConnectionState]):
    """Frees the state of HTTP/2. No handler runs any more.

    Args:
        c: The connection, which ends.
    """
    ref h2 = c[].h2.unsafe_value()[]
    for slot in range(len(h2.streams)):
        drop_unsent(c, slot)
        drop_tunnel(c, slot)
        # One that waited to be started.
        if h2.streams[slot].exchange:
            record_departure(h2.streams[slot].exchange.unsafe_value())
            worker_of(c)[].give_exchange(
                h2.streams[slot].exchange.unsafe_value()
            )
    worker_of(c)[].budget.grown_octets -= h2_machine(c).grown_octets()
    heap_destroy(c[].h2.unsafe_value())
    c[].h2 = None

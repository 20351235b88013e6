"""Turns received octets of HTTP/1.1 into requests.

A connection has one request at a time. The next head is read when the response
is complete, so that requests are answered in the order in which they came.
"""

from flare.core import Buffer, PointerTo, equals
from flare.http.builders import refusal, service_unavailable
from flare.http.exchange import Exchange, ExchangeStage
from flare.proto.event import HttpEvent
from flare.proto.h1 import H1Error
from flare.proto.h2.preface import PREFACE
from flare.runtime.fiber import Fiber

from ..exchange.departures import connection_lost
from ..exchange.lifecycle import (
    begin_exchange,
    end_handler,
    start_handler,
)
from ..exchange.poison import poison_views
from ..exchange.record import answer
from ..exchange.request_content import (
    READ_AHEAD_OCTETS,
    append_content,
    awaits_reader,
    count_content,
    has_read_ahead,
    is_favoured,
    may_take_content,
    reads_in_large,
    refusal_of_content,
)
from ..transport.upgraded import tell_octets
from ..records.statistics import WorkerStatistics, count
from ..sending.h1_responses import machine
from ..transport.connection_state import ConnectionState, Stage, Wait
from ..transport.outbox import answer_in_input, has_room_for_answer
from ..transport.proxy_header import take_proxy_header
from ..transport.read_ahead import ReceiveWish
from ..transport.window import (
    consume,
    drop_input,
    hand_head_over,
    take_head_back,
    window,
)
from ..transport.worker_state import worker_of
from .direct_content import receive_directly, receives_directly
from .h2_requests import begin_h2

comptime _DRAINED_OCTETS_MAX = 256 * 1024
# Up to its version, the preface is a request line.
comptime _PREFACE_OCTETS_MIN = 14


@always_inline
def advance_h1(c: PointerTo[ConnectionState]) -> Bool:
    """Handles one event of the protocol.

    Args:
        c: The connection.

    Returns:
        False if the connection waits for octets, for room or for its handler.
    """
    if c[].stage != Stage.OPEN:
        return False
    var octets = window(c)
    if not c[].h1.exchange:
        if len(octets) == 0 and not c[].ending.peer_ended:
            return False
        if c[].proxy.is_header_due:
            return take_proxy_header(c)
        # A client that has yet to send the rest of a request may read no answer
        # before.
        if not has_room_for_answer(c) and not machine(c).is_receiving_body():
            return False
        c[].h1.exchange = worker_of(c)[].take_exchange(
            c.unsafe_bitcast[NoneType]()
        )
    var x = c[].h1.exchange.unsafe_value()
    if x[].is_running():
        if x[].is_upgraded():
            if len(octets) > 0 or c[].ending.peer_ended:
                tell_octets(x)
            return False
        if (
            x[].content.is_complete
            or x[].content.status != 0
            or has_read_ahead(x)
            or not may_take_content(x)
        ):
            return False
    try:
        var event = machine(c).next_event(
            octets,
            Pointer(to=x[].head).unsafe_origin_cast[MutUntrackedOrigin](),
        )
        return _handle(c, x, event)
    except e:
        return _refuse_or_switch(c, x, e)


@no_inline
def _refuse_or_switch(
    c: PointerTo[ConnectionState], x: Exchange, error: H1Error
) -> Bool:
    """Refuses a request, unless it is the first octets of HTTP/2. To this
    protocol, they are a request of an unknown version (RFC 9113 section 3.3).
    """
    if (
        c[].h1.requests > 0
        or c[].tls
        or c[].h1.ignores_preface
        or not _is_preface(window(c))
    ):
        return refuse(c, error)
    _give_exchange(c, x)
    begin_h2(c)
    return True


def _is_preface(octets: Span[UInt8, _]) -> Bool:
    var count = min(len(octets), PREFACE.byte_length())
    return count >= _PREFACE_OCTETS_MIN and equals(
        octets[:count], PREFACE.as_bytes()[:count]
    )


@always_inline
def _is_last_request(c: PointerTo[ConnectionState]) -> Bool:
    ref w = worker_of(c)[]
    return Int(c[].h1.requests) >= w.config.max_keepalive_requests or w.stopping


@always_inline
def _handle(
    c: PointerTo[ConnectionState], x: Exchange, event: HttpEvent
) -> Bool:
    var pool = worker_of(c)[].reactor.buffers()
    if event.kind == HttpEvent.REQUEST_HEAD:
        hand_head_over(c, x, event.consumed)
        if c[].window.buffer:
            consume(c, pool, event.consumed)
        c[].h1.has_begun_head = False
        begin_exchange(x)
        c[].h1.requests += 1
        c[].h1.is_uploading = x[].head.content_length > READ_AHEAD_OCTETS
        if _is_last_request(c):
            close_after_exchange(c)
        if machine(c).end_bodiless():
            x[].content.is_complete = True
            return _start(c, x)
        return True
    if event.kind == HttpEvent.DATA:
        if x[].stage == ExchangeStage.HEAD:
            return _drain(c, event)
        if not _add_content(c, x, event):
            return False
        consume(c, pool, event.consumed)
        if x[].waiter:
            x[].content_wait.reader.note_wait()
            _ = receive_directly(c, x)
        return True
    return _handle_other(c, x, event)


@always_inline
def _handle_other(
    c: PointerTo[ConnectionState], x: Exchange, event: HttpEvent
) -> Bool:
    var pool = worker_of(c)[].reactor.buffers()
    # Octets after an answered request do not belong to it.
    var is_dropped = x[].stage == ExchangeStage.HEAD
    if event.kind == HttpEvent.TRAILERS and not is_dropped:
        worker_of(c)[].make_room(x[].content.trailers, event.consumed)
        x[].content.trailers.append(window(c)[: event.consumed])
    consume(c, pool, event.consumed)
    if event.kind == HttpEvent.END_OF_MESSAGE:
        x[].content.is_complete = True
        if x[].stage == ExchangeStage.STARTING:
            return _start_behind(c, x)
        if is_dropped:
            drop_exchange(c)
            return True
        _wake(x[].waiter)
        return False
    if event.kind == HttpEvent.TRAILERS:
        return True
    if event.kind == HttpEvent.NEED_OCTETS:
        if x[].is_running() and refuse_h1_excess(c, x):
            return False
        if x[].stage == ExchangeStage.STARTING:
            return _start_behind(c, x)
        if is_dropped:
            var rest = len(window(c))
            c[].h1.has_begun_head = machine(c).has_begun_head(rest, x[].head)
            if rest == 0:
                drop_exchange(c)
        return event.consumed > 0
    if event.kind == HttpEvent.GOING_AWAY:
        drop_exchange(c)
        end_behind_output(c)
        return False
    if event.kind == HttpEvent.RESET:
        connection_lost(c)
    return False


@always_inline
def _add_content(
    c: PointerTo[ConnectionState], x: Exchange, event: HttpEvent
) -> Bool:
    """Adds received content to the request.

    Returns:
        False if it is too much; then the window is dropped, and the exchange
        may be over.
    """
    var octets = window(c)[event.start : event.start + event.length]
    x[].content.received += event.length
    if refuse_h1_excess(c, x):
        return False
    # Content that lies whole after its head is not copied.
    if (
        event.length == x[].head.content_length
        and c[].window.is_shared
        and x[].read_buffer
    ):
        x[].content.view = octets.unsafe_ptr()
        x[].content.view_octets = event.length
    else:
        append_content(x, octets)
    count_content(x, event.length)
    return True


def _drain(c: PointerTo[ConnectionState], event: HttpEvent) -> Bool:
    """Drops content that came after its response was written."""
    # Chunk sizes and extensions count too.
    c[].h1.drained += event.consumed
    consume(c, worker_of(c)[].reactor.buffers(), event.consumed)
    # A peer that still sends is not idle, but holds no stop up.
    if c[].deadline.wait == Wait.NEXT_REQUEST and not worker_of(c)[].stopping:
        c[].deadline.wait = Wait.NOTHING
    if c[].h1.drained <= _DRAINED_OCTETS_MAX:
        return True
    c[].ending.lingers = True
    drop_exchange(c)
    end_behind_output(c)
    return False


@no_inline
def _start_behind(c: PointerTo[ConnectionState], x: Exchange) -> Bool:
    """Starts a request that did not end with its head."""
    return _start(c, x)


@always_inline
def _start(c: PointerTo[ConnectionState], x: Exchange) -> Bool:
    if not start_handler(x):
        answer(x, service_unavailable())
        finish_h1_exchange(c, x)
    return True


@always_inline
def finish_h1_exchange(c: PointerTo[ConnectionState], x: Exchange):
    """Ends a request whose response is written.

    Args:
        c: The connection.
        x: The request.
    """
    var was_upgraded = x[].is_upgraded()
    var may_send_more = x[].head.keep_alive
    end_handler(x)
    c[].h1.drained = 0
    if (
        c[].stage == Stage.OPEN
        and not was_upgraded
        and not machine(c).wants_close()
        and len(window(c)) > 0
        and has_room_for_answer(c)
    ):
        _renew_exchange(c, x)
        return
    _give_exchange(c, x)
    if c[].stage == Stage.OPEN and (was_upgraded or machine(c).wants_close()):
        _end_behind_last(c, was_upgraded, may_send_more)


@no_inline
def _end_behind_last(
    c: PointerTo[ConnectionState], was_upgraded: Bool, may_send_more: Bool
):
    if was_upgraded:
        # The end of TLS is announced by an alert, which may still come.
        if not c[].ending.is_agreed or len(window(c)) > 0 or c[].tls:
            c[].ending.lingers = True
    else:
        if len(window(c)) > 0 or machine(c).is_receiving_body():
            c[].ending.lingers = True
        c[].ending.may_send_more = may_send_more
    end_behind_output(c)


def refuse(c: PointerTo[ConnectionState], error: H1Error) -> Bool:
    """Answers a peer that violated the protocol or a limit.

    Args:
        c: The connection.
        error: The violation.

    Returns:
        False, like `advance`, because the connection reads no further request.
    """
    var w = worker_of(c)
    var x = c[].h1.exchange.value()
    var is_answered = not x[].is_running() and machine(c).has_answered()
    if not is_answered and x[].content.status == 0:
        count(w[].statistics[].refused)
    WorkerStatistics.count_rule(w[].statistics, error.rule)
    c[].ending.lingers = True
    answer_in_input(c)
    var status = error.status if error.status >= 400 else 400
    if x[].is_running():
        # The handler has the content it will get; its answer is replaced,
        # unless it has begun.
        x[].content.status = status
        x[].content.rule = error.rule
        _wake(x[].waiter)
        return False
    c[].h1.has_begun_head = False
    if not is_answered:
        x[].stage = ExchangeStage.HEAD
        answer(x, refusal(status, error.rule))
    # Else only the rest of a request whose answer is written is at fault.
    _give_exchange(c, x)
    end_behind_output(c)
    return False


def refuse_h1_content(c: PointerTo[ConnectionState], status: Int):
    """Rejects the content of the request in progress.

    Args:
        c: The connection.
        status: The status that answers the request, in place of the handler's
            response.
    """
    machine(c).stop_receiving()
    _ = refuse(c, H1Error.peer(status, "the content"))


def refuse_h1_excess(c: PointerTo[ConnectionState], x: Exchange) -> Bool:
    """Rejects the content of a request if its received or announced length
    exceeds the handler's limit.

    Args:
        c: The connection.
        x: The request, whose handler runs.

    Returns:
        True if the content was rejected.
    """
    var status = refusal_of_content(x, machine(c).announced_octets())
    if status == 0:
        return False
    refuse_h1_content(c, status)
    return True


def refuse_late_h1_head(c: PointerTo[ConnectionState]):
    """Answers a request head that is late, or for which there is no memory.

    Args:
        c: The connection, which has received part of a head.
    """
    machine(c).stop_receiving()
    if c[].share.awaits_room:
        _ = refuse(c, H1Error.peer(503, "the head"))
    else:
        _ = refuse(c, H1Error.broken["the head took too long"]())


def close_after_exchange(c: PointerTo[ConnectionState]):
    """Closes the connection after the request in progress, or after the next
    one.

    Args:
        c: The connection.
    """
    machine(c).close_after_exchange()


def note_h1_end(c: PointerTo[ConnectionState]):
    """Records that the peer sends no more octets.

    Args:
        c: The connection.
    """
    machine(c).receive_end()


@always_inline
def is_upgraded_h1(c: PointerTo[ConnectionState]) -> Bool:
    """Returns whether a connection speaks another protocol.

    Args:
        c: The connection.

    Returns:
        True from the 101 on.
    """
    return machine(c).is_upgraded()


@always_inline
def is_receiving_request(c: PointerTo[ConnectionState]) -> Bool:
    """Returns whether part of the last request has not arrived.

    Args:
        c: The connection.

    Returns:
        True between its head and its end.
    """
    return machine(c).is_receiving_body()


def end_behind_output(c: PointerTo[ConnectionState]):
    """Closes a connection after its output is sent.

    Args:
        c: The connection.
    """
    if c[].stage == Stage.OPEN:
        c[].stage = Stage.LAST_SEND


def end_behind_h1_answer(c: PointerTo[ConnectionState]):
    """Drops all further input, and closes the connection after the response in
    progress.

    Args:
        c: The connection.
    """
    # Later octets may not be read as a request either.
    machine(c).stop_receiving()
    c[].ending.lingers = True
    drop_input(c, worker_of(c)[].reactor.buffers())
    c[].window.gathered.clear()
    if c[].running == 0:
        end_behind_output(c)


@always_inline
def h1_receive_wish(c: PointerTo[ConnectionState]) -> ReceiveWish:
    """Returns how a connection should receive now.

    Args:
        c: An open connection.

    Returns:
        The request of its window and its exchange.
    """
    # The window is not consumed while earlier answers are unsent. A head may be
    # longer: it is consumed when it is whole.
    var unread = len(window(c))
    var is_full = (
        unread >= READ_AHEAD_OCTETS and unread >= machine(c).head_octets_max()
    )
    if c[].running == 0:
        return ReceiveWish(is_full, False, c[].h1.is_uploading, False, False)
    var x = c[].h1.exchange.unsafe_value()
    var in_large = reads_in_large(x)
    var is_single = in_large and receives_directly(c, x)
    # A reader that has octets does not wait any more, once it runs.
    var is_served = not x[].waiter or x[].content_wait.reader.delivered > 0
    return ReceiveWish(
        is_full
        or awaits_reader(x)
        or (in_large and is_served)
        or (has_read_ahead(x) and not x[].content.is_complete),
        in_large,
        is_single,
        x[].is_upgraded(),
        is_favoured(x),
    )


@always_inline
def _give_exchange(c: PointerTo[ConnectionState], x: Exchange):
    """Returns the block of a finished request to the pool."""
    var w = worker_of(c)
    c[].h1.exchange = None
    poison_views(c, x)
    take_head_back(c, w[].reactor.buffers(), x)
    if c[].window.gathered.capacity() > 0 and len(c[].window.gathered) == 0:
        c[].window.gathered = Buffer()
    w[].give_exchange(x)


@always_inline
def _renew_exchange(c: PointerTo[ConnectionState], x: Exchange):
    """Reuses the block of a request that is over for the next one, whose first
    octets have arrived.
    """
    var w = worker_of(c)
    poison_views(c, x)
    take_head_back(c, w[].reactor.buffers(), x)
    w[].end_exchange(x)
    x[].begin()


def drop_exchange(c: PointerTo[ConnectionState]):
    """Returns to the pool the block of a request that no handler answers.

    Args:
        c: The connection.
    """
    if c[].running == 0 and c[].h1.exchange:
        c[].h1.has_begun_head = False
        _give_exchange(c, c[].h1.exchange.value())


def forget_h1_exchange(c: PointerTo[ConnectionState], x: Exchange):
    """Keeps the block of a request and the buffer of its head for a lost fiber.

    Args:
        c: The connection, which ends.
        x: The request.
    """
    c[].h1.exchange = None
    c[].running -= 1
    if c[].window.is_shared:
        c[].window.buffer = None
        c[].window.is_shared = False


@always_inline
def _wake(fiber: Optional[Fiber]):
    if fiber:
        fiber.unsafe_value().wake()

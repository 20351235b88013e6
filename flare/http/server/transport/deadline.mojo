"""Decides how long a connection may wait for what it waits for.

A connection has one timer. A deadline that moves to later, as the idle deadline
does at each request, leaves the timer alone: it looks again when it fires.

Content and what is sent have a budget each: waiting uses it up, and each octet
that moves adds the time that it may take at the lowest rate, up to the timeout.
So neither a peer that stops nor one that dribbles holds a connection for long.
"""

from flare.core import PointerTo
from flare.proto.h1.head import HeadProgress
from flare.runtime.timer_wheel import TimerEntry

from .connection_state import ConnectionState, Wait
from .window import window
from .output import machine, send_operation, worker_of

comptime STOPPING_IDLE_MS = 100
"""How long a stopping server still waits for a request that may be on its way
already; what comes later meets the end of the connection."""
comptime STOPPING_HANDSHAKE_MS = 1000
"""How long a stopping server still waits for the end of a handshake."""


def begin_waiting(c: PointerTo[ConnectionState]):
    """Decides what a new connection waits for, and how long it has for all
    that follows.

    Args:
        c: The connection.
    """
    ref w = worker_of(c)[]
    c[].send_budget_ms = w.config.write_timeout_ms
    c[].proxy_header_due = w.config.expects_proxy_header()
    if w.stopping:
        machine(c).close_after_exchange()
    choose_deadline(c)


@always_inline
def choose_deadline(c: PointerTo[ConnectionState]):
    """Sets the deadline for what an open connection waits for now.

    A wait that goes on keeps its deadline, so that octets which dribble in do
    not prolong it.

    Args:
        c: The connection.
    """
    ref config = worker_of(c)[].config
    if _sends_for_others(c):
        if c[].wait != Wait.PEER_READS:
            await_reader(c)
        # Who is slow to read and owes content has the time for the content.
        if _awaits_content(c) and _content_deadline_ms(c) < c[].deadline_ms:
            _move_deadline(c, _content_deadline_ms(c))
    elif c[].running:
        if not _awaits_content(c):
            c[].wait = Wait.NOTHING
        elif c[].wait != Wait.CONTENT:
            c[].wait = Wait.CONTENT
            _move_deadline(c, _content_deadline_ms(c))
    elif c[].exchange and _has_begun(c):
        if c[].wait != Wait.HEAD:
            set_deadline(c, Wait.HEAD, config.head_timeout_ms)
    elif c[].wait != Wait.NEXT_REQUEST:
        _await_request(c)


@always_inline
def _sends_for_others(c: PointerTo[ConnectionState]) -> Bool:
    """Tells whether the peer is to read what a handler or the HTTP machine has
    written."""
    if send_operation(c).is_idle():
        return False
    if not c[].tls:
        return True
    # What TLS says by itself answers records that the peer may send at any
    # time: a wait that it ended would begin anew as often as the peer likes.
    return (
        not c[].tls.unsafe_value()[].sends_its_own
        or len(c[].output) > 0
        or Bool(c[].large)
    )


@always_inline
def _await_request(c: PointerTo[ConnectionState]):
    ref w = worker_of(c)[]
    var wait = Wait.NEXT_REQUEST
    var timeout_ms = w.config.idle_timeout_ms
    if c[].proxy_header_due:
        wait = Wait.PROXY_HEADER
        timeout_ms = w.config.head_timeout_ms
    if c[].wait != wait:
        set_deadline(c, wait, STOPPING_IDLE_MS if w.stopping else timeout_ms)


def await_handshake(c: PointerTo[ConnectionState], timeout_ms: Int):
    """Begins to wait for the end of a handshake.

    Args:
        c: The connection.
        timeout_ms: How long it may take.
    """
    set_deadline(c, Wait.HANDSHAKE, timeout_ms)
    if worker_of(c)[].stopping:
        hasten_handshake(c)


def hasten_handshake(c: PointerTo[ConnectionState]):
    """Leaves a handshake the time that it has in a server that stops.

    Args:
        c: The connection, whose handshake is not complete.
    """
    var left_ms = c[].deadline_ms - worker_of(c)[].reactor.now_ms()
    if left_ms > STOPPING_HANDSHAKE_MS:
        set_deadline(c, Wait.HANDSHAKE, STOPPING_HANDSHAKE_MS)


@always_inline
def _has_begun(c: PointerTo[ConnectionState]) -> Bool:
    # Empty lines before a request line are skipped (RFC 9112 section 2.2):
    # some clients send one behind their content, and owe nothing by it.
    ref progress = c[].exchange.unsafe_value()[].head.progress
    return progress.part != HeadProgress.START_LINE or Int(
        progress.part_start
    ) < len(window(c))


@always_inline
def await_reader(c: PointerTo[ConnectionState]):
    """Begins to wait for the peer to read what is sent.

    Args:
        c: The connection.
    """
    c[].send_began_ms = worker_of(c)[].reactor.now_ms()
    set_deadline(c, Wait.PEER_READS, c[].send_budget_ms)


@always_inline
def count_read_by_peer(c: PointerTo[ConnectionState], count: Int):
    """Ends a wait for the peer to read.

    Args:
        c: The connection.
        count: How many octets it took, at least 1.
    """
    ref w = worker_of(c)[]
    c[].moved_octets += count
    if c[].wait == Wait.PEER_READS:
        var waited_ms = w.reactor.now_ms() - c[].send_began_ms
        # Most sends take no time, and the division much of theirs.
        if waited_ms > 0 or c[].send_budget_ms < w.config.write_timeout_ms:
            c[].send_budget_ms = min(
                c[].send_budget_ms
                - waited_ms
                + _time_for(
                    count,
                    w.config.write_octets_per_second_min,
                    c[].send_budget_rest,
                ),
                w.config.write_timeout_ms,
            )
        c[].wait = Wait.NOTHING


def begin_content_wait(c: PointerTo[ConnectionState]):
    """Notes that a handler waits for content from now on.

    Args:
        c: The connection, whose handler runs.
    """
    var x = c[].exchange.value()
    x[].content_awaited_ms = worker_of(c)[].reactor.now_ms()
    if c[].wait == Wait.CONTENT:
        # However long ago the last one was set.
        c[].wait = Wait.NOTHING


def is_content_late(c: PointerTo[ConnectionState]) -> Bool:
    """Tells whether content that a handler waits for took too long.

    Args:
        c: The connection.

    Returns:
        True if its time is over.
    """
    return _awaits_content(c) and (
        worker_of(c)[].reactor.now_ms() >= _content_deadline_ms(c)
    )


def go_on_awaiting_reader(c: PointerTo[ConnectionState]) -> Bool:
    """Waits on for the peer to read if it may take longer.

    Args:
        c: The connection, which waits for its peer to read.

    Returns:
        False if its time is over.
    """
    var deadline_ms = c[].send_began_ms + c[].send_budget_ms
    if worker_of(c)[].reactor.now_ms() >= deadline_ms:
        return False
    _move_deadline(c, deadline_ms)
    return True


@always_inline
def _awaits_content(c: PointerTo[ConnectionState]) -> Bool:
    if not c[].running or c[].upgraded:
        return False
    ref x = c[].exchange.unsafe_value()[]
    return Bool(x.waiter) and x.content_status == 0


@always_inline
def _content_deadline_ms(c: PointerTo[ConnectionState]) -> Int:
    ref x = c[].exchange.unsafe_value()[]
    return x.content_awaited_ms + x.content_budget_ms


def count_content(c: PointerTo[ConnectionState], count: Int):
    """Counts content that came, and ends the wait for it, if there is one.

    Args:
        c: The connection.
        count: How many octets came.
    """
    ref w = worker_of(c)[]
    ref x = c[].exchange.value()[]
    c[].moved_octets += count
    var waited_ms = 0
    if c[].wait == Wait.CONTENT:
        c[].wait = Wait.NOTHING
    # A wait that has ended by itself is counted already.
    if x.waiter:
        waited_ms = w.reactor.now_ms() - x.content_awaited_ms
        x.content_awaited_ms = w.reactor.now_ms()
    if waited_ms == 0 and x.content_budget_ms >= w.config.body_timeout_ms:
        return
    x.content_budget_ms = min(
        x.content_budget_ms
        - waited_ms
        + _time_for(
            count, w.config.body_octets_per_second_min, x.content_budget_rest
        ),
        w.config.body_timeout_ms,
    )


@always_inline
def _time_for(octets: Int, octets_per_second: Int, mut rest: Int) -> Int:
    # Octets one by one would take no whole millisecond: what is over is kept.
    var thousandths = octets * 1000 + rest
    rest = thousandths % octets_per_second
    return thousandths // octets_per_second


@always_inline
def set_deadline(c: PointerTo[ConnectionState], wait: UInt8, timeout_ms: Int):
    """Begins a wait.

    Args:
        c: The connection.
        wait: What for, one of `Wait`.
        timeout_ms: How long it may last.
    """
    c[].wait = wait
    _move_deadline(c, worker_of(c)[].reactor.now_ms() + timeout_ms)


@always_inline
def _move_deadline(c: PointerTo[ConnectionState], deadline_ms: Int):
    c[].deadline_ms = deadline_ms
    if not c[].timer.is_armed() or c[].timer.deadline_ms > c[].deadline_ms:
        arm_timer(c)


def arm_timer(c: PointerTo[ConnectionState]):
    """Lets the timer fire at the deadline.

    Args:
        c: The connection.
    """
    worker_of(c)[].reactor.timers().arm(_timer(c), c[].deadline_ms)


def forget_deadline(c: PointerTo[ConnectionState]):
    """Disarms the timer of a connection that ends.

    Args:
        c: The connection.
    """
    if c[].timer.is_armed():
        worker_of(c)[].reactor.timers().cancel(_timer(c))


@always_inline
def _timer(c: PointerTo[ConnectionState]) -> PointerTo[TimerEntry]:
    return Pointer(to=c[].timer).unsafe_origin_cast[MutUntrackedOrigin]()

"""Sets the deadlines of a connection.

A connection has one timer. A deadline that moves to later, as the idle
deadline does at each request, leaves the timer alone: the timer checks again
when it fires. Sending has a budget (`RateBudget`). The content of a request
has a budget and a timer of its own (`exchange/content_wait.mojo`).
"""

from flare.core import PointerTo
from flare.http.rate_budget import RateBudget
from flare.proto.h2.h2_state import H2Phase
from flare.runtime.timer_wheel import TimerEntry

from .connection_state import ConnectionState, Wait
from .outbox import count_sent, send_operation
from .window import window
from .worker_state import worker_of

comptime STOPPING_IDLE_MS = 100
"""How long a stopping server waits for a request that may be on its way
already; later ones find the connection closed.
"""
comptime STOPPING_HANDSHAKE_MS = 1000
"""How long a stopping server still waits for the end of a handshake."""


def begin_waiting(c: PointerTo[ConnectionState]):
    """Sets the first deadline of a new connection.

    Args:
        c: The connection.
    """
    ref w = worker_of(c)[]
    c[].outbox.budget = RateBudget(w.config.write_timeout_ms)
    c[].proxy.is_header_due = w.config.expects_proxy_header()
    choose_deadline(c)


@always_inline
def choose_deadline(c: PointerTo[ConnectionState]):
    """Sets the deadline for the present wait of an open connection.

    A wait that continues keeps its deadline, so that slowly arriving octets do
    not extend it.

    Args:
        c: The connection.
    """
    if _sends_for_others(c):
        _await_reader(c)
    elif c[].h2:
        _choose_h2_deadline(c)
    elif c[].running > 0:
        c[].deadline.wait = Wait.NOTHING
    elif c[].h1.has_begun_head:
        _await_head(c)
    elif c[].deadline.wait != Wait.NEXT_REQUEST:
        _await_request(c)


@no_inline
def _choose_h2_deadline(c: PointerTo[ConnectionState]):
    ref h2 = c[].h2.unsafe_value()[]
    ref input = h2.state.input
    var has_begun_head = (
        input.block.stream_id != 0 or input.phase < H2Phase.OPEN
    )
    if has_begun_head or (len(h2.state.streams) == 0 and len(window(c)) > 0):
        # Part of a field block, of the preface or of a frame has arrived.
        _await_head(c)
    elif h2.stalled_at_ms != 0:
        c[].deadline.wait = Wait.WINDOW
        _move_deadline(c, h2.stalled_at_ms)
    elif len(h2.state.streams) > 0:
        c[].deadline.wait = Wait.NOTHING
    elif c[].deadline.wait != Wait.NEXT_REQUEST:
        _await_request(c)


def _await_head(c: PointerTo[ConnectionState]):
    if c[].deadline.wait != Wait.HEAD:
        set_deadline(c, Wait.HEAD, worker_of(c)[].config.head_timeout_ms)


def choose_last_deadline(c: PointerTo[ConnectionState]):
    """Sets the deadline for a connection that sends its last output. Octets
    that the peer still sends do not extend its time to read.

    Args:
        c: The connection.
    """
    _await_reader(c)


@always_inline
def _sends_for_others(c: PointerTo[ConnectionState]) -> Bool:
    """Returns whether the output includes octets of a handler or of the HTTP
    machine.
    """
    if send_operation(c).is_idle():
        return False
    if not c[].tls:
        return True
    # The octets that TLS sends by itself answer records that the peer may send
    # at any time. If they ended a wait, the peer could restart it as often as
    # it likes.
    return (
        not c[].tls.unsafe_value()[].sends_its_own
        or len(c[].outbox.output) > 0
        or Bool(c[].outbox.large)
    )


@always_inline
def _await_request(c: PointerTo[ConnectionState]):
    ref w = worker_of(c)[]
    var wait = Wait.NEXT_REQUEST
    var timeout_ms = w.config.idle_timeout_ms
    if c[].proxy.is_header_due:
        wait = Wait.PROXY_HEADER
        timeout_ms = w.config.head_timeout_ms
    if c[].deadline.wait != wait:
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
    """Limits a handshake to the time that a stopping server allows.

    Args:
        c: The connection, whose handshake is not complete.
    """
    var left_ms = c[].deadline.at_ms - worker_of(c)[].reactor.now_ms()
    if left_ms > STOPPING_HANDSHAKE_MS:
        set_deadline(c, Wait.HANDSHAKE, STOPPING_HANDSHAKE_MS)


@always_inline
def _await_reader(c: PointerTo[ConnectionState]):
    if c[].deadline.wait == Wait.PEER_READS:
        return
    c[].outbox.budget.began_ms = worker_of(c)[].reactor.now_ms()
    set_deadline(c, Wait.PEER_READS, c[].outbox.budget.left_ms)


@always_inline
def note_sent(c: PointerTo[ConnectionState], count: Int):
    """Records that the kernel has taken octets, which ends a wait for the peer
    to read.

    Args:
        c: The connection, whose send has just completed.
        count: How many octets it took, at least 1.
    """
    count_sent(c, count)
    ref w = worker_of(c)[]
    c[].share.moved_octets += count
    if c[].deadline.wait == Wait.PEER_READS:
        c[].outbox.budget.credit(
            count,
            w.reactor.now_ms() - c[].outbox.budget.began_ms,
            w.config.write_octets_per_second_min,
            w.config.write_timeout_ms,
        )
        c[].deadline.wait = Wait.NOTHING


def is_late(c: PointerTo[ConnectionState]) -> Bool:
    """Returns whether the present wait is over; called when the timer fires. If
    not, the timer is armed again.

    Args:
        c: The connection.

    Returns:
        False too if the connection waits for nothing.
    """
    if c[].deadline.wait == Wait.NOTHING:
        return False
    if worker_of(c)[].reactor.now_ms() >= c[].deadline.at_ms:
        return True
    _arm_timer(c)
    return False


@always_inline
def set_deadline(c: PointerTo[ConnectionState], wait: UInt8, timeout_ms: Int):
    """Starts a wait.

    Args:
        c: The connection.
        wait: The reason, one of `Wait`.
        timeout_ms: The longest wait.
    """
    c[].deadline.wait = wait
    _move_deadline(c, worker_of(c)[].reactor.now_ms() + timeout_ms)


@always_inline
def _move_deadline(c: PointerTo[ConnectionState], deadline_ms: Int):
    c[].deadline.at_ms = deadline_ms
    if (
        not c[].deadline.timer.is_armed()
        or c[].deadline.timer.deadline_ms > c[].deadline.at_ms
    ):
        _arm_timer(c)


def _arm_timer(c: PointerTo[ConnectionState]):
    worker_of(c)[].reactor.timers().arm(_timer(c), c[].deadline.at_ms)


def forget_deadline(c: PointerTo[ConnectionState]):
    """Disarms the timer of a connection that ends.

    Args:
        c: The connection.
    """
    if c[].deadline.timer.is_armed():
        worker_of(c)[].reactor.timers().cancel(_timer(c))


@always_inline
def _timer(c: PointerTo[ConnectionState]) -> PointerTo[TimerEntry]:
    return Pointer(to=c[].deadline.timer).unsafe_origin_cast[
        MutUntrackedOrigin
    ]()

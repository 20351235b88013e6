"""Takes in the content of a request, within the limits of the handler and the
budget of the worker."""

from flare.http.exchange import Exchange, ExchangeStage

from std.sys.intrinsics import unlikely

from ..transport.buffered import await_room, is_full, is_short_of_room
from ..transport.connection_state import connection_of
from ..transport.worker_state import worker_of

comptime READ_AHEAD_OCTETS = 64 * 1024
"""How much may lie unread, as octets or as content, before receiving pauses."""


@always_inline
def refusal_of_content(x: Exchange, announced_octets: UInt64) -> Int:
    """Returns the status that answers a request if its content exceeds the
    handler's limit.

    Args:
        x: The request, whose handler runs.
        announced_octets: The announced octets of content that have not arrived,
            apart from Content-Length.

    Returns:
        The status, or 0 if neither the received nor the announced content is
        longer.
    """
    if not (x[].content.is_whole or x[].content.is_streamed):
        return 0
    var octets_max = Int.MAX
    if x[].content.is_whole:
        # All that the worker may hold would be too little for more.
        octets_max = worker_of(connection_of(x))[].budget.contents_max()
    return x[].content.refusal(
        x[].head.content_length, announced_octets, octets_max
    )


@always_inline
def append_content(x: Exchange, octets: Span[UInt8, _]):
    """Copies content that has arrived: to the reader that waits for it, and the
    rest to the request.

    Args:
        x: The request.
        octets: The content.
    """
    var rest = octets[x[].content_wait.reader.deliver(octets) :]
    if len(rest) > 0:
        worker_of(connection_of(x))[].make_content_room(x, len(rest))
        x[].content.octets.append(rest)


@always_inline
def count_content(x: Exchange, count: Int):
    """Counts received content, and wakes the fiber that reads it piece by
    piece.

    Args:
        x: The request.
        count: The number of octets that arrived.
    """
    var c = connection_of(x)
    ref w = worker_of(c)[]
    c[].share.moved_octets += count
    var waited_ms = 0
    # A wait that has ended by itself is counted already.
    if x[].waiter:
        waited_ms = w.reactor.now_ms() - x[].content_wait.budget.began_ms
        x[].content_wait.budget.began_ms = w.reactor.now_ms()
    x[].content_wait.budget.credit(
        count,
        waited_ms,
        w.config.body_octets_per_second_min,
        w.config.body_timeout_ms,
    )
    if x[].waiter and x[].content.is_streamed:
        x[].waiter.unsafe_value().wake()


def begin_content_wait(x: Exchange):
    """Starts to wait for content on behalf of a handler.

    Args:
        x: The request, whose handler runs.
    """
    x[].content_wait.budget.began_ms = worker_of(
        connection_of(x)
    )[].reactor.now_ms()
    arm_content_timer(x)


def is_content_late(x: Exchange) -> Bool:
    """Returns whether the content that a handler waits for is late.

    Args:
        x: The request.

    Returns:
        True if the time for the content is over.
    """
    return x[].awaits_content() and (
        worker_of(connection_of(x))[].reactor.now_ms()
        >= x[].content_wait.budget.deadline_ms()
    )


def arm_content_timer(x: Exchange):
    """Arms the timer of a request for the time when its content is late. A timer that
    fires too early is armed again then.

    Args:
        x: The request.
    """
    var deadline_ms = x[].content_wait.budget.deadline_ms()
    if (
        not x[].content_wait.timer.is_armed()
        or x[].content_wait.timer.deadline_ms > deadline_ms
    ):
        worker_of(connection_of(x))[].reactor.timers().arm(
            Pointer(to=x[].content_wait.timer).unsafe_origin_cast[
                MutUntrackedOrigin
            ](),
            deadline_ms,
        )


def may_take_content(x: Exchange) -> Bool:
    """Returns whether a running request may take more content; if not, its
    connection waits for room.

    Args:
        x: The request.

    Returns:
        True if there is room, or if the request may exceed the budget.
    """
    var c = connection_of(x)
    var w = worker_of(c)
    if not is_short_of_room(w) or is_favoured(x):
        return True
    if not x[].content.is_whole and not is_full(w):
        # It takes no more than is read ahead, and the handler sets the pace.
        return True
    await_room(c)
    return False


def gathers_content(x: Exchange) -> Bool:
    """Returns whether a handler waits for its whole content, which the worker
    keeps until it is complete.

    Args:
        x: The request.

    Returns:
        False too if the handler reads piece by piece, or has not read yet.
    """
    return (
        x[].stage == ExchangeStage.RUNNING
        and x[].content.is_whole
        and not x[].content.is_complete
        and x[].content.status == 0
    )


@always_inline
def is_favoured(x: Exchange) -> Bool:
    """Returns whether a request may exceed the budget.

    Args:
        x: The request.

    Returns:
        True for one request of a worker at most.
    """
    if not x[].is_running():
        return False
    ref budget = worker_of(connection_of(x))[].budget
    return (
        budget.favoured_request != 0
        and budget.favoured_request == x[].request_id
    )


@always_inline
def reads_in_large(x: Exchange) -> Bool:
    """Returns whether content is received in large pieces, once for each time
    that the handler waits.

    Args:
        x: The request.

    Returns:
        True if the handler reads long content piece by piece.
    """
    return (
        x[].stage == ExchangeStage.RUNNING
        and x[].content.is_streamed
        and not x[].content.is_complete
        and max(x[].head.content_length, x[].content.received)
        > READ_AHEAD_OCTETS
    )


@always_inline
def awaits_reader(x: Exchange) -> Bool:
    """Returns whether long content waits until its handler asks for it. Then it
    need not be copied to where it is kept meanwhile.

    Args:
        x: The request.

    Returns:
        False for content of an unknown length.
    """
    return (
        x[].stage == ExchangeStage.RUNNING
        and x[].head.content_length > READ_AHEAD_OCTETS
        and not (
            x[].content.is_whole
            or x[].content.is_streamed
            or x[].content.is_complete
        )
    )


@always_inline
def has_read_ahead(x: Exchange) -> Bool:
    """Returns whether unread content has reached its limit.

    Args:
        x: The request.

    Returns:
        False if the handler takes its content as a whole.
    """
    return (
        not x[].content.is_whole
        and len(x[].content.octets) >= READ_AHEAD_OCTETS
    )


@always_inline
def held_octets(x: Exchange) -> Int:
    """Returns how many octets of its worker's budget a request holds.

    Args:
        x: The request.

    Returns:
        The octets.
    """
    var held = (
        x[].content.octets.capacity()
        + x[].gathered.capacity()
        + x[].content.trailers.capacity()
        + x[].stream.held_octets
    )
    if unlikely(x[].head.has_mended_target):
        held += x[].head.mended.capacity()
    return held

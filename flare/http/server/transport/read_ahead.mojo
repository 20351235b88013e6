"""Decides how far a connection receives ahead of its handlers.

What a peer sends before it is needed is kept up to a bound; then nothing more
is received, and the peer's kernel holds it back. A peer that leaves meanwhile,
or while there is no buffer to receive into, would go unnoticed, so that it is
polled for instead.
"""

from flare.core import Erased, PointerTo, SlotHandle
from flare.runtime.operation import (
    POLL_PEER_CLOSED,
    Operation,
    OperationKind,
)
from flare.runtime.reactor import LARGE_BUFFER_OCTETS

from .buffered import await_room, is_favoured, is_full
from .connection_state import ConnectionState, Stage
from .encryption import RECORD_OCTETS_MAX
from .window import window
from .output import worker_of
from .worker_state import WorkerState

# POLLERR and POLLHUP.
comptime _POLL_BROKEN = 8 | 16
comptime READ_AHEAD_OCTETS = 64 * 1024
"""What may lie unread, as octets or as content, before receiving pauses."""
comptime STARVED_SPARE = 64
"""How many entries of connections that have ended may always stay in the list
of those that found no buffer."""


@always_inline
def receive_operation(c: PointerTo[ConnectionState]) -> Operation:
    """Names the receive of a connection.

    Args:
        c: The connection.

    Returns:
        The operation.
    """
    return Operation(
        Pointer(to=c[].receive).unsafe_origin_cast[MutUntrackedOrigin]()
    )


@always_inline
def watch_operation(c: PointerTo[ConnectionState]) -> Operation:
    """Names the poll that notices a peer's departure.

    Args:
        c: The connection.

    Returns:
        The operation.
    """
    return Operation(
        Pointer(to=c[].watch).unsafe_origin_cast[MutUntrackedOrigin]()
    )


@always_inline
def adjust_receive(c: PointerTo[ConnectionState]):
    """Receives, or pauses, as what lies unread asks for.

    Args:
        c: An open connection.
    """
    var reactor = worker_of(c)[].reactor
    var paused = _is_full(c)
    if (paused and not c[].receive_paused) or (
        c[].receive.multishot and _reads_in_large(c)
    ):
        reactor.cancel(receive_operation(c))
    c[].receive_paused = paused
    if paused or c[].peer_ended or c[].starved:
        _watch(c)
    elif receive_operation(c).is_idle():
        if not watch_operation(c).is_idle() and c[].watch.length != 0:
            # The end that it would report need not be the next to come.
            reactor.cancel(watch_operation(c))
        submit_receive(c)


@always_inline
def submit_receive(c: PointerTo[ConnectionState]):
    """Begins to receive, which goes on until it is cancelled.

    Long content that a handler reads bit by bit is received once for each time
    that the handler waits, in large pieces: nothing piles up here, and the
    kernel is asked less often.

    Args:
        c: The connection, whose receive is idle.
    """
    var reactor = worker_of(c)[].reactor
    c[].receive.kind = OperationKind.RECEIVE
    c[].receive.multishot = True
    c[].receive.address = None
    c[].receive.length = 0
    if _reads_in_large(c):
        var large = reactor.large_buffers().take()
        if large:
            c[].receive.kind = OperationKind.READ
            c[].receive.multishot = False
            c[].receive.address = large
            c[].receive.length = LARGE_BUFFER_OCTETS
            if c[].tls:
                # With the rest of a record, it is decrypted into one buffer.
                c[].receive.length -= RECORD_OCTETS_MAX
    reactor.submit(receive_operation(c))


@always_inline
def _reads_in_large(c: PointerTo[ConnectionState]) -> Bool:
    if not c[].running or c[].stage != Stage.OPEN or c[].upgraded:
        return False
    ref x = c[].exchange.unsafe_value()[]
    return (
        x.content_streamed
        and not x.content_complete
        and max(x.head.content_length, x.content_received) > READ_AHEAD_OCTETS
    )


def has_left(c: PointerTo[ConnectionState]) -> Bool:
    """Reads what a poll for the peer's departure has reported.

    Args:
        c: The connection, whose poll is complete.

    Returns:
        True if the connection broke.
    """
    var result = watch_operation(c).result()
    if result > 0 and result & _POLL_BROKEN == 0:
        # io_uring reports the end of a peer's side whatever is asked for, at
        # once and each time: from now on only receiving and sending tell.
        c[].watch_spent = True
        return False
    return result > 0


def has_ended(c: PointerTo[ConnectionState]) -> Bool:
    """Tells whether the poll has reported an end of the peer's side that counts
    as leaving.

    Args:
        c: The connection, whose handler runs.

    Returns:
        True if the peer counts as leaving.
    """
    # What was asked for before an upgrade does not count after it: there the
    # end of a peer's side is the end of a stream.
    return c[].watch_spent and c[].watch.length != 0 and not c[].upgraded


def note_starved(w: PointerTo[WorkerState], slot: SlotHandle):
    """Remembers a connection that found no free buffer.

    Connections that end meanwhile leave their entries behind. These are dropped
    when they may outnumber the others.

    Args:
        w: The worker.
        slot: The slot of the connection.
    """
    ref starved = w[].starved
    if len(starved) >= 2 * w[].connections.lent() + STARVED_SPARE:
        var kept = 0
        for i in range(len(starved)):
            var c = w[].connections.find(starved[i])
            if c and c.value()[].starved:
                starved[kept] = starved[i]
                kept += 1
        starved.shrink(kept)
    starved.append(slot)


def feed_starved(w: PointerTo[WorkerState]):
    """Lets connections receive again that found no free buffer.

    As many as there are buffers, the longest waiting first: to let all of them
    try for one would cost their square.

    Args:
        w: The worker.
    """
    var count = min(w[].reactor.buffers().available(), len(w[].starved))
    var waiting = List[SlotHandle](w[].starved[:count])
    var rest = List[SlotHandle](w[].starved[count:])
    w[].starved = rest^
    if len(w[].starved) > 0:
        # They may find nothing to receive: then it is the turn of the others.
        w[].reactor.post(_nothing, w.unsafe_bitcast[NoneType]())
    for slot in waiting:
        var c = w[].connections.find(slot)
        if c:
            c.value()[].starved = False
            if c.value()[].stage == Stage.OPEN:
                adjust_receive(c.value())
            elif (
                c.value()[].stage in (Stage.LINGERING, Stage.SHAKING_HANDS)
                and receive_operation(c.value()).is_idle()
            ):
                submit_receive(c.value())


def _nothing(owner: Erased):
    pass


@always_inline
def _is_full(c: PointerTo[ConnectionState]) -> Bool:
    if c[].awaits_room:
        return True
    # Without a copy, what lies unread is a buffer of the pool.
    if len(c[].gathered) > 0 and is_full(worker_of(c)) and not is_favoured(c):
        await_room(c)
        return True
    # Nobody consumes these while earlier answers lie unsent. A head may be
    # longer: it is consumed when it is whole.
    if len(window(c)) >= max(
        READ_AHEAD_OCTETS, c[].h1.limits.head_octets_max()
    ):
        return True
    if not c[].running:
        return False
    ref x = c[].exchange.unsafe_value()[]
    if _reads_in_large(c) and not x.waiter:
        return True
    return (
        not x.content_whole
        and not x.content_complete
        and len(x.content) >= READ_AHEAD_OCTETS
    )


def _watch(c: PointerTo[ConnectionState]):
    if not c[].running or c[].watch_spent:
        return
    # Errors and resets are reported whatever is asked for. A handler that reads
    # bit by bit meets the end where it stands.
    var length = 0
    if not (
        c[].peer_ended
        or c[].upgraded
        or _reads_in_large(c)
        or worker_of(c)[].config.half_close_allowed
    ):
        length = POLL_PEER_CLOSED
    if watch_operation(c).is_idle():
        c[].watch.length = length
        worker_of(c)[].reactor.submit(watch_operation(c))
    elif c[].watch.length != length:
        worker_of(c)[].reactor.cancel(watch_operation(c))

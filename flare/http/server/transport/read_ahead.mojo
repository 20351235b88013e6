"""Decides how far a connection receives ahead of its handlers.

Early octets are kept up to a bound. Then the connection receives no more, and
the peer's kernel must wait. A peer that leaves meanwhile, or while there is no
receive buffer, would go unnoticed, so a poll watches for it.
"""

from flare.core import PointerTo
from flare.runtime.operation import Operation, OperationKind, POLL_PEER_CLOSED
from flare.runtime.reactor import LARGE_BUFFER_OCTETS

from .buffered import await_room, is_full
from .connection_state import ConnectionState
from .encryption import RECORD_OCTETS_MAX
from .worker_state import worker_of

# POLLERR and POLLHUP.
comptime _POLL_BROKEN = 8 | 16


@always_inline
def receive_operation(c: PointerTo[ConnectionState]) -> Operation:
    """Returns the receive operation of a connection.

    Args:
        c: The connection.

    Returns:
        The operation.
    """
    return Operation(
        Pointer(to=c[].operations.receive).unsafe_origin_cast[
            MutUntrackedOrigin
        ]()
    )


@always_inline
def watch_operation(c: PointerTo[ConnectionState]) -> Operation:
    """Returns the poll that notices a peer's departure.

    Args:
        c: The connection.

    Returns:
        The operation.
    """
    return Operation(
        Pointer(to=c[].operations.watch).unsafe_origin_cast[
            MutUntrackedOrigin
        ]()
    )


@fieldwise_init
struct ReceiveWish(TrivialRegisterPassable):
    """How a connection should receive, as its protocol decides."""

    var is_full: Bool
    """Whether the unread octets have reached the bound."""
    var in_large: Bool
    """Whether content is received in large pieces, once for each time that its
    handler waits. Fewer octets then collect here, with fewer system calls.
    """
    var is_single: Bool
    """Whether one buffer is received, because content may follow that needs
    none."""
    var is_upgraded: Bool
    """Whether a handler speaks another protocol."""
    var is_favoured: Bool
    """Whether a request continues although the worker has no room."""


@always_inline
def adjust_receive(c: PointerTo[ConnectionState], wish: ReceiveWish):
    """Receives, or pauses, according to the unread octets.

    Args:
        c: An open connection.
        wish: The kind of receive that its protocol requests.
    """
    var reactor = worker_of(c)[].reactor
    var paused = _is_full(c, wish)
    if (paused and not c[].window.is_paused) or (
        c[].operations.receive.multishot and (wish.in_large or wish.is_single)
    ):
        reactor.cancel(receive_operation(c))
    c[].window.is_paused = paused
    if paused or c[].ending.peer_ended or c[].window.is_starved:
        _watch(c, wish)
    elif receive_operation(c).is_idle():
        if (
            not watch_operation(c).is_idle()
            and c[].operations.watch.length != 0
        ):
            # The end that it would report need not be the next to come.
            reactor.cancel(watch_operation(c))
        submit_receive(c, in_large=wish.in_large, is_single=wish.is_single)


@always_inline
def submit_receive(
    c: PointerTo[ConnectionState],
    *,
    in_large: Bool = False,
    is_single: Bool = False,
):
    """Starts to receive, which continues until it is cancelled.

    Args:
        c: The connection, whose receive is idle.
        in_large: Whether it ends with one large piece.
        is_single: Whether it ends with one buffer, even so.
    """
    var reactor = worker_of(c)[].reactor
    c[].operations.receive.kind = OperationKind.RECEIVE
    c[].operations.receive.multishot = not is_single
    c[].operations.receive.address = None
    c[].operations.receive.length = 0
    if in_large and not is_single:
        var large = reactor.large_buffers().take()
        if large:
            c[].operations.receive.kind = OperationKind.READ
            c[].operations.receive.multishot = False
            c[].operations.receive.address = large
            c[].operations.receive.length = LARGE_BUFFER_OCTETS
            if c[].tls:
                # With the rest of a record, it is decrypted into one buffer.
                c[].operations.receive.length -= RECORD_OCTETS_MAX
    reactor.submit(receive_operation(c))


def has_left(c: PointerTo[ConnectionState]) -> Bool:
    """Returns whether the connection broke, by the result of the poll for the
    peer's departure.

    Args:
        c: The connection, whose poll is complete.

    Returns:
        True if the connection broke.
    """
    var result = watch_operation(c).result()
    if result > 0 and result & _POLL_BROKEN == 0:
        # io_uring reports the end of a peer's side whatever is asked for, at
        # once and each time: from now on only receiving and sending tell.
        c[].window.watch_spent = True
        return False
    return result > 0


def has_half_closed(c: PointerTo[ConnectionState]) -> Bool:
    """Returns whether the poll has reported the half-close that it watches for.

    Args:
        c: The connection, whose handler runs.

    Returns:
        True if the peer counts as leaving, unless another protocol is spoken.
    """
    return c[].window.watch_spent and c[].operations.watch.length != 0


@always_inline
def _is_full(c: PointerTo[ConnectionState], wish: ReceiveWish) -> Bool:
    # One stream of HTTP/2 does not hold the others up: only its window is
    # closed.
    if c[].share.awaits_room and not c[].h2:
        return True
    # Without a copy, unread octets occupy a buffer of the pool.
    if (
        len(c[].window.gathered) > 0
        and is_full(worker_of(c))
        and not wish.is_favoured
    ):
        await_room(c)
        return True
    return wish.is_full


def _watch(c: PointerTo[ConnectionState], wish: ReceiveWish):
    if c[].running == 0 or c[].window.watch_spent:
        return
    # Errors and resets are reported whatever is asked for. A handler that reads
    # bit by bit meets the end where it stands.
    var length = 0
    if not (
        c[].ending.peer_ended
        or wish.is_upgraded
        or wish.in_large
        or worker_of(c)[].config.half_close_allowed
    ):
        length = POLL_PEER_CLOSED
    if watch_operation(c).is_idle():
        c[].operations.watch.length = length
        worker_of(c)[].reactor.submit(watch_operation(c))
    elif c[].operations.watch.length != length:
        worker_of(c)[].reactor.cancel(watch_operation(c))

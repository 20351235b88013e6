"""Stores the octets that a connection has received and not consumed.

Received octets stay in the buffer that the kernel filled, and requests are
views into it. Octets are copied only if the unconsumed ones would span two
buffers. A buffer that contains the head of a request belongs to its exchange,
and also to the connection while more octets follow the head.
"""

from flare.core import Buffer, OctetPointer, PointerTo
from flare.http.exchange import Exchange
from flare.runtime.buffer_pool import BufferPool

from .connection_state import ConnectionState
from .worker_state import worker_of

# The memory lent after collected octets: the content of a record.
comptime _GATHERED_OCTETS = 16 * 1024


@always_inline
def window(c: PointerTo[ConnectionState]) -> Span[UInt8, MutUntrackedOrigin]:
    """Returns a view of the unconsumed octets, contiguous.

    Args:
        c: The connection.

    Returns:
        The view; receiving and consuming invalidate it.
    """
    if c[].window.buffer:
        return Span[UInt8, MutUntrackedOrigin](
            unsafe_ptr=c[]
            .window.buffer.unsafe_value()
            .unsafe_offset(c[].window.start),
            length=c[].window.end - c[].window.start,
        )
    if len(c[].window.gathered) == 0:
        return Span[UInt8, MutUntrackedOrigin]()
    return Span[UInt8, MutUntrackedOrigin](
        unsafe_ptr=c[].window.gathered.unsafe_front(),
        length=len(c[].window.gathered),
    )


@always_inline
def consume(c: PointerTo[ConnectionState], pool: BufferPool, count: Int):
    """Drops octets from the front of the window.

    Args:
        c: The connection.
        pool: The pool of receive buffers.
        count: At most the length of the window.
    """
    if count == 0:
        return
    if not c[].window.buffer:
        c[].window.gathered.consume(count)
        return
    c[].window.start += count
    if c[].window.start == c[].window.end:
        drop_input(c, pool)


@always_inline
def drop_input(c: PointerTo[ConnectionState], pool: BufferPool):
    """Returns the receive buffer to the pool, unless the exchange still uses
    it.

    Args:
        c: The connection.
        pool: The pool of receive buffers.
    """
    if c[].window.buffer:
        if c[].window.is_large:
            _large_buffers(c).give(c[].window.buffer.unsafe_value())
        elif not c[].window.is_shared:
            pool.give(c[].window.buffer.unsafe_value())
        c[].window.buffer = None
        c[].window.is_shared = False


@always_inline
def receive_octets(
    c: PointerTo[ConnectionState],
    pool: BufferPool,
    buffer: OctetPointer,
    count: Int,
    is_large: Bool,
):
    """Appends received octets to the window.

    Args:
        c: The connection.
        pool: The pool of receive buffers.
        buffer: A receive buffer that the connection now owns.
        count: The number of octets.
        is_large: Whether it is one of the large buffers.
    """
    if not c[].window.buffer and len(c[].window.gathered) == 0:
        c[].window.buffer = buffer
        c[].window.is_large = is_large
        c[].window.is_shared = False
        c[].window.start = 0
        c[].window.end = count
        return
    _gather(c, pool, count)
    c[].window.gathered.append(Span(unsafe_ptr=buffer, length=count))
    if is_large:
        _large_buffers(c).give(buffer)
    else:
        pool.give(buffer)


def room_behind_window(
    c: PointerTo[ConnectionState], pool: BufferPool, is_large: Bool
) -> Span[mut=True, UInt8, MutUntrackedOrigin]:
    """Lends memory after the window; `extend_window` must follow.

    Args:
        c: The connection.
        pool: The pool of receive buffers.
        is_large: Whether an empty window begins in one of the large buffers.

    Returns:
        The memory, not empty.
    """
    if not c[].window.buffer and len(c[].window.gathered) == 0:
        c[].window.is_large = is_large
        c[].window.is_shared = False
        c[].window.start = 0
        c[].window.end = 0
        c[].window.buffer = (_large_buffers(c) if is_large else pool).take()
    if c[].window.buffer:
        var size = (
            _large_buffers(c) if c[].window.is_large else pool
        ).buffer_octets()
        if c[].window.end < size:
            return Span[UInt8, MutUntrackedOrigin](
                unsafe_ptr=c[]
                .window.buffer.value()
                .unsafe_offset(c[].window.end),
                length=size - c[].window.end,
            )
    _gather(c, pool, _GATHERED_OCTETS)
    return Span[UInt8, MutUntrackedOrigin](
        unsafe_ptr=c[].window.gathered.reserve(_GATHERED_OCTETS),
        length=_GATHERED_OCTETS,
    )


def extend_window(c: PointerTo[ConnectionState], pool: BufferPool, count: Int):
    """Extends the window by octets that were written after it.

    Args:
        c: The connection.
        pool: The pool of receive buffers.
        count: The number of octets; at most as many as `room_behind_window`
            lent.
    """
    if c[].window.buffer:
        c[].window.end += count
        if c[].window.start == c[].window.end:
            drop_input(c, pool)
        return
    c[].window.gathered.advance(count)
    if len(c[].window.gathered) == 0:
        c[].window.gathered = Buffer()


def _large_buffers(c: PointerTo[ConnectionState]) -> BufferPool:
    return worker_of(c)[].reactor.large_buffers()


def _gather(c: PointerTo[ConnectionState], pool: BufferPool, more: Int):
    """Collects the octets of the window, with room for `more`. The memory is
    lent by a pool, if that is much."""
    var held = 0
    if c[].window.buffer:
        held = c[].window.end - c[].window.start
    worker_of(c)[].make_room(c[].window.gathered, held + more)
    if c[].window.buffer:
        c[].window.gathered.append(window(c))
        drop_input(c, pool)


@always_inline
def hand_head_over(
    c: PointerTo[ConnectionState], x: Exchange, head_octets: Int
):
    """Makes an exchange keep the octets of its head in place.

    Args:
        c: The connection, whose window begins with the head.
        x: The exchange.
        head_octets: The length of the head.
    """
    x[].octet_count = head_octets
    if c[].window.is_large and c[].window.buffer:
        # Too dear to be kept for the length of a request.
        _gather(c, _large_buffers(c), 0)
    if c[].window.buffer:
        if x[].head.wants_upgrade:
            _copy_head(c, x, head_octets)
            return
        x[].octets = (
            c[].window.buffer.unsafe_value().unsafe_offset(c[].window.start)
        )
        x[].read_buffer = c[].window.buffer
        c[].window.is_shared = True
        return
    # The head arrived in pieces: the exchange takes the memory with its
    # octets, and the octets after the head (rarely any) move on. The shorter
    # part is copied: copying a whole row of requests once for each of them
    # would take quadratic time.
    var copied = Buffer()
    if len(c[].window.gathered) > 2 * head_octets:
        copied.append(window(c)[:head_octets])
        c[].window.gathered.consume(head_octets)
    else:
        if len(c[].window.gathered) > head_octets:
            copied.append(window(c)[head_octets:])
        swap(copied, c[].window.gathered)
    x[].gathered = copied^
    x[].octets = x[].gathered.unsafe_front()


@no_inline
def _copy_head(c: PointerTo[ConnectionState], x: Exchange, head_octets: Int):
    # An upgraded connection may live for days: it must not keep a receive
    # buffer for as long. Later its handler may have views of the head.
    var copied = Buffer(capacity=head_octets)
    copied.append(window(c)[:head_octets])
    x[].gathered = copied^
    x[].octets = x[].gathered.unsafe_front()


@always_inline
def take_head_back(
    c: PointerTo[ConnectionState], pool: BufferPool, x: Exchange
):
    """Takes back the head's octets of `hand_head_over`, after the exchange.

    Args:
        c: The connection.
        pool: The pool of receive buffers.
        x: The exchange.
    """
    if x[].read_buffer:
        var buffer = x[].read_buffer.unsafe_value()
        x[].read_buffer = None
        if (
            c[].window.is_shared
            and c[].window.buffer
            and Int(c[].window.buffer.unsafe_value()) == Int(buffer)
        ):
            c[].window.is_shared = False
        else:
            pool.give(buffer)

"""Keeps the octets that a connection has received and not yet consumed.

Received octets stay in the buffer that the kernel filled, and requests are
views into it. Octets are copied only where what is unconsumed would span two
buffers. A buffer that holds the head of a request belongs to its exchange, and
to the connection too while more octets lie behind the head.
"""

from flare.core import Buffer, OctetPointer, PointerTo
from flare.http.exchange import Exchange
from flare.proto.h1.chunk import ChunkPart
from flare.proto.h1.head import BodyKind
from flare.runtime.buffer_pool import BufferPool

from .connection_state import ConnectionState
from .worker_state import WorkerState

# What is lent behind octets that were gathered: the content of a record.
comptime _GATHERED_OCTETS = 16 * 1024


@always_inline
def window(c: PointerTo[ConnectionState]) -> Span[UInt8, MutUntrackedOrigin]:
    """Views the unconsumed octets, contiguous.

    Args:
        c: The connection.

    Returns:
        The view; receiving and consuming invalidate it.
    """
    if c[].input:
        return Span[UInt8, MutUntrackedOrigin](
            unsafe_ptr=c[].input.unsafe_value().unsafe_offset(c[].input_start),
            length=c[].input_end - c[].input_start,
        )
    if len(c[].gathered) == 0:
        return Span[UInt8, MutUntrackedOrigin]()
    return Span[UInt8, MutUntrackedOrigin](
        unsafe_ptr=c[].gathered.unsafe_front(), length=len(c[].gathered)
    )


@always_inline
def announces_too_much(c: PointerTo[ConnectionState], x: Exchange) -> Bool:
    """Tells whether a handler asks for more content than it may have.

    Args:
        c: The connection, whose handler runs.
        x: The exchange.

    Returns:
        True if more came, or was announced, also by the line of a chunk.
    """
    if not (x[].content_whole or x[].content_streamed):
        return False
    ref chunk = c[].h1.chunk
    if (
        x[].content_whole
        and max(x[].head.content_length, x[].content_received)
        > _worker_of(c)[].budget.contents_max()
    ):
        # All that the worker may hold would be too little for it.
        return True
    return x[].is_content_too_large() or (
        x[].head.body == BodyKind.CHUNKED
        and chunk.part == ChunkPart.DATA
        and chunk.remaining
        > UInt64(x[].content_octets_max - x[].content_received)
    )


@always_inline
def consume(c: PointerTo[ConnectionState], pool: BufferPool, count: Int):
    """Drops octets from the front of the window.

    Args:
        c: The connection.
        pool: Where receive buffers go.
        count: At most the length of the window.
    """
    if count == 0:
        return
    if not c[].input:
        c[].gathered.consume(count)
        return
    c[].input_start += count
    if c[].input_start == c[].input_end:
        drop_input(c, pool)


@always_inline
def drop_input(c: PointerTo[ConnectionState], pool: BufferPool):
    """Gives the receive buffer back, unless the exchange still uses it.

    Args:
        c: The connection.
        pool: Where receive buffers go.
    """
    if c[].input:
        if c[].input_large:
            _large_buffers(c).give(c[].input.unsafe_value())
        elif not c[].input_shared:
            pool.give(c[].input.unsafe_value())
        c[].input = None
        c[].input_shared = False


@always_inline
def receive_octets(
    c: PointerTo[ConnectionState],
    pool: BufferPool,
    buffer: OctetPointer,
    count: Int,
    is_large: Bool,
):
    """Adds received octets behind the window.

    Args:
        c: The connection.
        pool: Where receive buffers go.
        buffer: A receive buffer that the connection now owns.
        count: How many octets it holds.
        is_large: It is one of the large buffers.
    """
    if not c[].input and len(c[].gathered) == 0:
        c[].input = buffer
        c[].input_large = is_large
        c[].input_shared = False
        c[].input_start = 0
        c[].input_end = count
        return
    _gather(c, pool)
    _worker_of(c)[].make_room(c[].gathered, count)
    c[].gathered.append(Span(unsafe_ptr=buffer, length=count))
    if is_large:
        _large_buffers(c).give(buffer)
    else:
        pool.give(buffer)


def room_behind_window(
    c: PointerTo[ConnectionState], pool: BufferPool, is_large: Bool
) -> Span[mut=True, UInt8, MutUntrackedOrigin]:
    """Lends memory behind the window; `extend_window` must follow.

    Args:
        c: The connection.
        pool: Where receive buffers come from.
        is_large: Whether an empty window begins in one of the large buffers.

    Returns:
        The memory, not empty.
    """
    if not c[].input and len(c[].gathered) == 0:
        c[].input_large = is_large
        c[].input_shared = False
        c[].input_start = 0
        c[].input_end = 0
        c[].input = (_large_buffers(c) if is_large else pool).take()
    if c[].input:
        var size = (
            _large_buffers(c) if c[].input_large else pool
        ).buffer_octets()
        if c[].input_end < size:
            return Span[UInt8, MutUntrackedOrigin](
                unsafe_ptr=c[].input.value().unsafe_offset(c[].input_end),
                length=size - c[].input_end,
            )
        _gather(c, pool)
    _worker_of(c)[].make_room(c[].gathered, _GATHERED_OCTETS)
    return Span[UInt8, MutUntrackedOrigin](
        unsafe_ptr=c[].gathered.reserve(_GATHERED_OCTETS),
        length=_GATHERED_OCTETS,
    )


def extend_window(c: PointerTo[ConnectionState], pool: BufferPool, count: Int):
    """Adds octets to the window that were written behind it.

    Args:
        c: The connection.
        pool: Where receive buffers go.
        count: How many; at most what `room_behind_window` lent.
    """
    if c[].input:
        c[].input_end += count
        if c[].input_start == c[].input_end:
            drop_input(c, pool)
        return
    c[].gathered.advance(count)
    if len(c[].gathered) == 0:
        c[].gathered = Buffer()


@always_inline
def _worker_of(c: PointerTo[ConnectionState]) -> PointerTo[WorkerState]:
    return c[].worker.unsafe_bitcast[WorkerState]()


def _large_buffers(c: PointerTo[ConnectionState]) -> BufferPool:
    return _worker_of(c)[].reactor.large_buffers()


def _gather(c: PointerTo[ConnectionState], pool: BufferPool):
    if c[].input:
        c[].gathered.append(window(c))
        drop_input(c, pool)


@always_inline
def hand_head_over(
    c: PointerTo[ConnectionState], x: Exchange, head_octets: Int
):
    """Lets an exchange keep the octets of its head in place.

    Args:
        c: The connection, whose window begins with the head.
        x: The exchange.
        head_octets: The length of the head.
    """
    x[].octet_count = head_octets
    if c[].input_large and c[].input:
        # Too dear to be kept for the length of a request.
        _gather(c, _large_buffers(c))
    if c[].input:
        if x[].head.wants_upgrade:
            _copy_head(c, x, head_octets)
            return
        x[].octets = c[].input.unsafe_value().unsafe_offset(c[].input_start)
        x[].read_buffer = c[].input
        c[].input_shared = True
        return
    # The head came in pieces: the exchange takes the memory they were gathered
    # in, and what lies behind the head (rarely anything) moves on. The shorter
    # of the two is copied: to copy many requests that lie behind one another
    # once for each of them would cost their square.
    var copied = Buffer()
    if len(c[].gathered) > 2 * head_octets:
        copied.append(window(c)[:head_octets])
        c[].gathered.consume(head_octets)
    else:
        if len(c[].gathered) > head_octets:
            copied.append(window(c)[head_octets:])
        swap(copied, c[].gathered)
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
    """Ends what `hand_head_over` began; the exchange is over.

    Args:
        c: The connection.
        pool: Where receive buffers go.
        x: The exchange.
    """
    if x[].read_buffer:
        var buffer = x[].read_buffer.unsafe_value()
        x[].read_buffer = None
        if (
            c[].input_shared
            and c[].input
            and Int(c[].input.unsafe_value()) == Int(buffer)
        ):
            c[].input_shared = False
        else:
            pool.give(buffer)

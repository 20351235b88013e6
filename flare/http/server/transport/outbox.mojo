"""Sends the collected output of a connection, one send at a time."""

from flare.core import Buffer, OctetPointer, PointerTo
from flare.http.body import Body
from flare.runtime.operation import CANCELLED, Operation
from flare.runtime.reactor import LARGE_BUFFER_OCTETS
from flare.sys.errno import ECONNRESET, EPIPE
from flare.sys.sealed_pages import ON_HEAP_OCTETS_MAX

from .buffered import drop_large, is_full
from .connection_state import ConnectionState
from .encryption import encrypt
from .window import drop_input
from .worker_parts import OUTPUT_OCTETS
from .worker_state import worker_of

comptime STREAM_OCTETS_MAX = LARGE_BUFFER_OCTETS - 64
"""How much of a streamed response may gather before its function waits. The
rest of the buffer is for chunk sizes and line ends."""
# While more than this is unsent no further request is read.
comptime _UNSENT_OCTETS_MAX = 256 * 1024
# A chunk size with its line ends, and the last chunk.
comptime _AROUND_CONTENT_OCTETS = 32


@always_inline
def output_of(c: PointerTo[ConnectionState]) -> PointerTo[Buffer]:
    """Returns the buffer in which a connection gathers its output.

    Args:
        c: The connection.

    Returns:
        The buffer; it has memory.
    """
    if c[].outbox.output.capacity() == 0:
        c[].outbox.output = worker_of(c)[].take_output()
    return Pointer(to=c[].outbox.output).unsafe_origin_cast[
        MutUntrackedOrigin
    ]()


@no_inline
def answer_in_input(c: PointerTo[ConnectionState]):
    """Drops the unconsumed octets, and gathers the next output in their buffer.

    A refusal is short, and its connection has the memory. Thousands of clients
    may be refused at once: each would touch a page of another buffer.

    Args:
        c: The connection, which reads no further request.
    """
    var w = worker_of(c)
    if (
        c[].window.buffer
        and not c[].window.is_large
        and not c[].window.is_shared
        and c[].outbox.output.capacity() == 0
        and not has_output(c)
    ):
        w[].outputs.lent += 1
        c[].outbox.output = (
            w[].reactor.buffers().make_growing(c[].window.buffer.unsafe_value())
        )
        c[].window.buffer = None
    drop_input(c, w[].reactor.buffers())
    c[].window.gathered.clear()


@always_inline
def make_room(c: PointerTo[ConnectionState], count: Int):
    """Reserves room for content in the buffer that `output_of` returns.

    Args:
        c: The connection, which has such a buffer.
        count: The number of octets of content, without their framing.
    """
    worker_of(c)[].make_room(c[].outbox.output, count + _AROUND_CONTENT_OCTETS)


def stream_room(c: PointerTo[ConnectionState]) -> Int:
    """Returns how many octets of a stream may collect before its function
    waits.

    Args:
        c: The connection.

    Returns:
        About 64 KiB; the rest of a usual buffer if the worker's budget is used
        up.
    """
    return STREAM_OCTETS_MAX if not is_full(worker_of(c)) else OUTPUT_OCTETS


@always_inline
def has_output(c: PointerTo[ConnectionState]) -> Bool:
    """Returns whether any output is still unsent.

    Args:
        c: The connection.

    Returns:
        True until the peer's kernel has taken all of it.
    """
    return (
        len(c[].outbox.output) > 0
        or len(c[].outbox.sending) > 0
        or Bool(c[].outbox.large)
        or has_file(c)
        or not send_operation(c).is_idle()
    )


@always_inline
def has_file(c: PointerTo[ConnectionState]) -> Bool:
    """Returns whether octets of a file are to be sent.

    Args:
        c: The connection.

    Returns:
        False after the last one, or if they cannot be sent.
    """
    return c[].operations.send.uncopied.file.descriptor >= 0


@always_inline
def has_room_for_answer(c: PointerTo[ConnectionState]) -> Bool:
    """Returns whether the connection may read a further request.

    Args:
        c: The connection.

    Returns:
        False while too many octets of earlier answers are unsent.
    """
    if c[].outbox.large:
        return False
    var unsent = len(c[].outbox.output)
    return unsent <= OUTPUT_OCTETS or (
        unsent <= _UNSENT_OCTETS_MAX and not is_full(worker_of(c))
    )


@always_inline
def send_operation(c: PointerTo[ConnectionState]) -> Operation:
    """Returns the send operation of a connection.

    Args:
        c: The connection.

    Returns:
        The operation.
    """
    return Operation(
        Pointer(to=c[].operations.send).unsafe_origin_cast[MutUntrackedOrigin]()
    )


@always_inline
def flush(c: PointerTo[ConnectionState]):
    """Sends the collected output, unless a send is in flight.

    Args:
        c: The connection.
    """
    if not send_operation(c).is_idle():
        return
    c[].operations.send.uncopied.sends_file = False
    if c[].tls:
        _flush_encrypted(c)
        return
    if len(c[].outbox.sending) == 0:
        if len(c[].outbox.output) == 0:
            if c[].outbox.large:
                _send_large(c)
            elif has_file(c):
                _send_file_alone(c)
            return
        swap(c[].outbox.sending, c[].outbox.output)
    c[].operations.send.address = c[].outbox.sending.unsafe_front()
    c[].operations.send.length = len(c[].outbox.sending)
    c[].operations.send.second = None
    if c[].outbox.large and len(c[].outbox.output) == 0:
        _send_with_large(c)
    elif has_file(c) and len(c[].outbox.output) == 0:
        _send_with_file(c)
    else:
        worker_of(c)[].reactor.submit(send_operation(c))


@no_inline
def _flush_encrypted(c: PointerTo[ConnectionState]):
    if len(c[].outbox.sending) == 0:
        encrypt(c)
    if len(c[].outbox.sending) == 0:
        return
    c[].operations.send.address = c[].outbox.sending.unsafe_front()
    c[].operations.send.length = len(c[].outbox.sending)
    c[].operations.send.second = None
    worker_of(c)[].reactor.submit(send_operation(c))


@no_inline
def _send_with_large(c: PointerTo[ConnectionState]):
    var octets = _unsent_of_large(c)
    c[].operations.send.second = octets.unsafe_ptr()
    c[].operations.send.second_length = len(octets)
    # A short one may lie on the heap, whose octets are written again. A short
    # rest is copied for less than what it takes not to copy it.
    c[].operations.send.uncopied.is_sealed = (
        len(octets) > ON_HEAP_OCTETS_MAX
        and c[].outbox.large.value().is_sealed()
    )
    worker_of(c)[].reactor.submit_at_once(send_operation(c))


@no_inline
def _send_large(c: PointerTo[ConnectionState]):
    # No output precedes it any more.
    c[].operations.send.address = _unsent_of_large(c).unsafe_ptr()
    c[].operations.send.length = 0
    _send_with_large(c)


@no_inline
def _send_with_file(c: PointerTo[ConnectionState]):
    c[].operations.send.uncopied.sends_file = True
    worker_of(c)[].reactor.submit_at_once(send_operation(c))


@no_inline
def _send_file_alone(c: PointerTo[ConnectionState]):
    # No octets of the output are read.
    c[].operations.send.address = OctetPointer(unsafe_from_address=64)
    c[].operations.send.length = 0
    c[].operations.send.second = None
    _send_with_file(c)


@no_inline
def end_file_sending(c: PointerTo[ConnectionState]) -> Bool:
    """Forgets the file that a failed send could not send.

    Args:
        c: The connection, whose send has just failed.

    Returns:
        False if the connection failed instead.
    """
    var result = send_operation(c).result()
    if (
        not has_file(c)
        or not c[].operations.send.uncopied.sends_file
        or result == CANCELLED
        or result == -EPIPE
        or result == -ECONNRESET
    ):
        return False
    # If another error came from the socket, the next send finds it.
    forget_file(c)
    return True


def forget_file(c: PointerTo[ConnectionState]):
    """Makes sure that a file is not used any more, also by a send in flight.

    Args:
        c: The connection.
    """
    c[].operations.send.uncopied.file.descriptor = -1


def _unsent_of_large(
    c: PointerTo[ConnectionState],
) -> Span[UInt8, MutUntrackedOrigin]:
    var octets = c[].outbox.large.value().octets()
    return Span[UInt8, MutUntrackedOrigin](
        unsafe_ptr=octets.unsafe_ptr()
        .unsafe_mut_cast[True]()
        .unsafe_origin_cast[MutUntrackedOrigin]()
        .unsafe_offset(c[].outbox.large_sent),
        length=len(octets) - c[].outbox.large_sent,
    )


@always_inline
def count_sent(c: PointerTo[ConnectionState], count: Int):
    """Drops the octets that the kernel has taken from the output.

    Args:
        c: The connection, whose send has just completed.
        count: The number of octets; at least 1.
    """
    var of_large = count - len(c[].outbox.sending)
    if of_large <= 0:
        c[].outbox.sending.consume(count)
        return
    c[].outbox.sending.clear()
    if c[].operations.send.uncopied.sends_file:
        _count_file_sent(c, of_large)
        return
    c[].outbox.large_sent += of_large
    if c[].outbox.large_sent >= len(c[].outbox.large.value()):
        drop_large(c)


@no_inline
def _count_file_sent(c: PointerTo[ConnectionState], count: Int):
    # It may have been forgotten since.
    ref file = c[].operations.send.uncopied.file
    file.start += count
    file.octets -= count
    if file.octets == 0:
        file.descriptor = -1


@always_inline
def release_output(c: PointerTo[ConnectionState]):
    """Returns empty output buffers to the pool; no send is in flight.

    Args:
        c: The connection.
    """
    if c[].outbox.sending.capacity() > 0 and len(c[].outbox.sending) == 0:
        var buffer = Buffer()
        swap(buffer, c[].outbox.sending)
        worker_of(c)[].give_output(buffer^)
    if c[].outbox.output.capacity() > 0 and len(c[].outbox.output) == 0:
        var buffer = Buffer()
        swap(buffer, c[].outbox.output)
        worker_of(c)[].give_output(buffer^)


def drop_output(c: PointerTo[ConnectionState]):
    """Drops all unsent output; no send is in flight.

    Args:
        c: The connection.
    """
    c[].outbox.sending.clear()
    c[].outbox.output.clear()
    drop_large(c)
    forget_file(c)
    release_output(c)


@no_inline
def keep_large(c: PointerTo[ConnectionState], var content: Body):
    """Keeps long content where it lies until it is sent.

    Args:
        c: The connection, which keeps no other.
        content: The content, sent after the collected output.
    """
    c[].outbox.large = content^
    c[].outbox.large_sent = 0
    c[].outbox.large_since_ms = worker_of(c)[].reactor.now_ms()

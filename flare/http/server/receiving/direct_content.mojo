"""Receives content into the memory of the handler that waits for it.

This saves a copy of long content in HTTP/1.1 without TLS. The system call never
waits, so the kernel does not use the memory afterwards.
"""

from flare.core import PointerTo
from flare.http.exchange import Exchange

from ..exchange.request_content import count_content
from ..sending.h1_responses import machine
from ..transport.connection_state import ConnectionState, Stage
from ..transport.read_ahead import receive_operation
from ..transport.window import window
from ..transport.worker_state import worker_of

# For less, a call of the kernel costs more than a copy.
comptime _OCTETS_MIN = 16 * 1024


def receives_directly(c: PointerTo[ConnectionState], x: Exchange) -> Bool:
    """Returns whether the content that a handler waits for can be received into
    its memory.

    Args:
        c: A connection of HTTP/1.1.
        x: Its request.

    Returns:
        False if octets for others might be received with it, or if it is short.
    """
    if c[].tls:
        return False
    var due = machine(c).due_data()
    var count = min(due, x[].content_wait.reader.room)
    return count >= _OCTETS_MIN or (
        count > 0 and count == due and x[].head.content_length >= 0
    )


def receive_directly(c: PointerTo[ConnectionState], x: Exchange) -> Bool:
    """Receives content that has arrived into the memory of the handler that
    waits for it. The end of the stream, and errors, are left to the receive of
    the connection.

    Args:
        c: A connection of HTTP/1.1.
        x: Its request, which a handler reads piece by piece.

    Returns:
        False if no octets were received.
    """
    if (
        c[].stage != Stage.OPEN
        or x[].content.status != 0
        or len(window(c)) > 0
        or not receive_operation(c).is_idle()
        or not receives_directly(c, x)
    ):
        return False
    var memory = x[].content_wait.reader.lend(machine(c).due_data())
    if len(memory) == 0:
        return False
    var count = worker_of(c)[].reactor.receive_at_once(c[].descriptor, memory)
    if count <= 0:
        return False
    x[].content_wait.reader.take(count, len(memory))
    x[].content.received += count
    if machine(c).count_received(count):
        x[].content.is_complete = True
    count_content(x, count)
    return True

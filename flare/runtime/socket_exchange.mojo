"""Sends octets and receives the response in one step.

The kernel gets the receive first and the send after it, in one call. So octets
that arrived before the send can be distinguished from a response.
"""

from std.atomic import Atomic
from std.memory import unsafe_memcpy

from flare.sys.errno import EAGAIN, EBADF, EBUSY

from .backend import BackendKind
from .current import current_reactor
from .operation import CANCELLED, OperationKind
from .reactor import RECEIVE_BUFFER_OCTETS
from .socket import FiberSocket


@fieldwise_init
struct SentAndReceived(TrivialRegisterPassable):
    """The results of a send and of the receive beside it."""

    var sent: Int
    """The number of octets taken, 0 if the peer's octets came first; or a
    negated errno.
    """
    var received: Int
    """The number of octets received; 0 at the end; or a negated errno, EAGAIN
    if none came because the send is incomplete.
    """
    var came_first: Bool
    """Whether the octets were received before any were sent."""


def can_send_and_receive() -> Bool:
    """Returns whether the loop of the calling thread does both in one step.

    Returns:
        True on io_uring: elsewhere, the order of two operations is not known.
    """
    var reactor = current_reactor()
    return (
        Bool(reactor) and reactor.value().backend_kind() == BackendKind.IO_URING
    )


@no_inline
def send_and_receive(
    socket: FiberSocket,
    octets: Span[UInt8, _],
    into: Span[mut=True, UInt8, _],
    timeout_ms: Int,
) raises -> SentAndReceived:
    """Sends octets, and parks until octets have arrived or both operations
    have ended.

    Args:
        socket: The socket; `can_send_and_receive` of its loop.
        octets: The octets, on the heap; the kernel reads them until this
            returns.
        into: The destination, at most 4 KiB.
        timeout_ms: The longest wait for both.

    Returns:
        The results of the send and of the receive.

    Raises:
        NetError: `net.closed read` and others, if neither operation has begun.
    """
    var fiber = socket._begin(socket.receiving(), "read")
    var direction = socket.sending()
    var nobody = Int64(0)
    if not Atomic.compare_exchange(
        Pointer(to=direction[].reactor),
        nobody,
        Int64(Int(fiber.reactor().state)),
    ):
        _ = socket.finish(socket.receiving(), "write", -EBUSY)
    var sending = fiber.beside()
    direction[].operation = sending
    var receiving = fiber.operation()
    receiving.state[].kind = OperationKind.RECEIVE
    receiving.state[].address = None
    receiving.state[].length = min(len(into), RECEIVE_BUFFER_OCTETS)
    sending.state[].kind = OperationKind.SEND
    sending.state[].descriptor = receiving.state[].descriptor
    sending.state[].address = (
        octets.unsafe_ptr()
        .unsafe_mut_cast[True]()
        .unsafe_origin_cast[MutUntrackedOrigin]()
    )
    sending.state[].length = len(octets)
    var received = fiber.perform_both(timeout_ms)
    sending.state[].address = None
    direction[].operation = None
    Atomic.store(Pointer(to=direction[].reactor), Int64(0))
    var buffer = receiving.state[].buffer
    if buffer:
        if received > 0:
            unsafe_memcpy(
                dest=into.unsafe_ptr(),
                src=buffer.value(),
                count=min(received, len(into)),
            )
        fiber.reactor().buffers().give(buffer.value())
    if not socket.is_open():
        # Another thread ends a wait by shutting the socket down, which looks
        # like the end of the stream.
        received = -EBADF
    elif received == CANCELLED and not fiber.is_cancelled():
        received = -EAGAIN
    var sent = sending.result()
    if sent == CANCELLED and not fiber.is_cancelled():
        sent = 0
    _ = socket.finish(socket.receiving(), "read", 0)
    return SentAndReceived(sent, received, fiber.state[].present.came_first)

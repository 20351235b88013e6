"""Parks the calling fiber until a descriptor is ready.

With these functions, a client of a foreign library waits like flare's own: the
library does not block, and says for which descriptor it waits. Any descriptor
serves that poll(2) takes: sockets, pipes, eventfds, terminals.
"""

from flare.net import NetError
from flare.sys.errno import EBUSY, EPERM
from flare.sys.file import close_descriptor, duplicate_descriptor

from .backend import BackendKind
from .fiber import NO_DEADLINE, Fiber
from .operation import POLL_IN, POLL_OUT, OperationKind
from .socket import OPERATION_TIMEOUT_MS
from .wait import waiting_fiber

comptime _POLL_ERROR = 8
comptime _POLL_HUNG_UP = 16


@fieldwise_init
struct Readiness(ImplicitlyCopyable):
    """The operations on a descriptor that do not block now."""

    var readable: Bool
    """Whether a read returns at once: with octets, the end or an error."""
    var writable: Bool
    """Whether a write returns at once: with a count or an error."""


def wait_readable(
    descriptor: Int, timeout_ms: Optional[Int] = OPERATION_TIMEOUT_MS
) raises:
    """Parks until a read from a descriptor returns at once: with octets, the
    end or an error.

    Several fibers may wait for one descriptor, and all of them continue. So a
    read should not block (`O_NONBLOCK`), in case another fiber was faster. Keep
    the descriptor open until the call returns: closing it does not end the
    wait. A file on a disk is always ready.

    Args:
        descriptor: The descriptor.
        timeout_ms: The longest wait, at least 1; 30 seconds by default, like a
            read of a `TcpStream`. `None` applies only `deadline_in`.

    Raises:
        NetError: `net.timeout wait`, `net.cancelled wait`, and `net.closed
            wait` if the descriptor is not open.
    """
    _ = _wait(descriptor, POLL_IN, timeout_ms)


def wait_writable(
    descriptor: Int, timeout_ms: Optional[Int] = OPERATION_TIMEOUT_MS
) raises:
    """Parks until a write to a descriptor returns at once: with a count or an
    error.

    Args:
        descriptor: The descriptor, as for `wait_readable`.
        timeout_ms: The longest wait, at least 1; 30 seconds by default. `None`
            applies only `deadline_in`.

    Raises:
        NetError: As for `wait_readable`.
    """
    _ = _wait(descriptor, POLL_OUT, timeout_ms)


def wait_either(
    descriptor: Int, timeout_ms: Optional[Int] = OPERATION_TIMEOUT_MS
) raises -> Readiness:
    """Parks until a read or a write returns at once.

    A fiber that sends much to a peer uses this: the peer may not receive before
    its own octets are received.

    Args:
        descriptor: The descriptor, as for `wait_readable`.
        timeout_ms: The longest wait, at least 1; 30 seconds by default. `None`
            applies only `deadline_in`.

    Returns:
        Which of the two returns at once; at least one does.

    Raises:
        NetError: As for `wait_readable`.
    """
    return _wait(descriptor, POLL_IN | POLL_OUT, timeout_ms)


def _wait(
    descriptor: Int, events: Int, timeout_ms: Optional[Int]
) raises -> Readiness:
    var fiber = waiting_fiber("wait")
    var limit_ms = NO_DEADLINE
    if timeout_ms:
        limit_ms = max(timeout_ms.value(), 1)
    var result = poll_descriptor(fiber, Int32(descriptor), events, limit_ms)
    if result == -EBUSY and fiber.reactor().backend_kind() == BackendKind.EPOLL:
        # A readiness kernel knows one waiter per descriptor; the next ones
        # bring their own.
        result = duplicate_descriptor(Int32(descriptor))
        if result >= 0:
            var duplicate = Int32(result)
            result = poll_descriptor(fiber, duplicate, events, limit_ms)
            _ = close_descriptor(duplicate)
    if result == -EPERM:
        # epoll takes no files of a disk, which poll(2) reports as ready.
        result = events
    if result < 0:
        raise Error(NetError.from_errno("wait", result))
    var broken = result & (_POLL_ERROR | _POLL_HUNG_UP) != 0
    return Readiness(
        events & POLL_IN != 0 and (broken or result & POLL_IN != 0),
        events & POLL_OUT != 0 and (broken or result & POLL_OUT != 0),
    )


def poll_descriptor(
    fiber: Fiber, descriptor: Int32, events: Int, limit_ms: Int
) -> Int:
    """Parks a fiber until a descriptor is ready.

    Args:
        fiber: The calling fiber.
        descriptor: The descriptor.
        events: `POLL_IN`, `POLL_OUT` or both.
        limit_ms: The longest wait, or `NO_DEADLINE`.

    Returns:
        The events that have occurred, or a negated errno.
    """
    ref operation = fiber.state[].operation
    operation.kind = OperationKind.POLL
    operation.descriptor = descriptor
    # Errors are reported in any case. They are named because the epoll backend
    # treats a poll for room alone as a send.
    operation.length = events | _POLL_ERROR
    operation.multishot = False
    return fiber.perform(limit_ms)

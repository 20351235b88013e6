"""Performs the steps of a listening socket that are not operations, at once.

It is the same for every kernel interface. No function here waits.
"""

from flare.sys.errno import EAGAIN, EINTR, EINVAL
from flare.sys.file import close_descriptor, open_event_descriptor
from flare.sys.listener import has_connection_waiting
from flare.sys.socket import (
    accept_socket,
    receive_octets,
    send_octets,
    set_non_blocking,
    shut_down_socket,
)
from flare.sys.socket_address import SocketAddressStorage
from flare.sys.socket_constants import MSG_DONTWAIT, SHUT_WR

comptime _DROPPED_OCTETS = 8192
# With the buffer, above 1 MiB: more than a kernel queues for a socket that is
# not read.
comptime _DROPS_MAX = 128


def accept_waiting(listener: Int32) -> Int:
    """Accepts one connection that is already waiting.

    It makes the listener non-blocking: if another process has the listener
    open, it may accept the connection between the check and the call.

    Args:
        listener: A listening socket.

    Returns:
        The descriptor, in blocking mode; EAGAIN if no client is waiting, or
        another negated errno.
    """
    if not has_connection_waiting(listener):
        return -EAGAIN
    _ = set_non_blocking(listener, True)
    var peer = SocketAddressStorage()
    while True:
        var accepted = accept_socket(listener, peer, non_blocking=False)
        if accepted == -EINVAL:
            # A Unix socket that accepts no more clients, and none is left.
            return -EAGAIN
        if accepted != -EINTR:
            return accepted


def accept_and_answer(
    listener: Int32, mut spare: Int32, answer: Span[UInt8, _]
) -> Int:
    """Accepts one connection, sends a short answer, and closes it.

    Args:
        listener: A listening socket.
        spare: A descriptor that is closed before and reopened afterwards; -1
            if there is none.
        answer: The answer; it fits into an empty socket.

    Returns:
        0, or a negated errno; EAGAIN if no client is waiting.
    """
    if spare >= 0:
        _ = close_descriptor(spare)
    var accepted = accept_waiting(listener)
    if accepted >= 0:
        _answer_and_close(Int32(accepted), answer)
        accepted = 0
    spare = Int32(max(open_event_descriptor(), -1))
    return accepted


def _answer_and_close(descriptor: Int32, answer: Span[UInt8, _]):
    _ = send_octets(descriptor, answer, MSG_DONTWAIT)
    _ = shut_down_socket(descriptor, SHUT_WR)
    # Closing with octets unread would reset the connection, and the reset
    # would take the answer with it.
    var dropped = Array[UInt8, _DROPPED_OCTETS](fill=0)
    for _ in range(_DROPS_MAX):
        if receive_octets(descriptor, Span(dropped), MSG_DONTWAIT) <= 0:
            break
    _ = close_descriptor(descriptor)

"""Determines which operations on a simulated network could complete now."""

from flare.runtime.operation import (
    POLL_IN,
    POLL_OUT,
    POLL_PEER_CLOSED,
    OperationKind,
)

from .simulated_network import WINDOW_OCTETS, SimulatedNetwork
from .simulated_socket import PendingOperation

comptime _POLL_ERROR = 8


def poll_events(
    network: SimulatedNetwork, pending: PendingOperation, index: Int
) -> Int:
    """Returns the events that a poll would report.

    Args:
        network: The network.
        pending: The poll.
        index: Its socket.

    Returns:
        The requested events that have occurred.
    """
    ref socket = network.socket(index)[]
    var events = 0
    if (
        len(socket.inbound) > 0
        or socket.has_ended
        or socket.is_reset
        or len(socket.backlog) > 0
    ):
        events |= POLL_IN
    if socket.has_ended or socket.is_reset:
        events |= POLL_PEER_CLOSED
    if not socket.is_listener and has_room(network, index):
        events |= POLL_OUT
    events &= pending.operation.state[].length
    # Errors are reported whatever is asked for (poll(2)).
    return events | _POLL_ERROR if socket.is_reset else events


def has_room(network: SimulatedNetwork, index: Int) -> Bool:
    """Returns whether a send would take octets, or fail.

    Args:
        network: The network.
        index: The socket.

    Returns:
        False while the other end must receive first.
    """
    ref socket = network.socket(index)[]
    if socket.other < 0 or socket.is_reset or socket.sending_ended:
        return True
    return len(network.socket(socket.other)[].inbound) < WINDOW_OCTETS


def can_complete(network: SimulatedNetwork, pending: PendingOperation) -> Bool:
    """Returns whether an operation could complete now.

    Args:
        network: The network.
        pending: The operation.

    Returns:
        False while something must happen first.
    """
    ref o = pending.operation.state[]
    var index = network.find(o.descriptor)
    if index < 0:
        return True
    ref socket = network.socket(index)[]
    if o.kind == OperationKind.RECEIVE or o.kind == OperationKind.READ:
        return len(socket.inbound) > 0 or socket.has_ended or socket.is_reset
    if o.kind == OperationKind.SEND:
        return has_room(network, index)
    if o.kind == OperationKind.ACCEPT:
        return len(socket.backlog) > 0
    if o.kind == OperationKind.POLL:
        return (
            poll_events(network, pending, index) != 0
            and pending.seen != socket.arrivals
        )
    return True

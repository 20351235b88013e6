"""Uses simulated sockets at once, without an operation."""

from std.memory import unsafe_memcpy

from flare.sys.errno import (
    EAGAIN,
    EBADF,
    ECONNRESET,
    EMFILE,
    ENFILE,
    ENOMEM,
    EPIPE,
)

from .simulated_network import WINDOW_OCTETS, SimulatedNetwork


def send_at_once(
    network: SimulatedNetwork, descriptor: Int32, octets: Span[UInt8, _]
) -> Int:
    """Sends octets as a system call that does not wait. Chance may shorten it.

    Args:
        network: The network.
        descriptor: The socket.
        octets: The octets.

    Returns:
        The number of octets taken, or a negated errno.
    """
    var index = network.find(descriptor)
    if index < 0:
        return -EBADF
    ref socket = network.socket(index)[]
    if socket.is_reset or socket.sending_ended:
        return -ECONNRESET if socket.is_reset else -EPIPE
    if socket.other < 0:
        # The kernel takes the octets, and learns only later that the peer is
        # gone.
        network.reset(index)
        return len(octets)
    ref other = network.socket(socket.other)[]
    var count = min(len(octets), WINDOW_OCTETS - len(other.inbound))
    if count <= 0:
        return -EAGAIN
    ref s = network.state[]
    if count > 1 and s.draws.strikes(s.faults.short_sends):
        s.counts.short_sends += 1
        count = 1 + s.draws.below(count - 1)
    network.note("sends at once", "", index, count)
    other.inbound.append(octets[:count])
    other.arrivals += 1
    return count


def receive_at_once(
    network: SimulatedNetwork, descriptor: Int32, into: Span[mut=True, UInt8, _]
) -> Int:
    """Receives octets as a system call that does not wait. Chance may shorten
    it.

    Args:
        network: The network.
        descriptor: The socket.
        into: The destination, not empty.

    Returns:
        The number of octets, 0 at the end of the peer's stream, or a negated
        errno.
    """
    if network.is_silent(descriptor):
        return -EAGAIN
    var index = network.find(descriptor)
    if index < 0:
        return -EBADF
    ref socket = network.socket(index)[]
    if socket.is_reset:
        return -ECONNRESET
    var count = min(len(into), len(socket.inbound))
    ref s = network.state[]
    if count > 1 and s.draws.strikes(s.faults.short_receives):
        s.counts.short_receives += 1
        count = 1 + s.draws.below(count - 1)
    network.note("receives at once", "", index, count)
    if count > 0:
        s.counts.at_once += 1
        unsafe_memcpy(
            dest=into.unsafe_ptr(),
            src=socket.inbound.span().unsafe_ptr(),
            count=count,
        )
        socket.inbound.consume(count)
    return count


def turn_away(
    network: SimulatedNetwork,
    listener: Int32,
    answer: Span[UInt8, ImmStaticOrigin],
) -> Int:
    """Accepts, answers and closes; no fault strikes.

    Args:
        network: The network.
        listener: A listening socket.
        answer: The only octets that the peer gets.

    Returns:
        0, or a negated errno.
    """
    ref backlog = network.socket(network.find(listener))[].backlog
    if len(backlog) == 0:
        return -EAGAIN
    var index = backlog.pop(0)
    network.note("turns away", "", index)
    ref socket = network.socket(index)[]
    socket.inbound.clear()
    if socket.other >= 0:
        network.socket(socket.other)[].inbound.append(answer)
        network.socket(socket.other)[].arrivals += 1
    network.close(index)
    return 0


def accept_error(network: SimulatedNetwork) -> Int:
    """Draws why an accept fails.

    Args:
        network: The network.

    Returns:
        A negated errno.
    """
    ref s = network.state[]
    var chosen = s.draws.below(3)
    if chosen == 0:
        s.counts.failed_accepts.emfile += 1
        return -EMFILE
    if chosen == 1:
        s.counts.failed_accepts.enfile += 1
        return -ENFILE
    s.counts.failed_accepts.enomem += 1
    return -ENOMEM

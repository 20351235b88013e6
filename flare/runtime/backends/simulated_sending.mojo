"""Takes octets from a simulated send."""

from flare.core import Buffer
from flare.runtime.operation import CANCELLED, Operation
from flare.sys.errno import EAGAIN, EBADF, ECONNRESET, EPIPE
from flare.sys.folder import read_at

from .simulated_network import WINDOW_OCTETS, SimulatedNetwork


def octets_to_send(operation: Operation) -> Int:
    """Returns how many octets a send is to send.

    Args:
        operation: The send.

    Returns:
        The number of octets of all its parts.
    """
    ref o = operation.state[]
    if o.uncopied.sends_file:
        return o.length + o.uncopied.file.octets
    return o.length + (o.second_length if o.second else 0)


def append_sent(operation: Operation, count: Int, mut inbound: Buffer) -> Int:
    """Appends octets of a send to those that its peer receives.

    Args:
        operation: The send.
        count: How many octets the peer has room for; at least 1, and no more
            than the send has.
        inbound: The octets that the peer has not received yet.

    Returns:
        The result of the send.
    """
    ref o = operation.state[]
    ref file = o.uncopied.file
    if o.uncopied.sends_file and file.descriptor < 0:
        return CANCELLED
    var first = min(count, o.length)
    inbound.append(Span(unsafe_ptr=o.address.value(), length=first))
    if count == first:
        return count
    if not o.uncopied.sends_file:
        inbound.append(Span(unsafe_ptr=o.second.value(), length=count - first))
        return count
    var octets = List[UInt8](length=count - first, fill=0)
    var read = read_at(file.descriptor, Span(octets), file.start)
    if read > 0:
        inbound.append(Span(octets)[:read])
        return first + read
    # The next send reports why there were none.
    return first if first > 0 else read


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

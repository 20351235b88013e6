"""Takes octets from a simulated send."""

from flare.core import Buffer
from flare.runtime.operation import CANCELLED, Operation
from flare.sys.folder import read_at


def octets_to_send(operation: Operation) -> Int:
    """Returns how many octets a send is to send.

    Args:
        operation: The send.

    Returns:
        The number of octets of all its parts.
    """
    ref o = operation.state[]
    var second = o.second_length if o.second else o.uncopied.file.octets
    return o.length + second


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
    if not o.second and o.uncopied.file.octets > 0 and o.uncopied.file.descriptor < 0:
        return CANCELLED
    var first = min(count, o.length)
    inbound.append(Span(unsafe_ptr=o.address.value(), length=first))
    if count == first:
        return count
    if o.second:
        inbound.append(
            Span(unsafe_ptr=o.second.value(), length=count - first)
        )
        return count
    var octets = List[UInt8](length=count - first, fill=0)
    var read = read_at(o.uncopied.file.descriptor, Span(octets), o.uncopied.file.start)
    if read > 0:
        inbound.append(Span(octets)[:read])
    return first + read if read >= 0 or first == 0 else first

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

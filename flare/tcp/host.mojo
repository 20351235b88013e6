"""Resolves a host, and orders its addresses for connecting."""

from flare.dns import resolve
from flare.net import IpAddr, SocketAddr


def host_addresses(
    host: StringSlice, port: UInt16, timeout_ms: Optional[Int]
) raises -> List[SocketAddr]:
    """Returns the addresses of a host.

    Args:
        host: A host name, `localhost`, or an address without port and brackets.
        port: The port of every address.
        timeout_ms: The longest wait for name servers.

    Returns:
        At least one address, in the order in which to try them.

    Raises:
        Error: `dns.not_found resolve` and others.
    """
    var addresses = List[SocketAddr]()
    for ip in in_turns(resolve(host, timeout_ms=timeout_ms)):
        addresses.append(SocketAddr(ip, port))
    return addresses^


def in_turns(addresses: List[IpAddr]) -> List[IpAddr]:
    """Orders addresses so that the families alternate (RFC 8305 section 4).

    A family without a route then costs one attempt, not one per address.

    Args:
        addresses: The addresses, best first.

    Returns:
        The same addresses, the best one first.
    """
    var first = List[IpAddr]()
    var other = List[IpAddr]()
    for address in addresses:
        if address.is_v4() == addresses[0].is_v4():
            first.append(address)
        else:
            other.append(address)
    var mixed = List[IpAddr](capacity=len(addresses))
    for i in range(max(len(first), len(other))):
        if i < len(first):
            mixed.append(first[i])
        if i < len(other):
            mixed.append(other[i])
    return mixed^

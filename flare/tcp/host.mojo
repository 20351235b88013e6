"""Finds the addresses of a host that is given as a text."""

from flare.net import IpAddr, SocketAddr


def host_addresses(host: StringSlice, port: UInt16) raises -> List[SocketAddr]:
    """Finds the addresses at which a host may be reached, best first.

    Args:
        host: `localhost` (RFC 6761 section 6.3), or an address without port and
            brackets.
        port: The port of every address.

    Returns:
        At least one address.

    Raises:
        Error: `net.bad_address parse` for any other name.
    """
    if host == "localhost":
        return [SocketAddr.localhost(port), SocketAddr.localhost_v6(port)]
    try:
        return [SocketAddr(IpAddr.parse_octets(host.as_bytes()), port)]
    except e:
        raise e.about(host.as_bytes())

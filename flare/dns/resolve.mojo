"""Finds the addresses of a host by the means of the system.

Numeric addresses and `localhost` are known without asking anybody; what is no
host name is refused without asking anybody.
"""

from flare.net import IpAddr
from flare.sys.socket_address import AF_INET, AF_INET6, AF_UNSPEC

from .error import DnsError
from .host_name import check_host_name, is_localhost
from .system_lookup import look_up

comptime RESOLVE_TIMEOUT_MS = 30_000
"""The longest look-up unless the program chooses another."""


def resolve(
    host: StringSlice, *, timeout_ms: Optional[Int] = RESOLVE_TIMEOUT_MS
) raises -> List[IpAddr]:
    """Finds the addresses of a host, of both versions.

    The calling fiber, or the script, waits; no worker does.

    Args:
        host: A host name, `localhost`, or an address without port and brackets,
            which is given back.
        timeout_ms: The longest wait; none leaves it to `deadline_in`.

    Returns:
        At least one address, in the order in which they should be tried.

    Raises:
        Error: `dns.not_found resolve`, `dns.timeout resolve`,
            `dns.bad_name resolve` and the like; `DnsError.of` reads it.
    """
    return _resolve(host, AF_UNSPEC, timeout_ms)


def resolve_v4(
    host: StringSlice, *, timeout_ms: Optional[Int] = RESOLVE_TIMEOUT_MS
) raises -> List[IpAddr]:
    """Finds the IPv4 addresses of a host.

    Args:
        host: As for `resolve`.
        timeout_ms: The longest wait; none leaves it to `deadline_in`.

    Returns:
        At least one address.

    Raises:
        Error: As `resolve` does; `dns.no_address resolve` for an IPv6 address.
    """
    return _resolve(host, AF_INET, timeout_ms)


def resolve_v6(
    host: StringSlice, *, timeout_ms: Optional[Int] = RESOLVE_TIMEOUT_MS
) raises -> List[IpAddr]:
    """Finds the IPv6 addresses of a host.

    Args:
        host: As for `resolve`.
        timeout_ms: The longest wait; none leaves it to `deadline_in`.

    Returns:
        At least one address.

    Raises:
        Error: As `resolve` does; `dns.no_address resolve` for an IPv4 address.
    """
    return _resolve(host, AF_INET6, timeout_ms)


def known_addresses(
    host: StringSlice, family: Int
) raises -> Optional[List[IpAddr]]:
    """Finds the addresses for which nobody need be asked.

    Args:
        host: What a program gave as a host.
        family: `AF_INET`, `AF_INET6`, or `AF_UNSPEC` for both.

    Returns:
        The addresses of a numeric address or of `localhost`; none for other
        names.

    Raises:
        Error: `dns.bad_name resolve` for what is no name either, or
            `dns.no_address resolve` for an address of the other family.
    """
    var address = _numeric(host)
    if address:
        var wanted = family == AF_UNSPEC or (
            address.value().is_v4() == (family == AF_INET)
        )
        if not wanted:
            raise Error(
                DnsError(
                    DnsError.NO_ADDRESS, "resolve", String(address.value()), 0
                )
            )
        var itself: List[IpAddr] = [address.value()]
        return itself^
    try:
        check_host_name(host.as_bytes())
    except e:
        raise e.about(host.as_bytes())
    if not is_localhost(host.as_bytes()):
        return None
    var addresses = List[IpAddr]()
    if family != AF_INET6:
        addresses.append(IpAddr.localhost_v4())
    if family != AF_INET:
        addresses.append(IpAddr.localhost_v6())
    return addresses^


def _resolve(
    host: StringSlice, family: Int, timeout_ms: Optional[Int]
) raises -> List[IpAddr]:
    var known = known_addresses(host, family)
    if known:
        return known.take()
    return look_up(host, family, timeout_ms)


def _numeric(host: StringSlice) -> Optional[IpAddr]:
    try:
        return IpAddr.parse_octets(host.as_bytes())
    except:
        return None

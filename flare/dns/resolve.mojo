"""Looks up the addresses of a host with the system's resolver.

Numeric addresses and `localhost` need no query. A text that is not a host name
is refused without a query.
"""

from flare.net import IpAddr
from flare.sys.socket_address import AF_INET, AF_INET6, AF_UNSPEC

from .error import DnsError
from .host_name import check_host_name, is_localhost
from .system_lookup import look_up

comptime RESOLVE_TIMEOUT_MS = 30_000
"""The default limit of a look-up."""


def resolve(
    host: StringSlice, *, timeout_ms: Optional[Int] = RESOLVE_TIMEOUT_MS
) raises -> List[IpAddr]:
    """Returns the addresses of a host, of both versions.

    The call parks the fiber, or blocks a script. It never blocks a worker.

    Args:
        host: A host name, `localhost`, or an address without port and
            brackets, which is returned as it is.
        timeout_ms: The longest wait; `None` applies only `deadline_in`.

    Returns:
        At least one address, in the order in which they should be tried.

    Raises:
        Error: `dns.not_found resolve`, `dns.timeout resolve`, `dns.bad_name
            resolve` and others (`DnsError.of`).
    """
    return _resolve(host, AF_UNSPEC, timeout_ms)


def resolve_v4(
    host: StringSlice, *, timeout_ms: Optional[Int] = RESOLVE_TIMEOUT_MS
) raises -> List[IpAddr]:
    """Returns the IPv4 addresses of a host.

    Args:
        host: As for `resolve`.
        timeout_ms: The longest wait; `None` applies only `deadline_in`.

    Returns:
        At least one address.

    Raises:
        Error: As `resolve` does; `dns.no_address resolve` for an IPv6 address.
    """
    return _resolve(host, AF_INET, timeout_ms)


def resolve_v6(
    host: StringSlice, *, timeout_ms: Optional[Int] = RESOLVE_TIMEOUT_MS
) raises -> List[IpAddr]:
    """Returns the IPv6 addresses of a host.

    Args:
        host: As for `resolve`.
        timeout_ms: The longest wait; `None` applies only `deadline_in`.

    Returns:
        At least one address.

    Raises:
        Error: As `resolve` does; `dns.no_address resolve` for an IPv4 address.
    """
    return _resolve(host, AF_INET6, timeout_ms)


def known_addresses(
    host: StringSlice, family: Int
) raises -> Optional[List[IpAddr]]:
    """Returns the addresses of a host for which no query is needed.

    Args:
        host: The host as the program gave it.
        family: `AF_INET`, `AF_INET6`, or `AF_UNSPEC` for both.

    Returns:
        The addresses of a numeric address or of `localhost`; `None` for other
        names.

    Raises:
        Error: `dns.bad_name resolve` if the text is not a name either, or
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

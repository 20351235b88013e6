"""Matches cookies with hosts and paths (RFC 6265bis section 5.1)."""

from flare.core import COLON, equals, find_octet

from ._uri_grammar import SLASH, hexadecimal_value

comptime _DOT: UInt8 = 46


def domain_matches(host: Span[UInt8, _], domain: Span[UInt8, _]) -> Bool:
    """Returns whether a host is in a domain (section 5.1.3).

    Args:
        host: The host of a request, in lower case; an IPv6 address without its
            brackets.
        domain: The domain of a cookie, in lower case.

    Returns:
        True if it is; an address is only in itself.
    """
    if equals(host, domain):
        return True
    var front = len(host) - len(domain)
    if len(domain) == 0 or front < 1:
        return False
    return (
        host[front - 1] == _DOT
        and equals(host[front:], domain)
        and not is_address(host)
    )


def is_address(host: Span[UInt8, _]) -> Bool:
    """Returns whether a host is an address, or would be read as one.

    Args:
        host: The host, an IPv6 address without its brackets.

    Returns:
        True if it has a colon or its last label is a number: some programs
        treat `127.1` and `0x7f.1` as addresses (URL Standard, section 3.5).
    """
    if find_octet(host, COLON) != len(host):
        return True
    var end = len(host)
    if end > 0 and host[end - 1] == _DOT:
        end -= 1
    var start = end
    while start > 0 and host[start - 1] != _DOT:
        start -= 1
    var label = host[start:end]
    if len(label) >= 2 and label[0] == 48 and label[1] | 32 == 120:
        for b in label[2:]:
            if hexadecimal_value(b) > 15:
                return False
        return True
    for b in label:
        if b - 48 > 9:
            return False
    return len(label) > 0


def default_path[
    origin: ImmOrigin
](path: Span[UInt8, origin]) -> Span[UInt8, origin]:
    """Returns the path of a cookie without the attribute Path (section 5.1.4).

    Parameters:
        origin: The origin of the path.

    Args:
        path: The path of the request, which begins with a slash.

    Returns:
        The part before the last slash; empty if that is the only slash.
    """
    var end = len(path)
    while end > 0 and path[end - 1] != SLASH:
        end -= 1
    return path[: max(end - 1, 0)]


def path_matches(path: Span[UInt8, _], prefix: Span[UInt8, _]) -> Bool:
    """Returns whether a path equals a cookie's path or lies below it.

    Args:
        path: The path of a request.
        prefix: The path of a cookie, at least `/`.

    Returns:
        True if the cookie's path matches (section 5.1.4).
    """
    var count = len(prefix)
    if len(path) < count or not equals(path[:count], prefix):
        return False
    if len(path) == count or path[count] == SLASH:
        return True
    return count > 0 and prefix[count - 1] == SLASH

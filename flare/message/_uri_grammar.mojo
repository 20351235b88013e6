"""Scans the parts that URLs, request targets and Host fields share.

All functions work on offsets into the caller's octets and need no memory. The
grammar is RFC 3986 appendix A, with the paths and queries that browsers send.
"""

from flare.core import COLON, OctetSet, equals_lower, find_member, find_octet

from .syntax_error import SyntaxError

comptime SLASH: UInt8 = 47
comptime QUESTION_MARK: UInt8 = 63
comptime NUMBER_SIGN: UInt8 = 35
comptime PERCENT: UInt8 = 37
comptime AT_SIGN: UInt8 = 64
comptime _OPENING_BRACKET: UInt8 = 91
comptime _CLOSING_BRACKET: UInt8 = 93
comptime _DOT: UInt8 = 46

comptime _NAME: StaticString = (
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
    "!$&'()*+,;="
)
comptime HOST_OCTETS = OctetSet.of(_NAME)
# Browsers do not escape brackets, braces, `|`, `^` and the grave accent in
# paths, and nearly no octet in queries (URL Standard). Refusing them would
# refuse `?id[]=1`. None of them ends or divides a path.
comptime PATH_OCTETS = _set_of(":@/[]{}|^`")
comptime QUERY_OCTETS = _set_of(':@/[]{}|^`?"<>\\')


def _set_of(more: StaticString) -> OctetSet:
    var set = OctetSet.of(_NAME)
    for b in more.as_bytes():
        set.add(b)
    return set


@fieldwise_init
struct Authority(TrivialRegisterPassable):
    """The place of the host in `uri-host [":" port]`."""

    comptime NO_PORT = -1

    var host_start: Int
    # Brackets around an IPv6 address are not counted in.
    var host_octets: Int
    var has_brackets: Bool
    var port: Int

    def end(self) -> Int:
        """Returns the end of the host, with its bracket."""
        return self.host_start + self.host_octets + Int(self.has_brackets)


@fieldwise_init
struct Scheme(TrivialRegisterPassable):
    """The scheme before `//`."""

    var octets: Int
    var is_secure: Bool

    def authority_start(self) -> Int:
        return self.octets + 3

    def default_port(self) -> Int:
        return 443 if self.is_secure else 80


def parse_scheme(octets: Span[UInt8, _]) raises SyntaxError -> Scheme:
    """Parses `http://`, `https://`, `ws://` or `wss://` at the front."""
    var n = find_octet(octets, COLON)
    var name = octets[:n]
    var is_secure = False
    if equals_lower(name, "https".as_bytes()):
        is_secure = True
    elif equals_lower(name, "wss".as_bytes()):
        is_secure = True
    elif not equals_lower(name, "http".as_bytes()) and not equals_lower(
        name, "ws".as_bytes()
    ):
        raise SyntaxError("scheme", 0, "not http, https, ws or wss")
    if n + 3 > len(octets) or octets[n + 1] != SLASH or octets[n + 2] != SLASH:
        raise SyntaxError("scheme", n, "two slashes do not follow")
    return Scheme(n, is_secure)


def find_authority_end(octets: Span[UInt8, _], start: Int) -> Int:
    """Returns the end of the authority: the start of the path, query or
    fragment.
    """
    for i in range(start, len(octets)):
        var b = octets[i]
        if b == SLASH or b == QUESTION_MARK or b == NUMBER_SIGN:
            return i
    return len(octets)


@always_inline
def scan_escaped[
    set: OctetSet, part: StaticString
](octets: Span[UInt8, _], start: Int) raises SyntaxError -> Int:
    """Returns the first octet that is neither in the set nor in an escape."""
    var i = find_member[set, False](octets, start)
    while i < len(octets) and octets.unsafe_get(i) == PERCENT:
        if (
            i + 3 > len(octets)
            or hexadecimal_value(octets.unsafe_get(i + 1)) > 15
            or hexadecimal_value(octets.unsafe_get(i + 2)) > 15
        ):
            raise SyntaxError(part, i, "percent sign without two digits")
        i = find_member[set, False](octets, i + 3)
    return i


@always_inline
def hexadecimal_value(b: UInt8) -> UInt8:
    """Returns the value of a hexadecimal digit, or 255."""
    if b - 48 < 10:
        return b - 48
    var letter = (b | 32) - 97
    return letter + 10 if letter < 6 else 255


def parse_authority(
    octets: Span[UInt8, _], start: Int, end: Int
) raises SyntaxError -> Authority:
    """Parses `uri-host [":" port]` from `start` to `end`.

    User information is refused (RFC 9110 section 4.2.4), and so is an empty
    host (section 4.2.1).
    """
    if start == end:
        raise SyntaxError("host", start, "empty")
    if octets[start] == _OPENING_BRACKET:
        var close = start + 1
        while close < end and octets[close] != _CLOSING_BRACKET:
            close += 1
        if close == end:
            raise SyntaxError("host", end, "bracket is not closed")
        if not is_ipv6(octets[start + 1 : close]):
            raise SyntaxError("host", start + 1, "not an IPv6 address")
        var port = _parse_port(octets, close + 1, end)
        return Authority(start + 1, close - start - 1, True, port)
    var host_end = scan_escaped[HOST_OCTETS, "host"](octets[:end], start)
    if host_end == start:
        raise _fault_behind_host(octets, start, end, "empty")
    var port = _parse_port(octets, host_end, end)
    return Authority(start, host_end - start, False, port)


def _parse_port(
    octets: Span[UInt8, _], start: Int, end: Int
) raises SyntaxError -> Int:
    # A colon without digits names no port (RFC 3986 section 3.2.3).
    if start == end or (start + 1 == end and octets[start] == COLON):
        return Authority.NO_PORT
    if octets[start] != COLON:
        raise _fault_behind_host(octets, start, end, "forbidden octet")
    var port = 0
    for i in range(start + 1, end):
        var digit = octets[i] - 48
        if digit > 9:
            raise _fault_behind_host(octets, i, end, "forbidden octet")
        port = port * 10 + Int(digit)
        if port > 65535:
            raise SyntaxError("port", i, "over 65535")
    return port


def _fault_behind_host(
    octets: Span[UInt8, _], start: Int, end: Int, reason: StaticString
) -> SyntaxError:
    for i in range(start, end):
        if octets[i] == AT_SIGN:
            return SyntaxError("user information", i, "not allowed")
    return SyntaxError("host", start, reason)


def is_ipv6(octets: Span[UInt8, _]) -> Bool:
    """Returns whether octets are an IPv6 address without a zone.

    The grammar is IPv6address of RFC 3986 section 3.2.2: eight groups, or
    fewer with one `::` in place of at least one. The last two groups may be
    written as an IPv4 address.
    """
    var n = len(octets)
    var groups = 0
    var gap = False
    var i = 0
    if n >= 2 and octets[0] == COLON:
        if octets[1] != COLON:
            return False
        gap = True
        i = 2
    while i < n:
        var digits = _hexadecimal_digits(octets, i)
        var end = i + digits
        if end < n and octets[end] == _DOT:
            return _is_ipv4(octets[i:n]) and _is_full(groups + 2, gap)
        if digits == 0 or digits > 4:
            return False
        groups += 1
        i = end
        if i == n:
            break
        if octets[i] != COLON or i + 1 == n:
            return False
        i += 1
        if octets[i] == COLON:
            if gap:
                return False
            gap = True
            i += 1
    return _is_full(groups, gap)


def _is_full(groups: Int, gap: Bool) -> Bool:
    return groups < 8 if gap else groups == 8


def _hexadecimal_digits(octets: Span[UInt8, _], start: Int) -> Int:
    var i = start
    while i < len(octets) and hexadecimal_value(octets[i]) < 16:
        i += 1
    return i - start


def _is_ipv4(octets: Span[UInt8, _]) -> Bool:
    var parts = 0
    var i = 0
    while True:
        var start = i
        var number = 0
        while i < len(octets) and octets[i] - 48 < 10 and i - start < 4:
            number = number * 10 + Int(octets[i] - 48)
            i += 1
        var digits = i - start
        if digits == 0 or digits > 3 or number > 255:
            return False
        if digits > 1 and octets[start] == 48:
            return False
        parts += 1
        if i == len(octets):
            return parts == 4
        if octets[i] != _DOT or parts == 4:
            return False
        i += 1

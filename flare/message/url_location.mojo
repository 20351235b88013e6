"""Parses the value of a Location field as browsers do (WHATWG URL Standard).

Servers send references that browsers accept but RFC 3986 does not allow: `/a
b`, `/100%`, `\\x`. The basic URL parser of the standard (section 4.4) accepts
all of it. The functions here are that parser for the schemes http, https, ws
and wss. They are stricter about the host, which decides where the request goes.
It has no user information, no letters outside of the scripts that
`international_host` converts, and no octets that DNS names cannot have.
"""

from flare.core import (
    COLON,
    CR,
    LF,
    SPACE,
    TAB,
    OctetSet,
    equals_lower,
    find_member,
    find_octet,
)

from ._uri_grammar import (
    HOST_OCTETS,
    NUMBER_SIGN,
    PERCENT,
    QUESTION_MARK,
    SLASH,
    hexadecimal_value,
)
from .cookie_scope import is_address
from .international_host import ascii_host
from .percent import percent_decode, percent_encode
from .syntax_error import SyntaxError
from .url import Url

comptime _BACKSLASH: UInt8 = 92
comptime _DOT: UInt8 = 46
comptime _AT_SIGN: UInt8 = 64
comptime _OPENING_BRACKET: UInt8 = 91
comptime _CLOSING_BRACKET: UInt8 = 93
comptime _ALPHANUMERIC: StaticString = (
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
)
comptime _SCHEME_OCTETS = _set_of("+-.")
# The octets that the percent-encode sets of section 1.3 do not contain.
comptime _PATH_KEPT = _set_of("!$%&'()*+,-./:;=@[]_|~")
comptime _QUERY_KEPT = _set_of("!$%&()*+,-./:;=?@[\\]^_`{|}~")
comptime _FRAGMENT_KEPT = _set_of("!#$%&'()*+,-./:;=?@[\\]^_{|}~")
comptime _NUMBERS_MAX = 4
comptime _ADDRESS_MAX = 1 << 32


def _set_of(more: StaticString) -> OctetSet:
    var set = OctetSet.of(_ALPHANUMERIC)
    for b in more.as_bytes():
        set.add(b)
    return set


def resolve_location(
    base: Url, location: Span[UInt8, _]
) raises SyntaxError -> Url:
    """Returns the URL to which a browser would follow a Location.

    Args:
        base: The URL whose response has the Location.
        location: Any octets. Blanks and control octets around them are
            ignored, as are tabs and line ends anywhere. Octets that a URL
            cannot contain are escaped, if they follow the host.

    Returns:
        The URL in its normal form, without `.` and `..` segments. It may
        contain lone percent signs: `Url.parse_lenient` parses its text.

    Raises:
        SyntaxError: If the scheme is not http, https, ws or wss, or if `Url`
            does not accept the host.
    """
    var octets = _stripped(location)
    var rest = Span(octets)
    var scheme_octets = _scheme_end(rest)
    if scheme_octets == 0:
        return _relative(base, rest)
    var scheme = List[UInt8](rest[:scheme_octets])
    rest = rest[scheme_octets + 1 :]
    if not _is_known(Span(scheme)):
        raise SyntaxError("scheme", 0, "not http, https, ws or wss")
    if equals_lower(Span(scheme), base.scheme().as_bytes()):
        # `http:x` leaves out what the base has, as `x` does.
        return _relative(base, rest)
    return _absolute(Span(scheme), rest)


def _stripped(location: Span[UInt8, _]) -> List[UInt8]:
    var start = 0
    var end = len(location)
    while start < end and location[start] <= SPACE:
        start += 1
    while end > start and location[end - 1] <= SPACE:
        end -= 1
    var octets = List[UInt8](capacity=end - start)
    for b in location[start:end]:
        if b != TAB and b != LF and b != CR:
            octets.append(b)
    return octets^


def _scheme_end(octets: Span[UInt8, _]) -> Int:
    # 0 if there is no scheme.
    var end = find_member[_SCHEME_OCTETS, False](octets)
    if end == 0 or end == len(octets) or octets[end] != COLON:
        return 0
    return end if (octets[0] | 32) - 97 < 26 else 0


def _is_known(scheme: Span[UInt8, _]) -> Bool:
    for name in ["http", "https", "ws", "wss"]:
        if equals_lower(scheme, name.as_bytes()):
            return True
    return False


def _relative(base: Url, rest: Span[UInt8, _]) raises SyntaxError -> Url:
    if len(rest) > 1 and _is_slash(rest[0]) and _is_slash(rest[1]):
        return _absolute(base.scheme().as_bytes(), rest)
    var text = List[UInt8](base.scheme().as_bytes())
    text.extend("://".as_bytes())
    text.extend(base.authority().as_bytes())
    var path_octets = _path_end(rest)
    var path = rest[:path_octets]
    if path_octets == 0:
        if len(rest) > 0 and rest[0] == QUESTION_MARK:
            text.extend(base.path().as_bytes())
        else:
            text.extend(base.target().as_bytes())
    elif _is_slash(path[0]):
        _add_path(path, text)
    else:
        # It takes the place of what follows the last slash of the base.
        var merged = List[UInt8](base.path().as_bytes())
        while len(merged) > 0 and merged[len(merged) - 1] != SLASH:
            _ = merged.pop()
        merged.extend(path)
        _add_path(Span(merged), text)
    _add_query_and_fragment(rest[path_octets:], text)
    return Url.parse_lenient(Span(text))


def _absolute(
    scheme: Span[UInt8, _], rest: Span[UInt8, _]
) raises SyntaxError -> Url:
    # However many slashes stand there, and in which direction they lean.
    var start = 0
    while start < len(rest) and _is_slash(rest[start]):
        start += 1
    var end = start
    while (
        end < len(rest)
        and not _is_slash(rest[end])
        and rest[end] != QUESTION_MARK
        and rest[end] != NUMBER_SIGN
    ):
        end += 1
    var text = List[UInt8](scheme)
    text.extend("://".as_bytes())
    _add_authority(rest[start:end], text)
    var behind = rest[end:]
    var path_octets = _path_end(behind)
    _add_path(behind[:path_octets], text)
    _add_query_and_fragment(behind[path_octets:], text)
    return Url.parse_lenient(Span(text))


def _add_authority(
    authority: Span[UInt8, _], mut text: List[UInt8]
) raises SyntaxError:
    if find_octet(authority, _AT_SIGN) != len(authority):
        raise SyntaxError("user information", 0, "not allowed")
    if len(authority) > 0 and authority[0] == _OPENING_BRACKET:
        # An IPv6 address has nothing to decode; `Url` judges it.
        text.extend(authority)
        return
    var host_octets = find_octet(authority, COLON)
    var host = List[UInt8]()
    percent_decode(authority[:host_octets], host)
    for octet in host:
        if octet >= 128:
            host = ascii_host(Span(host))
            break
    # Judged here, because a decoded slash or colon would end the host.
    var wrong = find_member[HOST_OCTETS, False](Span(host))
    if wrong != len(host):
        raise SyntaxError("host", wrong, "forbidden octet")
    if is_address(Span(host)):
        _add_address(_address_in(Span(host)), text)
    else:
        text.extend(Span(host))
    text.extend(authority[host_octets:])


def _address_in(host: Span[UInt8, _]) raises SyntaxError -> Int:
    # `127.1`, `0x7f.1` and `2130706433` are one address (section 3.5).
    var end = len(host)
    if host[end - 1] == _DOT:
        end -= 1
    var address = 0
    var start = 0
    for place in range(_NUMBERS_MAX):
        var dot = min(find_octet(host, _DOT, start), end)
        var number = _number_in(host[start:dot])
        var is_last = dot == end
        # The last number fills what the others leave.
        var bits = 8 * (_NUMBERS_MAX - place) if is_last else 8
        if number < 0 or number >= 1 << bits:
            break
        address = address << bits | number
        if is_last:
            return address
        start = dot + 1
    raise SyntaxError("host", start, "not an IPv4 address")


def _number_in(octets: Span[UInt8, _]) -> Int:
    # Decimal, hexadecimal behind `0x`, octal behind `0`; -1 if it is none.
    var base: UInt8 = 10
    var start = 0
    if len(octets) >= 2 and octets[0] == 48:
        base = 16 if octets[1] | 32 == 120 else 8
        start = 2 if base == 16 else 1
    elif len(octets) == 0:
        return -1
    var number = 0
    for b in octets[start:]:
        var digit = hexadecimal_value(b)
        if digit >= base:
            return -1
        number = min(number * Int(base) + Int(digit), _ADDRESS_MAX)
    return number


def _add_address(address: Int, mut text: List[UInt8]):
    for shift in [24, 16, 8, 0]:
        text.extend(String(address >> shift & 255).as_bytes())
        if shift > 0:
            text.append(_DOT)


def _path_end(octets: Span[UInt8, _]) -> Int:
    return min(
        find_octet(octets, QUESTION_MARK), find_octet(octets, NUMBER_SIGN)
    )


def _add_path(path: Span[UInt8, _], mut text: List[UInt8]):
    # One segment at a time; the first begins with a slash, or is all there is.
    var root = len(text)
    var i = 0
    while i < max(len(path), 1):
        var start = min(i + 1, len(path))
        var end = start
        while end < len(path) and not _is_slash(path[end]):
            end += 1
        var segment = path[start:end]
        var dots = _dots_in(segment)
        if dots == 2:
            while len(text) > root and text.pop() != SLASH:
                pass
        if dots == 0:
            text.append(SLASH)
            percent_encode[_PATH_KEPT](segment, text)
        elif end == len(path):
            # The last segment names a folder, and folders end with a slash.
            text.append(SLASH)
        i = end if end > i else i + 1


def _dots_in(segment: Span[UInt8, _]) -> Int:
    # 1 for `.`, 2 for `..`, in which each dot may be escaped; else 0.
    var dots = 0
    var i = 0
    while i < len(segment):
        if segment[i] == _DOT:
            i += 1
        elif (
            i + 3 <= len(segment)
            and segment[i] == PERCENT
            and segment[i + 1] == 50
            and segment[i + 2] | 32 == 101
        ):
            i += 3
        else:
            return 0
        dots += 1
    return dots if dots <= 2 else 0


def _add_query_and_fragment(rest: Span[UInt8, _], mut text: List[UInt8]):
    var query_octets = find_octet(rest, NUMBER_SIGN)
    if query_octets > 0:
        text.append(QUESTION_MARK)
        percent_encode[_QUERY_KEPT](rest[1:query_octets], text)
    if query_octets < len(rest):
        text.append(NUMBER_SIGN)
        percent_encode[_FRAGMENT_KEPT](rest[query_octets + 1 :], text)


@always_inline
def _is_slash(octet: UInt8) -> Bool:
    return octet == SLASH or octet == _BACKSLASH

"""Reads and writes cookies as lines of a `cookies.txt`, the form of Netscape's
browser, which curl, wget and Python share.

A line has seven fields with a tab between each two. They are the domain,
whether subdomains get the cookie, the path, whether it is Secure, the second of
expiry, the name, and the value. A session ends at second 0. `#HttpOnly_` in
front marks a cookie that scripts do not see. The form has no field for
SameSite.
"""

from flare.core import OctetSet, TAB, equals, find_member, find_octet

from .cookie import COOKIE_ATTRIBUTE_OCTETS_MAX, COOKIE_OCTETS_MAX, Cookie
from .cookie_rules import NEVER, StoredCookie
from .cookie_text import utf8_text
from .date import HttpDate
from .syntax_error import SyntaxError

comptime COOKIE_FILE_HEAD: StaticString = "# Netscape HTTP Cookie File\n"
"""The first line of a file, by which some programs recognize it."""

comptime _HTTP_ONLY: StaticString = "#HttpOnly_"
comptime _HASH: UInt8 = 35
comptime _DOT: UInt8 = 46
comptime _SLASH: UInt8 = 47
comptime _BREAKS = OctetSet.of("\t\r\n")


def write_cookie_line(stored: StoredCookie, mut text: String) -> Bool:
    """Appends the line of a cookie.

    Args:
        stored: The cookie.
        text: The destination.

    Returns:
        False if the form cannot express the cookie, because it has no domain,
        or a tab in front of its value.
    """
    ref cookie = stored.cookie
    if (
        not cookie.domain
        or _has_break(cookie.domain)
        or _has_break(cookie.path)
        or _has_break(cookie.name)
    ):
        return False
    if cookie.http_only:
        text += _HTTP_ONLY
    text.write("" if stored.is_host_only else ".", cookie.domain, "\t")
    text.write("FALSE" if stored.is_host_only else "TRUE", "\t")
    text.write(cookie.path, "\t", "TRUE" if cookie.secure else "FALSE", "\t")
    # A cookie that expired in 1970 is not written, so 0 is free.
    text.write(0 if stored.expires_at == NEVER else stored.expires_at, "\t")
    text.write(cookie.name, "\t", cookie.value, "\n")
    return True


def read_cookie_line(
    line: Span[UInt8, _]
) raises SyntaxError -> Optional[StoredCookie]:
    """Parses a line.

    Args:
        line: The line without its line feed.

    Returns:
        The cookie, which the rules of a store have not seen yet; `None` for a
        comment or an empty line.

    Raises:
        SyntaxError: If the line has another form, or a cookie is too long.
    """
    var octets = line
    if len(octets) > 0 and octets[len(octets) - 1] == UInt8(ord("\r")):
        octets = octets[: len(octets) - 1]
    var mark = _HTTP_ONLY.byte_length()
    var is_http_only = len(octets) >= mark and equals(
        octets[:mark], _HTTP_ONLY.as_bytes()
    )
    if is_http_only:
        octets = octets[mark:]
    elif len(octets) == 0 or octets[0] == _HASH:
        return None
    # The start of each field. Only the value may contain a tab.
    var starts = Array[Int, 7](fill=0)
    for i in range(1, 7):
        var end = find_octet(octets, TAB, starts[i - 1])
        if end == len(octets):
            raise SyntaxError("cookie line", end, "less than seven fields")
        starts[i] = end + 1
    var domain = octets[: starts[1] - 1]
    if len(domain) > 0 and domain[0] == _DOT:
        domain = domain[1:]
    var path = octets[starts[2] : starts[3] - 1]
    if len(domain) == 0 or len(domain) > COOKIE_ATTRIBUTE_OCTETS_MAX:
        raise SyntaxError("cookie line", 0, "no domain")
    if (
        len(path) == 0
        or path[0] != _SLASH
        or len(path) > COOKIE_ATTRIBUTE_OCTETS_MAX
    ):
        raise SyntaxError("cookie line", starts[2], "no path")
    if len(octets) - starts[5] - 1 > COOKIE_OCTETS_MAX:
        raise SyntaxError("cookie line", starts[5], "too long")
    var subdomains = _flag(octets, starts[1], starts[2] - 1)
    var cookie = Cookie(
        utf8_text(octets[starts[5] : starts[6] - 1]),
        utf8_text(octets[starts[6] :]),
        domain=utf8_text(domain).lower(),
        path=utf8_text(path),
        secure=_flag(octets, starts[3], starts[4] - 1),
        http_only=is_http_only,
    )
    var seconds = _seconds(octets, starts[4], starts[5] - 1)
    if seconds != NEVER:
        cookie.expires = HttpDate(seconds)
    return StoredCookie(cookie^, not subdomains, seconds, 0, 0)


def _has_break(text: String) -> Bool:
    var octets = text.as_bytes()
    return find_member[_BREAKS](octets) != len(octets)


def _flag(
    octets: Span[UInt8, _], start: Int, end: Int
) raises SyntaxError -> Bool:
    var word = octets[start:end]
    if equals(word, "TRUE".as_bytes()):
        return True
    if not equals(word, "FALSE".as_bytes()):
        raise SyntaxError("cookie line", start, "neither TRUE nor FALSE")
    return False


def _seconds(
    octets: Span[UInt8, _], start: Int, end: Int
) raises SyntaxError -> Int:
    var seconds = 0
    for at in range(start, end):
        if octets[at] - 48 > 9:
            raise SyntaxError("cookie line", at, "no second of expiry")
        # Later seconds than any clock will see are as good as the last.
        seconds = min(seconds * 10 + Int(octets[at] - 48), HttpDate.SECONDS_MAX)
    if start == end:
        raise SyntaxError("cookie line", start, "no second of expiry")
    return NEVER if seconds == 0 else seconds

"""Keeps scripts out of links."""

from flare.core import OctetSet, equals_lower
from flare.core.text_buffer import TextBuffer
from flare.message import percent_encode

comptime REFUSED_URL: StaticString = "about:invalid"
"""Takes the place of a URL that is no link (CSS Values 4 section 4.5.4)."""
comptime SCHEMES: List[StaticString] = ["http", "https", "mailto", "tel"]
"""The schemes that a link may have."""
comptime _SCHEME_OCTETS_MAX = 6
comptime _SLASH: UInt8 = 47
comptime _BACKSLASH: UInt8 = 92
comptime _QUERY_KEPT = OctetSet.of(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
)
comptime _PATH_KEPT = OctetSet.of(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/"
)

comptime _ADDRESS_KEPT = OctetSet.of(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~@+,"
)


def url(text: StringSlice) -> String:
    """Returns a URL that a link may have: a relative one, or one with the scheme
    http, https, mailto or tel.

    Templates do this by themselves where an attribute that holds a URL begins
    with a hole.

    Args:
        text: The URL, from any source.

    Returns:
        The URL, or `about:invalid` if it has another scheme, such as
        `javascript:`.
    """
    if _is_safe(text.as_bytes()):
        return String(text)
    return REFUSED_URL


def _is_safe(octets: Span[UInt8, _]) -> Bool:
    # Browsers ignore control octets and blanks at the front, and tabs and line
    # ends anywhere (WHATWG URL section 4.4).
    var scheme = List[UInt8]()
    for octet in octets:
        if octet == UInt8(ord(":")):
            return _is_allowed(Span(scheme))
        if (
            octet == UInt8(ord("/"))
            or octet == UInt8(ord("?"))
            or octet == UInt8(ord("#"))
        ):
            return True
        if octet > 32 and len(scheme) <= _SCHEME_OCTETS_MAX:
            scheme.append(octet)
    return True


def _is_allowed(scheme: Span[UInt8, _]) -> Bool:
    comptime for allowed in SCHEMES:
        if equals_lower(scheme, allowed.as_bytes()):
            return True
    return False


def append_path(mut buffer: TextBuffer, text: Span[UInt8, _]):
    """Writes a text as a part of a path: `/` divides segments.

    Two slashes at the start of a URL would name another host, so the second one
    of two is escaped.

    Args:
        buffer: The destination.
        text: Any text.
    """
    var encoded = List[UInt8](capacity=len(text))
    var start = 0
    for i in range(len(text)):
        if text[i] == _SLASH and (
            text[i - 1] == _SLASH if i > 0 else _ends_with_slash(buffer)
        ):
            percent_encode[_PATH_KEPT](text[start:i], encoded)
            encoded.extend("%2F".as_bytes())
            start = i + 1
    percent_encode[_PATH_KEPT](text[start:], encoded)
    buffer.append(encoded)


def separate_slashes(mut buffer: TextBuffer, text: Span[UInt8, _]):
    """Writes `.` between a slash and constant text that begins with another one.

    The value between them was empty. Browsers remove the segment `.` (WHATWG URL
    section 4.4), and two slashes could name another host.

    Args:
        buffer: The destination.
        text: The text that follows.
    """
    var start = 0
    while start < len(text) and _is_ignored(text[start]):
        start += 1
    if start < len(text) and _is_slash(text[start]):
        if _ends_with_slash(buffer):
            buffer.append(".".as_bytes())


def _ends_with_slash(buffer: TextBuffer) -> Bool:
    var end = len(buffer)
    while end > 0 and _is_ignored(buffer.span()[end - 1]):
        end -= 1
    return end > 0 and _is_slash(buffer.span()[end - 1])


@always_inline
def _is_ignored(octet: UInt8) -> Bool:
    """Returns whether browsers remove an octet from a URL: TAB, LF and CR."""
    return octet == 9 or octet == 10 or octet == 13


@always_inline
def _is_slash(octet: UInt8) -> Bool:
    # Browsers take one for the other.
    return octet == _SLASH or octet == _BACKSLASH


def append_address(mut buffer: TextBuffer, text: Span[UInt8, _]):
    """Writes a text as mail addresses or a telephone number (RFC 6068, RFC
    3966).

    Args:
        buffer: The destination.
        text: Any text.
    """
    _append_encoded[_ADDRESS_KEPT](buffer, text)


def append_query(mut buffer: TextBuffer, text: Span[UInt8, _]):
    """Writes a text as a name or a value of a query.

    Args:
        buffer: The destination.
        text: Any text.
    """
    _append_encoded[_QUERY_KEPT](buffer, text)


def _append_encoded[
    kept: OctetSet
](mut buffer: TextBuffer, text: Span[UInt8, _]):
    var encoded = List[UInt8](capacity=len(text))
    percent_encode[kept](text, encoded)
    buffer.append(encoded)

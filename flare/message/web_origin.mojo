"""Defines origins: scheme, host and port of a page.

Browsers state in the field Origin whose page made a request (RFC 6454 section
7, and the Fetch standard).
"""

from flare.core import (
    COLON,
    equals,
    equals_ignoring_case,
    equals_lower,
    find_octet,
    lower_octet,
)

from ._uri_grammar import SLASH, Authority, parse_authority


struct WebOrigin[origin: ImmOrigin](ImplicitlyCopyable):
    """An origin, as views of its text.

    Parameters:
        origin: The origin of the text.
    """

    comptime UNKNOWN_PORT = -1
    """The port of a text without one whose scheme has no known default."""

    var scheme: Span[UInt8, Self.origin]
    """The scheme, in any case."""
    var host: Span[UInt8, Self.origin]
    """A name or an address, in any case; an IPv6 address without its brackets.
    """
    var port: Int
    """The port, or the default one of http, https, ws and wss."""

    @staticmethod
    def parse(octets: Span[UInt8, Self.origin]) -> Optional[Self]:
        """Parses an origin.

        Args:
            octets: The whole text, such as `https://a.example:8080`.

        Returns:
            The origin; `None` for `null`, by which browsers hide an origin,
            and for a text that is not an origin. One with a path or user
            information is none.
        """
        var end = find_octet(octets, COLON)
        if (
            end == 0
            or end + 3 > len(octets)
            or octets[end + 1] != SLASH
            or octets[end + 2] != SLASH
            or not _is_scheme(octets[:end])
        ):
            return None
        var authority: Authority
        try:
            authority = parse_authority(octets, end + 3, len(octets))
        except:
            return None
        var port = authority.port
        if port < 0:
            port = _default_port(octets[:end])
        return Self(
            octets[:end],
            octets[authority.host_start :][: authority.host_octets],
            port,
        )

    def __init__(
        out self,
        scheme: Span[UInt8, Self.origin],
        host: Span[UInt8, Self.origin],
        port: Int,
    ):
        """Creates an origin from its parts.

        Args:
            scheme: The scheme.
            host: The host.
            port: The port.
        """
        self.scheme = scheme
        self.host = host
        self.port = port

    def normal_form(self) -> String:
        """Returns the text as browsers write it.

        Returns:
            Scheme and host in lower case, without a default port.
        """
        var text = List[UInt8](capacity=len(self.scheme) + len(self.host) + 16)
        _append_lower(text, self.scheme)
        text.extend("://".as_bytes())
        var has_brackets = find_octet(self.host, COLON) < len(self.host)
        if has_brackets:
            text.append(UInt8(ord("[")))
        _append_lower(text, self.host)
        if has_brackets:
            text.append(UInt8(ord("]")))
        if self.port != _default_port(self.scheme):
            text.extend(String(":", self.port).as_bytes())
        return String(unsafe_from_utf8=Span(text))


def is_page_of_host(origin: Span[UInt8, _], authority: StringSlice) -> Bool:
    """Returns whether a page is one of the host that a request is for.

    The scheme is not compared: a proxy may have decrypted the request.

    Args:
        origin: The value of a field Origin, unchecked.
        authority: Host and port of the request, checked; without a port, the
            default one of the origin's scheme.

    Returns:
        True if host and port are equal, and the scheme is http or https.
    """
    var end = find_octet(origin, COLON)
    if not equals_lower(origin[:end], "https".as_bytes()) and not equals_lower(
        origin[:end], "http".as_bytes()
    ):
        return False
    # Browsers write host and port in Host as in Origin.
    if (
        end + 3 < len(origin)
        and origin[end + 1] == SLASH
        and origin[end + 2] == SLASH
        and equals(origin[end + 3 :], authority.as_bytes())
    ):
        return True
    return _is_at(origin, authority.as_bytes())


@no_inline
def _is_at(origin: Span[UInt8, _], authority: Span[UInt8, _]) -> Bool:
    var page = WebOrigin[ImmOrigin(origin.origin)].parse(origin)
    if not page:
        return False
    ref parts = page.unsafe_value()
    try:
        var place = parse_authority(authority, 0, len(authority))
        var port = place.port
        if port < 0:
            port = _default_port(parts.scheme)
        return port == parts.port and equals_ignoring_case(
            parts.host, authority[place.host_start :][: place.host_octets]
        )
    except:
        return False


def _append_lower(mut text: List[UInt8], octets: Span[UInt8, _]):
    for octet in octets:
        text.append(lower_octet(octet))


def _is_scheme(octets: Span[UInt8, _]) -> Bool:
    # RFC 3986 section 3.1.
    for i in range(len(octets)):
        var octet = octets[i]
        var is_letter = (octet | 32) - 97 < 26
        var is_other = (
            octet - 48 < 10
            or octet == UInt8(ord("+"))
            or octet == UInt8(ord("-"))
            or octet == UInt8(ord("."))
        )
        if not is_letter and (i == 0 or not is_other):
            return False
    return True


def _default_port(scheme: Span[UInt8, _]) -> Int:
    if equals_lower(scheme, "https".as_bytes()) or equals_lower(
        scheme, "wss".as_bytes()
    ):
        return 443
    if equals_lower(scheme, "http".as_bytes()) or equals_lower(
        scheme, "ws".as_bytes()
    ):
        return 80
    return WebOrigin[ImmStaticOrigin].UNKNOWN_PORT

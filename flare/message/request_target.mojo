"""Divides the target of a request into its parts, without copying it.

The four forms are those of RFC 9112 section 3.2. A parsed target contains only
offsets; the caller keeps the octets.
"""

from flare.core import OctetSet, find_member

from ._uri_grammar import (
    Authority,
    PATH_OCTETS,
    PERCENT,
    QUERY_OCTETS,
    QUESTION_MARK,
    SLASH,
    find_authority_end,
    parse_authority,
    parse_scheme,
    scan_escaped,
)
from .method import Method
from .syntax_error import SyntaxError


comptime _QUERY_OCTETS = _query_octets()


def _query_octets() -> OctetSet:
    # A percent sign that starts no escape stands for itself: browsers, and
    # forms written by hand, send it so. No later step divides a query at its
    # octets.
    var set = materialize[QUERY_OCTETS]()
    set.add(PERCENT)
    return set


struct RequestTarget(TrivialRegisterPassable):
    """The places of path, query and host in a request target.

    Offsets count from the first octet of the target. An absent part has start
    0 and length 0.
    """

    comptime NONE: UInt8 = 0
    """No target was parsed."""
    comptime ORIGIN_FORM: UInt8 = 1
    """`/path?query` (RFC 9112 section 3.2.1)."""
    comptime ABSOLUTE_FORM: UInt8 = 2
    """`http://host/path?query` (RFC 9112 section 3.2.2)."""
    comptime AUTHORITY_FORM: UInt8 = 3
    """`host:port` of CONNECT (RFC 9112 section 3.2.3)."""
    comptime ASTERISK_FORM: UInt8 = 4
    """`*` of OPTIONS (RFC 9112 section 3.2.4)."""
    comptime NO_PORT: Int32 = -1
    """The port of a target without a port."""
    comptime OCTETS_MAX = 65535
    """The bound on the length of a target, even if the caller allows more."""

    var form: UInt8
    """The form, one of the constants above."""
    var is_secure: Bool
    """Whether the absolute form has the scheme `https` or `wss`."""
    var port: Int32
    """The port in the target, or `NO_PORT`."""
    var path_start: UInt32
    """The offset of the path."""
    var path_octets: UInt32
    """The length of the path; 0 in an absolute form that ends at the host."""
    var query_start: UInt32
    """The offset of the query, after the `?`; 0 if there is no `?`."""
    var query_octets: UInt32
    """The length of the query."""
    var host_start: UInt32
    """The offset of the host; brackets around an address are left out."""
    var host_octets: UInt32
    """The length of the host."""
    var authority_start: UInt32
    """The offset of host and port."""
    var authority_octets: UInt32
    """The length of host and port, brackets and colon included."""

    @always_inline
    def __init__(out self):
        """Creates a target that was not parsed yet."""
        self.form = Self.NONE
        self.is_secure = False
        self.port = Self.NO_PORT
        self.path_start = 0
        self.path_octets = 0
        self.query_start = 0
        self.query_octets = 0
        self.host_start = 0
        self.host_octets = 0
        self.authority_start = 0
        self.authority_octets = 0

    @staticmethod
    @always_inline
    def parse(
        octets: Span[UInt8, _], method: Method
    ) raises SyntaxError -> Self:
        """Parses a request target.

        Args:
            octets: The whole target.
            method: The method, which decides which forms are allowed.

        Returns:
            The offsets of its parts.

        Raises:
            SyntaxError: If the method may not have such a target.
        """
        if len(octets) == 0:
            raise SyntaxError("target", 0, "empty")
        if len(octets) > Self.OCTETS_MAX:
            raise SyntaxError("target", Self.OCTETS_MAX, "too long")
        var target = Self()
        if octets.unsafe_get(0) == SLASH and method != Method.CONNECT:
            target.form = Self.ORIGIN_FORM
            target._parse_path(octets, 0)
            return target
        return _parse_other_form(octets, method)

    def path[
        origin: Origin
    ](self, octets: Span[UInt8, origin]) -> Span[UInt8, origin]:
        """Returns the path.

        Parameters:
            origin: The origin of the octets.

        Args:
            octets: The octets that were parsed.

        Returns:
            The path, with its escapes; it may be empty.
        """
        return octets[Int(self.path_start) :][: Int(self.path_octets)]

    def query[
        origin: Origin
    ](self, octets: Span[UInt8, origin]) -> Span[UInt8, origin]:
        """Returns the query.

        Parameters:
            origin: The origin of the octets.

        Args:
            octets: The octets that were parsed.

        Returns:
            The part after the `?`, with its escapes; it may be empty.
        """
        return octets[Int(self.query_start) :][: Int(self.query_octets)]

    def host[
        origin: Origin
    ](self, octets: Span[UInt8, origin]) -> Span[UInt8, origin]:
        """Returns the host in the target.

        Parameters:
            origin: The origin of the octets.

        Args:
            octets: The octets that were parsed.

        Returns:
            The host without port and brackets; empty in the other forms.
        """
        return octets[Int(self.host_start) :][: Int(self.host_octets)]

    def authority[
        origin: Origin
    ](self, octets: Span[UInt8, origin]) -> Span[UInt8, origin]:
        """Returns host and port in the target.

        In the absolute form, they replace the Host field (RFC 9112 section
        3.2.2).

        Parameters:
            origin: The origin of the octets.

        Args:
            octets: The octets that were parsed.

        Returns:
            Host and port as received; empty in the other forms.
        """
        return octets[Int(self.authority_start) :][: Int(self.authority_octets)]

    @always_inline
    def has_query(self) -> Bool:
        """Returns whether the target has a query, even an empty one.

        Returns:
            True if the target has a `?`.
        """
        return self.query_start != 0

    @always_inline
    def _parse_path(
        mut self, octets: Span[UInt8, _], start: Int
    ) raises SyntaxError:
        var end = scan_escaped[PATH_OCTETS, "path"](octets, start)
        self.path_start = UInt32(start)
        self.path_octets = UInt32(end - start)
        if end == len(octets):
            return
        if octets.unsafe_get(end) != QUESTION_MARK:
            raise SyntaxError("path", end, "forbidden octet")
        var query_end = find_member[_QUERY_OCTETS, False](octets, end + 1)
        if query_end != len(octets):
            raise SyntaxError("query", query_end, "forbidden octet")
        self.query_start = UInt32(end + 1)
        self.query_octets = UInt32(query_end - end - 1)

    def _set_authority(mut self, authority: Authority, start: Int, end: Int):
        self.host_start = UInt32(authority.host_start)
        self.host_octets = UInt32(authority.host_octets)
        self.authority_start = UInt32(start)
        self.authority_octets = UInt32(end - start)
        self.port = Int32(authority.port)


def valid_host(octets: Span[UInt8, _]) -> Bool:
    """Returns whether octets are a valid value of a Host field.

    An empty value is not: no http URL has an empty host (RFC 9110 sections
    4.2.1 and 7.2).

    Args:
        octets: The field value.

    Returns:
        True for a host with or without a port of at most 65535.
    """
    try:
        _ = parse_authority(octets, 0, len(octets))
        return True
    except:
        return False


comptime _ASTERISK: UInt8 = 42


@no_inline
def _parse_other_form(
    octets: Span[UInt8, _], method: Method
) raises SyntaxError -> RequestTarget:
    var target = RequestTarget()
    if method == Method.CONNECT:
        var authority = parse_authority(octets, 0, len(octets))
        if authority.port < 0:
            raise SyntaxError("port", len(octets), "missing")
        target.form = RequestTarget.AUTHORITY_FORM
        target._set_authority(authority, 0, len(octets))
        return target
    if len(octets) == 1 and octets[0] == _ASTERISK:
        if method != Method.OPTIONS:
            raise SyntaxError("target", 0, "asterisk without OPTIONS")
        target.form = RequestTarget.ASTERISK_FORM
        return target
    var scheme = parse_scheme(octets)
    var start = scheme.authority_start()
    var end = find_authority_end(octets, start)
    target._set_authority(parse_authority(octets, start, end), start, end)
    target.form = RequestTarget.ABSOLUTE_FORM
    target.is_secure = scheme.is_secure
    target._parse_path(octets, end)
    return target

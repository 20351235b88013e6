"""Defines absolute URLs with the schemes http, https, ws and wss.

The text is stored in the normal form of RFC 9110 section 4.2.3: scheme and
host in lower case, no default port, no empty path. All parts are views of it.
"""

from flare.core import COLON, OctetSet, find_member, find_octet, lower_octet

from ._uri_grammar import (
    NUMBER_SIGN,
    PATH_OCTETS,
    QUERY_OCTETS,
    QUESTION_MARK,
    SLASH,
    Scheme,
    find_authority_end,
    parse_authority,
    parse_scheme,
    scan_escaped,
)
from .international_host import ascii_host
from .query import QueryParameters
from .syntax_error import SyntaxError


struct Url(Copyable, Equatable, Movable, Writable):
    """An absolute URL and its parts."""

    comptime OCTETS_MAX = 65535
    """The bound on the length of the parsed text."""

    # A list and not a `String`, whose short texts lie inside the value: views
    # must outlive the copies of `self` that calls make.
    var _text: List[UInt8]
    var _scheme: Scheme
    var _host_start: Int
    var _host_octets: Int
    var _authority_end: Int
    var _port: Int
    var _query_start: Int
    # One past the `?`, or 0 if there is none.
    var _target_end: Int

    @staticmethod
    def parse(text: StringSlice) raises -> Self:
        """Parses an absolute URL.

        Args:
            text: The whole text; blanks around it are not allowed. The host may
                have letters beyond ASCII: it is converted to Punycode
                (`bücher.example` is `xn--bcher-kva.example`).

        Returns:
            The URL.

        Raises:
            Error: `message.bad_url`, with the part, the offset and the reason.
        """
        try:
            var octets = text.as_bytes()
            if find_member[_ASCII, False](octets) != len(octets):
                return Self.parse_octets(Span(_with_ascii_host(octets)))
            return Self.parse_octets(octets)
        except e:
            raise Error("message.bad_url ", e)

    @staticmethod
    def parse_octets(octets: Span[UInt8, _]) raises SyntaxError -> Self:
        """Parses an absolute URL given as octets.

        User information (`user@host`) is refused (RFC 9110 section 4.2). So
        are a zone in an IPv6 address, an empty host, octets that are not
        visible ASCII, and incomplete escapes.

        Args:
            octets: The whole text.

        Returns:
            The URL.

        Raises:
            SyntaxError: If it is not such a URL.
        """
        return Self(octets=octets)

    @staticmethod
    def parse_lenient(octets: Span[UInt8, _]) raises SyntaxError -> Self:
        """Parses an absolute URL that a server has written.

        Like browsers, it keeps a percent sign that starts no escape, and
        number signs in a fragment (WHATWG URL Standard). Otherwise it is like
        `parse_octets`.

        Args:
            octets: The whole text.

        Returns:
            The URL.

        Raises:
            SyntaxError: If it is not such a URL.
        """
        return Self(octets=octets, is_lenient=True)

    def __init__(
        out self, *, octets: Span[UInt8, _], is_lenient: Bool = False
    ) raises SyntaxError:
        """Parses an absolute URL and normalizes it.

        Args:
            octets: The whole text.
            is_lenient: Whether to keep lone percent signs after the host and
                number signs in the fragment.

        Raises:
            SyntaxError: If it is not a URL that `parse_octets` accepts, or
                `parse_lenient`.
        """
        if len(octets) > Self.OCTETS_MAX:
            raise SyntaxError("url", Self.OCTETS_MAX, "too long")
        var scheme = parse_scheme(octets)
        var start = scheme.authority_start()
        var authority_end = find_authority_end(octets, start)
        var authority = parse_authority(octets, start, authority_end)
        var question_mark: Int
        var target_end: Int
        if is_lenient:
            question_mark = _lenient_path_end(octets, authority_end)
            target_end = _lenient_query_end(octets, question_mark)
            _check_lenient_fragment(octets, target_end)
        else:
            question_mark = _path_end(octets, authority_end)
            target_end = _query_end(octets, question_mark)
            _check_fragment(octets, target_end)

        self._scheme = scheme
        self._host_octets = authority.host_octets
        self._host_start = authority.host_start
        self._port = authority.port
        if self._port < 0:
            self._port = scheme.default_port()
        var text = List[UInt8](capacity=len(octets) + 1)
        for b in octets[: authority.end()]:
            text.append(lower_octet(b))
        if self._port != scheme.default_port():
            text.extend(String(":", self._port).as_bytes())
        self._authority_end = len(text)
        if authority_end == question_mark:
            text.append(SLASH)
        text.extend(octets[authority_end:question_mark])
        self._query_start = len(text) + 1 if question_mark < target_end else 0
        text.extend(octets[question_mark:target_end])
        self._target_end = len(text)
        text.extend(octets[target_end:])
        self._text = text^

    def __eq__(self, other: Self) -> Bool:
        """Returns whether the normal forms are equal.

        Args:
            other: The other URL.

        Returns:
            True if they are, fragments included.
        """
        return self.text() == other.text()

    def scheme(self) -> StringSlice[origin_of(self)]:
        """Returns the scheme.

        Returns:
            `http`, `https`, `ws` or `wss`.
        """
        return self._slice(0, self._scheme.octets)

    def is_secure(self) -> Bool:
        """Returns whether the URL asks for TLS.

        Returns:
            True for `https` and `wss`.
        """
        return self._scheme.is_secure

    def host(self) -> StringSlice[origin_of(self)]:
        """Returns the host.

        Returns:
            A name or an address in lower case; an IPv6 address without its
            brackets.
        """
        return self._slice(
            self._host_start, self._host_start + self._host_octets
        )

    def port(self) -> Int:
        """Returns the port to connect to.

        Returns:
            The port in the URL, otherwise the default port of the scheme.
        """
        return self._port

    def authority(self) -> StringSlice[origin_of(self)]:
        """Returns host and port, as in the Host field.

        Returns:
            The host, in brackets if it is an IPv6 address, with the port
            unless it is the default one (RFC 9110 section 7.2).
        """
        return self._slice(self._scheme.authority_start(), self._authority_end)

    def path(self) -> StringSlice[origin_of(self)]:
        """Returns the path.

        Returns:
            The path, with its escapes; at least `/`.
        """
        if self._query_start != 0:
            return self._slice(self._authority_end, self._query_start - 1)
        return self._slice(self._authority_end, self._target_end)

    def query(self) -> Optional[StringSlice[origin_of(self)]]:
        """Returns the query.

        Returns:
            The part after the `?`, with its escapes; `None` without a `?`.
        """
        if self._query_start == 0:
            return None
        return self._slice(self._query_start, self._target_end)

    def query_parameters(self) -> QueryParameters[origin_of(self)]:
        """Returns the parameters of the query.

        Returns:
            The parameters; there are none without a query.
        """
        if self._query_start == 0:
            return QueryParameters(self._slice(0, 0))
        return QueryParameters(self._slice(self._query_start, self._target_end))

    def fragment(self) -> Optional[StringSlice[origin_of(self)]]:
        """Returns the fragment, which is never sent.

        Returns:
            The part after the `#`, with its escapes; `None` without a `#`.
        """
        if self._target_end == len(self._text):
            return None
        return self._slice(self._target_end + 1, len(self._text))

    def target(self) -> StringSlice[origin_of(self)]:
        """Returns path and query, as in a request line.

        Returns:
            The origin form (RFC 9112 section 3.2.1).
        """
        return self._slice(self._authority_end, self._target_end)

    def has_origin_of(self, other: Self) -> Bool:
        """Returns whether another URL has the same origin.

        Credentials must not follow a redirect to another origin.

        Args:
            other: The other URL.

        Returns:
            True if scheme, host and port are the same (RFC 9110 section
            4.3.1).
        """
        return self._slice(0, self._authority_end) == other._slice(
            0, other._authority_end
        )

    def text(self) -> StringSlice[origin_of(self)]:
        """Returns the whole URL in its normal form.

        Returns:
            The text.
        """
        return self._slice(0, len(self._text))

    def write_to(self, mut writer: Some[Writer]):
        """Writes the normal form, which is visible ASCII.

        Args:
            writer: The destination.
        """
        writer.write(self.text())

    def _slice(self, start: Int, end: Int) -> StringSlice[origin_of(self)]:
        return StringSlice(
            unsafe_from_utf8=Span[UInt8, origin_of(self)](
                unsafe_ptr=self._text.unsafe_ptr().unsafe_origin_cast[
                    origin_of(self)
                ](),
                length=len(self._text),
            )[start:end]
        )


@always_inline
def _with_ascii_host(octets: Span[UInt8, _]) raises SyntaxError -> List[UInt8]:
    var start = parse_scheme(octets).authority_start()
    var end = find_authority_end(octets, start)
    var host_octets = find_octet(octets[start:end], COLON)
    var text = List[UInt8](octets[:start])
    text.extend(ascii_host(octets[start : start + host_octets]))
    text.extend(octets[start + host_octets :])
    return text^


def _path_end(octets: Span[UInt8, _], start: Int) raises SyntaxError -> Int:
    var end = scan_escaped[PATH_OCTETS, "path"](octets, start)
    if (
        end != len(octets)
        and octets[end] != QUESTION_MARK
        and octets[end] != NUMBER_SIGN
    ):
        raise SyntaxError("path", end, "forbidden octet")
    return end


def _query_end(octets: Span[UInt8, _], start: Int) raises SyntaxError -> Int:
    if start == len(octets) or octets[start] != QUESTION_MARK:
        return start
    var end = scan_escaped[QUERY_OCTETS, "query"](octets, start + 1)
    if end != len(octets) and octets[end] != NUMBER_SIGN:
        raise SyntaxError("query", end, "forbidden octet")
    return end


def _check_fragment(octets: Span[UInt8, _], start: Int) raises SyntaxError:
    if start == len(octets):
        return
    var end = scan_escaped[QUERY_OCTETS, "fragment"](octets, start + 1)
    if end != len(octets):
        raise SyntaxError("fragment", end, "forbidden octet")


def _lenient_path_end(
    octets: Span[UInt8, _], start: Int
) raises SyntaxError -> Int:
    var end = find_member[_LENIENT_PATH_OCTETS, False](octets, start)
    if (
        end != len(octets)
        and octets[end] != QUESTION_MARK
        and octets[end] != NUMBER_SIGN
    ):
        raise SyntaxError("path", end, "forbidden octet")
    return end


def _lenient_query_end(
    octets: Span[UInt8, _], start: Int
) raises SyntaxError -> Int:
    if start == len(octets) or octets[start] != QUESTION_MARK:
        return start
    var end = find_member[_LENIENT_QUERY_OCTETS, False](octets, start + 1)
    if end != len(octets) and octets[end] != NUMBER_SIGN:
        raise SyntaxError("query", end, "forbidden octet")
    return end


def _check_lenient_fragment(
    octets: Span[UInt8, _], start: Int
) raises SyntaxError:
    if start == len(octets):
        return
    var end = find_member[_LENIENT_FRAGMENT_OCTETS, False](octets, start + 1)
    if end != len(octets):
        raise SyntaxError("fragment", end, "forbidden octet")


def _octets_below(end: Int) -> OctetSet:
    var set = OctetSet.of("")
    for b in range(end):
        set.add(UInt8(b))
    return set


def _with(set: OctetSet, more: StaticString) -> OctetSet:
    var wider = set
    for b in more.as_bytes():
        wider.add(b)
    return wider


comptime _ASCII = _octets_below(128)
comptime _LENIENT_PATH_OCTETS = _with(PATH_OCTETS, "%")
comptime _LENIENT_QUERY_OCTETS = _with(QUERY_OCTETS, "%")
comptime _LENIENT_FRAGMENT_OCTETS = _with(QUERY_OCTETS, "%#")

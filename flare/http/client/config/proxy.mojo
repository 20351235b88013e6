"""Selects the proxy for a host, and parses such rules."""

from std.base64 import b64encode

from flare.core import CR, find_octet
from flare.message import percent_decoded

from ...client_error import ClientError, Phase, raised
from .direct_rule import DirectRule

comptime _COLON: UInt8 = 58
comptime _COMMA: UInt8 = 44
comptime _BLANK: UInt8 = 32
comptime _TAB: UInt8 = 9
comptime _SLASH: UInt8 = 47
comptime _AT_SIGN: UInt8 = 64
comptime _BRACKET: UInt8 = 91
comptime _CLOSING_BRACKET: UInt8 = 93
comptime _BAD_RULE: StaticString = (
    "no host can match a rule about hosts without a proxy"
)


struct Proxy(Copyable, Movable):
    """A proxy."""

    comptime HTTP: UInt8 = 0
    """An HTTP proxy: it forwards plain requests one by one; for https, it
    opens a tunnel with CONNECT.
    """
    comptime SOCKS5: UInt8 = 1
    """A SOCKS 5 proxy (RFC 1928), which resolves the host itself."""
    comptime HTTPS: UInt8 = 2
    """An HTTP proxy to which TLS is spoken: its credentials and the names of
    hosts stay secret on the way. `ClientConfig.tls` decides which certificates
    of it are trusted. A client certificate is not shown to it.
    """

    var kind: UInt8
    """One of the constants."""
    var host: String
    """The proxy's host."""
    var port: UInt16
    """The proxy's port."""
    var user: Optional[String]
    """The user, if the proxy requires authentication."""
    var password: String
    """The user's password."""

    def __init__(
        out self,
        kind: UInt8,
        var host: String,
        port: UInt16,
        *,
        var user: Optional[String] = None,
        var password: String = String(),
    ):
        """Creates a proxy.

        Args:
            kind: `HTTP`, `HTTPS` or `SOCKS5`.
            host: The proxy's host.
            port: The proxy's port.
            user: The user, if the proxy requires authentication.
            password: The user's password.
        """
        self.kind = kind
        self.host = host^
        self.port = port
        self.user = user^
        self.password = password^

    @staticmethod
    def parse(text: StringSlice) raises -> Self:
        """Parses the form in which environment variables specify proxies.

        Args:
            text: `http://user:password@host:port`, `https://host:port`,
                `socks5://host:port`, or `host:port`. The default port is 80,
                443 or 1080. Octets of user and password are escaped as in a
                URL.

        Returns:
            The proxy.

        Raises:
            ClientError: `client.bad_config prepare`.
        """
        var rest = text.as_bytes()
        var kind = Self.HTTP
        var port = 80
        var scheme = text.find("://")
        if scheme >= 0:
            var name = String(text[byte=:scheme]).lower()
            rest = rest[scheme + 3 :]
            if name == "socks5" or name == "socks5h":
                kind = Self.SOCKS5
                port = 1080
            elif name == "https":
                kind = Self.HTTPS
                port = 443
            elif name != "http":
                raise _bad_proxy()
        while len(rest) > 0 and rest[len(rest) - 1] == _SLASH:
            rest = rest[: len(rest) - 1]
        var user = Optional[String](None)
        var password = String()
        var at = _last(rest, _AT_SIGN)
        if at >= 0:
            var name = rest[:at]
            var colon = find_octet(name, _COLON)
            if colon < len(name):
                password = percent_decoded(_text(name[colon + 1 :]))
            user = percent_decoded(_text(name[:colon]))
            rest = rest[at + 1 :]
        var host = rest
        var colon = _last(rest, _COLON)
        if len(rest) > 0 and rest[0] == _BRACKET:
            var end = find_octet(rest, _CLOSING_BRACKET)
            if end == len(rest):
                raise _bad_proxy()
            host = rest[1:end]
            if colon < end:
                colon = -1
        elif colon >= 0:
            host = rest[:colon]
        if colon >= 0:
            port = _port_in(rest[colon + 1 :])
        if len(host) == 0 or port < 1 or port > 65535:
            raise _bad_proxy()
        return Self(
            kind,
            String(_text(host)),
            UInt16(port),
            user=user^,
            password=password^,
        )

    def authorization(self) -> Optional[String]:
        """Returns the value of Proxy-Authorization.

        Returns:
            The value; `None` without a user.
        """
        if not self.user:
            return None
        var pair = String(self.user.value(), ":", self.password)
        return String("Basic ", b64encode(pair.as_bytes()))


struct ProxyRules(Copyable, Movable):
    """The proxies by host.

    The function reads no environment: the program passes the texts of the
    variables.
    """

    var http: Optional[Proxy]
    """For URLs of http."""
    var https: Optional[Proxy]
    """For URLs of https."""
    var direct: List[String]
    """The hosts that are reached without a proxy: `*`, an address, a block
    such as `10.0.0.0/8`, or a name, which includes the names below it. Each
    may have a port. A rule that no host can match is refused when the client
    is created.
    """

    def __init__(
        out self,
        *,
        var http: Optional[Proxy] = None,
        var https: Optional[Proxy] = None,
        var direct: List[String] = List[String](),
    ):
        """Creates rules.

        Args:
            http: For URLs of http.
            https: For URLs of https.
            direct: The hosts that are reached without a proxy.
        """
        self.http = http^
        self.https = https^
        self.direct = direct^

    @staticmethod
    def of_variables(
        *,
        http_proxy: StringSlice = "",
        https_proxy: StringSlice = "",
        all_proxy: StringSlice = "",
        no_proxy: StringSlice = "",
    ) raises -> Self:
        """Creates rules from the texts of the usual environment variables.

        Args:
            http_proxy: For URLs of http; empty for none.
            https_proxy: For URLs of https.
            all_proxy: For URLs without a proxy of their own.
            no_proxy: The hosts that are reached directly, separated by commas
                or blanks.

        Returns:
            The rules.

        Raises:
            ClientError: `client.bad_config prepare` if a text is not a proxy,
                or if no host can match a rule of `no_proxy`.
        """
        var rules = Self()
        if all_proxy.byte_length() > 0:
            rules.http = Proxy.parse(all_proxy)
            rules.https = Proxy.parse(all_proxy)
        if http_proxy.byte_length() > 0:
            rules.http = Proxy.parse(http_proxy)
        if https_proxy.byte_length() > 0:
            rules.https = Proxy.parse(https_proxy)
        var octets = no_proxy.as_bytes()
        var start = 0
        for i in range(len(octets) + 1):
            if i < len(octets) and not _divides(octets[i]):
                continue
            if i > start:
                rules.direct.append(String(_text(octets[start:i])))
            start = i + 1
        var problem = rules.first_problem()
        if problem:
            raise raised(ClientError.BAD_CONFIG, Phase.PREPARE, problem.value())
        return rules^

    @always_inline
    def has_secure(self) -> Bool:
        """Returns whether TLS is spoken to a proxy.

        Returns:
            True if one of them has the kind `HTTPS`.
        """
        return (Bool(self.http) and self.http.value().kind == Proxy.HTTPS) or (
            Bool(self.https) and self.https.value().kind == Proxy.HTTPS
        )

    def proxy_for(
        self, is_secure: Bool, host: StringSlice, port: Int
    ) -> Optional[Proxy]:
        """Returns the proxy for a host.

        Args:
            is_secure: Whether the scheme is https.
            host: The host, an IPv6 address without brackets.
            port: The port.

        Returns:
            The proxy, or `None`.
        """
        if not self.http and not self.https:
            return None
        for text in self.direct:
            var rule = DirectRule.parse(text)
            if rule and rule.value().means(host, port):
                return None
        return self.https.copy() if is_secure else self.http.copy()

    def first_problem(self) -> Optional[StaticString]:
        """Returns the first rule that no host can match.

        Returns:
            The problem, or `None`.
        """
        for text in self.direct:
            if not DirectRule.parse(text):
                return _BAD_RULE
        return None


def _port_in(octets: Span[UInt8, _]) -> Int:
    if len(octets) == 0 or len(octets) > 5:
        return -1
    var number = 0
    for octet in octets:
        if octet - 48 > 9:
            return -1
        number = number * 10 + Int(octet - 48)
    return number


def _last(octets: Span[UInt8, _], wanted: UInt8) -> Int:
    var i = len(octets) - 1
    while i >= 0 and octets[i] != wanted:
        i -= 1
    return i


def _text[
    origin: ImmOrigin
](octets: Span[UInt8, origin]) -> StringSlice[origin]:
    return StringSlice(unsafe_from_utf8=octets)


def _divides(octet: UInt8) -> Bool:
    # White space too, as in other programs that read NO_PROXY.
    return octet == _COMMA or octet == _BLANK or (octet >= _TAB and octet <= CR)


def _bad_proxy() -> Error:
    return raised(
        ClientError.BAD_CONFIG, Phase.PREPARE, "a proxy is not named right"
    )

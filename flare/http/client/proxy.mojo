"""Says through whom a client reaches which host, and reads such rules."""

from std.base64 import b64encode

from flare.core import equals_ignoring_case, find_octet
from flare.message import percent_decoded
from flare.net import IpAddr

from .error import ClientError, Phase, raised

comptime _COLON: UInt8 = 58
comptime _COMMA: UInt8 = 44
comptime _DOT: UInt8 = 46
comptime _BLANK: UInt8 = 32
comptime _TAB: UInt8 = 9
comptime _SLASH: UInt8 = 47
comptime _ASTERISK: UInt8 = 42
comptime _AT_SIGN: UInt8 = 64
comptime _BRACKET: UInt8 = 91
comptime _CLOSING_BRACKET: UInt8 = 93


struct Proxy(Copyable, Movable):
    """Names one proxy."""

    comptime HTTP: UInt8 = 0
    """It speaks HTTP: what is not secure it carries over request by request,
    for what is secure it opens a tunnel with CONNECT."""
    comptime SOCKS5: UInt8 = 1
    """It speaks SOCKS 5 (RFC 1928), and looks the host up itself."""

    var kind: UInt8
    """One of the constants."""
    var host: String
    """Its host."""
    var port: UInt16
    """Its port."""
    var user: Optional[String]
    """Who asks, where it wants to know."""
    var password: String
    """The password that goes with it."""

    def __init__(
        out self,
        kind: UInt8,
        var host: String,
        port: UInt16,
        *,
        var user: Optional[String] = None,
        var password: String = String(),
    ):
        """Names a proxy.

        Args:
            kind: `HTTP` or `SOCKS5`.
            host: Its host.
            port: Its port.
            user: Who asks.
            password: The password that goes with it.
        """
        self.kind = kind
        self.host = host^
        self.port = port
        self.user = user^
        self.password = password^

    @staticmethod
    def parse(text: StringSlice) raises -> Self:
        """Reads the form in which variables of an environment name proxies.

        Args:
            text: `http://user:password@host:port`, `socks5://host:port`, or
                `host:port`; the port is 80 or 1080 if it is left out. Octets
                of user and password are escaped as in a URL.

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
        """Makes the value of Proxy-Authorization.

        Returns:
            The value, or none if the proxy need not know who asks.
        """
        if not self.user:
            return None
        var pair = String(self.user.value(), ":", self.password)
        return String("Basic ", b64encode(pair.as_bytes()))


struct ProxyRules(Copyable, Movable):
    """Says which proxy stands before which host. Nothing is read from the
    environment: a program hands over what it wants to count."""

    var http: Optional[Proxy]
    """For URLs of http."""
    var https: Optional[Proxy]
    """For URLs of https."""
    var direct: List[String]
    """What is reached without a proxy: `*`, an address, `10.0.0.0/8`, or a
    name, which stands for the names below it too; each perhaps with a port."""

    def __init__(
        out self,
        *,
        var http: Optional[Proxy] = None,
        var https: Optional[Proxy] = None,
        var direct: List[String] = List[String](),
    ):
        """Makes rules.

        Args:
            http: For URLs of http.
            https: For URLs of https.
            direct: What is reached without a proxy.
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
        """Makes rules of the texts that the variables of these names have.

        Args:
            http_proxy: For URLs of http; empty for none.
            https_proxy: For URLs of https.
            all_proxy: For those that have none of their own.
            no_proxy: What is reached directly, divided by commas.

        Returns:
            The rules.

        Raises:
            ClientError: `client.bad_config prepare`.
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
            if i < len(octets) and octets[i] != _COMMA:
                continue
            var rule = _trimmed(octets[start:i])
            if len(rule) > 0:
                rules.direct.append(String(StringSlice(unsafe_from_utf8=rule)))
            start = i + 1
        return rules^

    def proxy_for(
        self, is_secure: Bool, host: StringSlice, port: Int
    ) -> Optional[Proxy]:
        """Finds the proxy that stands before a host.

        Args:
            is_secure: Whether the scheme is https.
            host: The host, an IPv6 address without brackets.
            port: The port.

        Returns:
            The proxy, or none.
        """
        if not self.http and not self.https:
            return None
        for rule in self.direct:
            if matches_rule(rule, host, port):
                return None
        return self.https.copy() if is_secure else self.http.copy()


def matches_rule(rule: StringSlice, host: StringSlice, port: Int) -> Bool:
    """Tells whether a rule about direct hosts means a host.

    Args:
        rule: The rule, as in `ProxyRules.direct`.
        host: The host, an IPv6 address without brackets.
        port: The port.

    Returns:
        True if it does.
    """
    var octets = rule.as_bytes()
    if len(octets) == 1 and octets[0] == _ASTERISK:
        return True
    var end = len(octets)
    var colon = -1
    var colons = 0
    for i in range(len(octets)):
        if octets[i] == _COLON:
            colon = i
            colons += 1
    if octets and octets[0] == _BRACKET:
        # `[::1]` or `[::1]:443`
        var close = rule.find("]")
        if close < 0:
            return False
        if close + 1 < len(octets):
            if _port_in(octets[close + 2 :]) != port:
                return False
        return _same_address(octets[1:close], host)
    if colons == 1:
        if _port_in(octets[colon + 1 :]) != port:
            return False
        end = colon
    var name = octets[:end]
    var slash = rule.find("/")
    if slash >= 0:
        return _in_block(octets[:slash], octets[slash + 1 :], host)
    if _same_address(name, host):
        return True
    while len(name) > 0 and (name[0] == _DOT or name[0] == _ASTERISK):
        name = name[1:]
    var wanted = host.as_bytes()
    if len(wanted) > 0 and wanted[len(wanted) - 1] == _DOT:
        wanted = wanted[: len(wanted) - 1]
    var extra = len(wanted) - len(name)
    if len(name) == 0 or extra < 0:
        return False
    if not equals_ignoring_case(wanted[extra:], name):
        return False
    return extra == 0 or wanted[extra - 1] == _DOT


def _same_address(rule: Span[UInt8, _], host: StringSlice) -> Bool:
    try:
        var wanted = IpAddr.parse(String(StringSlice(unsafe_from_utf8=rule)))
        return wanted == IpAddr.parse(String(host))
    except:
        return False


def _in_block(
    address: Span[UInt8, _], length: Span[UInt8, _], host: StringSlice
) -> Bool:
    var bits = _port_in(length)
    try:
        var block = IpAddr.parse(String(StringSlice(unsafe_from_utf8=address)))
        var found = IpAddr.parse(String(host))
        if block.is_v4() != found.is_v4() or bits < 0:
            return False
        if block.is_v4():
            if bits > 32:
                return False
            var differing = block.v4_number() ^ found.v4_number()
            return bits == 0 or differing >> UInt32(32 - bits) == 0
        if bits > 128:
            return False
        var ours = block.v6_octets()
        var theirs = found.v6_octets()
        for i in range(bits):
            var shift = UInt8(7 - i % 8)
            if (ours[i // 8] ^ theirs[i // 8]) >> shift & 1 != 0:
                return False
        return True
    except:
        return False


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


def _trimmed[
    origin: Origin
](octets: Span[UInt8, origin]) -> Span[UInt8, origin]:
    var start = 0
    var end = len(octets)
    while start < end and (octets[start] == _BLANK or octets[start] == _TAB):
        start += 1
    while end > start and (
        octets[end - 1] == _BLANK or octets[end - 1] == _TAB
    ):
        end -= 1
    return octets[start:end]


def _bad_proxy() -> Error:
    return raised(
        ClientError.BAD_CONFIG, Phase.PREPARE, "a proxy is not named right"
    )

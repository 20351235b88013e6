"""Lists the request fields by which proxies inform servers about the client.

Servers behind a proxy trust such fields: they log an address, choose another
method, or serve another path. Any client can send them, so a proxy forwards
only those that it has written itself.
"""

from flare.core import is_token
from flare.message import HeaderMap

from .client_error import ClientError, Phase, raised

comptime _ALWAYS_DROPPED: List[StaticString] = [
    # The proxy writes these itself.
    "Forwarded",
    "X-Forwarded*",
    # CGI makes it HTTP_PROXY, which programs read as their own setting.
    "Proxy",
]

comptime FIELDS_DROPPED: List[StaticString] = [
    # The address of the client, as other proxies and networks name it.
    "X-Real-IP",
    "X-Client-IP",
    "X-Cluster-Client-IP",
    "X-Remote-IP",
    "X-Remote-Addr",
    "X-Originating-IP",
    "X-ProxyUser-IP",
    "Client-IP",
    "True-Client-IP",
    "Proxy-Client-IP",
    "WL-Proxy-Client-IP",
    "CF-Connecting-IP*",
    "CF-Pseudo-IPv4",
    "Fastly-Client-IP",
    "Fly-Client-IP",
    "DO-Connecting-IP",
    "Ali-CDN-Real-IP",
    "CloudFront-Viewer-Address",
    "X-Appengine-User-IP",
    "X-Azure-ClientIP",
    "X-Azure-SocketIP",
    "X-Envoy-External-Address",
    "X-NF-Client-Connection-IP",
    "X-Vercel-Forwarded-For",
    "X-Original-For",
    "X-Original-Forwarded-For",
    "X-Forwarder-For",
    "Forwarded-For",
    # The scheme, the host, the certificate and the identity of the client.
    "X-Scheme",
    "X-URL-Scheme",
    "Front-End-HTTPS",
    "CloudFront-Forwarded-Proto",
    "X-Original-Proto",
    "X-Original-Host",
    "X-Host",
    "X-HTTP-Host-Override",
    "CF-Visitor",
    "X-ARR-SSL",
    "X-ARR-ClientCert",
    "Client-Cert",
    "Client-Cert-Chain",
    "X-Client-Cert*",
    "X-Client-DN",
    "X-Amzn-Mtls-*",
    "X-Amzn-Oidc-*",
    "X-Goog-Authenticated-User-*",
    "X-MS-Client-Principal*",
    "X-SSL-*",
    "SSL-Client-*",
    # Another target or method than the one that routes and middleware saw.
    "X-Original-URL",
    "X-Original-URI",
    "X-Original-Method",
    "X-Rewrite-URL",
    "X-Override-URL",
    "X-Envoy-Original-Path",
    "X-HTTP-Path-Override",
    "X-HTTP-Method",
    "X-HTTP-Method-Override",
    "X-Method-Override",
    # The place of files that the upstream server serves.
    "X-Sendfile-Type",
    "X-Accel-*",
]
"""Names that `ReverseProxy` drops from requests, unless the program keeps
them. A star at the end stands for any octets.
"""

comptime _STAR: UInt8 = 42
comptime _HYPHEN: UInt8 = 45


struct FieldGuard(Copyable, Movable):
    """The set of request fields that a proxy does not forward."""

    var _always: List[String]
    var _dropped: List[String]
    var _kept: List[String]
    var _first_octets: UInt64

    def __init__(
        out self,
        dropped: List[String],
        kept: List[String],
        own: HeaderMap,
    ) raises:
        """Creates the set from the names that a proxy configures.

        Args:
            dropped: Further names to drop, besides `FIELDS_DROPPED`.
            kept: Names of `FIELDS_DROPPED` to forward.
            own: Fields that the proxy adds to each request; a client cannot
                replace them.

        Raises:
            ClientError: `client.bad_config prepare` if a name is not a token,
                or if a kept name is not in `FIELDS_DROPPED` or is always
                dropped.
        """
        self._always = []
        self._dropped = []
        self._kept = []
        self._first_octets = 0
        for name in materialize[_ALWAYS_DROPPED]():
            self._always.append(String(name))
        for line in own:
            self._always.append(String(line.name))
        for name in materialize[FIELDS_DROPPED]():
            self._dropped.append(String(name))
        for name in dropped:
            self._dropped.append(_checked(name))
        for name in kept:
            self._kept.append(_checked(name))
            if not _covers(self._dropped, self._kept[len(self._kept) - 1]):
                raise raised(
                    ClientError.BAD_CONFIG,
                    Phase.PREPARE,
                    "the name of a kept field is not one that is dropped",
                )
        for name in self._always:
            self._first_octets |= _bit(name.as_bytes())
        for name in self._dropped:
            self._first_octets |= _bit(name.as_bytes())

    def has(self, name: StringSlice) -> Bool:
        """Returns whether a request field is dropped.

        Args:
            name: The field's name, not empty.

        Returns:
            True if the upstream server could mistake the field for one that the
            proxy or the program sets.
        """
        var octets = name.as_bytes()
        # Most fields begin as none of the names does.
        if self._first_octets & _bit(octets) == 0:
            return False
        if _is_listed(self._always, octets):
            return True
        return _is_listed(self._dropped, octets) and not _is_listed(
            self._kept, octets
        )


def names_alike(a: Span[UInt8, _], b: Span[UInt8, _]) -> Bool:
    """Returns whether programs could mistake one field name for another.

    Programs that see fields as variables, as in CGI (RFC 3875 section 4.1.18),
    ignore case and treat all octets except letters and digits alike.

    Args:
        a: A name.
        b: A name.

    Returns:
        True if the names differ in such octets and in case only.
    """
    return len(a) == len(b) and _begins_alike(a, b)


def _is_listed(names: List[String], octets: Span[UInt8, _]) -> Bool:
    for i in range(len(names)):
        var name = names[i].as_bytes()
        var end = len(name) - 1
        if name[end] == _STAR:
            if _begins_alike(octets, name[:end]):
                return True
        elif names_alike(octets, name):
            return True
    return False


def _covers(dropped: List[String], kept: String) -> Bool:
    if _is_listed(dropped, kept.as_bytes()):
        return True
    for i in range(len(dropped)):
        if _is_listed([kept], dropped[i].as_bytes()):
            return True
    return False


def _begins_alike(octets: Span[UInt8, _], front: Span[UInt8, _]) -> Bool:
    var n = len(front)
    if len(octets) < n:
        return False
    for i in range(n):
        if _plain(octets.unsafe_get(i)) != _plain(front.unsafe_get(i)):
            return False
    return True


@always_inline
def _plain(octet: UInt8) -> UInt8:
    var lower = octet | 32
    if lower - 97 < 26:
        return lower
    return octet if octet - 48 < 10 else _HYPHEN


@always_inline
def _bit(octets: Span[UInt8, _]) -> UInt64:
    return UInt64(1) << UInt64(_plain(octets[0]) & 63)


def _checked(name: String) raises -> String:
    if not is_token(name.as_bytes()) or name == "*":
        raise raised(
            ClientError.BAD_CONFIG,
            Phase.PREPARE,
            "the name of a dropped or kept field is not a token",
        )
    return name

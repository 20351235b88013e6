"""Decides which origin gets the secrets of a client.

Secrets are the configured fields that `is_secret` selects, credentials
(including those of a netrc file), and answers to challenges. The client sends
them only if `may_see_secrets` allows the origin, and only while
`CallState.shows_secrets`. After a redirect to another origin, a call carries
no secrets any more, even if it is led back. A cookie of the jar is sent to the
hosts for which its server has set it. Fields that a program sets for one
request are sent to that request's URL; secret ones among them to no other
origin.

Proxy-Authorization is for proxies: an origin server never gets it.
"""

from flare.core import lower_octet
from flare.message import HeaderMap, Url

from ..config.client_config import ClientConfig
from ..config.proxy import Proxy
from .credentials import Credentials

comptime _HYPHEN: UInt8 = 45
comptime _UNDERSCORE: UInt8 = 95
comptime _PROXY_AUTHORIZATION: StaticString = "Proxy-Authorization"
# The endings of the names of secret fields.
comptime _ENDINGS: List[StaticString] = [
    "authorization",
    "cookie",
    "cookie2",
    "token",
    "secret",
    "password",
    "-key",
    "apikey",
    "session",
    "session-id",
    "signature",
    "assertion",
    "credential",
    "credentials",
    "-pass",
]
# They tell repeated requests, and handshakes, apart (draft-ietf-httpapi-
# idempotency-key-header, RFC 6455 section 11.3.1).
comptime _NO_SECRETS: List[StaticString] = [
    "Idempotency-Key",
    "Sec-WebSocket-Key",
]


def may_see_secrets(
    base: Optional[Url], credentials: Optional[Credentials], url: Url
) -> Bool:
    """Returns whether the origin of a URL gets the secrets of a client.

    Args:
        base: The base URL of the client. Without one, the origin of the call's
            URL gets the secrets.
        credentials: The credentials of the client. A login for one host
            restricts all secrets to that host.
        url: The URL of the request.

    Returns:
        True if scheme, host and port are those of the base URL.
    """
    if credentials and credentials.value().host:
        if credentials.value().host.value() != url.host():
            return False
    return not base or url.has_origin_of(base.value())


def is_secret(name: StringSlice, more: List[String]) -> Bool:
    """Returns whether a field authenticates the client.

    Args:
        name: The name of the field, in any case.
        more: Further names that the program has listed.

    Returns:
        True if the program lists the name, or if its last word is one such as
        `Authorization`, `Cookie`, `Token` or `Key`. `Idempotency-Key` and
        `Sec-WebSocket-Key` are no secrets, and `_` counts as `-`.
    """
    for listed in more:
        if listed.byte_length() == name.byte_length() and _ends_with(
            name, listed
        ):
            return True
    for known in materialize[_NO_SECRETS]():
        if _ends_with(name, known):
            return False
    for ending in materialize[_ENDINGS]():
        if _ends_with(name, ending):
            return True
    return False


def drop_secrets(mut headers: HeaderMap, more: List[String]):
    """Removes the fields that authenticate the client.

    Args:
        headers: The fields.
        more: As in `is_secret`.
    """
    var names = List[String]()
    for line in headers:
        if is_secret(line.name, more):
            names.append(String(line.name))
    for name in names:
        _ = headers.remove(name)


def proxy_authorization(config: ClientConfig, proxy: Proxy) -> Optional[String]:
    """Returns the value of Proxy-Authorization for a proxy.

    Args:
        config: The configuration of the client.
        proxy: The proxy.

    Returns:
        The value for the proxy's user, otherwise the configured field; `None`
        without either.
    """
    var shown = proxy.authorization()
    if shown:
        return shown^
    var configured = config.headers.get(_PROXY_AUTHORIZATION)
    if not configured:
        return None
    return String(configured.value())


def _ends_with(name: StringSlice, ending: StringSlice) -> Bool:
    var octets = name.as_bytes()
    var wanted = ending.as_bytes()
    var front = len(octets) - len(wanted)
    if front < 0:
        return False
    for i in range(len(wanted)):
        if _folded(octets[front + i]) != _folded(wanted[i]):
            return False
    return True


def _folded(octet: UInt8) -> UInt8:
    return _HYPHEN if octet == _UNDERSCORE else lower_octet(octet)

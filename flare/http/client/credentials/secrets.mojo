"""Decides which origin may see what a client was given in confidence.

Secrets are the fields of the configuration that `is_secret` names, credentials
(those of a netrc file too), and answers to challenges. The client sends them only
if `may_see_secrets` allows the origin, and only while `CallState.shows_secrets`:
after a redirection to another origin a call carries no secrets any more, even if
it is led back. A cookie of the jar goes to the hosts that its server has set it
for. Fields that a program sets for one request go to the URL that it asks for;
the secrets among them go to no other origin.

Proxy-Authorization is for proxies: an origin server never sees it.
"""

from flare.core import lower_octet
from flare.message import HeaderMap, Url

from ..config.client_config import ClientConfig
from ..config.proxy import Proxy
from .credentials import Credentials

comptime _HYPHEN: UInt8 = 45
comptime _UNDERSCORE: UInt8 = 95
comptime _PROXY_AUTHORIZATION: StaticString = "Proxy-Authorization"
# What the names of fields end with that prove who asks.
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
# Tells repeated requests apart (draft-ietf-httpapi-idempotency-key-header).
comptime _NO_SECRET: StaticString = "Idempotency-Key"


def may_see_secrets(
    base: Optional[Url], credentials: Optional[Credentials], url: Url
) -> Bool:
    """Returns whether the origin of a URL may see the secrets of a client.

    Args:
        base: The base URL of the client. Without one, the origin that a call
            names may see the secrets.
        credentials: The credentials of the client. Those of a login that is
            for one host bound all its secrets to that host.
        url: What is to be asked for.

    Returns:
        True if scheme, host and port are those of the base URL.
    """
    if credentials and credentials.value().host:
        if credentials.value().host.value() != url.host():
            return False
    return not base or url.has_origin_of(base.value())


def is_secret(name: StringSlice, more: List[String]) -> Bool:
    """Returns whether a field proves who asks.

    Args:
        name: The name of the field, in any case.
        more: Further names that the program has listed.

    Returns:
        True if the program lists the name, or if its last word is one such as
        `Authorization`, `Cookie`, `Token` or `Key`. `Idempotency-Key` is no
        secret, and `_` counts as `-`.
    """
    for listed in more:
        if listed.byte_length() == name.byte_length() and _ends_with(
            name, listed
        ):
            return True
    if _ends_with(name, _NO_SECRET):
        return False
    for ending in materialize[_ENDINGS]():
        if _ends_with(name, ending):
            return True
    return False


def drop_secrets(mut headers: HeaderMap, more: List[String]):
    """Removes the fields that prove who asks.

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
        config: What the client has decided.
        proxy: The proxy.

    Returns:
        That of its user, else that of the configured fields; none if there is
        neither.
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

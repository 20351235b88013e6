"""Finds out which URL a call means, and aims the call at it."""

from flare.core import COLON, PointerTo, find_octet
from flare.message import (
    FormFields,
    RequestTarget,
    Url,
    percent_encoded,
    resolve_reference,
)

from ...client_error import ClientError, Phase, raised
from .call import Call
from .client_state import ClientState, http_url

comptime _SLASH: UInt8 = 47
comptime _DOT: UInt8 = 46
comptime _QUESTION_MARK: UInt8 = 63
comptime _PERCENT: UInt8 = 37
comptime _NUMBER_SIGN: UInt8 = 35


def aim(
    state: PointerTo[ClientState],
    call: Call,
    url: StringSlice,
    query: FormFields,
) raises:
    """Sets the target of a call.

    Args:
        state: The client.
        call: The call; its target is not set.
        url: An absolute URL, or a reference that is joined to the base URL.
        query: Parameters to append to it, escaped.

    Raises:
        ClientError: `client.bad_url prepare`.
    """
    if state[].base_origin:
        var used = state[].base_origin.value()
        if used[].has_left_http2():
            used[].users -= 1
            state[].base_origin = None
    if len(query) == 0 and _is_plain_path(state, call, url):
        var base = state[].base_origin.value()
        base[].users += 1
        call[].origin = base
        call[].set_target(url)
        return
    var full = full_url(state[].base, url, query)
    aim_at(state, call, full)
    if (
        state[].base
        and not call[].asks_upgrade()
        and not state[].base_origin
        and full.has_origin_of(state[].base.value())
    ):
        # It stays as long as the client.
        call[].origin.value()[].users += 1
        state[].base_origin = call[].origin


def aim_at(state: PointerTo[ClientState], call: Call, url: Url) raises:
    """Sets the target of a call.

    Args:
        state: The client.
        call: The call.
        url: The URL, of http or https.

    Raises:
        ClientError: `client.queue_full queue`.
    """
    var origin = ClientState.origin_of(
        state, url, asks_upgrade=call[].asks_upgrade()
    )
    origin[].users += 1
    if call[].origin:
        call[].origin.value()[].users -= 1
    call[].origin = origin
    call[].set_target(url.target())


def with_http_scheme(url: StringSlice) -> String:
    """Replaces the schemes ws and wss, which are http and https up to the
    upgrade (RFC 6455 section 3).

    Args:
        url: A URL or a reference.

    Returns:
        The URL with http or https; all others unchanged.
    """
    var octets = url.as_bytes()
    if len(octets) > 2 and octets[0] | 32 == 119 and octets[1] | 32 == 115:
        var rest = StringSlice(unsafe_from_utf8=octets[2:])
        if rest.startswith(":") or rest.lower().startswith("s:"):
            return String("http", rest)
    return String(url)


def full_url(
    base: Optional[Url], text: StringSlice, query: FormFields
) raises -> Url:
    """Joins a reference to a base URL.

    A path is appended to that of the base, with or without a slash in front.
    It cannot change the host.

    Args:
        base: The base URL, if there is one.
        text: An absolute URL, or a reference that is joined to the base.
        query: Parameters to append to it, escaped.

    Returns:
        The URL.

    Raises:
        ClientError: `client.bad_url prepare`.
    """
    var url: Url
    if _has_scheme(text.as_bytes()):
        url = http_url(text)
    elif not base:
        raise raised(
            ClientError.BAD_URL,
            Phase.PREPARE,
            "a URL without a host, and no base URL",
        )
    else:
        url = _joined(base.value(), text)
    if len(query) == 0:
        return url^
    return _with_query(url, query)


def _joined(base: Url, text: StringSlice) raises -> Url:
    # Whole, because two slashes at the front of a path alone would begin the
    # name of a host (RFC 3986 section 4.2).
    var octets = text.as_bytes()
    var whole = List[UInt8]()
    whole.extend(base.scheme().as_bytes())
    whole.extend("://".as_bytes())
    whole.extend(base.authority().as_bytes())
    var prefix = base.path().as_bytes()
    if len(octets) == 0 or octets[0] == _QUESTION_MARK:
        whole.extend(prefix)
    else:
        var end = len(prefix)
        while end > 0 and prefix[end - 1] == _SLASH:
            end -= 1
        whole.extend(prefix[:end])
        if octets[0] != _SLASH:
            whole.append(_SLASH)
    whole.extend(octets)
    try:
        return resolve_reference(
            base, StringSlice(unsafe_from_utf8=Span(whole))
        )
    except e:
        raise Error(ClientError(ClientError.BAD_URL, Phase.PREPARE, String(e)))


def _with_query(url: Url, query: FormFields) raises -> Url:
    var text = String(url.scheme(), "://", url.authority(), url.target())
    var separator: StaticString = "?"
    if url.query():
        separator = "&"
    for field in query.fields:
        text.write(
            separator,
            percent_encoded(field.name),
            "=",
            percent_encoded(field.value),
        )
        separator = "&"
    return http_url(text)


def _is_plain_path(
    state: PointerTo[ClientState], call: Call, url: StringSlice
) -> Bool:
    # Most calls of a client with a base URL need no URL to be built: their
    # path is in normal form, and the base path is empty.
    if not state[].base_origin or call[].asks_upgrade():
        return False
    var octets = url.as_bytes()
    var n = len(octets)
    if n == 0 or octets[0] != _SLASH or (n > 1 and octets[1] == _SLASH):
        return False
    if state[].base.value().path().byte_length() != 1:
        return False
    var question_mark = find_octet(octets, _QUESTION_MARK)
    if find_octet(octets, _PERCENT, question_mark) != n:
        # `Url` refuses a broken escape there, which a target may have.
        return False
    for i in range(n - 1):
        if octets[i] == _SLASH and octets[i + 1] == _DOT:
            return False
    try:
        # It knows no fragment.
        _ = RequestTarget.parse(octets, call[].method)
        return True
    except:
        return False


def _has_scheme(octets: Span[UInt8, _]) -> Bool:
    var colon = find_octet(octets, COLON)
    if colon == len(octets) or colon == 0:
        return False
    for i in range(colon):
        var octet = octets[i]
        if octet == _SLASH or octet == _QUESTION_MARK or octet == _NUMBER_SIGN:
            return False
    return True

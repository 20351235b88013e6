"""Asks a server for a WebSocket."""

from flare.core import write_escaped
from flare.dns import DnsError
from flare.http.client.call.reference import with_http_scheme
from flare.http.client.client import HttpClient
from flare.http.client.client_functions import RequestParts
from flare.http.client.requests import end_upgrade, open_upgrade
from flare.http.client.upgrade.upgrade_state import ClientUpgrade
from flare.http.client_error import ClientError
from flare.message import FormFields, HeaderMap
from flare.net import NetError
from flare.proto.ws import (
    WsClientAgreement,
    WsClientOffer,
    client_key,
)
from flare.sys.random import fill_random
from flare.tls import TlsError

from .client_config import WsClientConfig
from .client_socket import check_response
from .error import WsError
from .options import check_config

comptime _NONCE_OCTETS = 16
comptime _SWITCHING_PROTOCOLS = 101
# The handshake sets them; two of a kind would break it.
comptime _OWN_FIELDS: List[StaticString] = [
    "Upgrade",
    "Connection",
    "Sec-WebSocket-Version",
    "Sec-WebSocket-Key",
    "Sec-WebSocket-Protocol",
    "Sec-WebSocket-Extensions",
    "Accept-Encoding",
]


struct AcceptedUpgrade(Movable):
    """A connection on which a server has accepted a WebSocket."""

    var upgrade: ClientUpgrade
    """The connection; its owner ends it."""
    var agreement: WsClientAgreement
    """The choices of the server."""

    def __init__(
        out self, upgrade: ClientUpgrade, var agreement: WsClientAgreement
    ):
        """Creates the result of a handshake.

        Args:
            upgrade: The connection.
            agreement: The choices of the server.
        """
        self.upgrade = upgrade
        self.agreement = agreement^


def request_websocket(
    client: HttpClient, url: StringSlice, config: WsClientConfig
) raises -> AcceptedUpgrade:
    """Sends the request of an opening handshake, and checks the response.

    Args:
        client: The client that sends the request.
        url: The URL of ws, wss, http or https; or a reference that is joined to
            the base URL of the client.
        config: The choices of the client.

    Returns:
        The connection.

    Raises:
        An error `ws.handshake` if the server refuses or breaks a rule.
        `ws.bad_call` if the URL has a fragment, `ws.bad_config` with the field
        that is out of its bounds. The errors of connecting.
    """
    # RFC 6455 section 3.
    if "#" in url:
        raise Error(WsError(WsError.BAD_CALL, "the URL has a fragment"))
    check_config(config.first_problem())
    var random = Array[UInt8, _NONCE_OCTETS](fill=0)
    if fill_random(Span(random)) != _NONCE_OCTETS:
        raise Error(
            WsError(WsError.BAD_CALL, "the kernel has no random octets")
        )
    var offer = WsClientOffer(
        client_key(Span(random)),
        protocols=config.protocols.copy(),
        deflate=config.compression.offers(),
    )
    var headers = config.headers.copy()
    for name in materialize[_OWN_FIELDS]():
        _ = headers.remove(name)
    offer.add_fields(headers)
    # The text of a refusal becomes part of an error.
    headers.append("Accept-Encoding", "identity")
    var upgrade = _upgrade(client, url, headers, config.handshake_timeout_ms)
    try:
        if upgrade[].status != _SWITCHING_PROTOCOLS:
            raise Error(
                WsError(
                    WsError.HANDSHAKE,
                    _escaped(Span(upgrade[].refusal)),
                    status=upgrade[].status,
                )
            )
        return AcceptedUpgrade(
            upgrade, check_response(offer, upgrade[].exchange)
        )
    except e:
        end_upgrade(upgrade)
        raise e^


def _upgrade(
    client: HttpClient, url: StringSlice, headers: HeaderMap, timeout_ms: Int
) raises -> ClientUpgrade:
    var query = FormFields()
    var target = with_http_scheme(url)
    try:
        return open_upgrade(
            client.unsafe_state(),
            RequestParts("GET", target, headers, query, timeout_ms),
        )
    except e:
        raise _unwrapped(e)


def _unwrapped(error: Error) -> Error:
    var failure = ClientError.of(error)
    if not failure:
        return Error(error)
    ref detail = failure.value().detail
    var cause = Error(detail)
    if NetError.of(cause) or TlsError.of(cause) or DnsError.of(cause):
        return cause^
    if (
        failure.value().kind == ClientError.PROTOCOL
        or failure.value().kind == ClientError.TOO_LARGE
    ):
        return Error(WsError(WsError.HANDSHAKE, detail.copy()))
    return Error(error)


def _escaped(octets: Span[UInt8, _]) -> String:
    var text = String()
    write_escaped(octets, text)
    return text^

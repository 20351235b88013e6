"""Begins the client's end of a WebSocket on any upgraded stream."""

from flare.core import heap_create
from flare.http.exchange import Exchange
from flare.http.upgraded_stream import UpgradedStream
from flare.message import Status
from flare.proto.ws import WsClientAgreement, WsClientOffer, WsRole

from .between_reads import protocol_of
from .client_config import WsClientConfig
from .error import WsError
from .hub import WsHub
from .message_deflate import AgreedDeflate, MessageDeflate
from .socket_state import Socket, WsAgreement, WsBroadcast, WsSocketState


def check_response(
    offer: WsClientOffer, exchange: Exchange
) raises -> WsClientAgreement:
    """Checks the 101 of a server.

    Args:
        offer: The handshake of the client.
        exchange: The exchange, whose head is that of the response.

    Returns:
        The choices of the server.

    Raises:
        An error `ws.handshake status=101` if the response breaks a rule.
    """
    ref x = exchange[]
    try:
        return offer.check_response(x.head, x.window())
    except e:
        raise Error(
            WsError(
                WsError.HANDSHAKE,
                String(e.reason),
                status=Status.SWITCHING_PROTOCOLS,
            )
        )


def client_deflate(
    agreement: WsClientAgreement, config: WsClientConfig
) -> AgreedDeflate:
    """Returns the compression that both ends agreed on.

    Args:
        agreement: The choices of the server.
        config: The choices of the client.

    Returns:
        The owner of its memory, which the socket uses.
    """
    if not agreement.deflate:
        return AgreedDeflate()
    return AgreedDeflate(
        WsRole.CLIENT,
        agreement.deflate.value(),
        config.compression,
        message_octets_max=config.limits.max_message_size,
    )


def begin_client_socket(
    stream: UpgradedStream,
    agreement: WsClientAgreement,
    config: WsClientConfig,
    deflate: Optional[MessageDeflate],
) raises -> Socket:
    """Creates the state of the client's end, and stores it beside the stream.

    Args:
        stream: The stream after the handshake.
        agreement: The choices of the server.
        config: The choices of the client.
        deflate: The handle of `client_deflate`.

    Returns:
        The state; its owner frees it.

    Raises:
        An error `http.stream_over` if the stream has ended.
    """
    var socket = heap_create(
        WsSocketState(
            WsRole.CLIENT,
            stream,
            config.limits,
            WsAgreement(agreement.protocol.copy(), deflate),
            WsBroadcast(WsHub(), None),
        )
    )
    stream.unsafe_set_protocol(protocol_of(socket))
    return socket

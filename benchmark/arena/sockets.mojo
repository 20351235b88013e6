"""Sends back what arrives on a WebSocket."""

from flare.ws import WsConnection


def echo_messages(ws: WsConnection) raises:
    """Echoes each message."""
    for message in ws:
        ws.send(message)

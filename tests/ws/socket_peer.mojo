"""Speaks WebSocket by hand with a server on the simulated network."""

from flare.http.handler import Handler
from flare.proto.ws import WsRole
from flare.runtime.backends.simulated_network import Peer
from flare.testing.test_server import TestServer

from tests.proto_ws.peer import frame

comptime HANDSHAKE: StaticString = (
    "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
"""The request of the example in RFC 6455 section 1.3."""


def open_socket[H: Handler](server: TestServer[H]) raises -> Peer:
    """Connects, and completes the handshake.

    Parameters:
        H: The type of the handler.

    Args:
        server: The server.

    Returns:
        The client's end.
    """
    var peer = server.connect()
    peer.send(HANDSHAKE)
    server.settle()
    var head = String(unsafe_from_utf8=Span(peer.received()))
    if not head.startswith("HTTP/1.1 101 ") or not head.endswith("\r\n\r\n"):
        raise Error("no handshake, but ", head)
    return peer


def send_frame(peer: Peer, first: UInt8, payload: StringSlice):
    """Sends a masked frame.

    Args:
        peer: The client's end.
        first: The first octet: FIN, reserved bits, opcode.
        payload: The payload.
    """
    var octets = frame(WsRole.SERVER, first, payload.as_bytes())
    peer.send(Span(octets))


def send_close(peer: Peer, code: Int):
    """Sends a Close without a reason.

    Args:
        peer: The client's end.
        code: The code.
    """
    var payload: List[UInt8] = [UInt8(code >> 8), UInt8(code & 255)]
    peer.send(Span(frame(WsRole.SERVER, 0x88, Span(payload))))


def received[H: Handler](server: TestServer[H], peer: Peer) raises -> String:
    """Runs the server, and describes the frames that the client has received.

    Parameters:
        H: The type of the handler.

    Args:
        server: The server.
        peer: The client's end.

    Returns:
        For each frame its first octet, its length and, if it is short, its
        payload: `81:2 hi 88:2 (1000)`.
    """
    var octets = List[UInt8]()
    while True:
        server.settle()
        var more = peer.received()
        if len(more) == 0:
            break
        octets.extend(Span(more))
    var text = String()
    var at = 0
    while at < len(octets):
        var length = Int(octets[at + 1])
        var start = at + 2
        if length == 126:
            length = Int(octets[at + 2]) << 8 | Int(octets[at + 3])
            start = at + 4
        elif length == 127:
            length = 0
            for i in range(8):
                length = length << 8 | Int(octets[at + 2 + i])
            start = at + 10
        if at > 0:
            text += " "
        text += String(hex(Int(octets[at])).removeprefix("0x"), ":", length)
        if octets[at] & 15 == 8 and length >= 2:
            var code = Int(octets[start]) << 8 | Int(octets[start + 1])
            text += String(" (", code, ")")
        elif length > 0 and length <= 32:
            text += " " + String(
                unsafe_from_utf8=Span(octets)[start : start + length]
            )
        at = start + length
    if at > len(octets):
        text += " cut"
    return text^

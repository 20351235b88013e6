"""Speaks permessage-deflate with a server on the simulated network."""

from flare.core import write_escaped
from flare.http.handler import Handler
from flare.proto.ws import WsRole
from flare.runtime.backends.simulated_network import Peer
from flare.testing.test_server import TestServer

from tests.proto_ws.peer import frame

from .codec_peer import CodecPeer
from .socket_peer import HANDSHAKE


struct DeflatePeer(Movable):
    """A client that has offered compression."""

    var peer: Peer
    """The connection."""
    var extensions: String
    """The answer of the server to the offer; empty if it declines."""
    var codecs: CodecPeer
    """The codecs of the client."""
    var compressed_octets: Int
    """The length of the last compressed message that has arrived."""

    def __init__[
        H: Handler
    ](
        out self,
        server: TestServer[H],
        offer: StringSlice = "permessage-deflate; client_max_window_bits",
    ) raises:
        """Connects, and completes the handshake.

        Parameters:
            H: The type of the handler.

        Args:
            server: The server.
            offer: The value of Sec-WebSocket-Extensions.

        Raises:
            Error: If the server refuses.
        """
        self.peer = server.connect()
        self.peer.send(
            StringSlice(HANDSHAKE).replace(
                "\r\n\r\n",
                String("\r\nSec-WebSocket-Extensions: ", offer, "\r\n\r\n"),
            )
        )
        server.settle()
        var head = String(unsafe_from_utf8=Span(self.peer.received()))
        if not head.startswith("HTTP/1.1 101 "):
            raise Error("no handshake, but ", head)
        var name = StringSlice("Sec-WebSocket-Extensions: ")
        self.extensions = String()
        var at = head.find(name)
        if at >= 0:
            var start = at + name.byte_length()
            self.extensions = String(
                head[byte = start : head.find("\r\n", start)]
            )
        self.codecs = CodecPeer(
            window_bits=12 if "client_max" in self.extensions else 15,
            keeps_context="no_context" not in self.extensions,
        )
        self.compressed_octets = 0

    def send(
        mut self, text: StringSlice, *, frames: Int = 1, opcode: UInt8 = 1
    ) raises:
        """Sends a compressed message.

        Args:
            text: The message.
            frames: The number of its frames.
            opcode: Its kind.

        Raises:
            Error: If zlib fails.
        """
        var coded = self.codecs.deflate(text.as_bytes())
        self.send_coded(Span(coded), frames=frames, opcode=opcode)

    def send_coded(
        self, coded: Span[UInt8, _], *, frames: Int = 1, opcode: UInt8 = 1
    ):
        """Sends octets as a compressed message.

        Args:
            coded: The octets.
            frames: The number of its frames.
            opcode: Its kind.
        """
        for i in range(frames):
            var first = UInt8(0x40) | opcode if i == 0 else UInt8(0)
            if i == frames - 1:
                first |= 0x80
            var start = len(coded) * i // frames
            var end = len(coded) * (i + 1) // frames
            self.peer.send(Span(frame(WsRole.SERVER, first, coded[start:end])))

    def received[H: Handler](mut self, server: TestServer[H]) raises -> String:
        """Runs the server, and describes what the client has received.

        Parameters:
            H: The type of the handler.

        Args:
            server: The server.

        Returns:
            For each frame its first octet, the length of its content and, if
            it is short, its content: `c1:300 81:2 hi 88:2 (1000)`.

        Raises:
            Error: If a compressed message cannot be inflated.
        """
        var octets = List[UInt8]()
        while True:
            server.settle()
            var more = self.peer.received()
            if len(more) == 0:
                break
            octets.extend(Span(more))
        var text = String()
        var at = 0
        while at < len(octets):
            var first = octets[at]
            var length = Int(octets[at + 1])
            var more = 2 if length == 126 else 8 if length == 127 else 0
            if more > 0:
                length = 0
            for i in range(more):
                length = length << 8 | Int(octets[at + 2 + i])
            var start = at + 2 + more
            at = start + length
            var content = List[UInt8](Span(octets)[start:at])
            if first & 0x40 != 0:
                self.compressed_octets = length
                content = self.codecs.inflate(
                    Span(content), is_text=first & 15 == 1
                )
            if text.byte_length() > 0:
                text += " "
            text += String(
                hex(Int(first)).removeprefix("0x"), ":", len(content)
            )
            if first & 15 == 8 and len(content) >= 2:
                text += String(
                    " (", Int(content[0]) << 8 | Int(content[1]), ")"
                )
            elif 0 < len(content) <= 32:
                text += " "
                write_escaped(Span(content), text)
        return text^

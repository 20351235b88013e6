"""Speaks WebSocket frame by frame, also where no client may."""

import struct
from pathlib import Path

from loopback.client import Client

# The server that tests with this client ask.
SOURCE = Path(__file__).resolve().parents[2] / "programs" / "sockets.mojo"
KEY = b"dGhlIHNhbXBsZSBub25jZQ=="
ACCEPT = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
TEXT, BINARY, CONTINUATION = 0x81, 0x82, 0x80
CLOSE, PING, PONG = 0x88, 0x89, 0x8A
# A key of zeros masks nothing, so that large payloads need no work.
NO_MASK = bytes(4)


def handshake(path="/echo", *lines, key=KEY):
    """Writes the request of a client, with further field lines."""
    fields = [b"%s\r\n" % line.encode() for line in lines]
    return (
        b"GET %s HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\n"
        b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        b"Sec-WebSocket-Key: %s\r\n%s\r\n"
        % (path.encode(), key, b"".join(fields))
    )


def header(first, length):
    """Writes the header of a frame with a mask that changes nothing."""
    if length < 126:
        return struct.pack(">BB", first, 0x80 | length) + NO_MASK
    if length < 65536:
        return struct.pack(">BBH", first, 0x80 | 126, length) + NO_MASK
    return struct.pack(">BBQ", first, 0x80 | 127, length) + NO_MASK


def frame(first, payload=b""):
    """Writes a frame of a client."""
    return header(first, len(payload)) + payload


def close_frame(code):
    """Writes a Close."""
    return frame(CLOSE, struct.pack(">H", code))


class WsClient(Client):
    """Is one WebSocket, whose handshake is complete."""

    def __init__(self, place, path="/echo", *lines, **options):
        super().__init__(place, **options)
        self.send(handshake(path, *lines))
        self.response = self.head()
        if self.response.status != 101:
            raise AssertionError(f"{path}: {self.response.status}")
        if self.response.field("Sec-WebSocket-Accept") != ACCEPT:
            raise AssertionError(f"{path}: {self.response.fields}")

    def send_frame(self, first, payload=b""):
        """Sends one frame."""
        self.send(frame(first, payload))

    def frame(self):
        """Reads one frame; gives its first octet and its payload."""
        first, length = self._exactly(2)
        if length & 0x80:
            raise AssertionError("a server masks")
        if length == 126:
            (length,) = struct.unpack(">H", self._exactly(2))
        elif length == 127:
            (length,) = struct.unpack(">Q", self._exactly(8))
        return first, self._exactly(length)

    def await_octets(self):
        """Waits until a frame has begun to arrive."""
        if not self._received:
            self._receive()

    def expect(self, first, payload):
        """Reads one frame, and compares it."""
        found = self.frame()
        if found != (first, payload):
            raise AssertionError(f"{found[0]:x} {found[1][:80]!r}")

    def until_close(self):
        """Reads frames until a Close; gives its code and the messages' length."""
        octets = 0
        while True:
            first, payload = self.frame()
            if first == CLOSE:
                return struct.unpack(">H", payload[:2])[0], octets
            if first in (TEXT, BINARY):
                octets += len(payload)

    def expect_close(self, code):
        """Reads the next frame, which must be a Close, and the end."""
        first, payload = self.frame()
        found = struct.unpack(">H", payload[:2])[0] if payload else None
        if (first, found) != (CLOSE, code):
            raise AssertionError(f"{first:x} {payload[:80]!r}, not {code}")
        # A server waits for the peer's Close, unless the peer is at fault.
        self.send_quietly(close_frame(code))
        self.expect_end()

    def send_quietly(self, octets):
        """Sends octets that the server may refuse."""
        try:
            self.send(octets)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def push(self, octets, most, seconds=0.5):
        """Sends the octets over and over until the server takes no more for a
        time, or has taken the most; gives how many it took."""
        before = self.socket.gettimeout()
        self.socket.settimeout(seconds)
        taken = 0
        view = memoryview(octets)
        try:
            while taken < most:
                start = taken % len(octets)
                taken += self.socket.send(view[start:])
        except (TimeoutError, BrokenPipeError, ConnectionResetError):
            pass
        self.socket.settimeout(before)
        return taken

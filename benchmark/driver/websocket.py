"""Asks a server for a WebSocket and checks what it echoes, octet by octet."""

from __future__ import annotations

import base64
import hashlib
import os
import struct

from .answers import BadAnswer, Connection

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
_SUFFIX = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_HEAD_OCTETS_MAX = 4096
# Around the lengths at which a frame's head grows.
_LENGTHS = (0, 1, 5, 125, 126, 1000, 20_000)
_AT_ONCE = 16
_NORMAL = struct.pack(">H", 1000)


def frame(opcode: int, payload: bytes, mask: bytes = b"") -> bytes:
    """Writes a whole frame; without a mask as a server does."""
    length = len(payload)
    is_masked = 0x80 if mask else 0
    if length < 126:
        head = struct.pack(">BB", 0x80 | opcode, is_masked | length)
    elif length < 65536:
        head = struct.pack(">BBH", 0x80 | opcode, is_masked | 126, length)
    else:
        head = struct.pack(">BBQ", 0x80 | opcode, is_masked | 127, length)
    if mask:
        payload = bytes(
            octet ^ mask[i % len(mask)] for i, octet in enumerate(payload)
        )
    return head + mask + payload


class WebSocket(Connection):
    """Is the client's end; raises `BadAnswer` where the server is wrong."""

    def __init__(self, port: int, path: str):
        super().__init__(port)
        key = base64.b64encode(os.urandom(16))
        self.send_octets(
            b"GET %s HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
            b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            b"Sec-WebSocket-Key: %s\r\n\r\n" % (path.encode(), key)
        )
        head = self._until(b"\r\n\r\n", _HEAD_OCTETS_MAX).decode("latin-1")
        status_line, *lines = head[:-4].split("\r\n")
        if not status_line.startswith("HTTP/1.1 101 "):
            raise BadAnswer(f"no WebSocket: {status_line!r}")
        fields = {}
        for line in lines:
            name, _, value = line.partition(":")
            fields[name.strip().lower()] = value.strip()
        digest = hashlib.sha1(key + _SUFFIX).digest()
        wanted = base64.b64encode(digest).decode()
        if (
            fields.get("upgrade", "").lower() != "websocket"
            or fields.get("connection", "").lower() != "upgrade"
            or fields.get("sec-websocket-accept") != wanted
        ):
            raise BadAnswer(f"a wrong handshake: {fields}")
        if "sec-websocket-extensions" in fields:
            raise BadAnswer("an extension that nobody asked for")

    def send_frames(self, *frames: tuple[int, bytes]) -> None:
        """Sends frames in one go, each with a mask of its own."""
        self.send_octets(
            b"".join(
                frame(opcode, payload, os.urandom(4))
                for opcode, payload in frames
            )
        )

    def expect(self, opcode: int, payload: bytes) -> None:
        """Reads one frame and compares it."""
        wanted = frame(opcode, payload)
        found = self._exactly(len(wanted))
        if found != wanted:
            raise BadAnswer(f"a frame is {found[:40]!r}, not {wanted[:40]!r}")

    def expect_end(self) -> None:
        """Waits for the end of the connection."""
        try:
            rest = self._socket.recv(1)
        except OSError as error:
            raise BadAnswer(f"no end behind the Close: {error}") from error
        if rest or self._received:
            raise BadAnswer("octets behind the Close")


def problem_of(port: int, path: str) -> str | None:
    """Says what is wrong with a server's echo."""
    try:
        with WebSocket(port, path) as socket:
            for length in _LENGTHS:
                for opcode in (TEXT, BINARY):
                    payload = (b"hello" * (length // 5 + 1))[:length]
                    socket.send_frames((opcode, payload))
                    socket.expect(opcode, payload)
            many = [(TEXT, b"message %d" % i) for i in range(_AT_ONCE)]
            socket.send_frames(*many)
            for one in many:
                socket.expect(*one)
            for octet in frame(TEXT, b"bit by bit", b"\1\2\3\4"):
                socket.send_octets(bytes([octet]))
            socket.expect(TEXT, b"bit by bit")
            socket.send_frames((PING, b"ping"))
            socket.expect(PONG, b"ping")
            socket.send_frames((CLOSE, _NORMAL))
            socket.expect(CLOSE, _NORMAL)
            socket.expect_end()
    except (BadAnswer, OSError) as error:
        return str(error)
    return None

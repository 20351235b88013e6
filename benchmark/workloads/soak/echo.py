"""Speaks the protocol behind an upgrade that sends everything back."""

import select

from common import Client, request

SILENCE_SECONDS_MAX = 10.0
PIECE_OCTETS = 65536


class EchoClient(Client):
    """Is a connection that was turned over to the protocol."""

    def __init__(self, port, octets=b""):
        """Upgrades a new connection; `octets` follow the request at once."""
        super().__init__(port)
        self.send(request("/echo", "Connection: upgrade", "Upgrade: echo")
                  + octets)
        head = self.head()
        found = (head.status, head.field("Upgrade"),
                 (head.field("Connection") or "").lower())
        if found != (101, "echo", "upgrade"):
            raise AssertionError(f"{found} instead of an upgrade")

    def expect_echo(self, octets, sent=0):
        """Sends octets, but for those `sent` already, and reads them again at
        the same time."""
        received = bytearray(self._received)
        self._received = b""
        self.socket.setblocking(False)
        while len(received) < len(octets):
            wants_room = [self.socket] if sent < len(octets) else []
            readable, writable, _ = select.select(
                [self.socket], wants_room, [], SILENCE_SECONDS_MAX
            )
            if not readable and not writable:
                raise AssertionError(f"silence after {len(received)} of"
                                     f" {len(octets)} octets")
            if writable:
                piece = octets[sent : sent + PIECE_OCTETS]
                sent += self.socket.send(piece)
            if readable:
                piece = self.socket.recv(PIECE_OCTETS)
                if not piece:
                    raise EOFError(f"closed after {len(received)} of"
                                   f" {len(octets)} octets")
                received += piece
        self.socket.settimeout(SILENCE_SECONDS_MAX)
        if received != octets:
            raise AssertionError(f"other octets than the {len(octets)} sent")

    def expect_end_behind(self, octets):
        """Sends the last octets, and reads them and the end."""
        self.send(octets)
        self.end()
        found = self._received + self.rest()
        if found != octets:
            raise AssertionError(f"{found!r:.100} instead of {octets!r:.100}")

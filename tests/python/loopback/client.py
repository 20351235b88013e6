"""Speaks HTTP/1.1 octet by octet, so that tests decide what goes out when."""

import socket
import struct

from loopback.secure_socket import SecureSocket, TruncatedError

ANSWER_SECONDS_MAX = 10.0


class Answer:
    """Holds one response."""

    def __init__(self, status, fields, body):
        self.status = status
        self.fields = fields
        self.body = body

    def field(self, name):
        """Gives the value of a field that stands once, or None."""
        found = [v for n, v in self.fields if n.lower() == name.lower()]
        if len(found) > 1:
            raise AssertionError(f"{name} stands {len(found)} times")
        return found[0] if found else None

    def closes(self):
        """Tells whether the response says that the connection closes."""
        return (self.field("Connection") or "").lower() == "close"


class Client:
    """Is one connection to the server under test.

    `place` is a port of the loopback address, or the path of a Unix socket.
    """

    def __init__(self, place, receive_octets=None, secure=False):
        self.secure = secure
        self.is_unix = isinstance(place, str)
        family = socket.AF_UNIX if self.is_unix else socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        if receive_octets:
            self.socket.setsockopt(
                socket.SOL_SOCKET, socket.SO_RCVBUF, receive_octets
            )
        if not self.is_unix:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.settimeout(ANSWER_SECONDS_MAX)
        self.socket.connect(place if self.is_unix else ("127.0.0.1", place))
        if secure:
            self.socket = SecureSocket(self.socket)
        self._received = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, octets):
        """Sends octets."""
        self.socket.sendall(octets)

    def dribble(self, octets):
        """Sends octets, each in a segment of its own."""
        for i in range(len(octets)):
            self.socket.sendall(octets[i : i + 1])

    def end(self):
        """Ends the sending side."""
        self.socket.shutdown(socket.SHUT_WR)

    def reset(self):
        """Closes with a reset, where the transport knows one."""
        self.socket.setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )
        self.close()

    def close(self):
        """Closes; again does nothing."""
        self.socket.close()

    def _receive(self):
        octets = self.socket.recv(1 << 18)
        if not octets:
            raise EOFError(f"the server closed after {self._received!r}")
        self._received += octets

    def _until(self, mark):
        while mark not in self._received:
            self._receive()
        found, self._received = self._received.split(mark, 1)
        return found

    def _exactly(self, count):
        parts = [self._received]
        have = len(self._received)
        while have < count:
            octets = self.socket.recv(1 << 18)
            if not octets:
                raise EOFError(f"the server closed after {have} octets")
            parts.append(octets)
            have += len(octets)
        octets = b"".join(parts)
        self._received = octets[count:]
        return octets[:count]

    def head(self):
        """Reads a response head, and gives it as a response without body."""
        lines = self._until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        version, status, _ = lines[0].split(" ", 2)
        if version != "HTTP/1.1":
            raise AssertionError(f"bad status line {lines[0]!r}")
        fields = []
        for line in lines[1:]:
            name, value = line.split(":", 1)
            fields.append((name, value.strip()))
        return Answer(int(status), fields, b"")

    def answer(self, to_head=False):
        """Reads one response whole; `to_head` says that HEAD was asked."""
        answer = self.head()
        if to_head or answer.status < 200 or answer.status in (204, 304):
            return answer
        length = answer.field("Content-Length")
        if length is None:
            raise AssertionError("no Content-Length")
        answer.body = self._exactly(int(length))
        return answer

    def octets(self, count):
        """Reads as many octets."""
        return self._exactly(count)

    def content(self, keep=None):
        """Reads a content in chunks, and gives it with the trailers; `keep` takes
        the chunks instead."""
        parts = []
        while size := int(self._until(b"\r\n"), 16):
            (keep or parts.append)(self._exactly(size))
            if self._until(b"\r\n"):
                raise AssertionError("a chunk is longer than it says")
        trailers = []
        while line := self._until(b"\r\n"):
            trailers.append(line)
        return b"".join(parts), trailers

    def chunks(self):
        """Reads a content in chunks, without trailers; gives it whole."""
        content, trailers = self.content()
        if trailers:
            raise AssertionError("a trailer")
        return content

    def expect_end(self):
        """Waits until the server has closed, and nothing came before that."""
        rest = self.rest()
        if rest:
            raise AssertionError(f"octets before the close: {rest[:200]!r}")

    def expect_loss(self):
        """Waits until the server has given the connection up, and nothing came
        before that; inside of TLS it does so without a word."""
        if self.secure:
            try:
                rest = self.rest()
            except TruncatedError:
                return
            raise AssertionError(f"an orderly end behind {rest[:200]!r}")
        self.expect_end()

    def rest(self):
        """Reads until the server closes."""
        parts, self._received = [self._received], b""
        while True:
            octets = self.socket.recv(1 << 18)
            if not octets:
                return b"".join(parts)
            parts.append(octets)

    def has_ended(self):
        """Waits for the end of the connection, orderly or abrupt."""
        transport = self.socket.transport if self.secure else self.socket
        try:
            while transport.recv(1 << 18):
                pass
        except ConnectionResetError:
            pass
        return True

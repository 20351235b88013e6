"""Asks a server over a plain socket and gives its answers octet by octet."""

from __future__ import annotations

import socket
import ssl
from dataclasses import dataclass

_TIMEOUT_SECONDS = 10.0
_HEAD_OCTETS_MAX = 64 * 1024


class BadAnswer(Exception):
    """Says what an answer lacks."""


@dataclass(frozen=True)
class Answer:
    """Holds an answer: status line, fields as they came, decoded content."""

    status_line: str
    fields: tuple[tuple[str, str], ...]
    content: bytes

    def values(self, name: str) -> list[str]:
        """Gives the values of a field, named in lower case."""
        return [value for key, value in self.fields if key.lower() == name]


class Connection:
    """Is a connection to a server under test."""

    def __init__(self, port: int, is_secure: bool = False):
        self._socket = socket.create_connection(
            ("127.0.0.1", port), _TIMEOUT_SECONDS
        )
        if is_secure:
            self._socket = _any_certificate().wrap_socket(self._socket)
        self._received = b""

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_) -> None:
        self._socket.close()

    def suite(self) -> str | None:
        """Names the cipher suite, if the connection is inside of TLS."""
        if not isinstance(self._socket, ssl.SSLSocket):
            return None
        return self._socket.cipher()[0]

    def send(
        self,
        method: str,
        path: str,
        content: bytes = b"",
        fields: tuple[str, ...] = (),
    ) -> None:
        """Sends a request."""
        lines = [f"{method} {path} HTTP/1.1", "Host: localhost", *fields]
        if method != "GET":
            lines.append(f"Content-Length: {len(content)}")
        self._socket.sendall("\r\n".join([*lines, "", ""]).encode() + content)

    def send_octets(self, octets: bytes) -> None:
        """Sends what the caller has written."""
        self._socket.sendall(octets)

    def answer(self) -> Answer:
        """Reads an answer; raises `BadAnswer` where it is none."""
        head = self._until(b"\r\n\r\n", _HEAD_OCTETS_MAX).decode("latin-1")
        status_line, *lines = head[:-4].split("\r\n")
        fields = []
        for line in lines:
            name, colon, value = line.partition(":")
            if not colon:
                raise BadAnswer(f"a line without a colon: {line!r}")
            fields.append((name, value.strip(" \t")))
        answer = Answer(status_line, tuple(fields), b"")
        return Answer(status_line, answer.fields, self._content(answer))

    def _content(self, head: Answer) -> bytes:
        if head.status_line.startswith("HTTP/1.1 304 "):
            return b""
        lengths = head.values("content-length")
        codings = [v.lower() for v in head.values("transfer-encoding")]
        if codings == ["chunked"] and not lengths:
            return self._chunks()
        if len(lengths) != 1 or codings or not lengths[0].isdigit():
            raise BadAnswer(f"no length to rely on: {head.fields}")
        return self._exactly(int(lengths[0]))

    def _chunks(self) -> bytes:
        pieces = []
        while True:
            line = self._until(b"\r\n", _HEAD_OCTETS_MAX)
            try:
                size = int(line.split(b";")[0].strip(), 16)
            except ValueError as error:
                raise BadAnswer(f"a bad chunk size: {line!r}") from error
            if size == 0:
                while self._until(b"\r\n", _HEAD_OCTETS_MAX) != b"\r\n":
                    continue
                return b"".join(pieces)
            pieces.append(self._exactly(size))
            if self._exactly(2) != b"\r\n":
                raise BadAnswer("a chunk does not end where it should")

    def _receive(self) -> None:
        try:
            octets = self._socket.recv(256 * 1024)
        except OSError as error:
            raise BadAnswer(f"no answer: {error}") from error
        if not octets:
            raise BadAnswer("the server closed instead of answering")
        self._received += octets

    def _until(self, mark: bytes, octets_max: int) -> bytes:
        while mark not in self._received:
            if len(self._received) > octets_max:
                raise BadAnswer("a head without an end")
            self._receive()
        found, _, self._received = self._received.partition(mark)
        return found + mark

    def _exactly(self, count: int) -> bytes:
        pieces = [self._received[:count]]
        self._received = self._received[count:]
        missing = count - len(pieces[0])
        while missing > 0:
            self._receive()
            pieces.append(self._received[:missing])
            self._received = self._received[missing:]
            missing -= len(pieces[-1])
        return b"".join(pieces)


def _any_certificate() -> ssl.SSLContext:
    # The server was started by who asks.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context

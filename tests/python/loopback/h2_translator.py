"""Speaks HTTP/2 to the server under test, for tests that are written in HTTP/1.1.

`TranslatedClient` has the methods of `Client`. Requests are given to it as octets
of HTTP/1.1, whole or in pieces. Each becomes a stream, and its response is read
from that stream. So one test holds of both protocols.
"""

import socket
import struct

from loopback.client import Answer
from loopback.h2_client import GoneError, H2Client

# Fields of a connection of HTTP/1.1, and those that a stream has elsewhere.
_DROPPED = {"connection", "host", "keep-alive", "transfer-encoding", "upgrade"}


class Parser:
    """Divides octets of HTTP/1.1 into parts of requests. They may not break a rule.
    """

    def __init__(self):
        self._octets = b""
        self._left = None

    def feed(self, octets):
        """Takes octets, and gives the parts that they complete: a head as (method,
        target, fields, ends), content as (octets, ends), and the fields after
        chunked content as a list."""
        self._octets += octets
        while (part := self._next()) is not _NEEDS_MORE:
            yield part

    def _next(self):
        if self._left is None:
            return self._head()
        if self._left == "size":
            return self._size()
        if self._left == "trailers":
            return self._trailers()
        if not self._octets:
            return _NEEDS_MORE
        piece = self._octets[: self._left]
        self._octets = self._octets[len(piece) :]
        self._left -= len(piece)
        if self._left:
            return piece, False
        if self._is_chunked:
            # CR LF follows.
            self._left = "size"
            return piece, False
        self._left = None
        return piece, True

    def _line(self):
        line, mark, rest = self._octets.partition(b"\r\n")
        if not mark:
            return None
        self._octets = rest
        return line

    def _head(self):
        head, mark, rest = self._octets.partition(b"\r\n\r\n")
        if not mark:
            return _NEEDS_MORE
        self._octets = rest
        line, *lines = head.decode("latin-1").lstrip("\r\n").split("\r\n")
        method, target, _ = line.split(" ")
        fields = [_field(line) for line in lines]
        found = dict(fields)
        self._is_chunked = "transfer-encoding" in found
        length = int(found.get("content-length", 0))
        if self._is_chunked:
            self._left = "size"
        elif length:
            self._left = length
        return method, target, fields, self._left is None

    def _size(self):
        line = self._line()
        if line is None:
            return _NEEDS_MORE
        if not line:
            # The end of the chunk before.
            return b"", False
        size = int(line.split(b";")[0], 16)
        self._left = size or "trailers"
        return b"", False

    def _trailers(self):
        if self._octets.startswith(b"\r\n"):
            section, self._octets = b"", self._octets[2:]
        elif b"\r\n\r\n" in self._octets:
            section, _, self._octets = self._octets.partition(b"\r\n\r\n")
        else:
            return _NEEDS_MORE
        self._left = None
        lines = section.decode("latin-1").split("\r\n")
        return [_field(line) for line in lines if line]


_NEEDS_MORE = object()


def _field(line):
    name, value = line.split(":", 1)
    return name.lower(), value.strip(" \t")


class TranslatedClient:
    """Is one connection to the server under test."""

    is_unix = False

    def __init__(self, subject, receive_octets=None):
        self._client = H2Client(subject, kernel_octets=receive_octets)
        # The limit of concurrent streams comes with the server's settings.
        self._client.ping()
        self.secure = subject.secure
        self._parser = Parser()
        # Streams whose responses were not read, in order.
        self._streams = []
        self._sending = None
        self._is_head_read = False

    @property
    def socket(self):
        """Is the transport."""
        return self._client.socket

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Closes the connection."""
        self._client.close()

    def reset(self):
        """Closes with a reset."""
        self.socket.setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )
        self.close()

    def end(self):
        """Ends the sending side of the connection."""
        self.socket.shutdown(socket.SHUT_WR)

    def send(self, octets):
        """Sends requests, or parts of them."""
        for part in self._parser.feed(octets):
            if isinstance(part, list):
                self._end_request(part)
            elif isinstance(part[0], bytes):
                self._send_content(*part)
            else:
                self._begin(*part)

    def dribble(self, octets):
        """Sends octets, one after the other."""
        for i in range(len(octets)):
            self.send(octets[i : i + 1])

    def _begin(self, method, target, fields, ends):
        client = self._client
        client._await(
            lambda: client.machine.open_outbound_streams
            < client.machine.remote_settings.max_concurrent_streams
        )
        kept = [field for field in fields if field[0] not in _DROPPED]
        stream = client.begin(method, target, kept, ends=ends)
        self._streams.append(stream)
        self._sending = stream

    def _is_answered(self):
        return (
            self._sending not in self._streams
            or self._client.exchanges[self._sending].has_ended
        )

    def _send_content(self, octets, ends):
        if (octets or ends) and not self._is_answered():
            self._client.send(self._sending, octets, ends=ends)

    def _end_request(self, trailers):
        if self._is_answered():
            return
        if trailers:
            self._client.trailers(self._sending, trailers)
        else:
            self._client.send(self._sending, b"")

    def _exchange(self):
        return self._client.exchanges[self._streams[0]]

    def _drop_read(self):
        """Drops the first response if all of it was read."""
        if self._is_head_read and not self._exchange().body:
            self._await(lambda: self._exchange().has_ended)
            self._finish()

    def _finish(self):
        self._client.exchanges.pop(self._streams.pop(0))
        self._is_head_read = False

    def _await(self, is_so):
        try:
            self._client._await(is_so)
        except GoneError as e:
            raise EOFError(str(e)) from e

    def head(self):
        """Reads a response head, and gives it as a response without body. Each
        interim response counts as one."""
        self._drop_read()
        exchange = self._exchange()
        self._await(lambda: exchange.interim or exchange.status is not None
                    or exchange.has_ended)
        if exchange.interim:
            fields = list(exchange.interim.pop(0).items())
            return Answer(int(fields[0][1]), fields, b"")
        if exchange.status is None:
            raise ConnectionResetError(f"reset with {exchange.reset}")
        self._is_head_read = True
        return Answer(exchange.status, exchange.fields, b"")

    def answer(self, to_head=False):
        """Reads one response whole."""
        answer = self.head()
        if answer.status < 200:
            return answer
        answer.body = self.rest()
        if to_head or answer.status in (204, 304):
            if answer.body:
                raise AssertionError("content where there is none")
        elif answer.field("Content-Length") not in (None, str(len(answer.body))):
            raise AssertionError("content of another length than announced")
        return answer

    def octets(self, count):
        """Reads as many octets of content."""
        exchange = self._exchange()
        self._await(lambda: len(exchange.body) >= count or exchange.has_ended)
        if len(exchange.body) < count:
            if exchange.reset:
                raise ConnectionResetError(f"reset with {exchange.reset}")
            raise EOFError("the content has ended")
        found = bytes(exchange.body[:count])
        del exchange.body[:count]
        return found

    _exactly = octets

    def content(self, keep=None):
        """Reads the content of a response whose head was read, and gives it with
        the trailers; `keep` takes pieces instead."""
        exchange = self._exchange()
        parts = []
        while not exchange.has_ended or exchange.body:
            self._await(lambda: exchange.body or exchange.has_ended)
            piece, exchange.body = exchange.body, bytearray()
            (keep or parts.append)(piece)
        if exchange.reset:
            raise ConnectionResetError(f"reset with {exchange.reset}")
        trailers = [f"{n}: {v}".encode() for n, v in exchange.trailers]
        self._finish()
        return b"".join(parts), trailers

    def rest(self):
        """Reads the rest of a response."""
        return self.content()[0]

    def expect_end(self):
        """Waits until the server has ended the connection, without a response
        before that."""
        self._client.expect_end()
        for stream in self._streams:
            if self._client.exchanges[stream].status is not None:
                raise AssertionError("a response before the end")

    def expect_loss(self):
        """Waits until the server has given the connection up."""
        self.expect_end()

    def has_ended(self):
        """Waits for the end of the connection, or of the stream."""
        try:
            self._client._await(
                lambda: self._streams and self._exchange().has_ended
            )
        except (GoneError, OSError):
            pass
        return True

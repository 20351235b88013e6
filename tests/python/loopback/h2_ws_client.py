"""Speaks WebSocket on streams of HTTP/2 (RFC 8441)."""

import time

from loopback.h2_client import ANSWER_SECONDS_MAX
from loopback.ws_client import WsClient


def connect_head(path, *fields, protocol="websocket", scheme="https"):
    """Gives the head of an extended CONNECT, with further fields."""
    return [
        (":method", "CONNECT"),
        (":protocol", protocol),
        (":scheme", scheme),
        (":authority", "a"),
        (":path", path),
        *fields,
    ]


def begin_connect(client, path, *fields, ends=False, **options):
    """Begins an extended CONNECT, and gives its stream."""
    stream = client.machine.get_next_available_stream_id()
    head = connect_head(
        path, ("sec-websocket-version", "13"), *fields, **options
    )
    client.machine.send_headers(stream, head, end_stream=ends)
    client.flush()
    return stream


class StreamSocket:
    """Is one stream of a connection, as if it were a socket."""

    def __init__(self, client, stream):
        self.client = client
        self.stream = stream
        self.exchange = client.exchanges[stream]

    def sendall(self, octets):
        """Sends octets as the windows of the server allow."""
        if self.exchange.has_ended:
            raise BrokenPipeError
        self.client.send(self.stream, octets, ends=False)

    def recv(self, _):
        """Gives all that has arrived; nothing at the end of the stream."""
        self.client._await(
            lambda: self.exchange.body or self.exchange.has_ended
        )
        octets, self.exchange.body = self.exchange.body, b""
        if not octets and self.exchange.reset:
            raise ConnectionResetError(self.exchange.reset)
        return octets

    def shutdown(self, _):
        """Ends this end's side."""
        self.client.machine.end_stream(self.stream)
        self.client.flush()

    def close(self):
        """Resets the stream, if it has not ended."""
        if not self.exchange.has_ended:
            self.client.reset(self.stream)
            self.exchange.has_ended = True


class WsStream(WsClient):
    """Is one WebSocket on a stream, whose handshake is complete."""

    def __init__(self, client, path="/echo", *fields):
        self.secure = False
        self._received = b""
        stream = begin_connect(client, path, *fields)
        client.await_head(stream)
        self.socket = StreamSocket(client, stream)
        self.response = client.exchanges[stream]
        if self.response.status != 200:
            raise AssertionError(
                f"{path}: {self.response.status} {self.response.body[:99]}"
            )

    @property
    def client(self):
        """Gives the connection."""
        return self.socket.client

    @property
    def stream(self):
        """Gives the number of the stream."""
        return self.socket.stream

    def push(self, octets, most, seconds=0.5):
        """Sends the octets over and over until the server takes no more for a
        time, or has taken the most; gives how many it took."""
        taken = 0
        deadline = time.monotonic() + ANSWER_SECONDS_MAX
        while taken < most and time.monotonic() < deadline:
            room = min(self.client._room(self.stream), most - taken)
            if room > 0:
                start = taken % len(octets)
                piece = octets[start : start + room]
                self.client.machine.send_data(self.stream, piece)
                self.client.flush()
                taken += len(piece)
                continue
            self.client.socket.settimeout(seconds)
            try:
                self.client.pump()
            except TimeoutError:
                break
            finally:
                self.client.socket.settimeout(ANSWER_SECONDS_MAX)
        return taken

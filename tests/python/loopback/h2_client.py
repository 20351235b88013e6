"""Speaks HTTP/2 with the library h2, which raises on each fault of its peer."""

import collections
import functools
import socket
import ssl
import sys
import time

from loopback.secure_socket import (
    ROOT,
    SecureSocket,
    TruncatedError,
    client_context,
)

sys.path.append(str(ROOT / ".venv" / "http2"))

import h2.config  # noqa: E402
import h2.connection  # noqa: E402
import h2.events  # noqa: E402
import h2.settings  # noqa: E402
from h2.settings import SettingCodes  # noqa: E402

ANSWER_SECONDS_MAX = 10.0
# As much as a test wants to receive without a thought for windows.
WINDOW_OCTETS = (1 << 31) - 1
_RECEIVE_OCTETS = 1 << 18
CANCEL = 8


# After GOAWAY, the library hears no more, although more is said: the answers of
# requests before it.
h2.connection.H2ConnectionStateMachine._transitions[
    h2.connection.ConnectionState.CLIENT_OPEN,
    h2.connection.ConnectionInputs.RECV_GOAWAY,
] = (None, h2.connection.ConnectionState.CLIENT_OPEN)


class GoneError(Exception):
    """Says that the peer ended the connection."""


class Exchange:
    """Holds what has arrived on one stream."""

    def __init__(self):
        self.status = None
        self.fields = []
        self.interim = []
        self.body = bytearray()
        self.trailers = []
        self.reset = None
        self.has_ended = False

    def field(self, name):
        """Gives the value of a field that stands once, or None."""
        found = [v for n, v in self.fields if n == name]
        if len(found) > 1:
            raise AssertionError(f"{name} stands {len(found)} times")
        return found[0] if found else None


@functools.lru_cache
def h2_context():
    """Gives a context whose connections speak HTTP/2 only."""
    context = client_context()
    context.set_alpn_protocols(["h2"])
    return context


def open_transport(subject, context=None, kernel_octets=None):
    """Opens a connection on which both ends want to speak HTTP/2."""
    place = subject.place
    is_unix = isinstance(place, str)
    family = socket.AF_UNIX if is_unix else socket.AF_INET
    transport = socket.socket(family, socket.SOCK_STREAM)
    if not is_unix:
        transport.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if kernel_octets:
        transport.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, kernel_octets)
    transport.settimeout(ANSWER_SECONDS_MAX)
    transport.connect(place if is_unix else ("127.0.0.1", place))
    if subject.secure:
        context = h2_context()
    if context:
        transport = SecureSocket(transport, context)
        if transport.tls.selected_alpn_protocol() != "h2":
            raise AssertionError("the server did not choose h2")
    return transport


class H2Client:
    """Is one connection to the server under test."""

    def __init__(
        self, subject, window=WINDOW_OCTETS, settings=None, context=None,
        kernel_octets=None,
    ):
        self.socket = open_transport(subject, context, kernel_octets)
        # What is sent is not always allowed: that is the point of a test.
        config = h2.config.H2Configuration(
            header_encoding="utf-8",
            validate_outbound_headers=False,
            normalize_outbound_headers=False,
        )
        self.machine = h2.connection.H2Connection(config)
        self.machine.local_settings = h2.settings.Settings(
            client=True,
            initial_values={
                SettingCodes.ENABLE_PUSH: 0,
                SettingCodes.INITIAL_WINDOW_SIZE: window,
                SettingCodes.MAX_HEADER_LIST_SIZE: 1 << 20,
                **(settings or {}),
            },
        )
        self.exchanges = collections.defaultdict(Exchange)
        self.goaways = []
        self.pongs = 0
        self.machine.initiate_connection()
        if window == WINDOW_OCTETS:
            self.machine.increment_flow_control_window(window - 65535)
        self.flush()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends the connection, whatever has happened to it."""
        self.socket.close()

    def flush(self):
        """Sends what the library wants to send."""
        octets = self.machine.data_to_send()
        if octets:
            self.socket.sendall(octets)

    def raw(self, kind, flags, stream_id, payload=b""):
        """Sends a frame behind the library's back."""
        self.flush()
        self.socket.sendall(
            len(payload).to_bytes(3, "big")
            + bytes([kind, flags])
            + stream_id.to_bytes(4, "big")
            + payload
        )

    def begin(self, method, path, fields=(), ends=True):
        """Begins a request, and gives its stream."""
        stream = self.machine.get_next_available_stream_id()
        head = [
            (":method", method),
            (":scheme", "https"),
            (":authority", "a"),
            (":path", path),
            *fields,
        ]
        self.machine.send_headers(stream, head, end_stream=ends)
        self.flush()
        return stream

    def send(self, stream, octets, ends=True):
        """Sends content, as the windows of the server allow."""
        at = 0
        while at < len(octets):
            self._await(lambda: self._room(stream) > 0
                        or self.exchanges[stream].has_ended)
            if self.exchanges[stream].has_ended:
                return
            count = min(self._room(stream), len(octets) - at)
            piece = octets[at : at + count]
            at += count
            self.machine.send_data(
                stream, piece, end_stream=ends and at == len(octets)
            )
            self.flush()
        if not octets and ends:
            self.machine.end_stream(stream)
            self.flush()

    def _room(self, stream):
        return min(
            self.machine.local_flow_control_window(stream),
            self.machine.max_outbound_frame_size,
        )

    def trailers(self, stream, fields):
        """Ends a request with trailers."""
        self.machine.send_headers(stream, fields, end_stream=True)
        self.flush()

    def reset(self, stream, code=CANCEL):
        """Resets a stream."""
        self.machine.reset_stream(stream, code)
        self.flush()

    def widen(self, increment, stream=None):
        """Widens a window of this end."""
        self.machine.increment_flow_control_window(increment, stream)
        self.flush()

    def ping(self):
        """Waits until the server has answered all that was sent so far."""
        wanted = self.pongs + 1
        self.machine.ping(b"flaretst")
        self.flush()
        self._await(lambda: self.pongs >= wanted)

    def answer(self, stream):
        """Waits for the whole response of a stream."""
        self._await(lambda: self.exchanges[stream].has_ended)
        return self.exchanges.pop(stream)

    def ask(self, method, path, fields=(), body=None):
        """Makes a request, and gives the response."""
        stream = self.begin(method, path, fields, ends=body is None)
        if body is not None:
            self.send(stream, body)
        return self.answer(stream)

    def await_head(self, stream):
        """Waits for the head of a response."""
        self._await(lambda: self.exchanges[stream].status is not None)

    def await_content(self, stream, octets):
        """Waits for so much content of a response."""
        self._await(lambda: len(self.exchanges[stream].body) >= octets)

    def await_goaway(self, count=1):
        """Waits for the server's last words, and gives the latest."""
        self._await(lambda: len(self.goaways) >= count)
        return self.goaways[-1]

    def expect_end(self):
        """Reads until the server ends the connection."""
        try:
            while True:
                self.pump()
        except GoneError:
            return

    def _await(self, is_so):
        deadline = time.monotonic() + ANSWER_SECONDS_MAX
        while not is_so():
            if time.monotonic() > deadline:
                raise AssertionError("it took too long")
            self.pump()

    def pump(self):
        """Receives once, and takes what has arrived."""
        try:
            octets = self.socket.recv(_RECEIVE_OCTETS)
        except (ConnectionError, ssl.SSLError, TruncatedError) as e:
            raise GoneError(str(e)) from e
        if not octets:
            raise GoneError("the server has ended the connection")
        for event in self.machine.receive_data(octets):
            self._take(event)
        self.flush()

    def _take(self, event):
        if isinstance(event, h2.events.ConnectionTerminated):
            self.goaways.append((event.last_stream_id, event.error_code))
            return
        if isinstance(event, h2.events.PingAckReceived):
            self.pongs += 1
            return
        stream = getattr(event, "stream_id", None)
        if not stream:
            return
        exchange = self.exchanges[stream]
        if isinstance(event, h2.events.ResponseReceived):
            exchange.fields = list(event.headers)
            exchange.status = int(exchange.field(":status"))
        elif isinstance(event, h2.events.InformationalResponseReceived):
            exchange.interim.append(dict(event.headers))
        elif isinstance(event, h2.events.DataReceived):
            exchange.body += event.data
        elif isinstance(event, h2.events.TrailersReceived):
            exchange.trailers = list(event.headers)
        elif isinstance(event, h2.events.StreamEnded):
            exchange.has_ended = True
        elif isinstance(event, h2.events.StreamReset):
            exchange.reset = int(event.error_code)
            exchange.has_ended = True

"""Speaks as the client of a WebSocket on the simulated network.

The protocol is that of `WsClient`. Only the carrier of its octets differs: a
receive runs the server until octets have arrived.
"""

from flare.core import (
    Buffer,
    Erased,
    OctetPointer,
    PointerTo,
    heap_create,
    heap_destroy,
    write_escaped,
)
from flare.http.exchange import (
    CarrierFunctions,
    Exchange,
    ExchangeState,
    MutOctets,
    NOT_RECEIVED,
    OVER,
    OutputRoom,
    UpgradedFunctions,
)
from flare.http.plain_carrier import (
    aborts_nothing,
    hides_no_client,
    never_held_back,
    takes_no_file,
)
from flare.http.stream_address import StreamAddr
from flare.http.upgraded_stream import UpgradedStream
from flare.message import HeaderMap, Status
from flare.net import NetError
from flare.proto.h1 import (
    BodyLength,
    H1Limits,
    H1Machine,
    H1State,
    HttpEvent,
    Role,
)
from flare.proto.ws import (
    WsClientAgreement,
    WsClientOffer,
    WsOpcode,
    client_key,
)
from flare.proto.ws.frame_header import read_frame_header
from flare.runtime.backends.simulated_network import Peer
from flare.tls import TlsMachine
from flare.unix import PeerCredentials
from flare.ws import WsClientConfig, WsCompression, WsConnection, WsError
from flare.ws.client_socket import (
    begin_client_socket,
    check_response,
    client_deflate,
)
from flare.ws.message_deflate import AgreedDeflate
from flare.ws.socket_state import Socket, machine_of

from .simulated_server import Keepsake, SimulatedServer

comptime _ROOM_OCTETS = 64 * 1024
comptime _REFUSAL_OCTETS_MAX = 4 * 1024
# A run can be repeated, so the key is no random one.
comptime _NONCE: StaticString = "a key of a test."


struct WebSocketRequest(Movable):
    """The handshake that a test asks for."""

    var target: String
    """The request target."""
    var headers: HeaderMap
    """Further fields of the request."""
    var protocols: List[String]
    """The subprotocols to offer, the preferred one first."""
    var compression: WsCompression
    """How messages are compressed if the handler accepts it."""
    var timeout_ms: Int
    """How long the handshake, and each call, may wait, in simulated time."""

    def __init__(
        out self,
        target: StringSlice,
        headers: HeaderMap,
        var protocols: List[String],
        compression: WsCompression,
        timeout_ms: Int,
    ):
        """Creates a request.

        Args:
            target: The request target.
            headers: Further fields of the request.
            protocols: The subprotocols to offer.
            compression: The compression to offer.
            timeout_ms: The longest wait of a call.
        """
        self.target = String(target)
        self.headers = headers.copy()
        self.protocols = protocols^
        self.compression = compression
        self.timeout_ms = timeout_ms


struct WebSocketEndState(Movable):
    """The client's end of one WebSocket."""

    var server: SimulatedServer
    """The server, which frees this end."""
    var peer: Peer
    """The connection."""
    var timeout_ms: Int
    """The longest wait of a call, in simulated time."""
    var until_ms: Int
    """When the call that runs gives up."""
    var received: Buffer
    """The octets that were received and not consumed."""
    var sent: Buffer
    """The octets that are about to be sent."""
    var exchange: Exchange
    """The exchange of the stream. Its head is that of the response."""
    var functions: CarrierFunctions
    """The functions of the exchange."""
    var socket: Optional[Socket]
    """The state of the WebSocket, after the handshake."""
    var deflate: AgreedDeflate
    """How messages are compressed."""

    def __init__(out self, server: SimulatedServer, timeout_ms: Int):
        """Creates the state of a new connection.

        Args:
            server: The server.
            timeout_ms: The longest wait of a call.
        """
        self.server = server
        self.peer = server.connect()
        self.timeout_ms = timeout_ms
        self.until_ms = server.network().now_ms() + timeout_ms
        self.received = Buffer()
        self.sent = Buffer()
        self.exchange = heap_create(ExchangeState())
        self.functions = CarrierFunctions(
            _demand,
            _peer_address,
            _peer_credentials,
            hides_no_client,
            _tls,
            _inform,
            _write,
            takes_no_file,
            _refuse,
            UpgradedFunctions(
                _refuse,
                _await_octets,
                _consume_octets,
                _await_room,
                _unsent_octets,
                _announce_output,
                never_held_back,
                aborts_nothing,
            ),
        )
        self.socket = None
        self.deflate = AgreedDeflate()

    def __deinit__(deinit self):
        """Frees the stream."""
        self.exchange[].carrier = None
        self.exchange[].end()
        self.exchange[].stream.end()
        if self.socket:
            heap_destroy(self.socket.unsafe_value())
        heap_destroy(self.exchange)


@fieldwise_init
struct WebSocketEnd(TrivialRegisterPassable):
    """A handle to the client's end of a WebSocket, which the server frees."""

    var state: PointerTo[WebSocketEndState]
    """The heap state."""

    @staticmethod
    def open(server: SimulatedServer, request: WebSocketRequest) raises -> Self:
        """Connects, and completes the handshake.

        Args:
            server: The server.
            request: The handshake.

        Returns:
            The end.

        Raises:
            An error `ws.handshake` if the server refuses or breaks a rule;
            `ws.timeout` if it does not answer. H1Error if the arguments do not
            form a valid request.
        """
        var config = WsClientConfig(
            ping_interval_ms=None, compression=request.compression
        )
        var end = Self(
            heap_create(WebSocketEndState(server, request.timeout_ms))
        )
        server.keep(Keepsake(end.state.unsafe_bitcast[NoneType](), _destroy))
        var offer = WsClientOffer(
            client_key(_NONCE.as_bytes()),
            protocols=request.protocols.copy(),
            deflate=request.compression.offers(),
        )
        try:
            var agreement = end._shake_hands(
                request.target, request.headers, offer
            )
            end._begin(agreement, config)
        except e:
            end.state[].peer.close()
            server.settle()
            raise e
        server.settle()
        return end

    def connection(self) -> WsConnection:
        """Returns the connection, for one call. The wait of the call begins
        here.

        Returns:
            A handle that works as long as the server lives.
        """
        ref s = self.state[]
        s.until_ms = s.server.network().now_ms() + s.timeout_ms
        return WsConnection(
            UpgradedStream(unsafe_exchange=self.state[].exchange)
        )

    def settle(self):
        """Runs the server as far as possible without time passing."""
        self.state[].server.settle()

    def has_message(self) -> Bool:
        """Returns whether a message has begun to arrive.

        Returns:
            False if only control frames have arrived, or none.
        """
        self.settle()
        self._take_arrived()
        if not self.state[].socket:
            return False
        var socket = self.state[].socket.unsafe_value()
        var octets = self.state[].received.span()
        var at = 0
        while at < len(octets):
            try:
                var header = read_frame_header(socket[].machine, octets, at)
                if header.octets == 0 or header.opcode() == WsOpcode.CLOSE:
                    return False
                if header.opcode() < WsOpcode.CLOSE:
                    return (
                        header.opcode() != WsOpcode.CONTINUATION
                        or machine_of(socket).is_receiving_message()
                    )
                at += header.octets + Int(header.length)
            except:
                # The next receive raises the error.
                return False
        return False

    def send_octets(self, octets: Span[UInt8, _]):
        """Sends octets as they are.

        Args:
            octets: The octets.
        """
        self.state[].peer.send(octets)
        self.settle()

    def reset(self):
        """Breaks the connection."""
        self.state[].peer.reset()
        self.settle()

    def close(self):
        """Closes the connection, after the handshake that closes the
        WebSocket.
        """
        # Closing with unread octets would reset the connection.
        self._take_arrived()
        self.state[].peer.close()
        self.settle()

    def _shake_hands(
        self, target: StringSlice, headers: HeaderMap, offer: WsClientOffer
    ) raises -> WsClientAgreement:
        var fields = headers.copy()
        if not fields.get("host"):
            fields.append("Host", "test")
        offer.add_fields(fields)
        var machine = H1Machine(heap_create(H1State(Role.CLIENT, H1Limits())))
        try:
            self._send_request(machine, target, fields)
            var refusal = Buffer()
            var status = self._read_response(machine, refusal)
            if status != Status.SWITCHING_PROTOCOLS:
                var text = String()
                var count = min(len(refusal), _REFUSAL_OCTETS_MAX)
                write_escaped(refusal.span()[:count], text)
                raise Error(WsError(WsError.HANDSHAKE, text^, status=status))
        finally:
            heap_destroy(machine.state)
        var agreement = check_response(offer, self.state[].exchange)
        self._consume(len(self.state[].exchange[].window()))
        return agreement^

    def _send_request(
        self, machine: H1Machine, target: StringSlice, fields: HeaderMap
    ) raises:
        ref s = self.state[]
        try:
            machine.send_request_head(
                "GET", target, fields, BodyLength.NONE, self._output()
            )
            machine.send_end(self._output())
        except e:
            raise Error(e)
        s.peer.send(s.sent.span())
        s.sent.clear()

    def _read_response(
        self, machine: H1Machine, mut refusal: Buffer
    ) raises -> Int:
        """Returns the status. The head of a 101 stays in front of the received
        octets; the content of a refusal is appended.
        """
        ref s = self.state[]
        var head = Pointer(to=s.exchange[].head).unsafe_origin_cast[
            MutUntrackedOrigin
        ]()
        var status = 0
        while True:
            var event: HttpEvent
            try:
                event = machine.next_event(s.received.span(), head)
            except e:
                raise Error(WsError(WsError.HANDSHAKE, String(e.reason)))
            if event.kind == HttpEvent.RESPONSE_HEAD:
                status = s.exchange[].head.status
                if status == Status.SWITCHING_PROTOCOLS:
                    s.exchange[].octets = s.received.unsafe_front()
                    s.exchange[].octet_count = event.consumed
                    return status
            elif event.kind == HttpEvent.DATA:
                refusal.append(
                    s.received.span()[event.start : event.start + event.length]
                )
            elif event.kind == HttpEvent.NEED_OCTETS:
                s.received.consume(event.consumed)
                var before = len(s.received)
                self._await_more()
                if len(s.received) == before and s.peer.is_closed():
                    _ = machine.receive_end()
                continue
            elif event.kind == HttpEvent.END_OF_MESSAGE:
                return status
            elif event.kind != HttpEvent.INFORMATIONAL_HEAD:
                raise Error(
                    WsError(
                        WsError.HANDSHAKE,
                        "the connection has ended",
                        status=status,
                    )
                )
            s.received.consume(event.consumed)

    def _begin(
        self, agreement: WsClientAgreement, config: WsClientConfig
    ) raises:
        ref s = self.state[]
        ref x = s.exchange[]
        x.host.functions = Pointer(to=s.functions).unsafe_origin_cast[
            MutUntrackedOrigin
        ]()
        x.carrier = self.state.unsafe_bitcast[NoneType]()
        x.request_id = 1
        x.stream.status = Status.SWITCHING_PROTOCOLS
        x.stream.is_open = True
        s.deflate = client_deflate(agreement, config)
        s.socket = begin_client_socket(
            UpgradedStream(unsafe_exchange=s.exchange),
            agreement,
            config,
            s.deflate.handle(),
        )

    def _output(self) -> PointerTo[Buffer]:
        return Pointer(to=self.state[].sent).unsafe_origin_cast[
            MutUntrackedOrigin
        ]()

    def _take_arrived(self):
        var arrived = self.state[].peer.received()
        if len(arrived) > 0:
            self.state[].received.append(Span(arrived))

    def _await_more(self, longest_ms: Int = Int.MAX) raises:
        """Runs the server until octets have arrived, or the connection has
        ended.
        """
        ref s = self.state[]
        var now_ms = s.server.network().now_ms()
        var until_ms = now_ms + min(s.until_ms - now_ms, longest_ms)
        if not s.server.await_arrival(s.peer, until_ms):
            raise Error(
                WsError(
                    WsError.TIMEOUT,
                    String(
                        "the wait for the server has ended after ",
                        s.timeout_ms,
                        " ms",
                    ),
                )
            )
        self._take_arrived()

    def _window(self) -> MutOctets:
        ref received = self.state[].received
        if len(received) == 0:
            return MutOctets()
        return MutOctets(
            unsafe_ptr=received.unsafe_front(), length=len(received)
        )

    def _consume(self, count: Int):
        self.state[].received.consume(count)


def _destroy(end: Erased):
    heap_destroy(end.unsafe_bitcast[WebSocketEndState]())


@always_inline
def _of(exchange: Erased) -> WebSocketEnd:
    ref x = exchange.unsafe_bitcast[ExchangeState]()[]
    return WebSocketEnd(
        x.carrier.unsafe_value().unsafe_bitcast[WebSocketEndState]()
    )


def _await_octets(exchange: Erased, more_than: Int) raises -> MutOctets:
    var end = _of(exchange)
    end._take_arrived()
    while True:
        var octets = end._window()
        if (
            more_than < 0
            or len(octets) > more_than
            or end.state[].peer.is_closed()
        ):
            return octets
        end._await_more(end.state[].exchange[].stream.upgrade.read_timeout_ms)


def _consume_octets(exchange: Erased, count: Int) raises:
    var end = _of(exchange)
    if count < 0 or count > len(end._window()):
        raise Error(NOT_RECEIVED)
    end._consume(count)


def _await_room(exchange: Erased, count: Int) raises -> OutputRoom:
    # A test never waits to send: its network takes all octets.
    return OutputRoom(
        _of(exchange)._output(), count if count > 0 else _ROOM_OCTETS
    )


def _unsent_octets(exchange: Erased) -> Int:
    return 0


def _announce_output(exchange: Erased):
    ref s = _of(exchange).state[]
    s.peer.send(s.sent.span())
    s.sent.clear()


def _demand(exchange: Erased):
    pass


def _peer_address(exchange: Erased) raises -> StreamAddr:
    raise Error(NetError(NetError.UNSUPPORTED, "peer_address"))


def _peer_credentials(exchange: Erased) raises -> PeerCredentials:
    raise Error(NetError(NetError.UNSUPPORTED, "peer_credentials"))


def _tls(exchange: Erased) -> Optional[PointerTo[TlsMachine]]:
    return None


def _inform(exchange: Erased, status: Int, fields: PointerTo[HeaderMap]) raises:
    raise Error(OVER)


def _write(exchange: Erased, octets: OctetPointer, count: Int) raises -> Int:
    raise Error(OVER)


def _refuse(exchange: Erased) raises:
    raise Error(OVER)

"""Moves the octets of one connection of the client, whatever carries them.

The state lies on the heap, because the fiber that reads or writes parks
meanwhile. The protocol that is spoken keeps its state here (`h1`), and only
the module of that protocol touches it.
"""

from flare.core import Buffer, PointerTo, heap_create, heap_destroy
from flare.net import NetError
from flare.proto.h1 import H1Limits, H1State, Role
from flare.runtime.socket import FiberSocket, is_simulated
from flare.runtime.socket_exchange import (
    SentAndReceived,
    can_send_and_receive,
    send_and_receive,
)
from flare.runtime.wait import deadline_in
from flare.sys.errno import EAGAIN, ECONNRESET
from flare.sys.socket import receive_octets
from flare.sys.socket_constants import MSG_DONTWAIT, MSG_PEEK
from flare.tcp import TcpStream
from flare.tls import TlsStream
from flare.unix import UnixStream

from ..client_error import ClientError, Phase, raised
from .clock import Clock

comptime _SMALL_READ_OCTETS = 4 * 1024
comptime _LARGE_READ_OCTETS = 64 * 1024
comptime _KEPT_OCTETS_MAX = 64 * 1024


struct ClientTransport(Movable):
    """Owns one stream: TCP, TLS over TCP, or a Unix socket."""

    var tcp: Optional[TcpStream]
    """The stream, if it is TCP without TLS."""
    var tls: Optional[TlsStream]
    """The stream, if it is TLS."""
    var unix: Optional[UnixStream]
    """The stream, if it is a Unix socket."""
    var socket: Optional[FiberSocket]
    """The socket on which fibers wait; none inside of TLS."""

    def __init__(out self):
        """Makes a transport that is not connected."""
        self.tcp = None
        self.tls = None
        self.unix = None
        self.socket = None


struct ClientConnectionState(Movable):
    """Holds one connection. Only `ClientConnection` touches it."""

    var h1: H1State
    """The state of the HTTP/1.1 machine; only `H1Exchange` touches it."""
    var received: Buffer
    """Octets that came and are not consumed."""
    var output: Buffer
    """Octets that are to be sent."""
    var transport: ClientTransport
    """What the octets go through."""
    var made_ms: Int
    """When it was connected."""
    var idle_since_ms: Int
    """When its last exchange ended."""
    var exchanges: Int
    """How many exchanges it has begun."""
    var was_reset: Bool
    """A send has learned that the peer broke the connection off."""
    var last_read_was_full: Bool
    """More has probably come than was read."""

    def __init__(out self, limits: H1Limits):
        """Makes a connection that has no transport yet.

        Args:
            limits: What a response may make us read.
        """
        self.h1 = H1State(Role.CLIENT, limits)
        self.received = Buffer()
        self.output = Buffer()
        self.transport = ClientTransport()
        self.made_ms = 0
        self.idle_since_ms = 0
        self.exchanges = 0
        self.was_reset = False
        self.last_read_was_full = False


@fieldwise_init
struct ClientConnection(Equatable, TrivialRegisterPassable):
    """Names one connection; whoever has it is the only one."""

    var state: PointerTo[ClientConnectionState]
    """The heap state."""

    @staticmethod
    def create(limits: H1Limits) -> Self:
        """Makes a connection that has no transport yet.

        Args:
            limits: What a response may make us read.

        Returns:
            The connection; call `destroy` once.
        """
        return Self(heap_create(ClientConnectionState(limits)))

    def destroy(self):
        """Closes the transport and frees the state, without waiting: a peer
        that takes nothing more is told nothing more."""
        if self.state[].transport.tls:
            self.state[].transport.tls.value().close_at_once()
        heap_destroy(self.state)

    def close(self):
        """Closes the transport; who waits on it gets an error.

        Nothing parks here: whoever gets the error may be the one who frees the
        state.
        """
        if self.state[].transport.socket:
            self.state[].transport.socket.value().close()
        elif self.state[].transport.tls:
            self.state[].transport.tls.value().close_at_once()

    def carry_over(self, var tcp: TcpStream):
        """Uses TCP.

        Args:
            tcp: The transport.
        """
        self.state[].transport.socket = tcp.unsafe_socket()
        self.state[].transport.tcp = tcp^

    def carry_over(self, var unix: UnixStream):
        """Uses a Unix socket.

        Args:
            unix: The transport.
        """
        self.state[].transport.socket = unix.unsafe_socket()
        self.state[].transport.unix = unix^

    def carry_over(self, var tls: TlsStream):
        """Uses TLS.

        Args:
            tls: The transport.
        """
        self.state[].transport.socket = None
        self.state[].transport.tls = tls^

    @always_inline
    def output(self) -> PointerTo[Buffer]:
        """Names what is to be sent.

        Returns:
            The buffer.
        """
        return Pointer(to=self.state[].output).unsafe_origin_cast[
            MutUntrackedOrigin
        ]()

    @always_inline
    def window(self) -> Span[UInt8, ImmUntrackedOrigin]:
        """Views what came and is not consumed.

        Returns:
            A view that receiving and consuming invalidates.
        """
        var octets = self.state[].received.span()
        return Span[UInt8, ImmUntrackedOrigin](
            unsafe_ptr=octets.unsafe_ptr().unsafe_origin_cast[
                ImmUntrackedOrigin
            ](),
            length=len(octets),
        )

    @always_inline
    def consume(self, count: Int):
        """Drops octets from the front of the window.

        Args:
            count: How many.
        """
        self.state[].received.consume(count)

    def fill(self, timeout_ms: Int) raises -> Int:
        """Receives once into the window.

        Args:
            timeout_ms: The longest wait.

        Returns:
            How many octets came; 0 at the end.

        Raises:
            What the transport raises.
        """
        var room = _SMALL_READ_OCTETS
        if self.state[].last_read_was_full:
            room = _LARGE_READ_OCTETS
        var target = self.state[].received.reserve(room)
        var count = self.read(Span(unsafe_ptr=target, length=room), timeout_ms)
        self.state[].received.advance(count)
        self.state[].last_read_was_full = count == room
        return count

    def read(
        self, into: Span[mut=True, UInt8, _], timeout_ms: Int
    ) raises -> Int:
        """Receives once.

        Args:
            into: Where to put the octets.
            timeout_ms: The longest wait.

        Returns:
            How many came; 0 at the end.

        Raises:
            What the transport raises.
        """
        var count: Int
        if self.state[].transport.socket:
            var socket = self.state[].transport.socket.value()
            socket.set_receive_timeout_ms(timeout_ms)
            count = socket.receive(into)
        elif self.state[].transport.tls:
            self.state[].transport.tls.value().set_read_timeout_ms(timeout_ms)
            # What comes may be less than a record, again and again.
            with deadline_in(timeout_ms):
                count = self.state[].transport.tls.value().read(into)
        else:
            raise raised(
                ClientError.OVER, Phase.CONTENT, "there is no transport"
            )
        if (
            count == 0
            and self.state[].was_reset
            and not self.state[].transport.tls
        ):
            # The kernel tells of a reset once, and here it has told the send.
            # What lasts until the close is not whole then (RFC 9112 section 8),
            # but for what TLS says is (section 9.8).
            raise Error(NetError.from_errno("read", ECONNRESET))
        return count

    def can_send_and_fill(self) -> Bool:
        """Tells whether a request and the wait for its response are one step.

        Returns:
            True where the loop does so and octets go out as they are.
        """
        return Bool(self.state[].transport.socket) and can_send_and_receive()

    def send_and_fill(self, timeout_ms: Int) raises -> SentAndReceived:
        """Sends the output and receives once into the window, in one step.

        Args:
            timeout_ms: The longest wait.

        Returns:
            What became of both. What was sent is no longer in the output.

        Raises:
            What the transport raises where nothing has begun.
        """
        var target = self.state[].received.reserve(_SMALL_READ_OCTETS)
        var output = self.state[].output.span()
        var done = send_and_receive(
            self.state[].transport.socket.value(),
            Span[UInt8, ImmUntrackedOrigin](
                unsafe_ptr=output.unsafe_ptr().unsafe_origin_cast[
                    ImmUntrackedOrigin
                ](),
                length=len(output),
            ),
            Span(unsafe_ptr=target, length=_SMALL_READ_OCTETS),
            timeout_ms,
        )
        if done.sent > 0:
            self.state[].output.consume(done.sent)
        if done.received > 0:
            self.state[].received.advance(done.received)
            self.state[].last_read_was_full = (
                done.received == _SMALL_READ_OCTETS
            )
        return done

    def write(self, octets: Span[UInt8, _], timeout_ms: Int) raises -> Int:
        """Sends what there is room for.

        Args:
            octets: What to send.
            timeout_ms: The longest wait.

        Returns:
            How many were taken.

        Raises:
            What the transport raises.
        """
        if self.state[].transport.socket:
            var socket = self.state[].transport.socket.value()
            socket.set_send_timeout_ms(timeout_ms)
            return socket.send(octets)
        if self.state[].transport.tls:
            self.state[].transport.tls.value().set_write_timeout_ms(timeout_ms)
            # A record may go out in many pieces.
            with deadline_in(timeout_ms):
                return self.state[].transport.tls.value().write(octets)
        raise raised(ClientError.OVER, Phase.SEND, "there is no transport")

    def write_all(
        self, octets: Span[UInt8, _], clock: Clock, write_ms: Int
    ) raises:
        """Sends everything.

        Args:
            octets: What to send.
            clock: Until when.
            write_ms: The longest wait for room.

        Raises:
            What the transport raises.
        """
        var sent = 0
        while sent < len(octets):
            sent += self.write(octets[sent:], clock.left(write_ms))

    def flush(self, clock: Clock, write_ms: Int) raises:
        """Sends what lies in the output.

        Args:
            clock: Until when.
            write_ms: The longest wait for room.

        Raises:
            What the transport raises.
        """
        while len(self.state[].output) > 0:
            var octets = self.state[].output.span()
            var count = self.write(
                Span[UInt8, ImmUntrackedOrigin](
                    unsafe_ptr=octets.unsafe_ptr().unsafe_origin_cast[
                        ImmUntrackedOrigin
                    ](),
                    length=len(octets),
                ),
                clock.left(write_ms),
            )
            self.state[].output.consume(count)

    def is_silent(self) -> Bool:
        """Tells whether the peer has said nothing since the last exchange.

        Octets that nobody asked for would be taken for the next response, and
        an end means that there is none to come.

        Returns:
            True if a request may be sent.
        """
        if is_simulated():
            return True
        var descriptor = Int32(-1)
        if self.state[].transport.socket:
            descriptor = self.state[].transport.socket.value().descriptor()
        elif self.state[].transport.tls:
            # What was received with the last response may lie there unread.
            if self.state[].transport.tls.value().has_unread():
                return False
            descriptor = self.state[].transport.tls.value().descriptor()
        var octet = Array[UInt8, 1](fill=0)
        var result = receive_octets(
            descriptor, Span(octet), MSG_PEEK | MSG_DONTWAIT
        )
        return result == -EAGAIN

    def rest(self, now_ms: Int):
        """Notes that an exchange has ended, and keeps little memory.

        Args:
            now_ms: The time.
        """
        self.state[].idle_since_ms = now_ms
        self.state[].last_read_was_full = False
        if self.state[].received.capacity() > _KEPT_OCTETS_MAX:
            self.state[].received = Buffer()
        if self.state[].output.capacity() > _KEPT_OCTETS_MAX:
            self.state[].output = Buffer()

"""Moves the octets of one connection of the client, whatever carries them.

The state lies on the heap, because the fiber that reads or writes parks
meanwhile. The protocol that is spoken keeps its state here (`h1`, `shared`), and
only the modules of that protocol touch it.
"""

from flare.core import Buffer, PointerTo, heap_create, heap_destroy
from flare.net import NetError
from flare.proto.h1 import H1Limits, H1State, Role
from flare.runtime.current import current_reactor
from flare.runtime.socket import FiberSocket
from flare.runtime.socket_exchange import (
    SentAndReceived,
    can_send_and_receive,
    send_and_receive,
)
from flare.runtime.wait import deadline_in
from flare.sys.errno import ECONNRESET
from flare.tcp import TcpStream
from flare.tls import TlsStream
from flare.unix import UnixStream

from ...client_error import ClientError, Phase, raised
from .shared_state import SharedState
from .clock import Clock

comptime _SMALL_READ_OCTETS = 4 * 1024
comptime _LARGE_READ_OCTETS = 64 * 1024
comptime _KEPT_OCTETS_MAX = 64 * 1024


struct ClientTransport(Movable):
    """The owner of one stream: TCP, TLS over TCP, or a Unix socket."""

    var tcp: Optional[TcpStream]
    """The stream, if it is TCP without TLS."""
    var tls: Optional[TlsStream]
    """The stream, if it is TLS."""
    var unix: Optional[UnixStream]
    """The stream, if it is a Unix socket."""
    var socket: Optional[FiberSocket]
    """The socket on which fibers wait; none inside of TLS."""

    def __init__(out self):
        """Creates a transport that is not connected."""
        self.tcp = None
        self.tls = None
        self.unix = None
        self.socket = None


struct ClientConnectionState(Movable):
    """The state of one connection. Only `ClientConnection` uses it."""

    var h1: H1State
    """The state of the HTTP/1.1 machine; only `H1Exchange` touches it."""
    var shared: Optional[PointerTo[SharedState]]
    """The state of HTTP/2, if it is spoken; only `SharedConnection` and the
    modules beside it touch it."""
    var received: Buffer
    """Octets that came and are not consumed."""
    var output: Buffer
    """Octets that are to be sent."""
    var transport: ClientTransport
    """The transport of the octets."""
    var made_ms: Int
    """When it was connected."""
    var idle_since_ms: Int
    """When its last exchange ended."""
    var exchanges: Int
    """How many exchanges it has begun."""
    var was_reset: Bool
    """Whether a send has failed because the peer reset the connection."""
    var last_read_was_full: Bool
    """Whether the last read filled its buffer, so that more octets are likely.
    """

    def __init__(out self, limits: H1Limits):
        """Creates a connection without a transport.

        Args:
            limits: Bounds on a response.
        """
        self.h1 = H1State(Role.CLIENT, limits)
        self.shared = None
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
    """A handle to one connection, with a single owner."""

    var state: PointerTo[ClientConnectionState]
    """The heap state."""

    @staticmethod
    def create(limits: H1Limits) -> Self:
        """Creates a connection without a transport.

        Args:
            limits: Bounds on a response.

        Returns:
            The connection. Call `destroy` once.
        """
        return Self(heap_create(ClientConnectionState(limits)))

    def destroy(self):
        """Closes the transport and frees the state, without waiting for unsent
        octets.
        """
        if self.state[].transport.tls:
            self.state[].transport.tls.value().close_at_once()
        if self.state[].shared:
            heap_destroy(self.state[].shared.value())
        heap_destroy(self.state)

    def close(self):
        """Closes the transport; a fiber that waits on it gets an error.

        The call never parks: the fiber that gets the error may free the state.
        """
        if self.state[].transport.socket:
            self.state[].transport.socket.value().close()
        elif self.state[].transport.tls:
            self.state[].transport.tls.value().close_at_once()

    def interrupt_read(self):
        """Ends the wait of the fiber that receives, with `net.cancelled`. No octet
        is lost."""
        if self.state[].transport.socket:
            self.state[].transport.socket.value().interrupt_receive()
        elif self.state[].transport.tls:
            self.state[].transport.tls.value().interrupt_read()

    def carry_over(self, var tcp: TcpStream):
        """Makes a TCP stream the transport.

        Args:
            tcp: The transport.
        """
        self.state[].transport.socket = tcp.unsafe_socket()
        self.state[].transport.tcp = tcp^

    def carry_over(self, var unix: UnixStream):
        """Makes a Unix stream the transport.

        Args:
            unix: The transport.
        """
        self.state[].transport.socket = unix.unsafe_socket()
        self.state[].transport.unix = unix^

    def carry_over(self, var tls: TlsStream):
        """Makes a TLS stream the transport.

        Args:
            tls: The transport.
        """
        self.state[].transport.socket = None
        self.state[].transport.tls = tls^

    @always_inline
    def output(self) -> PointerTo[Buffer]:
        """Returns the octets to send.

        Returns:
            The buffer.
        """
        return Pointer(to=self.state[].output).unsafe_origin_cast[
            MutUntrackedOrigin
        ]()

    @always_inline
    def window(self) -> Span[UInt8, ImmUntrackedOrigin]:
        """Returns a view of the unconsumed octets.

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
            count: The number of octets.
        """
        self.state[].received.consume(count)

    def fill(self, timeout_ms: Int) raises -> Int:
        """Receives once into the window.

        Args:
            timeout_ms: The longest wait.

        Returns:
            The number of octets; 0 at the end.

        Raises:
            The error of the transport.
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
            into: The destination.
            timeout_ms: The longest wait.

        Returns:
            The number of octets; 0 at the end.

        Raises:
            The error of the transport.
        """
        var count: Int
        if self.state[].transport.socket:
            var socket = self.state[].transport.socket.value()
            socket.set_receive_timeout_ms(timeout_ms)
            count = socket.receive(into)
        elif self.state[].transport.tls:
            self.state[].transport.tls.value().set_read_timeout_ms(timeout_ms)
            # The received octets may be less than a record, repeatedly.
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
            # The kernel reports a reset once, and has reported it to the send
            # here. Content that lasts until the close is then incomplete (RFC
            # 9112 section 8), except for content that TLS has completed
            # (section 9.8).
            raise Error(NetError.from_errno("read", ECONNRESET))
        return count

    def can_send_and_fill(self) -> Bool:
        """Returns whether a request and the wait for its response can be one
        step.

        Returns:
            True if the loop supports it and octets are sent without
            encryption.
        """
        return Bool(self.state[].transport.socket) and can_send_and_receive()

    def send_and_fill(self, timeout_ms: Int) raises -> SentAndReceived:
        """Sends the output and receives once into the window, in one step.

        Args:
            timeout_ms: The longest wait.

        Returns:
            The results of the send and of the receive. The output loses the
            sent octets.

        Raises:
            The error of the transport, if neither has begun.
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
        """Sends as many octets as there is room for.

        Args:
            octets: The octets.
            timeout_ms: The longest wait.

        Returns:
            The number of octets taken.

        Raises:
            The error of the transport.
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

    def end_sending(self, timeout_ms: Int) raises:
        """Ends the stream to the peer (half-close); receiving continues.

        Args:
            timeout_ms: The longest wait for room, with TLS.

        Raises:
            The error of the transport.
        """
        if self.state[].transport.socket:
            self.state[].transport.socket.value().end_sending()
        elif self.state[].transport.tls:
            with deadline_in(timeout_ms):
                self.state[].transport.tls.value().end_sending()

    def write_all(
        self, octets: Span[UInt8, _], clock: Clock, write_ms: Int
    ) raises:
        """Sends all octets.

        Args:
            octets: The octets.
            clock: The deadline.
            write_ms: The longest wait for room.

        Raises:
            The error of the transport.
        """
        var sent = 0
        while sent < len(octets):
            sent += self.write(octets[sent:], clock.left(write_ms))

    def flush(self, clock: Clock, write_ms: Int) raises:
        """Sends the output.

        Args:
            clock: The deadline.
            write_ms: The longest wait for room.

        Raises:
            The error of the transport.
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
        """Returns whether the peer has sent no octets since the last exchange.

        Unexpected octets would be taken for the next response, and an end
        means that there will be none.

        Returns:
            True if a request may be sent.
        """
        var descriptor = Int32(-1)
        if self.state[].transport.socket:
            descriptor = self.state[].transport.socket.value().descriptor()
        elif self.state[].transport.tls:
            # Octets that arrived with the last response may still be unread
            # there.
            if self.state[].transport.tls.value().has_unread():
                return False
            descriptor = self.state[].transport.tls.value().descriptor()
        return current_reactor().value().is_silent(descriptor)

    def rest(self, now_ms: Int):
        """Prepares the connection for the next exchange, and keeps little
        memory.

        Args:
            now_ms: The time.
        """
        self.state[].idle_since_ms = now_ms
        self.state[].last_read_was_full = False
        # On a shared connection, part of a frame may be there.
        ref c = self.state[]
        if len(c.received) == 0 and c.received.capacity() > _KEPT_OCTETS_MAX:
            c.received = Buffer()
        if len(c.output) == 0 and c.output.capacity() > _KEPT_OCTETS_MAX:
            c.output = Buffer()

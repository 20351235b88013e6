"""Reads and writes one TLS connection over TCP."""

from flare.core import Buffer, PointerTo, heap_create, heap_destroy
from flare.io import Reader, Writer
from flare.net import NetError, SocketAddr
from flare.runtime.socket import OPERATION_TIMEOUT_MS, is_simulated
from flare.runtime.wait import deadline_in, waiting_fiber
from flare.sys.errno import EBUSY
from flare.sys.socket import receive_octets
from flare.sys.socket_constants import MSG_DONTWAIT
from flare.tcp import TcpStream

from .config import TlsConfig
from .context import TlsContext
from .error import TlsError
from .machine import TlsMachine, TlsStep
from .outer_tls import OuterTls
from .session import TlsSession
from .stream_receiving import SMALL_READ_OCTETS, receive_more
from .stream_sending import TlsSending
from .stream_state import TlsStreamState

comptime _CLOSE_TIMEOUT_MS = 1_000
# Enough for octets that have already arrived.
comptime _ARRIVAL_TIMEOUT_MS = 1
comptime _DRAINED_READS_MAX = 16


struct TlsStream(Movable, Reader, Writer):
    """One end of a TLS connection over TCP; closed when destroyed.

    Methods that wait park the calling fiber, or block the program in a script.
    Each wait of the transport lasts at most 30 seconds, unless
    `set_read_timeout_ms` or `set_write_timeout_ms` changes that. An enclosing
    `deadline_in` applies too.

    One fiber may read while another writes, on the same thread. A second
    reader or a second writer gets `net.other … errno=16` (EBUSY). An idle
    stream may be moved to another thread.

    Only `close` ends the stream properly, with a close_notify. If a stream is
    just destroyed, the peer reads `tls.truncated`.
    """

    var _state: PointerTo[TlsStreamState]

    def __init__(out self, var tcp: TcpStream, var machine: TlsMachine):
        """Creates a TLS stream over a TCP connection.

        Args:
            tcp: The connection, before its first octet.
            machine: The client or server end.
        """
        self._state = heap_create(TlsStreamState(tcp^, machine^))

    def __deinit__(deinit self):
        """Closes the connection without a close_notify."""
        heap_destroy(self._state)

    @staticmethod
    def connect(
        host: StringSlice,
        port: UInt16,
        config: TlsConfig,
        *,
        timeout_ms: Optional[Int] = OPERATION_TIMEOUT_MS,
    ) raises -> Self:
        """Connects to a host and verifies its certificate.

        Each call reads and checks the configuration. To connect more than
        once, create a `TlsContext`.

        Args:
            host: The name or address of the server.
            port: The port.
            config: The configuration of the client.
            timeout_ms: The longest wait for the transport. The handshake has a
                limit of its own.

        Returns:
            The connection, ready to be written and read.

        Raises:
            Error: As `TcpStream.connect` does; `tls.expired handshake`,
                `tls.wrong_name handshake` and others (`TlsError.of`).
        """
        return Self.connect(
            host, port, TlsContext.for_clients(config), timeout_ms=timeout_ms
        )

    @staticmethod
    def connect(
        host: StringSlice,
        port: UInt16,
        context: TlsContext,
        *,
        session: Optional[PointerTo[TlsSession]] = None,
        timeout_ms: Optional[Int] = OPERATION_TIMEOUT_MS,
    ) raises -> Self:
        """Connects to a host and verifies its certificate.

        Args:
            host: The name or address of the server.
            port: The port.
            context: A context for clients.
            session: A session to resume.
            timeout_ms: The longest wait for the transport.

        Returns:
            The connection, ready to be written and read.

        Raises:
            Error: As the other `connect` does.
        """
        var machine = TlsMachine.client(context, host, session)
        var tcp = TcpStream.connect(host, port, timeout_ms=timeout_ms)
        var stream = Self(tcp^, machine^)
        stream.handshake()
        return stream^

    def begin_inside(self, var machine: TlsMachine):
        """Begins another TLS connection inside of this one, as through a proxy
        that speaks TLS. From now on, reading, writing and `handshake` mean the
        inner connection, and its peer is the one that is described.

        Args:
            machine: The client or server end of the inner connection. The
                handshake of the outer one is complete, and all of its octets
                are read and written.
        """
        var received = Buffer()
        swap(received, self._state[].received)
        var inner = machine^
        swap(inner, self._state[].machine)
        self._state[].outer = OuterTls(inner^, received^)

    def handshake(self) raises:
        """Completes the handshake. Afterwards the call has no effect.

        Reading and writing do so too. A server calls it on the fiber that
        serves the connection, so that a slow client delays no other.

        Raises:
            Error: `net.timeout …` if it takes too long, `tls.no_certificate
                handshake`, `tls.plain_http handshake` and others.
        """
        if not self._state[].machine.is_open():
            self._await_other_handshake()
        if self._state[].machine.is_open():
            return
        self._state[].is_shaking_hands = True
        var failure = Optional[Error](None)
        try:
            with deadline_in(self._state[].machine.handshake_timeout_ms()):
                self._shake_hands()
        except e:
            failure = e^
        self._state[].is_shaking_hands = False
        if self._state[].waiters.handshake:
            self._state[].waiters.handshake.value().wake()
        if failure:
            # Half a handshake is no connection: the peer need not wait.
            if self._state[].machine.failure():
                self._let_peer_read()
            self._state[].tcp.close()
            raise failure.take()

    @no_inline
    def read(self, into: Span[mut=True, UInt8, _]) raises -> Int:
        """Reads the octets that have arrived; waits for the first one.

        Args:
            into: The buffer; one call fills at most 16 KiB.

        Returns:
            The number of octets; 0 at the end of the peer's stream, or if
            `into` is empty.

        Raises:
            Error: `tls.truncated read` if the transport ended without a
                close_notify; `tls.protocol read`, `tls.alert read`,
                `net.timeout read` etc.
        """
        self.handshake()
        if len(into) == 0:
            return 0
        if self._state[].is_reading:
            raise NetError.from_errno("read", EBUSY)
        self._state[].is_reading = True
        var count = 0
        var failure = Optional[Error](None)
        try:
            count = self._read(into)
        except e:
            failure = e^
        self._state[].is_reading = False
        if failure:
            raise failure.take()
        return count

    @no_inline
    def write(self, octets: Span[UInt8, _]) raises -> Int:
        """Encrypts and sends octets.

        Args:
            octets: The octets.

        Returns:
            The number of octets taken; `write_all` repeats until all are.

        Raises:
            Error: `tls.closed write`, `net.timeout write`, `net.reset write`
                and others.
        """
        self.handshake()
        if self._state[].is_writing:
            raise NetError.from_errno("write", EBUSY)
        self._state[].is_writing = True
        var taken = 0
        var failure = Optional[Error](None)
        try:
            taken = self._write(octets)
        except e:
            failure = e^
        self._state[].is_writing = False
        if failure:
            raise failure.take()
        return taken

    def encrypt(self, octets: Span[UInt8, _]) raises -> Int:
        """Encrypts octets, for `flush`.

        Args:
            octets: The octets.

        Returns:
            The number of octets taken; 0 while many wait for `flush`.

        Raises:
            Error: `tls.closed write` and others.
        """
        if self._state[].is_broken:
            raise Error(String(TlsError(TlsError.CLOSED, "write")))
        try:
            return self._state[].machine.write(octets)
        except e:
            raise Error(String(e))

    def flush(self) raises:
        """Sends encrypted octets, unless another fiber is doing so. A later call
        continues a call whose wait was interrupted.

        Raises:
            Error: `net.timeout write`, `net.cancelled write`, `net.reset write`
                and others.
        """
        self._sending().flush()

    def flush_at_once(self):
        """Sends as much as the kernel takes, without waiting."""
        if self._state[].tcp.is_open():
            self._sending().flush_at_once(self._state[].tcp.descriptor())

    def has_unsent(self) -> Bool:
        """Returns whether encrypted octets wait to be sent.

        Returns:
            True until a `flush` has sent all of them.
        """
        return self._sending().has_unsent()

    def interrupt_read(self):
        """Ends the wait of a fiber of the same thread that reads. It gets
        `net.cancelled read`; no octet is lost."""
        self._state[].tcp.unsafe_socket().interrupt_receive()

    def close(self):
        """Ends the stream with a close_notify and closes. Further calls do
        nothing.

        A fiber that reads or writes gets `net.closed`.
        """
        if not self._state[].tcp.is_open():
            return
        self._state[].machine.close()
        self._say_goodbye()
        if self._state[].outer:
            self._state[].outer.unsafe_value().machine.close()
            self._say_goodbye()
        if not self._state[].machine.has_ended():
            # The tickets of a server, for one: few clients read them all.
            self._state[].tcp.set_read_timeout_ms(_ARRIVAL_TIMEOUT_MS)
            try:
                self._drop_received()
            except:
                # The received octets are read here, or by another fiber.
                self._state[].is_broken = True
        self._state[].tcp.close()

    def close_at_once(self):
        """Closes without waiting. Further calls have no effect.

        The peer gets a close_notify if the kernel has room for one. Otherwise,
        or if a record is partly sent, it reads `tls.truncated`. Fibers that
        wait get an error.
        """
        if not self._state[].tcp.is_open():
            return
        if not (
            self._state[].is_broken
            or self._state[].is_flushing
            or is_simulated()
        ):
            self._state[].machine.close()
            self._send_and_drop_at_once(self._state[].tcp.descriptor())
        self._state[].is_broken = True
        self._state[].tcp.close()

    def end_sending(self) raises:
        """Ends this end's stream with a close_notify (half-close); reading
        continues.

        Raises:
            Error: As `write` does.
        """
        self.handshake()
        self._state[].machine.close()
        self._sending().flush_or_break()

    def set_read_timeout_ms(self, timeout_ms: Optional[Int]):
        """Sets the longest wait of a `read`; 30 seconds by default.

        Args:
            timeout_ms: The longest wait; `None` applies only `deadline_in`.
        """
        self._state[].tcp.set_read_timeout_ms(timeout_ms)

    def set_write_timeout_ms(self, timeout_ms: Optional[Int]):
        """Sets the longest wait of a `write`; 30 seconds by default.

        Args:
            timeout_ms: The longest wait; `None` applies only `deadline_in`.
        """
        self._state[].tcp.set_write_timeout_ms(timeout_ms)

    def has_unread(self) -> Bool:
        """Returns whether received octets wait that `read` has not returned.

        Returns:
            True even for a part of a record. Octets that are still in the
            kernel do not count.
        """
        ref s = self._state[]
        if len(s.received) > 0 or s.machine.has_unread():
            return True
        return Bool(s.outer) and (
            len(s.outer.unsafe_value().received) > 0
            or s.outer.unsafe_value().machine.has_unread()
        )

    def is_open(self) -> Bool:
        """Returns whether the stream is open.

        Returns:
            True until `close`, even if the peer has closed.
        """
        return self._state[].tcp.is_open()

    def descriptor(self) -> Int32:
        """Returns the descriptor, for options.

        Returns:
            The descriptor, valid until the stream is closed; -1 afterwards.
        """
        return self._state[].tcp.descriptor()

    def peer_address(self) raises -> SocketAddr:
        """Returns the peer's address.

        Returns:
            The address.

        Raises:
            Error: `net.closed peer_address`.
        """
        return self._state[].tcp.peer_address()

    def local_address(self) raises -> SocketAddr:
        """Returns the local address.

        Returns:
            The address.

        Raises:
            Error: `net.closed local_address`.
        """
        return self._state[].tcp.local_address()

    def peer_subject(self) -> Optional[String]:
        """Returns the subject of the peer's certificate.

        Returns:
            The whole name in the form of RFC 4514, of any length. `None`
            without one, and before the handshake is complete.
        """
        return self._state[].machine.peer_subject()

    def server_name(self) -> Optional[String]:
        """Returns the server name that the client asked for.

        Returns:
            The name, with unprintable octets escaped; `None` without one.
        """
        return self._state[].machine.server_name()

    def application_protocol(self) -> Optional[String]:
        """Returns the application protocol that both ends agreed on.

        Returns:
            Its name, with unprintable octets escaped; `None` without one.
        """
        return self._state[].machine.application_protocol()

    def version(self) -> String:
        """Returns the protocol version.

        Returns:
            `TLSv1.2` or `TLSv1.3`.
        """
        return self._state[].machine.version()

    def cipher(self) -> String:
        """Returns the IANA name of the cipher suite.

        Returns:
            The name, empty before it is known.
        """
        return self._state[].machine.cipher()

    def is_resumed(self) -> Bool:
        """Returns whether the handshake resumed a session.

        Returns:
            True if the handshake was an abbreviated one.
        """
        return self._state[].machine.is_resumed()

    def take_session(self) -> Optional[TlsSession]:
        """Takes the latest session that the server offered.

        Returns:
            The session, or `None`. In TLS 1.3 it arrives some time after the
            handshake, while reading.
        """
        return self._state[].machine.take_session()

    def status_response(self) -> List[UInt8]:
        """Returns the OCSP response that the server stapled, unverified.

        Returns:
            The response in DER; empty without one.
        """
        return self._state[].machine.status_response()

    def dangerous_keys(self) -> String:
        """Returns the secrets of the connection, if the configuration keeps
        them.

        Returns:
            Lines in the form that decrypting tools read.
        """
        return self._state[].machine.dangerous_keys()

    def _await_other_handshake(self) raises:
        # A stream that was accepted may be given to a reader and to a writer:
        # the one that comes first shakes hands for both.
        while self._state[].is_shaking_hands:
            if self._state[].waiters.handshake:
                raise NetError.from_errno("handshake", EBUSY)
            var fiber = waiting_fiber("handshake")
            self._state[].waiters.handshake = fiber
            var result = fiber.wait()
            self._state[].waiters.handshake = None
            if result < 0:
                raise NetError.from_errno("handshake", result)

    def _shake_hands(self) raises:
        while True:
            var step: TlsStep
            try:
                step = self._state[].machine.handshake(
                    self._state[].received.span()
                )
            except e:
                self._say_goodbye()
                raise Error(String(e))
            self._consume(step.consumed)
            if step.kind == TlsStep.DONE:
                return
            if step.kind == TlsStep.HAS_OCTETS:
                self._sending().flush_or_break()
            else:
                receive_more(self._state)

    def _read(self, into: Span[mut=True, UInt8, _]) raises -> Int:
        while True:
            var step: TlsStep
            try:
                step = self._state[].machine.read(
                    self._state[].received.span(), into
                )
            except e:
                self._say_goodbye()
                raise Error(String(e))
            self._consume(step.consumed)
            if step.kind == TlsStep.END:
                return 0
            # Answers to requests for new keys, unless a writer takes them
            # along; the peer may wait for them, and say nothing before.
            if self._state[].machine.pending() > 0:
                self._sending().flush_or_break()
            if step.kind == TlsStep.DATA:
                return step.count
            receive_more(self._state)

    def _write(self, octets: Span[UInt8, _]) raises -> Int:
        while True:
            self._sending().await_turn()
            var taken = self.encrypt(octets)
            self._sending().flush_or_break()
            if taken > 0 or len(octets) == 0:
                return taken

    def _consume(self, count: Int):
        self._state[].received.consume(count)
        if len(self._state[].received) == 0:
            # An idle connection holds no memory.
            self._state[].received = Buffer()

    def _say_goodbye(self):
        # An alert or a close_notify: worth a moment, but not a failure. The
        # machine keeps the reason.
        if self._state[].is_broken or self._state[].is_flushing:
            return
        self._state[].tcp.set_write_timeout_ms(_CLOSE_TIMEOUT_MS)
        try:
            self._sending().flush_or_break()
        except:
            self._state[].is_broken = True

    def _let_peer_read(self):
        if self._state[].is_broken:
            return
        try:
            with deadline_in(_CLOSE_TIMEOUT_MS):
                self._state[].tcp.end_sending()
                self._drop_received()
        except:
            self._state[].is_broken = True

    def _drop_received(self) raises:
        # Closing with unread octets would reset the connection, and the peer
        # could lose octets that it has not received yet.
        var octets = List[UInt8](length=SMALL_READ_OCTETS, fill=0)
        for _ in range(_DRAINED_READS_MAX):
            if self._state[].tcp.read(Span(octets)) == 0:
                return

    def _send_and_drop_at_once(self, descriptor: Int32):
        self._sending().flush_at_once(descriptor)
        if self._state[].is_reading or self._state[].machine.has_ended():
            return
        var octets = List[UInt8](length=SMALL_READ_OCTETS, fill=0)
        for _ in range(_DRAINED_READS_MAX):
            if receive_octets(descriptor, Span(octets), MSG_DONTWAIT) <= 0:
                return

    @always_inline
    def _sending(self) -> TlsSending:
        return TlsSending(self._state)

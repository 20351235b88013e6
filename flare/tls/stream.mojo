"""Owns one TLS connection over TCP."""

from flare.core import Buffer, PointerTo, heap_create, heap_destroy
from flare.io import Reader, Writer
from flare.net import NetError, SocketAddr
from flare.runtime.fiber import Fiber
from flare.runtime.socket import OPERATION_TIMEOUT_MS, is_simulated
from flare.runtime.wait import deadline_in, waiting_fiber
from flare.sys.errno import EBUSY
from flare.sys.socket import receive_octets, send_octets
from flare.sys.socket_constants import MSG_DONTWAIT
from flare.tcp import TcpStream

from .config import TlsConfig
from .context import TlsContext
from .error import TlsError
from .machine import TlsMachine, TlsStep
from .session import TlsSession

# A read that waits lends the kernel little; one that follows a full read lends
# what a whole record needs.
comptime _SMALL_READ_OCTETS = 4 * 1024
comptime _LARGE_READ_OCTETS = 17 * 1024
comptime _CLOSE_TIMEOUT_MS = 1_000
# Enough for what has come already.
comptime _ARRIVAL_TIMEOUT_MS = 1
comptime _DRAINED_READS_MAX = 16


struct _StreamState(Movable):
    var tcp: TcpStream
    var machine: TlsMachine
    # Received and not yet decrypted.
    var received: Buffer
    # Encrypted and being sent: it stays in place while the machine goes on.
    var sending: Buffer
    var last_read_was_full: Bool
    var is_reading: Bool
    var is_writing: Bool
    var is_flushing: Bool
    # The writer, while a reader sends.
    var flush_waiter: Optional[Fiber]
    var is_shaking_hands: Bool
    # Who came to read or to write while another shakes hands.
    var handshake_waiter: Optional[Fiber]
    # Some of a record was sent, so nothing else may be.
    var is_broken: Bool

    def __init__(out self, var tcp: TcpStream, var machine: TlsMachine):
        self.tcp = tcp^
        self.machine = machine^
        self.received = Buffer()
        self.sending = Buffer()
        self.last_read_was_full = False
        self.is_reading = False
        self.is_writing = False
        self.is_flushing = False
        self.flush_waiter = None
        self.is_shaking_hands = False
        self.handshake_waiter = None
        self.is_broken = False


struct TlsStream(Movable, Reader, Writer):
    """Owns one end of a connection and closes it at the end of its life.

    What waits parks the calling fiber; in a script, the program. Each wait of
    the transport lasts 30 seconds at most unless `set_read_timeout_ms` or
    `set_write_timeout_ms` says otherwise, and never longer than an enclosing
    `deadline_in`; a handshake as long as the configuration says.

    One fiber may read while another writes, on the same thread; a second reader
    or a second writer gets `net.other … errno=16` (EBUSY). An idle stream may
    be moved to another thread.

    Only `close` tells the peer that all was said. Where a stream just ends its
    life, the peer reads `tls.truncated`.
    """

    var _state: PointerTo[_StreamState]

    def __init__(out self, var tcp: TcpStream, var machine: TlsMachine):
        """Speaks TLS over a connection.

        Args:
            tcp: The connection, before its first octet.
            machine: The end to speak as.
        """
        self._state = heap_create(_StreamState(tcp^, machine^))

    def __deinit__(deinit self):
        """Closes the connection; nothing is said to the peer."""
        heap_destroy(self._state)

    @staticmethod
    def connect(
        host: StringSlice,
        port: UInt16,
        config: TlsConfig,
        *,
        timeout_ms: Optional[Int] = OPERATION_TIMEOUT_MS,
    ) raises -> Self:
        """Connects to a host and checks who it is.

        The configuration is read and checked anew: who connects often makes a
        `TlsContext` once.

        Args:
            host: The name or address of the server.
            port: The port.
            config: What was decided.
            timeout_ms: The longest wait for the transport; the handshake has a
                time of its own.

        Returns:
            The connection, ready to be written and read.

        Raises:
            Error: What `TcpStream.connect` raises; `tls.expired handshake`,
                `tls.wrong_name handshake` and the like (`TlsError.of`).
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
        """Connects to a host and checks who it is.

        Args:
            host: The name or address of the server.
            port: The port.
            context: What was decided, read and checked.
            session: A session to go on with.
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

    def handshake(self) raises:
        """Completes the handshake; afterwards nothing happens.

        Reading and writing do it too. Who accepts calls it on the fiber that
        serves the connection, so that a slow client holds nobody up.

        Raises:
            Error: `net.timeout …` when its time is over, `tls.no_certificate
                handshake`, `tls.plain_http handshake` and the like.
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
        if self._state[].handshake_waiter:
            self._state[].handshake_waiter.value().wake()
        if failure:
            # Half a handshake is no connection: the peer need not wait.
            if self._state[].machine.failure():
                self._let_peer_read()
            self._state[].tcp.close()
            raise failure.take()

    @no_inline
    def read(self, into: Span[mut=True, UInt8, _]) raises -> Int:
        """Reads what has come, and waits only while nothing has.

        Args:
            into: Where to put the octets; one call fills at most 16 KiB.

        Returns:
            How many came; 0 if the peer has said that no more will, or if
            `into` is empty.

        Raises:
            Error: `tls.truncated read` if the transport ended without a word;
                `tls.protocol read`, `tls.alert read`, `net.timeout read` and
                the like.
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
        """Encrypts octets and sends them.

        Args:
            octets: What to write.

        Returns:
            How many were taken; `write_all` goes on until all are.

        Raises:
            Error: `tls.closed write`, `net.timeout write`, `net.reset write`
                and the like.
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

    def close(self):
        """Tells the peer that all was said, and closes; a second time nothing
        happens.

        A fiber that reads or writes gets `net.closed`.
        """
        if not self._state[].tcp.is_open():
            return
        self._state[].machine.close()
        self._say_goodbye()
        if not self._state[].machine.has_ended():
            # The tickets of a server, for one: few clients read them all.
            self._state[].tcp.set_read_timeout_ms(_ARRIVAL_TIMEOUT_MS)
            try:
                self._drop_received()
            except:
                # What has come is read, or somebody else reads.
                self._state[].is_broken = True
        self._state[].tcp.close()

    def close_at_once(self):
        """Closes without waiting for anything; a second time nothing happens.

        The peer is told that all was said if the kernel has room for a word;
        one that has not read for long reads `tls.truncated`, and so does one
        to which a record is on its way. Who waits on the stream gets an error.
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
        """Tells the peer that all was said; reading goes on.

        Raises:
            Error: What `write` raises.
        """
        self.handshake()
        self._state[].machine.close()
        self._flush()

    def set_read_timeout_ms(self, timeout_ms: Optional[Int]):
        """Bounds each wait of `read`; 30 seconds by default.

        Args:
            timeout_ms: The longest wait; none leaves it to `deadline_in`.
        """
        self._state[].tcp.set_read_timeout_ms(timeout_ms)

    def set_write_timeout_ms(self, timeout_ms: Optional[Int]):
        """Bounds each wait of `write`; 30 seconds by default.

        Args:
            timeout_ms: The longest wait; none leaves it to `deadline_in`.
        """
        self._state[].tcp.set_write_timeout_ms(timeout_ms)

    def has_unread(self) -> Bool:
        """Returns whether octets were received that no `read` has given, be
        they less than a record.

        Returns:
            True then; what the kernel has received does not count.
        """
        return (
            len(self._state[].received) > 0
            or self._state[].machine.has_unread()
        )

    def is_open(self) -> Bool:
        """Returns whether `close` was not called yet.

        Returns:
            True also if only the peer has closed.
        """
        return self._state[].tcp.is_open()

    def descriptor(self) -> Int32:
        """Lends the descriptor, for options.

        Returns:
            The descriptor, valid until the stream is closed; -1 if it is.
        """
        return self._state[].tcp.descriptor()

    def peer_address(self) raises -> SocketAddr:
        """Tells which address the peer has.

        Returns:
            The address.

        Raises:
            Error: `net.closed peer_address`.
        """
        return self._state[].tcp.peer_address()

    def local_address(self) raises -> SocketAddr:
        """Tells which address this end has.

        Returns:
            The address.

        Raises:
            Error: `net.closed local_address`.
        """
        return self._state[].tcp.local_address()

    def peer_subject(self) -> Optional[String]:
        """Tells whom the certificate of the peer is for.

        Returns:
            The whole name in the form of RFC 4514, however long; none without a
            certificate, and before the handshake is complete.
        """
        return self._state[].machine.peer_subject()

    def server_name(self) -> Optional[String]:
        """Tells which name the client has asked for.

        Returns:
            The name, escaped where it is not printable; none without one.
        """
        return self._state[].machine.server_name()

    def application_protocol(self) -> Optional[String]:
        """Tells which application protocol was agreed on.

        Returns:
            Its name, escaped where it is not printable; none without one.
        """
        return self._state[].machine.application_protocol()

    def version(self) -> String:
        """Names the protocol version.

        Returns:
            `TLSv1.2` or `TLSv1.3`.
        """
        return self._state[].machine.version()

    def cipher(self) -> String:
        """Names the cipher suite as the registry of IANA does.

        Returns:
            The name, empty before it is known.
        """
        return self._state[].machine.cipher()

    def is_resumed(self) -> Bool:
        """Returns whether the handshake was a short one.

        Returns:
            True if it went on with a session.
        """
        return self._state[].machine.is_resumed()

    def take_session(self) -> Optional[TlsSession]:
        """Takes the session that the server has offered last.

        Returns:
            The session, or none. In TLS 1.3 it comes some time after the
            handshake, with what is read.
        """
        return self._state[].machine.take_session()

    def status_response(self) -> List[UInt8]:
        """Tells what the server has stapled; nobody has checked it.

        Returns:
            An OCSP response in DER, empty without one.
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
            if self._state[].handshake_waiter:
                raise NetError.from_errno("handshake", EBUSY)
            var fiber = waiting_fiber("handshake")
            self._state[].handshake_waiter = fiber
            var result = fiber.wait()
            self._state[].handshake_waiter = None
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
                self._flush()
            else:
                self._receive()

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
                self._flush()
            if step.kind == TlsStep.DATA:
                return step.count
            self._receive()

    def _write(self, octets: Span[UInt8, _]) raises -> Int:
        while True:
            self._await_flush()
            var taken: Int
            try:
                taken = self._state[].machine.write(octets)
            except e:
                raise Error(String(e))
            self._flush()
            if taken > 0 or len(octets) == 0:
                return taken

    def _receive(self) raises:
        var room = _SMALL_READ_OCTETS
        if self._state[].last_read_was_full:
            room = _LARGE_READ_OCTETS
        var target = self._state[].received.reserve(room)
        var count = self._state[].tcp.read(target, room)
        self._state[].received.advance(count)
        self._state[].last_read_was_full = count == room
        if count == 0:
            try:
                self._state[].machine.receive_end()
            except e:
                raise Error(String(e))

    def _consume(self, count: Int):
        self._state[].received.consume(count)
        if len(self._state[].received) == 0:
            # An idle connection holds no memory.
            self._state[].received = Buffer()

    def _await_flush(self) raises:
        while self._state[].is_flushing:
            var fiber = waiting_fiber("write")
            self._state[].flush_waiter = fiber
            var result = fiber.wait()
            self._state[].flush_waiter = None
            if result < 0:
                raise NetError.from_errno("write", result)
        if self._state[].is_broken:
            raise Error(String(TlsError(TlsError.CLOSED, "write")))

    @no_inline
    def _flush(self) raises:
        # Whoever sends already goes on until nothing is left.
        if self._state[].is_flushing:
            return
        self._state[].is_flushing = True
        var failure = Optional[Error](None)
        while self._state[].machine.pending() > 0 and not failure:
            self._state[].machine.exchange_output(self._sending())
            try:
                self._state[].tcp.write_all(self._state[].sending.span())
            except e:
                self._state[].is_broken = True
                failure = e^
            self._state[].sending.clear()
        self._state[].is_flushing = False
        if self._state[].flush_waiter:
            self._state[].flush_waiter.value().wake()
        self._state[].sending = Buffer()
        self._state[].machine.release_output()
        if failure:
            raise failure.take()

    def _say_goodbye(self):
        # An alert or a close_notify: worth a moment, but not a failure. The
        # machine keeps the reason.
        if self._state[].is_broken or self._state[].is_flushing:
            return
        self._state[].tcp.set_write_timeout_ms(_CLOSE_TIMEOUT_MS)
        try:
            self._flush()
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
        # Closing over octets that nobody has read would reset the connection,
        # and take from the peer what it has yet to read.
        var octets = List[UInt8](length=_SMALL_READ_OCTETS, fill=0)
        for _ in range(_DRAINED_READS_MAX):
            if self._state[].tcp.read(Span(octets)) == 0:
                return

    def _send_and_drop_at_once(self, descriptor: Int32):
        var output = self._state[].machine.take_output()
        _ = send_octets(descriptor, output.span(), MSG_DONTWAIT)
        if self._state[].is_reading or self._state[].machine.has_ended():
            return
        var octets = List[UInt8](length=_SMALL_READ_OCTETS, fill=0)
        for _ in range(_DRAINED_READS_MAX):
            if receive_octets(descriptor, Span(octets), MSG_DONTWAIT) <= 0:
                return

    def _sending(self) -> PointerTo[Buffer]:
        return Pointer(to=self._state[].sending).unsafe_origin_cast[
            MutUntrackedOrigin
        ]()

"""Speaks TLS 1.2 and 1.3 without I/O: octets in, octets out.

The owner receives octets, and passes those not yet consumed as the `window`.
The octets that the machine wants to send collect in its output. The handshake
comes first:

    step = machine.handshake(window)     until the kind is `DONE`
    step = machine.read(window, into)    `DATA`, `END` or `NEED_OCTETS`
    taken = machine.write(octets)
    machine.close()

After every call, the owner drops `step.consumed` octets from the front of the
window. Any call may add to the output, even one that raises: an alert then
reports the error to the peer.

OpenSSL supplies the clock and the random numbers.
"""

from std.memory import ArcPointer

from flare.core import (
    Buffer,
    PointerTo,
    heap_create,
    heap_destroy,
    write_escaped,
)
from flare.sys.openssl_bio import BioState
from flare.sys.openssl_connection import (
    SSL_CLOSED,
    SSL_DONE,
    SSL_WANT_READ,
    SslConnection,
)

from .context import Generation, TlsContext
from .error import TlsError
from .failure import failure_of
from .machine_state import TlsMachineState
from .server_name import ServerName
from .session import TlsSession

comptime OUTPUT_OCTETS_MAX = 64 * 1024
"""The most output that may wait to be sent before `write` takes no more."""

# The output limit does not apply to handshakes and key updates. A peer that
# requests more of them than this is attacking.
comptime _OUTPUT_OCTETS_LIMIT = 512 * 1024
comptime _RECORD_OCTETS_MAX = 16 * 1024


@fieldwise_init
struct TlsStep(TrivialRegisterPassable):
    """The result of a call."""

    comptime DONE = 0
    """The handshake is complete, and all its octets were sent."""
    comptime NEED_OCTETS = 1
    """The whole window was consumed, and more octets are needed."""
    comptime HAS_OCTETS = 2
    """The output must be sent before the handshake continues."""
    comptime DATA = 3
    """`count` octets were decrypted."""
    comptime END = 4
    """The peer has ended its stream."""

    var kind: Int
    """One of the constants above."""
    var consumed: Int
    """Octets to drop from the front of the window."""
    var count: Int
    """Octets that were decrypted."""


struct TlsMachine(Movable):
    """One end of a TLS connection, without I/O."""

    var state: PointerTo[TlsMachineState]
    """The heap state."""

    def __init__(out self, *, unsafe_state: PointerTo[TlsMachineState]):
        """Takes ownership of a state.

        Args:
            unsafe_state: A state made by `heap_create`.

        Safety:
            No other code frees it.
        """
        self.state = unsafe_state

    def __deinit__(deinit self):
        """Frees the connection, without a close_notify."""
        heap_destroy(self.state)

    @staticmethod
    def client(
        context: TlsContext,
        host: StringSlice,
        session: Optional[PointerTo[TlsSession]] = None,
    ) raises -> Self:
        """Creates the client end of a connection.

        Args:
            context: A context for clients.
            host: The server's name or address. The certificate must be for it,
                unless the configuration expects another name.
            session: A session to resume; ignored if it is for another name or
                from another context.

        Returns:
            The machine; its first handshake step has octets to send.

        Raises:
            Error: `tls.bad_name connect`, or `tls.other start` if memory runs
                out.
        """
        var generation = context.generation()
        if generation[].is_server:
            raise Error(String(TlsError(TlsError.BAD_CONFIG, "start")))
        var name = ServerName.parse(
            generation[]
            .expected_name.value() if generation[]
            .expected_name else String(host)
        )
        var machine = Self._create(generation, name.text)
        var connection = machine.state[].connection
        var is_set = True
        if not name.is_address:
            is_set = connection.ask_for_name(name.text)
        if generation[].verifies:
            if name.is_address:
                is_set = is_set and connection.expect_address(name.text)
            else:
                is_set = is_set and connection.expect_name(name.text)
        if not is_set:
            raise Error(String(TlsError(TlsError.OTHER, "start")))
        if generation[].asks_for_status:
            connection.ask_for_status()
        if session and session.value()[].is_for(generation, name.text):
            _ = connection.resume(session.value()[].unsafe_address())
        return machine^

    @staticmethod
    def server(context: TlsContext) raises -> Self:
        """Creates the server end of a connection.

        Args:
            context: A context for servers.

        Returns:
            The machine; its handshake needs octets first.

        Raises:
            Error: `tls.other start` if memory runs out.
        """
        var generation = context.generation()
        if not generation[].is_server:
            raise Error(String(TlsError(TlsError.BAD_CONFIG, "start")))
        return Self._create(generation, String())

    @staticmethod
    def _create(
        generation: ArcPointer[Generation], name: String
    ) raises -> Self:
        if not generation[].transport:
            raise Error(String(TlsError(TlsError.OTHER, "start")))
        var io = heap_create(
            BioState(generation[].library, _OUTPUT_OCTETS_LIMIT)
        )
        var made = SslConnection.create(
            generation[].contexts[0],
            generation[].transport.value(),
            io,
            is_server=generation[].is_server,
        )
        if not made:
            heap_destroy(io)
            raise Error(String(TlsError(TlsError.OTHER, "start")))
        return Self(
            unsafe_state=heap_create(
                TlsMachineState(made.value(), io, generation, name)
            )
        )

    @no_inline
    def handshake(self, window: Span[UInt8, _]) raises TlsError -> TlsStep:
        """Continues the handshake.

        Args:
            window: The received octets that were not consumed.

        Returns:
            `HAS_OCTETS`, `NEED_OCTETS` or `DONE`.

        Raises:
            TlsError: The cause of a failed handshake, also in later calls.
        """
        self._check("handshake")
        var consumed = 0
        if not self.state[].is_open:
            var outcome: Int
            while True:
                self._lend(window, consumed)
                outcome = self.state[].connection.handshake()
                var taken = self._take_back()
                consumed += taken
                if outcome != SSL_WANT_READ or taken == 0:
                    break
                if consumed == len(window):
                    break
            if outcome == SSL_DONE:
                self.state[].is_open = True
            elif outcome != SSL_WANT_READ:
                raise self._fail("handshake")
        if self.pending() > 0:
            return TlsStep(TlsStep.HAS_OCTETS, consumed, 0)
        if self.state[].is_open:
            return TlsStep(TlsStep.DONE, consumed, 0)
        return TlsStep(TlsStep.NEED_OCTETS, consumed, 0)

    @no_inline
    def read(
        self, window: Span[UInt8, _], into: Span[mut=True, UInt8, _]
    ) raises TlsError -> TlsStep:
        """Decrypts at most one record.

        Args:
            window: The received octets that were not consumed.
            into: The buffer for the plaintext; not empty.

        Returns:
            `DATA`, `END` or `NEED_OCTETS`.

        Raises:
            TlsError: The cause of a failed connection, also in later calls.
        """
        self._check("read")
        if self.state[].has_ended:
            return TlsStep(TlsStep.END, 0, 0)
        if not self.state[].is_open or len(into) == 0:
            raise TlsError(TlsError.CLOSED, "read")
        var consumed = 0
        while True:
            self._lend(window, consumed)
            var result = self.state[].connection.read(into)
            var taken = self._take_back()
            consumed += taken
            if result[0] == SSL_DONE:
                return TlsStep(TlsStep.DATA, consumed, result[1])
            if result[0] == SSL_CLOSED:
                self.state[].has_ended = True
                return TlsStep(TlsStep.END, consumed, 0)
            if result[0] != SSL_WANT_READ:
                raise self._fail("read")
            if taken == 0 or consumed == len(window):
                return TlsStep(TlsStep.NEED_OCTETS, consumed, 0)

    @no_inline
    def write(self, octets: Span[UInt8, _]) raises TlsError -> Int:
        """Encrypts octets into the output.

        Args:
            octets: The octets to encrypt.

        Returns:
            The number of octets taken; 0 while `OUTPUT_OCTETS_MAX` wait to be
            sent.

        Raises:
            TlsError: `tls.closed write` before the handshake is complete and
                after `close`, or the cause of a failed connection.
        """
        self._check("write")
        if not self.state[].is_open or self.state[].is_closed:
            raise TlsError(TlsError.CLOSED, "write")
        var taken = 0
        while taken < len(octets) and self.pending() < OUTPUT_OCTETS_MAX:
            var end = min(taken + _RECORD_OCTETS_MAX, len(octets))
            var result = self.state[].connection.write(octets[taken:end])
            if result[0] != SSL_DONE:
                raise self._fail("write")
            taken += result[1]
        return taken

    def close(self):
        """Ends this end's stream with a close_notify; reading continues.

        The call has no effect during a handshake, after a failure, or if
        repeated.
        """
        if self.state[].is_closed or self.state[].failure:
            return
        self.state[].is_closed = True
        if self.state[].is_open:
            _ = self.state[].connection.close()
            self.state[].connection.library.clear_errors()

    def receive_end(self) raises TlsError:
        """Reports that the transport has ended, after the window was consumed.

        Raises:
            TlsError: `tls.truncated` without a close_notify of the peer: an
                attacker may have cut the connection.
        """
        var operation: StaticString = "handshake"
        if self.state[].is_open:
            operation = "read"
        self._check(operation)
        if self.state[].has_ended:
            return
        var error = TlsError(TlsError.TRUNCATED, operation)
        self.state[].failure = error
        raise error

    def pending(self) -> Int:
        """Returns the number of octets that wait to be sent.

        Returns:
            The number of octets.
        """
        return len(self.state[].io[].output)

    def output(self) -> Span[UInt8, origin_of(self)]:
        """Returns a view of the octets that wait to be sent.

        Returns:
            A view that the next call of the machine may invalidate.
        """
        if self.pending() == 0:
            return Span[UInt8, origin_of(self)]()
        return Span[UInt8, origin_of(self)](
            unsafe_ptr=self.state[]
            .io[]
            .output.unsafe_front()
            .unsafe_mut_cast[False]()
            .unsafe_origin_cast[origin_of(self)](),
            length=self.pending(),
        )

    def sent(self, count: Int):
        """Drops sent octets from the front of the output.

        Args:
            count: At most `pending()`.
        """
        self.state[].io[].output.consume(count)

    def exchange_output(self, empty: PointerTo[Buffer]):
        """Swaps the output for an empty buffer, so that the caller can send it
        while the machine continues.

        Args:
            empty: An empty buffer; afterwards it holds the output.
        """
        swap(self.state[].io[].output, empty[])

    def lend_output(self, var memory: Buffer):
        """Sets the owner's buffer as the output.

        Args:
            memory: An empty buffer. The present output must be empty too.
        """
        swap(self.state[].io[].output, memory)

    def take_output(self) -> Buffer:
        """Takes the output with its memory, and leaves an empty one.

        Returns:
            The octets to send, possibly none.
        """
        var output = Buffer()
        swap(self.state[].io[].output, output)
        return output^

    def output_capacity(self) -> Int:
        """Returns how much memory the output holds.

        Returns:
            The number of octets.
        """
        return self.state[].io[].output.capacity()

    def release_output(self):
        """Frees the output's memory if it contains no octets."""
        if self.pending() == 0 and self.state[].io[].output.capacity() > 0:
            self.state[].io[].output = Buffer()

    def has_unread(self) -> Bool:
        """Returns whether the machine holds received octets that `read` has
        not returned.

        Returns:
            True if it does, even for a part of a record.
        """
        return self.state[].connection.has_pending()

    def is_open(self) -> Bool:
        """Returns whether the handshake is complete.

        Returns:
            True after the handshake.
        """
        return self.state[].is_open

    def is_closed(self) -> Bool:
        """Returns whether this end has ended its stream.

        Returns:
            True after `close`.
        """
        return self.state[].is_closed

    def has_ended(self) -> Bool:
        """Returns whether the peer has ended its stream.

        Returns:
            True after its close_notify.
        """
        return self.state[].has_ended

    def failure(self) -> Optional[TlsError]:
        """Returns the error that ended the connection.

        Returns:
            The error, or `None`.
        """
        return self.state[].failure

    def is_resumed(self) -> Bool:
        """Returns whether the handshake resumed a session.

        Returns:
            True if the handshake was an abbreviated one.
        """
        return self.state[].connection.is_resumed()

    def version(self) -> String:
        """Returns the protocol version.

        Returns:
            `TLSv1.2` or `TLSv1.3`.
        """
        return self.state[].connection.version()

    def cipher(self) -> String:
        """Returns the IANA name of the cipher suite.

        Returns:
            The name, empty before it is known.
        """
        return self.state[].connection.cipher()

    def application_protocol(self) -> Optional[String]:
        """Returns the application protocol that both ends agreed on.

        Returns:
            Its name, with unprintable octets escaped; `None` without one.
        """
        return _escaped(self.state[].connection.application_protocol())

    def server_name(self) -> Optional[String]:
        """Returns the server name that the client asked for.

        Returns:
            The name, with unprintable octets escaped; `None` without one.
        """
        return _escaped(self.state[].connection.server_name())

    def peer_subject(self) -> Optional[String]:
        """Returns the subject of the peer's certificate.

        Returns:
            The whole name in the form of RFC 4514, of any length. `None`
            without a certificate, or if memory runs out. Do not trust it if
            the client skips verification.
        """
        var certificate = self.state[].connection.peer_certificate()
        if not certificate:
            return None
        var subject = certificate.value().subject()
        certificate.value().free()
        if not subject:
            return None
        return String(StringSlice(unsafe_from_utf8=Span(subject.value())))

    def status_response(self) -> List[UInt8]:
        """Returns the OCSP response that the server stapled, unverified.

        Returns:
            The response in DER; empty without one.
        """
        return self.state[].connection.status_response()

    def take_session(self) -> Optional[TlsSession]:
        """Takes the latest session that the server offered.

        Returns:
            The session, or `None`. In TLS 1.3 it arrives some time after the
            handshake, while reading.
        """
        var session = self.state[].io[].session
        if not session:
            return None
        self.state[].io[].session = None
        return TlsSession(
            unsafe_session=session.value(),
            generation=self.state[].generation,
            name=self.state[].name,
        )

    def dangerous_keys(self) -> String:
        """Returns the secrets of the connection, if the configuration keeps
        them.

        Returns:
            Lines in the form that decrypting tools read.
        """
        return String(
            StringSlice(unsafe_from_utf8=self.state[].io[].keys.span())
        )

    def handshake_timeout_ms(self) -> Int:
        """Returns the time limit of the handshake.

        Returns:
            Milliseconds.
        """
        return self.state[].generation[].handshake_timeout_ms

    def _check(self, operation: StaticString) raises TlsError:
        if self.state[].failure:
            var error = self.state[].failure.value()
            error.operation = operation
            raise error

    def _lend(self, window: Span[UInt8, _], start: Int):
        var io = self.state[].io
        io[].window = (
            window.unsafe_ptr()
            .unsafe_offset(start)
            .unsafe_mut_cast[True]()
            .unsafe_origin_cast[MutUntrackedOrigin]()
            .unsafe_bitcast[NoneType]()
        )
        io[].window_octets = len(window) - start
        io[].consumed = 0

    def _take_back(self) -> Int:
        var io = self.state[].io
        io[].window = None
        io[].window_octets = 0
        return io[].consumed

    def _fail(self, operation: StaticString) -> TlsError:
        var connection = self.state[].connection
        var found = connection.library.take_error()
        var error = failure_of(
            operation, found[0], found[1], connection.verify_result()
        )
        if self.state[].io[].is_over_limit:
            error = TlsError(TlsError.TOO_LARGE, operation)
        self.state[].failure = error
        return error


def _escaped(octets: List[UInt8]) -> Optional[String]:
    if len(octets) == 0:
        return None
    var text = String()
    write_escaped(Span(octets), text)
    return text

"""Carries one exchange of a client in HTTP/1.1.

The machine of `proto/h1` decides which octets may be sent, and parses the
received ones. It writes into the output of the connection and reads in its
window. An exchange has the connection for itself. No other module of the client
reaches the machine.
"""

from flare.core import PointerTo
from flare.message import HeaderMap
from flare.net import NetError
from flare.proto.h1 import BodyLength, H1Machine, HttpEvent
from flare.runtime.socket_exchange import SentAndReceived
from flare.sys.errno import EAGAIN

from ...client_error import ClientError, Phase, raised
from ..transport.client_connection import ClientConnection
from .exchange_state import ClientExchangeState

comptime _COPIED_OCTETS_MAX = 16 * 1024
comptime _ANSWER_TIMEOUT_MS = 100


@fieldwise_init
struct H1Exchange(TrivialRegisterPassable):
    """A handle to an exchange whose connection speaks HTTP/1.1."""

    var state: PointerTo[ClientExchangeState]
    """The exchange."""

    def begin(self, content_octets_max: Int):
        """Starts the next exchange of the connection.

        Args:
            content_octets_max: The longest content to accept.
        """
        self._connection().state[].exchanges += 1
        self.limit_content(content_octets_max)

    def limit_content(self, octets_max: Int):
        """Limits the content of the response.

        Args:
            octets_max: The longest content to accept.
        """
        self._machine().limit_body(octets_max)

    def write_head(
        self,
        method: StringSlice,
        target: StringSlice,
        fields: HeaderMap,
        length: BodyLength,
    ) raises:
        """Writes the head of the request to the output, without sending it.

        Args:
            method: A token.
            target: The request target.
            fields: The fields, with one Host.
            length: The length of the content.

        Raises:
            ClientError: `client.bad_request prepare`; the connection is
                unchanged.
        """
        try:
            self._machine().send_request_head(
                method, target, fields, length, self._connection().output()
            )
        except e:
            raise raised(ClientError.BAD_REQUEST, Phase.PREPARE, e.reason)

    def send(self, content: Span[UInt8, _], *, may_wait: Bool) raises:
        """Sends the head and a whole content.

        Args:
            content: The octets.
            may_wait: Whether one step of the loop may send a short request and
                submit the first receive.

        Raises:
            ClientError: If neither the request could be sent nor a response
                can be read.
        """
        var c = self._connection()
        var is_copied = len(content) <= _COPIED_OCTETS_MAX
        try:
            if is_copied:
                self._machine().send_data(content, c.output())
            else:
                _ = self._machine().count_data(len(content))
            self._machine().send_end(c.output())
        except e:
            raise raised(ClientError.BAD_REQUEST, Phase.PREPARE, e.reason)
        if may_wait and is_copied and c.can_send_and_fill():
            self.state[].is_send_due = True
            return
        try:
            self.flush()
            if not is_copied:
                self._write_all(content)
        except e:
            self.go_on_without_sending(e)

    def write(self, octets: Span[UInt8, _]) raises:
        """Sends the output, then octets of the content.

        Args:
            octets: The octets.

        Raises:
            ClientError: `client.bad_request send` if the content exceeds its
                announced length; and the errors of the transport.
        """
        var c = self._connection()
        var is_copied = self._machine().sends_chunks()
        try:
            if is_copied:
                self._machine().send_data(octets, c.output())
            else:
                _ = self._machine().count_data(len(octets))
        except e:
            raise raised(ClientError.BAD_REQUEST, Phase.SEND, e.reason)
        self.flush()
        if not is_copied:
            self._write_all(octets)

    def end(self, trailers: HeaderMap) raises:
        """Ends the content, and sends the output.

        Args:
            trailers: The trailer section; dropped unless the content is
                chunked.

        Raises:
            ClientError: `client.bad_request send` if the content is shorter
                than announced; and the errors of the transport.
        """
        var output = self._connection().output()
        try:
            if len(trailers) > 0:
                self._machine().send_trailers(trailers, output)
            self._machine().send_end(output)
        except e:
            raise raised(ClientError.BAD_REQUEST, Phase.SEND, e.reason)
        self.flush()

    def flush(self) raises:
        """Sends the output.

        Raises:
            The error of the transport.
        """
        self._connection().flush(
            self.state[].clock, self.state[].timeouts.write_ms
        )

    def stop_sending(self, failure: ClientError):
        """Records that the rest of the request is not sent, while a response
        may still be read.

        Args:
            failure: The error of sending.
        """
        var c = self._connection()
        self.state[].was_cut = True
        if failure.kind == ClientError.RESET:
            c.state[].was_reset = True
        c.state[].output.clear()

    def go_on_without_sending(self, cause: Error) raises:
        """Prepares to read a response that arrived before the whole request was
        sent: a server need not read a request that it refuses.

        Args:
            cause: The error of sending.

        Raises:
            ClientError: The error for `cause`, if there is no response.
        """
        var failure = ClientError.because(Phase.SEND, cause)
        self.stop_sending(failure)
        if (
            failure.kind != ClientError.RESET
            and failure.kind != ClientError.CLOSED
            and failure.kind != ClientError.TIMEOUT
        ):
            raise Error(failure)
        if not self._has_answer():
            raise Error(failure)

    def send_due(self, first_octet_ms: Int) raises:
        """Sends a request that has waited for the first receive.

        Args:
            first_octet_ms: The longest wait for the response.

        Raises:
            ClientError: If neither the request could be sent nor a response
                can be read.
        """
        var c = self._connection()
        self.state[].is_send_due = False
        var done: SentAndReceived
        try:
            done = c.send_and_fill(self.state[].clock.left(first_octet_ms))
        except e:
            raise Error(ClientError.because(Phase.SEND, e))
        if done.received > 0:
            self.state[].has_heard = not done.came_first
        elif done.received == 0:
            self._machine().receive_end()
        if done.came_first and done.received > 0 and c.state[].exchanges > 1:
            raise raised(
                ClientError.CLOSED,
                Phase.HEAD,
                "the peer has spoken before it was asked",
            )
        if done.received < 0 and done.received != -EAGAIN:
            var phase = Phase.HEAD
            if len(c.state[].output) > 0:
                phase = Phase.SEND
            raise Error(
                ClientError.because(phase, self._failure("read", done.received))
            )
        if done.sent < 0:
            var cause = self._failure("write", done.sent)
            if done.received == 0:
                raise Error(ClientError.because(Phase.SEND, cause))
            self.go_on_without_sending(cause)
            return
        # If not all was taken, the rest goes out as it would have alone.
        try:
            self.flush()
        except e:
            self.go_on_without_sending(e)

    @always_inline
    def next(self, phase: StaticString) raises -> UInt8:
        """Returns the next event, without waiting.

        A response head stays in place until `consume_head`, content until
        `take_content`; all other octets are consumed.

        Args:
            phase: The phase, for the error.

        Returns:
            A kind of `HttpEvent`; after `NEED_OCTETS`, call `receive`.

        Raises:
            ClientError: If the peer violates the protocol or a limit.
        """
        var c = self._connection()
        var window = c.window()
        var event = self._event(window, phase)
        if event.kind == HttpEvent.RESPONSE_HEAD:
            self.state[].head_octets = event.consumed
            return event.kind
        if event.kind == HttpEvent.DATA:
            c.consume(event.start)
            self.state[].content_octets = event.length
            return event.kind
        if event.kind == HttpEvent.TRAILERS:
            self._keep_trailers()
        c.consume(event.consumed)
        return event.kind

    def receive(self, most_ms: Int) raises:
        """Waits for octets.

        Args:
            most_ms: The longest wait.

        Raises:
            The error of the transport.
        """
        self._note(self._connection().fill(self.state[].clock.left(most_ms)))

    @always_inline
    def octets(self) -> Span[UInt8, ImmUntrackedOrigin]:
        """Returns the unconsumed head, otherwise the unread content.

        Returns:
            A view that receiving and consuming invalidates.
        """
        return self._connection().window()

    def consume_head(self):
        """Drops the head of the response after the caller has read it."""
        self._connection().consume(self.state[].head_octets)
        self.state[].head_octets = 0

    def take_content(self, count: Int):
        """Drops content after the caller has read it.

        Args:
            count: The number of octets, at most `content_octets`.
        """
        self._connection().consume(count)
        self.state[].content_octets -= count

    def direct_octets(self) -> Int:
        """Returns how many of the next octets are content without framing.

        Returns:
            The most octets that may be received straight into the memory of the
            content; 0 if they need to be looked at first.
        """
        if len(self._connection().state[].received) != 0:
            return 0
        return self._machine().plain_octets()

    def receive_content(self, into: Span[mut=True, UInt8, _]) raises -> Int:
        """Receives content directly into memory.

        Args:
            into: The destination; at most `direct_octets` long, so that no
                other octets arrive with it.

        Returns:
            The number of octets; 0 at the end of the connection.

        Raises:
            ClientError: If the content exceeds its limit; and the errors of
                the transport.
        """
        var count = self._connection().read(
            into, self.state[].clock.left(self.state[].timeouts.read_ms)
        )
        self._note(count)
        if count == 0:
            return 0
        var event = self._event(into[0:count], Phase.CONTENT)
        if event.length < count:
            # The limit lies within what came: the next event says so.
            _ = self._event(into[event.length : count], Phase.CONTENT)
        return event.length

    def has_content(self) -> Bool:
        """Returns whether the response has content.

        Returns:
            False if the head announces no content, or an empty one.
        """
        return self._machine().has_body()

    def announced_octets(self) -> Int:
        """Returns the announced length of the response's content.

        Returns:
            The length; -1 if only the end shows it.
        """
        if not self._machine().has_counted_body():
            return -1
        return self.state[].head.content_length

    def can_carry_another(self) -> Bool:
        """Returns whether the connection may carry another exchange.

        Returns:
            True between two exchanges, if no unexpected octets have arrived.
        """
        var c = self._connection()
        return (
            not self.state[].was_cut
            and len(c.state[].received) == 0
            and len(c.state[].output) == 0
            and self._machine().can_reuse()
        )

    @always_inline
    def _connection(self) -> ClientConnection:
        return self.state[].connection.unsafe_value()

    @always_inline
    def _machine(self) -> H1Machine:
        return H1Machine(
            Pointer(to=self._connection().state[].h1).unsafe_origin_cast[
                MutUntrackedOrigin
            ]()
        )

    @always_inline
    def _event(
        self, octets: Span[UInt8, _], phase: StaticString
    ) raises -> HttpEvent:
        var head = Pointer(to=self.state[].head).unsafe_origin_cast[
            MutUntrackedOrigin
        ]()
        try:
            return self._machine().next_event(octets, head)
        except e:
            raise _broken_protocol(e.reason, phase)

    @no_inline
    def _keep_trailers(self):
        _ = self.state[].trailers.unsafe_append_parsed(
            self.state[].head.trailer_fields(self.octets())
        )

    def _note(self, count: Int):
        if count == 0:
            self._machine().receive_end()
        else:
            self.state[].has_heard = True

    def _write_all(self, octets: Span[UInt8, _]) raises:
        self._connection().write_all(
            octets, self.state[].clock, self.state[].timeouts.write_ms
        )

    def _has_answer(self) -> Bool:
        # Octets that the kernel has received are available even if sending has
        # failed.
        var c = self._connection()
        try:
            if len(c.state[].received) == 0:
                self._note(c.fill(_ANSWER_TIMEOUT_MS))
            return len(c.state[].received) > 0
        except:
            return False

    def _failure(self, operation: StaticString, errno: Int) -> Error:
        var address = (
            self._connection().state[].transport.socket.value().address()
        )
        return Error(NetError.from_errno(operation, errno, address))


def _broken_protocol(reason: StaticString, phase: StaticString) -> Error:
    var kind = ClientError.PROTOCOL
    if reason.find("exceed") >= 0 or reason.startswith("too many"):
        kind = ClientError.TOO_LARGE
    return raised(kind, phase, reason)

"""Carries out one exchange of a client: request out, response in.

This is the joint between a call and the protocol that is spoken. Calls and
streams know no connection, and protocols know no call. Here stand, once, the
rules of all protocols: bounds of waits, 100 (Continue), early responses,
content in memory and bit by bit. `ProtocolExchange` does the rest.

After an error the state of the exchange is unknown: the caller discards it.
"""

from flare.core import Buffer, PointerTo
from flare.message import FieldSection, HeaderMap
from flare.net import NetError
from flare.proto.event import HttpEvent
from flare.proto.h1 import BodyLength
from flare.proto.head import Head
from flare.tls import TlsSession

from std.memory import unsafe_memcpy

from ...client_error import ClientError, Phase, raised
from ...received import Received, ReceivedState
from ...version import HttpVersion
from ..transport.clock import now
from .exchange_state import ClientExchangeState
from .protocol_exchange import ProtocolExchange

comptime _ANNOUNCED_OCTETS_MAX = 256 * 1024
comptime _DIRECT_READ_OCTETS = 64 * 1024
comptime _DROPPED_OCTETS_MAX = 64 * 1024
comptime _CONTINUE = 100


@fieldwise_init
struct ClientExchange(TrivialRegisterPassable):
    """A handle to one exchange. It has a connection from `Pool.lend` until
    `Pool.release` or `Pool.discard`.
    """

    var state: PointerTo[ClientExchangeState]
    """The exchange, in the block of its call."""

    def begin(self, content_octets_max: Int):
        """Starts an exchange on the connection.

        Args:
            content_octets_max: The longest content to accept.
        """
        ref s = self.state[]
        s.head_octets = 0
        s.content_octets = 0
        s.has_heard = False
        s.was_cut = False
        s.is_send_due = False
        if len(s.trailers) > 0:
            s.trailers = HeaderMap()
        self._protocol().begin(content_octets_max)

    def write_head(
        self,
        method: StringSlice,
        target: StringSlice,
        fields: HeaderMap,
        length: BodyLength,
    ) raises:
        """Writes the head of the request, to be sent with the next octets.

        Args:
            method: A token.
            target: The request target.
            fields: The fields, with one Host.
            length: The length of the content.

        Raises:
            ClientError: `client.bad_request prepare`; the connection is as it
                was.
        """
        self._protocol().write_head(method, target, fields, length)

    def send(self, content: Span[UInt8, _], *, expects_continue: Bool) raises:
        """Sends the head and a whole content.

        If possible, one step of the loop sends a short request and waits for
        the response.

        Args:
            content: The octets.
            expects_continue: The head asks for 100 (Continue).

        Raises:
            ClientError: If neither the request could be sent nor a response
                can be read.
        """
        if expects_continue and not self.may_go_on():
            return
        self._protocol().send(content, may_wait=not expects_continue)

    def flush(self) raises:
        """Sends the head.

        Raises:
            The error of the transport.
        """
        self._protocol().flush()

    def may_go_on(self) raises -> Bool:
        """Returns whether to send the content, after sending the head and
        waiting up to `continue_ms` for 100 (Continue).

        Returns:
            False if a final response has arrived, or sending failed. The
            connection cannot be reused then.

        Raises:
            ClientError: If the connection ends without a response.
        """
        var protocol = self._protocol()
        try:
            protocol.flush()
        except e:
            protocol.go_on_without_sending(e)
            return False
        var deadline_ms = now() + self.state[].timeouts.continue_ms
        while True:
            var kind = protocol.next(Phase.HEAD)
            if kind == HttpEvent.RESPONSE_HEAD:
                self.state[].was_cut = True
                return False
            if kind == HttpEvent.INFORMATIONAL_HEAD:
                if self.status() == _CONTINUE:
                    return True
            elif kind != HttpEvent.NEED_OCTETS:
                raise _closed_early()
            elif not self._receive_until(deadline_ms):
                return True

    def write(self, octets: Span[UInt8, _]) raises:
        """Sends octets of the content, preceded by the head if it is unsent.

        Args:
            octets: The octets.

        Raises:
            ClientError: `client.bad_request send` if the content exceeds its
                announced length; and the errors of the transport.
        """
        self._protocol().write(octets)

    def end(self, trailers: HeaderMap) raises:
        """Ends the content.

        Args:
            trailers: The trailer section; dropped unless the content is
                chunked.

        Raises:
            ClientError: `client.bad_request send` if the content is shorter
                than announced; and the errors of the transport.
        """
        self._protocol().end(trailers)

    def stop_sending(self, failure: ClientError):
        """Records that the rest of the request is not sent, while a response
        may still be read.

        Args:
            failure: The error of sending.
        """
        self._protocol().stop_sending(failure)

    def receive_head(self) raises -> Int:
        """Waits for the head of the response.

        Returns:
            The status; the other parts of the head are valid until
            `consume_head`.

        Raises:
            ClientError: If no valid head arrives.
        """
        return self.receive_head_within(self.state[].timeouts.first_octet_ms)

    def receive_head_within(self, first_octet_ms: Int) raises -> Int:
        """Waits for the head of the response.

        Args:
            first_octet_ms: The longest wait for its first octet.

        Returns:
            The status.

        Raises:
            ClientError: If no valid head arrives.
        """
        var protocol = self._protocol()
        if self.state[].head_octets > 0:
            # It came instead of 100 (Continue).
            return self.status()
        if self.state[].is_send_due:
            protocol.send_due(first_octet_ms)
        while True:
            var kind = protocol.next(Phase.HEAD)
            if kind == HttpEvent.RESPONSE_HEAD:
                return self.status()
            if kind == HttpEvent.NEED_OCTETS:
                var most_ms = self.state[].timeouts.read_ms
                if not self.state[].has_heard:
                    most_ms = first_octet_ms
                self._receive(Phase.HEAD, most_ms)
            elif kind != HttpEvent.INFORMATIONAL_HEAD:
                raise _closed_early()

    @always_inline
    def status(self) -> Int:
        """Returns the status of the latest head.

        Returns:
            The status.
        """
        return self.state[].head.status

    def version(self) -> HttpVersion:
        """Returns the version of the response.

        Returns:
            The version.
        """
        var version = self.state[].head.version
        return HttpVersion(version.major, version.minor)

    def fields(self) -> FieldSection[ImmUntrackedOrigin]:
        """Returns the header section of the response.

        Returns:
            A view, until `consume_head`.
        """
        return self.state[].head.fields(self._protocol().octets())

    def has_content(self) -> Bool:
        """Returns whether the response has content.

        Returns:
            False if the head announces no content, or an empty one.
        """
        return self._protocol().has_content()

    def consume_head(self):
        """Frees the head after the caller has read it."""
        self._protocol().consume_head()

    def take_head(self, head: PointerTo[Head], octets: PointerTo[Buffer]):
        """Moves the head of the response out of the exchange, which is not
        used afterwards.

        Args:
            head: The destination of the head.
            octets: Receives the octets that the head refers to.
        """
        var found = self._protocol().octets()
        # A head of HTTP/2 may have no field, and counts as one octet.
        octets[].append(found[: min(self.state[].head_octets, len(found))])
        swap(head[], self.state[].head)
        self.consume_head()

    def read(self, into: Span[mut=True, UInt8, _]) raises -> Int:
        """Reads content; waits only if none has arrived.

        Args:
            into: The destination.

        Returns:
            The number of octets; 0 at the end of the content.

        Raises:
            ClientError: If the content does not arrive completely.
        """
        var protocol = self._protocol()
        while True:
            if self.state[].content_octets > 0:
                return self._take(into)
            var direct = protocol.direct_octets()
            if direct > 0:
                var room = min(direct, len(into))
                var count = protocol.receive_content(into[0:room])
                if count > 0:
                    return count
            elif self._content_has_ended():
                return 0

    def receive_content(self, into: PointerTo[ReceivedState]) raises:
        """Receives all of the content.

        Args:
            into: The destination of content and trailers.

        Raises:
            ClientError: If the content does not arrive completely, or exceeds
                the limit.
        """
        var protocol = self._protocol()
        var announced = protocol.announced_octets()
        if announced > 0:
            _ = into[].content.reserve(min(announced, _ANNOUNCED_OCTETS_MAX))
        while True:
            var direct = protocol.direct_octets()
            if direct > 0:
                self._receive_directly(direct, into)
            elif self._content_has_ended():
                break
            var came = self.state[].content_octets
            if came > 0:
                into[].content.append(protocol.octets()[0:came])
                protocol.take_content(came)
        if len(self.state[].trailers) > 0:
            swap(into[].trailers, self.state[].trailers)

    def drop_content(self) -> Bool:
        """Reads and drops the content of a response if it is short.

        Returns:
            Whether the content has ended; False if it is long or incomplete.
        """
        var protocol = self._protocol()
        protocol.limit_content(_DROPPED_OCTETS_MAX)
        self.consume_head()
        if protocol.announced_octets() > _DROPPED_OCTETS_MAX:
            return False
        var received = Received()
        var is_whole = True
        try:
            self.receive_content(received.state)
        except:
            is_whole = False
        _ = received^
        return is_whole

    def take_trailers(self) -> HeaderMap:
        """Returns the trailer section, once.

        Returns:
            The fields; none before the end of the content.
        """
        var trailers = HeaderMap()
        swap(trailers, self.state[].trailers)
        return trailers^

    def has_received(self) -> Bool:
        """Returns whether received octets are unread.

        Returns:
            True if the next read does not wait.
        """
        return len(self._protocol().octets()) > 0

    def can_carry_another(self) -> Bool:
        """Returns whether the connection may carry the next exchange.

        Returns:
            True if the exchange is complete on both sides, or has not begun,
            and the server sent no unexpected octets.
        """
        return self._protocol().can_carry_another()

    def is_shared(self) -> Bool:
        """Returns whether other exchanges may use the connection too.

        Returns:
            True in HTTP/2.
        """
        return self._protocol().is_shared()

    def leave(self):
        """Ends the stream of a shared connection, which stays open. It is
        cancelled unless both ends have sent all."""
        self._protocol().leave()

    @always_inline
    def is_stale(self, failure: ClientError) -> Bool:
        """Returns whether the server may have closed the connection before it
        received the request (RFC 9112 section 9.3.1).

        Args:
            failure: The failure of the exchange.

        Returns:
            True if a connection that had carried others ended before any octet
            of the response. The reset of a stream ends no connection.
        """
        ref s = self.state[]
        return (
            s.connection.unsafe_value().state[].exchanges > 1
            and not s.has_heard
            and failure.is_broken_off()
            and self._protocol().has_lost_connection()
        )

    def take_session(self) -> Optional[TlsSession]:
        """Returns the session that shortens the next handshake.

        Returns:
            The session; none without TLS.
        """
        ref c = self.state[].connection.unsafe_value().state[]
        if not c.transport.tls:
            return None
        return c.transport.tls.value().take_session()

    def close(self):
        """Ends the exchange: a fiber that waits on it gets an error."""
        self._protocol().close()

    @always_inline
    def _protocol(self) -> ProtocolExchange:
        return ProtocolExchange(self.state)

    @always_inline
    def _content_has_ended(self) raises -> Bool:
        # Looks at what came; waits if that is not enough.
        var kind = self._protocol().next(Phase.CONTENT)
        if kind == HttpEvent.NEED_OCTETS:
            self._receive(Phase.CONTENT, self.state[].timeouts.read_ms)
        elif kind == HttpEvent.END_OF_MESSAGE or kind == HttpEvent.UPGRADED:
            return True
        elif kind != HttpEvent.DATA and kind != HttpEvent.TRAILERS:
            raise _broken_off()
        return False

    def _take(self, into: Span[mut=True, UInt8, _]) -> Int:
        var protocol = self._protocol()
        var count = min(self.state[].content_octets, len(into))
        unsafe_memcpy(
            dest=into.unsafe_ptr(),
            src=protocol.octets().unsafe_ptr(),
            count=count,
        )
        protocol.take_content(count)
        return count

    def _receive_directly(
        self, direct: Int, into: PointerTo[ReceivedState]
    ) raises:
        # Straight into the content, no copy in between.
        var room = min(direct, _DIRECT_READ_OCTETS)
        var target = into[].content.reserve(room)
        var count: Int
        try:
            count = self._protocol().receive_content(
                Span(unsafe_ptr=target, length=room)
            )
        except e:
            raise Error(ClientError.because(Phase.CONTENT, e))
        into[].content.advance(count)

    def _receive(self, phase: StaticString, most_ms: Int) raises:
        try:
            self._protocol().receive(most_ms)
        except e:
            raise Error(ClientError.because(phase, e))

    def _receive_until(self, deadline_ms: Int) raises -> Bool:
        try:
            self._protocol().receive(max(deadline_ms - now(), 0))
        except e:
            var net = NetError.of(e)
            if net and net.value().kind == NetError.TIMEOUT:
                return False
            raise Error(ClientError.because(Phase.HEAD, e))
        return True


def exceeds_limit() -> Error:
    """Returns the error for a content that is longer than its reader allows.

    Returns:
        The error.
    """
    return raised(
        ClientError.TOO_LARGE,
        Phase.CONTENT,
        "content exceeds the limit of its reader",
    )


def _broken_off() -> Error:
    return raised(
        ClientError.CLOSED,
        Phase.CONTENT,
        "the peer closed before the content was whole",
    )


def _closed_early() -> Error:
    return raised(
        ClientError.CLOSED,
        Phase.HEAD,
        "the peer closed before its response was there",
    )

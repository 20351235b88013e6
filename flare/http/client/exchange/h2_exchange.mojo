"""Carries one exchange of a client in HTTP/2.

The exchange is one stream of a connection that others use at the same time. Its
frames leave with theirs. The fiber that reads the connection fills its inbox.
"""

from flare.core import PointerTo
from flare.message import FieldName, HeaderMap, Status
from flare.proto.event import HttpEvent
from flare.proto.h1 import BodyLength
from flare.proto.h2.outgoing_requests import RequestStart
from flare.proto.head import BodyKind

from ...client_error import ClientError, Phase, raised
from ..shared.sending import announce
from ..shared.shared_connection import SharedConnection, not_processed
from ..transport.stream_inbox import Inbox
from ..shared.waiting import (
    UNSENT_OCTETS_MAX,
    Awaited,
    await_change,
)
from .exchange_state import ClientExchangeState


@fieldwise_init
struct H2Exchange(TrivialRegisterPassable):
    """A handle to an exchange whose connection speaks HTTP/2."""

    var state: PointerTo[ClientExchangeState]
    """The exchange."""

    def begin(self, content_octets_max: Int):
        """Starts an exchange.

        Args:
            content_octets_max: The longest content to accept.
        """
        self._connection().connection.state[].exchanges += 1
        self._inbox()[].clear()
        self.limit_content(content_octets_max)

    def has_lost_connection(self) -> Bool:
        """Returns whether the connection has ended for all its streams.

        Returns:
            False after a reset of the stream.
        """
        return Bool(self._connection().state()[].failure)

    def limit_content(self, octets_max: Int):
        """Limits the further content.

        Args:
            octets_max: The longest content to accept.
        """
        self._inbox()[].content_left = octets_max

    def write_head(
        self,
        method: StringSlice,
        target: StringSlice,
        fields: HeaderMap,
        length: BodyLength,
    ) raises:
        """Begins a stream with the head of the request, without sending it.
        Waits while the server allows no further stream.

        Args:
            method: A token.
            target: The request target.
            fields: The fields, with one Host.
            length: The length of the content.

        Raises:
            ClientError: `client.bad_request prepare`, `client.not_processed
                head` if the connection has ended, or `client.timeout queue`.
        """
        var c = self._connection()
        if fields.has_known(FieldName.UPGRADE):
            # They tell the limit too.
            self._await_beginning(Awaited.SETTINGS)
        self._await_beginning(Awaited.STREAM)
        if fields.has_known(FieldName.UPGRADE):
            return self._begin_tunnel(method, target, fields, length)
        self._begin_stream(
            RequestStart(
                method.as_bytes(),
                target.as_bytes(),
                Bool(c.connection.state[].transport.tls),
                length,
            ),
            fields,
        )

    def _await_beginning(self, awaited: UInt8) raises:
        var c = self._connection()
        try:
            await_change(
                c,
                self._inbox(),
                awaited,
                self.state[].clock.left(self.state[].timeouts.first_octet_ms),
            )
        except e:
            raise Error(ClientError.because(Phase.QUEUE, e))
        if not c.may_take_more():
            raise not_processed("the connection takes no further stream")

    def _begin_stream(self, start: RequestStart, fields: HeaderMap) raises:
        var c = self._connection()
        try:
            c.attach(
                self._inbox(),
                c.machine().send_request_head(start, fields, c.output()),
            )
        except e:
            raise raised(ClientError.BAD_REQUEST, Phase.PREPARE, e.reason)

    @no_inline
    def _begin_tunnel(
        self,
        method: StringSlice,
        target: StringSlice,
        fields: HeaderMap,
        length: BodyLength,
    ) raises:
        """Asks for another protocol (RFC 8441), if the settings of the server
        say that it may."""
        var c = self._connection()
        if not c.may_upgrade():
            raise raised(
                ClientError.PROTOCOL,
                Phase.PREPARE,
                "the server accepts no extended CONNECT",
            )
        # A view of the fields, which outlive the call.
        var protocol = fields.get("Upgrade").value()
        var own = fields.copy()
        # RFC 8441 section 5.
        _ = own.remove("Sec-WebSocket-Key")
        self._begin_stream(
            RequestStart(
                method.as_bytes(),
                target.as_bytes(),
                Bool(c.connection.state[].transport.tls),
                length,
                protocol=protocol.as_bytes(),
            ),
            own,
        )
        self._inbox()[].tunnel.is_asked = True

    def send(self, content: Span[UInt8, _]) raises:
        """Sends the head and a whole content.

        Args:
            content: The octets.

        Raises:
            ClientError: If neither the request could be sent nor a response can
                be read.
        """
        var c = self._connection()
        try:
            c.machine().count_content(self._inbox()[].slot, len(content))
        except e:
            raise raised(ClientError.BAD_REQUEST, Phase.PREPARE, e.reason)
        if (
            not self._push(content, ends=True)
            and not self._inbox()[].has_news()
        ):
            raise self._failure()
        self._flush()

    def write(self, octets: Span[UInt8, _]) raises:
        """Sends octets of the content.

        Args:
            octets: The octets.

        Raises:
            ClientError: `client.bad_request send` if the content exceeds its
                announced length; and the failure of the stream.
        """
        var c = self._connection()
        try:
            c.machine().count_content(self._inbox()[].slot, len(octets))
        except e:
            raise raised(ClientError.BAD_REQUEST, Phase.SEND, e.reason)
        if not self._push(octets, ends=False):
            raise self._failure()
        self.flush()

    def end(self, trailers: HeaderMap) raises:
        """Ends the content, and sends all octets.

        Args:
            trailers: The trailer section.

        Raises:
            ClientError: `client.bad_request send` if the content is shorter
                than announced; and the errors of the transport.
        """
        var c = self._connection()
        var slot = self._inbox()[].slot
        if not c.machine().may_send(slot):
            return
        if c.machine().is_content_short(slot):
            raise raised(
                ClientError.BAD_REQUEST,
                Phase.SEND,
                "the content is shorter than its Content-Length",
            )
        try:
            c.machine().check_trailers(trailers)
        except e:
            raise raised(ClientError.BAD_REQUEST, Phase.SEND, e.reason)
        if len(trailers) > 0:
            c.machine().send_trailers(slot, trailers, c.output())
        else:
            c.machine().send_end(slot, c.output())
        self.flush()

    def flush(self) raises:
        """Sends the octets of all exchanges.

        Raises:
            ClientError: The failure of the stream.
        """
        self._flush()
        if self._inbox()[].failure and not self._inbox()[].has_news():
            raise self._failure()

    def next(self) raises -> UInt8:
        """Returns the next event, without waiting.

        Returns:
            A kind of `HttpEvent`; after `NEED_OCTETS`, call `receive`.

        Raises:
            ClientError: The failure of the stream.
        """
        ref s = self.state[]
        ref inbox = s.inbox
        if inbox.has_head:
            swap(s.head, inbox.head)
            inbox.has_head = False
            inbox.informational = 0
            # A head may have no field.
            s.head_octets = max(len(inbox.wire), 1)
            s.has_heard = True
            if inbox.tunnel.is_asked and 200 <= s.head.status < 300:
                inbox.tunnel.is_open = True
                # The same success has another status in HTTP/1.1.
                s.head.status = Status.SWITCHING_PROTOCOLS
                s.head.wants_upgrade = True
            return HttpEvent.RESPONSE_HEAD
        if inbox.informational != 0:
            s.head.status = inbox.informational
            inbox.informational = 0
            s.has_heard = True
            return HttpEvent.INFORMATIONAL_HEAD
        if inbox.tunnel.is_open:
            return HttpEvent.UPGRADED
        if len(inbox.content) > 0:
            s.content_octets = len(inbox.content)
            return HttpEvent.DATA
        if inbox.has_ended:
            if len(inbox.trailers) > 0:
                swap(s.trailers, inbox.trailers)
            return HttpEvent.END_OF_MESSAGE
        if inbox.failure:
            raise self._failure()
        return HttpEvent.NEED_OCTETS

    def receive(self, most_ms: Int) raises:
        """Waits for a part of the response.

        Args:
            most_ms: The longest wait.

        Raises:
            The error of the wait.
        """
        await_change(
            self._connection(),
            self._inbox(),
            Awaited.RESPONSE,
            self.state[].clock.left(most_ms),
        )

    def octets(self) -> Span[UInt8, ImmUntrackedOrigin]:
        """Returns the unconsumed head, otherwise the unread content.

        Returns:
            A view that receiving and consuming invalidates.
        """
        ref inbox = self.state[].inbox
        var octets = inbox.content.span()
        if self.state[].head_octets > 0:
            octets = inbox.wire.span()
        return Span[UInt8, ImmUntrackedOrigin](
            unsafe_ptr=octets.unsafe_ptr().unsafe_origin_cast[
                ImmUntrackedOrigin
            ](),
            length=len(octets),
        )

    def consume_head(self):
        """Drops the head of the response after the caller has read it."""
        self.state[].inbox.wire.clear()
        self.state[].head_octets = 0

    def take_content(self, count: Int):
        """Drops content after the caller has read it, so that the server may
        send more.

        Args:
            count: The number of octets, at most `content_octets`.
        """
        ref inbox = self.state[].inbox
        inbox.content.consume(count)
        self.state[].content_octets -= count
        var c = self._connection()
        if c.state()[].failure:
            return
        var before = len(c.output()[])
        c.machine().release(inbox.slot, count, c.output())
        if len(c.output()[]) > before:
            announce(c)

    def has_content(self) -> Bool:
        """Returns whether the response has content.

        Returns:
            False if the head announces no content, or an empty one.
        """
        return self.state[].head.body != BodyKind.NONE

    def announced_octets(self) -> Int:
        """Returns the announced length of the response's content.

        Returns:
            The length; -1 if only the end shows it.
        """
        if self.state[].head.body != BodyKind.LENGTH:
            return -1
        return self.state[].head.content_length

    def close(self):
        """Abandons the stream: the fibers that wait for it get an error."""
        var c = self._connection()
        var inbox = self._inbox()
        if (
            inbox[].tunnel.is_open
            and inbox[].has_ended
            and not c.state()[].failure
        ):
            # The end of one side is answered with that of the other.
            c.machine().send_end(inbox[].slot, c.output())
        if not inbox[].failure:
            inbox[].failure = raised(
                ClientError.CLOSED, Phase.CONTENT, "the exchange was abandoned"
            )
        # No fiber reads the rest.
        inbox[].has_ended = False
        inbox[].has_head = False
        inbox[].wake()
        if c.state()[].reader:
            c.connection.interrupt_read()

    def leave(self):
        """Ends the stream, cancelled unless both ends have sent all."""
        var c = self._connection()
        c.detach(self._inbox())
        announce(c)

    def _push(self, octets: Span[UInt8, _], *, ends: Bool) raises -> Bool:
        """Sends content as the windows allow. Returns False if the server accepts
        no more."""
        var c = self._connection()
        var inbox = self._inbox()
        var slot = inbox[].slot
        var sent = 0
        while sent < len(octets):
            try:
                await_change(
                    c,
                    inbox,
                    Awaited.ROOM,
                    self.state[].clock.left(self.state[].timeouts.write_ms),
                )
            except e:
                raise Error(ClientError.because(Phase.SEND, e))
            if inbox[].failure or not c.machine().may_send(slot):
                return False
            var count = min(len(octets) - sent, UNSENT_OCTETS_MAX)
            sent += c.machine().send_within_windows(
                slot,
                octets[sent : sent + count],
                ends and sent + count == len(octets),
                c.output(),
            )
            if sent < len(octets):
                announce(c)
        return True

    def _flush(self) raises:
        # A failure of the connection shows when the response is read.
        var c = self._connection()
        announce(c)
        try:
            await_change(
                c,
                self._inbox(),
                Awaited.SENT,
                self.state[].clock.left(self.state[].timeouts.write_ms),
            )
        except e:
            raise Error(ClientError.because(Phase.SEND, e))

    def _failure(self) -> Error:
        ref inbox = self.state[].inbox
        if inbox.failure:
            return Error(inbox.failure.value())
        return raised(
            ClientError.CLOSED,
            Phase.SEND,
            "the server has answered, and wants no content",
        )

    @always_inline
    def _connection(self) -> SharedConnection:
        return SharedConnection(self.state[].connection.unsafe_value())

    @always_inline
    def _inbox(self) -> Inbox:
        return Pointer(to=self.state[].inbox).unsafe_origin_cast[
            MutUntrackedOrigin
        ]()

"""Carries out one exchange on one connection: head and content out, head and
content in.

What fails leaves the connection in a state that nobody knows; whoever called
closes it. Each wait has a bound, and all of them together have that of the
clock.
"""

from flare.core import PointerTo
from flare.message import HeaderMap
from flare.net import NetError
from flare.proto.h1 import BodyKind, BodyLength, H1Event

from flare.proto.h1.state import SideState
from flare.runtime.socket_exchange import SentAndReceived
from flare.sys.errno import EAGAIN

from ..received import ReceivedState
from .config import ClientTimeouts
from .connection import ClientConnection, Clock, now
from .error import ClientError, Phase, raised

comptime _COPIED_OCTETS_MAX = 16 * 1024
comptime _ANNOUNCED_OCTETS_MAX = 256 * 1024
comptime _DIRECT_READ_OCTETS = 64 * 1024


@fieldwise_init
struct ClientExchange(TrivialRegisterPassable):
    """Names a connection, and how long what is done on it may take."""

    var connection: ClientConnection
    """The connection."""
    var clock: Clock
    """Until when."""
    var timeouts: ClientTimeouts
    """How long each wait may last."""

    def begin(self, body_octets_max: Int):
        """Forgets the last exchange of the connection.

        Args:
            body_octets_max: The longest content that may come.
        """
        ref c = self.connection.state[]
        c.exchanges += 1
        c.has_heard = False
        c.must_close = False
        c.head_octets = 0
        c.is_send_due = False
        c.h1.limits.body_octets_max = body_octets_max

    def write_head(
        self,
        method: StringSlice,
        target: StringSlice,
        fields: HeaderMap,
        length: BodyLength,
    ) raises:
        """Puts the head into the output; nothing is sent.

        Args:
            method: A token.
            target: The request target.
            fields: The fields, with one Host.
            length: How long the content is.

        Raises:
            ClientError: `client.bad_request prepare`; the connection is as it
                was.
        """
        try:
            self.connection.machine().send_request_head(
                method, target, fields, length, self.connection.output()
            )
        except e:
            raise raised(ClientError.BAD_REQUEST, Phase.PREPARE, e.reason)

    def send(self, content: Span[UInt8, _], expects_continue: Bool) raises:
        """Sends the head that lies in the output, and a whole content.

        Where it can be, what is short goes out with the wait for the response.

        Args:
            content: The octets.
            expects_continue: The head asks for 100 (Continue).

        Raises:
            ClientError: If neither the request could be sent nor a response
                can be read.
        """
        var c = self.connection
        if expects_continue and not self.may_go_on():
            return
        try:
            if len(content) <= _COPIED_OCTETS_MAX:
                c.machine().send_data(content, c.output())
                c.machine().send_end(c.output())
            else:
                c.machine().count_data(len(content))
                c.machine().send_end(c.output())
        except e:
            raise raised(ClientError.BAD_REQUEST, Phase.PREPARE, e.reason)
        if (
            not expects_continue
            and len(content) <= _COPIED_OCTETS_MAX
            and c.can_send_and_fill()
        ):
            c.state[].is_send_due = True
            return
        try:
            c.flush(self.clock, self.timeouts.write_ms)
            if len(content) > _COPIED_OCTETS_MAX:
                c.write_all(content, self.clock, self.timeouts.write_ms)
        except e:
            self.go_on_without_sending(e)

    def go_on_without_sending(self, cause: Error) raises:
        """Lets a response be read that came before all was sent, because a
        server need not read what it refuses.

        Args:
            cause: What sending failed with.

        Raises:
            ClientError: What `cause` stands for, if there is no response.
        """
        var c = self.connection
        var failure = ClientError.because(Phase.SEND, cause)
        c.end_sending(failure)
        c.state[].output.clear()
        if (
            failure.kind != ClientError.RESET
            and failure.kind != ClientError.CLOSED
            and failure.kind != ClientError.TIMEOUT
        ):
            raise Error(failure)
        if not self._has_answer():
            raise Error(failure)

    def receive_head(self) raises -> Int:
        """Waits for the head of the response.

        It stays at the front of the window until `consume_head`.

        Returns:
            The status.

        Raises:
            ClientError: If there is none, or if it is none.
        """
        var c = self.connection
        if c.state[].head_octets > 0:
            # It came instead of 100 (Continue).
            return c.state[].head.status
        if c.state[].is_send_due:
            self._send_and_fill()
        while True:
            var event = c.next_event(Phase.HEAD)
            if event.kind == H1Event.RESPONSE_HEAD:
                c.state[].head_octets = event.consumed
                return c.state[].head.status
            c.consume(event.consumed)
            if event.kind == H1Event.NEED_OCTETS:
                var most_ms = self.timeouts.read_ms
                if not c.state[].has_heard:
                    most_ms = self.timeouts.first_octet_ms
                self._fill(Phase.HEAD, most_ms)
            elif event.kind != H1Event.INFORMATIONAL_HEAD:
                raise raised(
                    ClientError.CLOSED,
                    Phase.HEAD,
                    "the peer closed before its response was there",
                )

    def consume_head(self):
        """Drops the head from the window, when it was read."""
        self.connection.consume(self.connection.state[].head_octets)
        self.connection.state[].head_octets = 0

    def receive_content(self, into: PointerTo[ReceivedState]) raises:
        """Receives all of the content.

        Args:
            into: Where to put content and trailers.

        Raises:
            ClientError: If it does not come whole, or exceeds the limit.
        """
        var c = self.connection
        var announced = c.state[].head.content_length
        if c.state[].h1.receive_body == BodyKind.LENGTH:
            _ = into[].content.reserve(min(announced, _ANNOUNCED_OCTETS_MAX))
        while True:
            if self.receives_directly():
                self._receive_into(into)
                continue
            var window = c.window()
            var event = c.next_event(window, Phase.CONTENT)
            if event.kind == H1Event.DATA:
                into[].content.append(
                    window[event.start : event.start + event.length]
                )
            elif event.kind == H1Event.TRAILERS:
                _ = into[].trailers.unsafe_append_parsed(
                    c.state[].head.trailer_fields(window)
                )
            c.consume(event.consumed)
            if event.kind == H1Event.NEED_OCTETS:
                self._fill(Phase.CONTENT, self.timeouts.read_ms)
            elif event.kind == H1Event.END_OF_MESSAGE:
                return
            elif event.kind == H1Event.RESET:
                raise broken_off()
            elif (
                event.kind == H1Event.PAUSED or event.kind >= H1Event.GOING_AWAY
            ):
                return

    def receives_directly(self) -> Bool:
        """Tells whether what comes next is content as it stands.

        Returns:
            True where no octet of it needs to be looked at.
        """
        ref c = self.connection.state[]
        if len(c.received) != 0 or c.h1.has_ended:
            return False
        return c.h1.response == SideState.BODY and (
            c.h1.receive_body == BodyKind.UNTIL_CLOSE
            or (c.h1.receive_body == BodyKind.LENGTH and c.h1.receive_left > 0)
        )

    def _receive_into(self, into: PointerTo[ReceivedState]) raises:
        # Straight into the content, no copy in between. What is asked for is
        # never more than is due, so that nothing else can come along.
        var c = self.connection
        var room = _DIRECT_READ_OCTETS
        if c.state[].h1.receive_body == BodyKind.LENGTH:
            room = min(room, c.state[].h1.receive_left)
        var target = into[].content.reserve(room)
        var count: Int
        try:
            count = c.read(
                Span(unsafe_ptr=target, length=room),
                self.clock.left(self.timeouts.read_ms),
            )
        except e:
            raise Error(ClientError.because(Phase.CONTENT, e))
        if count == 0:
            return
        var octets = Span(unsafe_ptr=target, length=count)
        var event = c.next_event(octets, Phase.CONTENT)
        into[].content.advance(event.length)
        if event.length < count:
            # The limit lies within what came: the next event says so.
            _ = c.next_event(octets[event.length :], Phase.CONTENT)

    def may_go_on(self) raises -> Bool:
        """Sends the head, and waits for 100 (Continue) for a while.

        Returns:
            False where a final response has come instead: the content is not
            sent, and the connection cannot be used again.

        Raises:
            ClientError: If there is neither.
        """
        var c = self.connection
        try:
            c.flush(self.clock, self.timeouts.write_ms)
        except e:
            self.go_on_without_sending(e)
            return False
        var deadline_ms = now() + self.timeouts.continue_ms
        while True:
            var event = c.next_event(Phase.HEAD)
            if event.kind == H1Event.RESPONSE_HEAD:
                c.state[].head_octets = event.consumed
                c.state[].must_close = True
                return False
            var status = c.state[].head.status
            c.consume(event.consumed)
            if event.kind == H1Event.INFORMATIONAL_HEAD:
                if status == 100:
                    return True
            elif event.kind != H1Event.NEED_OCTETS:
                raise raised(
                    ClientError.CLOSED,
                    Phase.HEAD,
                    "the peer closed before its response was there",
                )
            elif not self._fill_until(deadline_ms):
                return True

    def _fill_until(self, deadline_ms: Int) raises -> Bool:
        var left_ms = self.clock.left(max(deadline_ms - now(), 0))
        try:
            self.connection.fill(left_ms)
        except e:
            var net = NetError.of(e)
            if net and net.value().kind == NetError.TIMEOUT:
                return False
            raise Error(ClientError.because(Phase.HEAD, e))
        return True

    def _has_answer(self) -> Bool:
        # What the kernel has received is there although sending has failed.
        try:
            if len(self.connection.state[].received) == 0:
                self.connection.fill(_ANSWER_TIMEOUT_MS)
            return len(self.connection.state[].received) > 0
        except:
            return False

    def _send_and_fill(self) raises:
        var c = self.connection
        c.state[].is_send_due = False
        var done: SentAndReceived
        try:
            done = c.send_and_fill(
                self.clock.left(self.timeouts.first_octet_ms)
            )
        except e:
            raise Error(ClientError.because(Phase.SEND, e))
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
        # Where not all was taken, the rest goes out as it would have alone.
        try:
            c.flush(self.clock, self.timeouts.write_ms)
        except e:
            self.go_on_without_sending(e)

    def _failure(self, operation: StaticString, errno: Int) -> Error:
        var address = self.connection.state[].socket.value().address()
        return Error(NetError.from_errno(operation, errno, address))

    def _fill(self, phase: StaticString, most_ms: Int) raises:
        try:
            self.connection.fill(self.clock.left(most_ms))
        except e:
            raise Error(ClientError.because(phase, e))


comptime _ANSWER_TIMEOUT_MS = 100


def broken_off() -> Error:
    """Makes the error of a content that did not come whole.

    Returns:
        The error.
    """
    return raised(
        ClientError.CLOSED,
        Phase.CONTENT,
        "the peer closed before the content was whole",
    )


def exceeds_limit() -> Error:
    """Makes the error of a content that is longer than who reads it allows.

    Returns:
        The error.
    """
    return raised(
        ClientError.TOO_LARGE,
        Phase.CONTENT,
        "content exceeds the limit of its reader",
    )

"""Speaks HTTP/1.1 at either end of a connection, without I/O and clock.

Received octets become events (`next_event`); messages become octets
(`send_...`). The rules are in `state`, parsing in `receive`, writing in
`response_writer`, `request_writer` and `body_writer`. This module is the
interface.
"""

from std.sys.intrinsics import likely

from flare.core import Buffer, PointerTo
from flare.message import HeaderMap

from ..event import HttpEvent
from ..head import BodyKind, Head, HeadProgress
from .body_length import BodyLength
from .body_writer import count_data, write_data, write_end, write_trailers
from .chunk import ChunkPart
from .connection import H1State, Role
from .error import H1Error
from .plain_response import write_plain_response
from .receive import (
    count_received,
    due_data,
    end_bodiless,
    next_body,
    next_request,
    next_response,
    plain_event,
)
from .request_writer import write_request_head
from .response_writer import write_informational, write_response_head
from .scan import Window, window_of
from .state import SideState


@fieldwise_init
struct H1Machine(TrivialRegisterPassable):
    """A handle to one connection's `H1State`, which its owner keeps in place.
    """

    var state: PointerTo[H1State]
    """The state; it must outlive every copy of this handle."""

    def next_event(
        self, window: Span[UInt8, _], head: PointerTo[Head]
    ) raises H1Error -> HttpEvent:
        """Returns the next event.

        Call it again after every event except `NEED_OCTETS`, `PAUSED`,
        `RESET`, `GOING_AWAY` and `UPGRADED`. Before that, drop the octets that
        the event `consumed` from the window.

        Args:
            window: The unconsumed octets, contiguous.
            head: Set to heads and trailers. While a head arrives in pieces,
                pass the same one: with another, parsing starts again.

        Returns:
            One event.

        Raises:
            H1Error: If the peer violates the protocol or a limit. The machine
                then reads no more; a server may still answer.
        """
        try:
            return self._next_event(window_of(window), head)
        except e:
            self.state[].fail()
            if self.state[].role == Role.SERVER:
                raise e
            raise H1Error(H1Error.PEER, 0, e.reason, e.rule)

    @always_inline
    def end_bodiless(self) -> Bool:
        """Ends a request that has no body, in place of the next event. For a
        server that has just received the head.

        Returns:
            True if `END_OF_MESSAGE` was the next event, which is then done.
        """
        return end_bodiless(self.state)

    def receive_end(self):
        """Reports the end of the peer's stream.

        `next_event` then returns its meaning: the end of a body that lasts
        until the close, `RESET` within a message, `GOING_AWAY` between two.
        """
        self.state[].has_ended = True

    def close_after_exchange(self):
        """Closes the connection after the exchange in progress, or after the
        next one.

        If called before the head is sent, the head gets `Connection: close`.
        """
        self.state[].is_last = True

    def stop_receiving(self):
        """Stops receiving; the connection will close.

        A server may then answer (408, 503) even if no head is complete.
        """
        self.state[].fail()

    def send_informational(
        self, status: Int, output: PointerTo[Buffer]
    ) raises H1Error:
        """Sends a 1xx response without fields, such as 100 (Continue).

        For an HTTP/1.0 client, it writes no octets.

        Args:
            status: 100 or 102 to 199.
            output: The destination.

        Raises:
            H1Error: If no response is awaited, or the status is not one of
                these.
        """
        var none = HeaderMap()
        write_informational(self.state, status, none, output)

    def send_informational(
        self, status: Int, fields: HeaderMap, output: PointerTo[Buffer]
    ) raises H1Error:
        """Sends a 1xx response with fields, such as 103 (Early Hints).

        For an HTTP/1.0 client, it writes no octets.

        Args:
            status: 100 or 102 to 199.
            fields: The fields.
            output: The destination.

        Raises:
            H1Error: If no response is awaited, the status is not one of these,
                or the fields contain framing.
        """
        write_informational(self.state, status, fields, output)

    def send_response_head(
        self,
        status: Int,
        fields: HeaderMap,
        body: BodyLength,
        date: Span[UInt8, _],
        output: PointerTo[Buffer],
    ) raises H1Error:
        """Sends a final response head; 101 hands the connection over.

        The machine sets Content-Length, Transfer-Encoding and Connection. A
        Content-Length of the caller sets an unknown length, and must agree
        with a known one.

        Args:
            status: 101 or 200 to 599.
            fields: The fields of the response.
            body: The length of the body, even if none may be sent. Then a
                length of 0 is not stated, unless the fields state it.
            date: The 29 octets of Date, or none; a Date field takes
                precedence.
            output: The destination.

        Raises:
            H1Error: If no response is awaited, or the fields contradict the
                body; no octet is then written.
        """
        write_response_head(self.state, status, fields, body, date, output)

    @always_inline
    def send_plain_response(
        self,
        status: Int,
        fields: HeaderMap,
        octets: Span[UInt8, _],
        date: Span[UInt8, _],
        output: PointerTo[Buffer],
        *,
        copies: Bool = True,
    ) -> Bool:
        """Sends a whole response if it is a plain one, as most are.

        Args:
            status: The status.
            fields: The fields of the response.
            octets: The whole body.
            date: The 29 octets of Date.
            output: The destination, if it has room.
            copies: Whether to copy the content. Otherwise the caller sends it,
                after the output.

        Returns:
            True if the response was sent. Otherwise the state is unchanged;
            send head, body and end one by one.
        """
        return write_plain_response(
            self.state, status, fields, octets, date, output, copies
        )

    def send_request_head(
        self,
        method: StringSlice,
        target: StringSlice,
        fields: HeaderMap,
        body: BodyLength,
        output: PointerTo[Buffer],
    ) raises H1Error:
        """Sends a request head.

        Args:
            method: A token.
            target: The request target, visible ASCII.
            fields: The fields of the request, with one Host.
            body: The length of the body.
            output: The destination.

        Raises:
            H1Error: If no request may be sent now, or a part could be misread;
                no octet is then written.
        """
        write_request_head(
            self.state,
            method.as_bytes(),
            target.as_bytes(),
            fields,
            body,
            output,
        )

    def send_data(
        self, octets: Span[UInt8, _], output: PointerTo[Buffer]
    ) raises H1Error:
        """Sends octets of the body; drops them if the message has none.

        Args:
            octets: The octets.
            output: The destination.

        Raises:
            H1Error: If the octets exceed the Content-Length. Close the
                connection then.
        """
        write_data(self.state, octets, output)

    def count_data(self, count: Int) raises H1Error -> Bool:
        """Counts octets of the body that the caller sends itself.

        Only for a body that is not chunked.

        Args:
            count: The number of octets; not negative.

        Returns:
            False if the message has no body, so that they must not be sent.

        Raises:
            H1Error: If the octets exceed the Content-Length or the body is
                chunked. Close the connection then.
        """
        return count_data(self.state, count)

    def send_trailers(
        self, fields: HeaderMap, output: PointerTo[Buffer]
    ) raises H1Error:
        """Sends the trailer section; drops it if the body is not chunked.

        Args:
            fields: The trailers; `send_end` follows.
            output: The destination.

        Raises:
            H1Error: If a field may not be a trailer.
        """
        write_trailers(self.state, fields, output)

    def send_end(self, output: PointerTo[Buffer]) raises H1Error:
        """Ends the message.

        Args:
            output: The destination of the last chunk.

        Raises:
            H1Error: If the body falls short of its Content-Length. Close the
                connection then.
        """
        write_end(self.state, output)

    @always_inline
    def stream_id(self) -> Int:
        """Returns the number of the exchange in progress.

        Returns:
            The number, from 1, or that of the last one; 0 before the first.
        """
        return self.state[].stream_id

    def wants_close(self) -> Bool:
        """Returns whether the connection ends once all output is sent.

        Returns:
            True if there is no message left to send and no exchange can
            follow.
        """
        ref s = self.state[]
        if s.response == SideState.CLOSED or s.response == SideState.FAILED:
            return True
        if s.role == Role.CLIENT:
            return s.request >= SideState.FAILED
        return s.response == SideState.DONE and not s.keep_alive

    @always_inline
    def is_upgraded(self) -> Bool:
        """Returns whether the connection speaks another protocol.

        Returns:
            True from the 101, or the 2xx to CONNECT, on.
        """
        return self.state[].response == SideState.UPGRADED

    @always_inline
    def is_receiving_body(self) -> Bool:
        """Returns whether part of the request in progress has not arrived.

        Returns:
            True between its head and its end.
        """
        return self.state[].request == SideState.BODY

    @always_inline
    def is_sending_body(self) -> Bool:
        """Returns whether a response is partly sent.

        Returns:
            True between its head and its end.
        """
        return self.state[].response == SideState.BODY

    @always_inline
    def has_answered(self) -> Bool:
        """Returns whether the response to the request in progress is complete.

        Returns:
            True if only part of that request has not arrived.
        """
        return self.state[].response == SideState.DONE

    @always_inline
    def ends_with_close(self) -> Bool:
        """Returns whether the response in progress, or the last one, ends with
        the connection.

        Returns:
            True if its body has neither a length nor chunks.
        """
        return self.state[].send_body == BodyKind.UNTIL_CLOSE

    @always_inline
    def announced_octets(self) -> UInt64:
        """Returns how many octets of the present chunk have not arrived.

        Returns:
            The rest of the present chunk.
        """
        ref s = self.state[]
        if s.receive_body != BodyKind.CHUNKED or s.chunk.part != ChunkPart.DATA:
            return 0
        return s.chunk.remaining

    @always_inline
    def due_data(self) -> Int:
        """Returns how many octets of a request's content must be received
        before any others. The owner may receive them itself.

        Returns:
            The rest of the Content-Length, or of the present chunk; 0 if none
            are known to be due.
        """
        return due_data(self.state)

    @always_inline
    def count_received(self, count: Int) -> Bool:
        """Counts content of a request that the owner of a server's machine has
        received itself, in place of a `DATA` event.

        Args:
            count: The number of octets; at most `due_data`.

        Returns:
            True if they end the message. Then `END_OF_MESSAGE` was the next
            event, which is done.
        """
        return count_received(self.state, count)

    @always_inline
    def has_begun_head(self, window_octets: Int, head: Head) -> Bool:
        """Returns whether part of a head has arrived.

        Args:
            window_octets: The length of the window.
            head: The head that is being read.

        Returns:
            False if no octets arrived, or only empty lines.
        """
        # Empty lines before a request line are skipped (RFC 9112 section 2.2):
        # some clients send one after their content, and no request need follow.
        return (
            head.progress.part != HeadProgress.START_LINE
            or Int(head.progress.part_start) < window_octets
        )

    @always_inline
    def head_octets_max(self) -> Int:
        """Returns how long a head may be.

        Returns:
            The octets.
        """
        return self.state[].limits.head_octets_max()

    def can_reuse(self) -> Bool:
        """Returns whether another exchange may begin now.

        Returns:
            True between two exchanges of a connection that persists.
        """
        ref s = self.state[]
        return (
            s.request == SideState.IDLE
            and s.response == SideState.IDLE
            and s.scanned == 0
            and not s.has_ended
            and not s.is_last
        )

    @always_inline
    def limit_body(self, octets_max: Int):
        """Bounds the body of the message that is received next.

        Args:
            octets_max: The most octets it may have.
        """
        self.state[].limits.body_octets_max = octets_max

    @always_inline
    def has_body(self) -> Bool:
        """Returns whether the received message has a body.

        Returns:
            False if the head announces no content, or an empty one.
        """
        return self.state[].receive_body != BodyKind.NONE

    @always_inline
    def has_counted_body(self) -> Bool:
        """Returns whether Content-Length delimits the received body.

        Returns:
            False if there is none, or if chunks or the close delimit it.
        """
        return self.state[].receive_body == BodyKind.LENGTH

    @always_inline
    def sends_chunks(self) -> Bool:
        """Returns whether the body that is sent is chunked.

        Returns:
            False if `count_data` may stand for `send_data`.
        """
        return self.state[].send_body == BodyKind.CHUNKED

    def plain_octets_left(self) -> Int:
        """Returns how many octets `count_data` may count.

        Returns:
            The number of octets; 0 if the body is chunked, or has no length.
        """
        ref s = self.state[]
        if s.is_bodiless or s.send_body != BodyKind.LENGTH:
            return 0
        return s.send_left

    def plain_octets(self) -> Int:
        """Returns how many of the next octets are body without framing, for a
        client whose window is empty.

        Returns:
            The number of octets that may be received in place, without
            `next_event`; 0 if the next octet may not be body.
        """
        ref s = self.state[]
        if s.has_ended or s.response != SideState.BODY:
            return 0
        if s.receive_body == BodyKind.UNTIL_CLOSE:
            return Int.MAX
        return s.receive_left if s.receive_body == BodyKind.LENGTH else 0

    @always_inline
    def _next_event(
        self, window: Window, head: PointerTo[Head]
    ) raises H1Error -> HttpEvent:
        ref s = self.state[]
        if likely(s.role == Role.SERVER and s.request == SideState.IDLE):
            return next_request(self.state, window, head)
        return self._next_other_event(window, head)

    @no_inline
    def _next_other_event(
        self, window: Window, head: PointerTo[Head]
    ) raises H1Error -> HttpEvent:
        ref s = self.state[]
        if s.role == Role.SERVER:
            if s.request == SideState.BODY:
                return next_body(self.state, window, head)
        else:
            if s.response == SideState.AWAITED:
                return next_response(self.state, window, head)
            if s.response == SideState.BODY:
                return next_body(self.state, window, head)
            if s.response == SideState.IDLE or s.response == SideState.CLOSED:
                return self._next_unasked(window)
        if s.request == SideState.UPGRADED:
            return plain_event(self.state, HttpEvent.UPGRADED)
        return plain_event(self.state, HttpEvent.PAUSED)

    def _next_unasked(self, window: Window) raises H1Error -> HttpEvent:
        if len(window) > 0:
            # The recipient of the next response must not get these octets.
            raise H1Error.broken["octets that answer no request"]()
        if self.state[].response == SideState.CLOSED:
            return plain_event(self.state, HttpEvent.PAUSED)
        if not self.state[].has_ended:
            return plain_event(self.state, HttpEvent.NEED_OCTETS)
        self.state[].is_last = True
        self.state[].fail()
        return plain_event(self.state, HttpEvent.GOING_AWAY)

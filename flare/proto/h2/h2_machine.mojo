"""Speaks HTTP/2 at either end of a connection, without I/O and clock.

Received octets become events (`next_event`); messages become octets
(`send_...`). Each event of a stream names its slot. The owner of the machine
calls `forget` when it is done with a stream, whose slot is free then.
"""

from flare.core import Buffer, PointerTo
from flare.message import HeaderMap

from .connection_frames import begin_connection, go_away, ping
from .flow_control import may_send, return_stream_credit
from .h2_error import H2Error
from .h2_event import H2Event
from .h2_state import H2Phase, H2State, Reading
from .incoming_frames import next_event
from .outgoing_content import (
    SendTurn,
    count_content,
    is_content_short,
    next_turn,
    queue_content,
    send_data,
    send_end,
    send_within_windows,
    sendable_octets,
)
from .outgoing_heads import (
    ResponseStart,
    check_trailers,
    send_informational,
    send_response_head,
    send_trailers,
)
from .outgoing_requests import RequestStart, may_begin, send_request_head
from .plain_answer import send_plain_response
from .stream_ends import forget_stream, reset_stream
from .stream_state import H2StreamState
from .window_growth import grow_windows


@fieldwise_init
struct H2Machine(TrivialRegisterPassable):
    """A handle to one connection's `H2State`, which its owner keeps in place.
    """

    var state: PointerTo[H2State]
    """The state; it must outlive every copy of this handle."""

    def begin(self, output: PointerTo[Buffer]):
        """Begins the connection: this end's settings come first.

        Args:
            output: The destination.
        """
        begin_connection(self.state, output)

    @always_inline
    def next_event(
        self,
        window: Span[mut=False, UInt8, _],
        now_ms: Int,
        output: PointerTo[Buffer],
    ) raises H2Error -> H2Event:
        """Returns the next event.

        Call it again after every event but `NEED_OCTETS`. Before that, drop the
        octets that the event `consumed` from the window.

        Args:
            window: The unconsumed octets, contiguous.
            now_ms: The time, by any clock that does not go back.
            output: The destination of the frames that answer at once.

        Returns:
            One event.

        Raises:
            H2Error: If the peer violates the protocol or a limit. Call `fail`.
        """
        return next_event(Reading(self.state, now_ms, output), window)

    def fail(self, error: H2Error, output: PointerTo[Buffer]):
        """Ends the connection after a violation. All further octets are
        dropped.

        Args:
            error: The violation.
            output: The destination of a GOAWAY.
        """
        go_away(self.state, self.state[].ids.last_taken, error.code, output)
        self.state[].input.phase = H2Phase.FAILED

    def go_away(self, last_id: Int, code: UInt32, output: PointerTo[Buffer]):
        """Announces that no further streams are processed.

        Args:
            last_id: The highest stream that is still processed.
            code: One of `H2Code`.
            output: The destination.
        """
        go_away(self.state, last_id, code, output)

    def ping(self, octets: UInt64, output: PointerTo[Buffer]):
        """Asks the peer for an answer, which is reported as `PONG`.

        Args:
            octets: The payload.
            output: The destination.
        """
        ping(octets, output)

    @always_inline
    def slots(self) -> Int:
        """Returns how many slots there are, for a walk over all streams.

        Returns:
            The number.
        """
        return self.state[].streams.slots()

    @always_inline
    def count(self) -> Int:
        """Returns how many streams there are.

        Returns:
            The number of streams that are not forgotten.
        """
        return len(self.state[].streams)

    @always_inline
    def may_send(self, slot: Int) -> Bool:
        """Returns whether a stream may still send.

        Args:
            slot: The slot of the stream.

        Returns:
            False once this end has sent its last frame, or a reset passed.
        """
        return may_send(self.state[].streams[slot])

    @always_inline
    def awaits_window(self, slot: Int) -> Bool:
        """Returns whether queued content waits for the peer's window.

        Args:
            slot: The slot of the stream.

        Returns:
            False also if there is none, or if only other streams come first.
        """
        ref s = self.state[]
        return s.streams[slot].queued_octets > 0 and (
            s.window.send <= 0 or s.streams[slot].send_window <= 0
        )

    @always_inline
    def has_ended(self, slot: Int) -> Bool:
        """Returns whether a stream has ended in both directions.

        Args:
            slot: The slot of the stream.

        Returns:
            True after the last frames of both ends, or a reset.
        """
        return self.state[].streams[slot].state >= H2StreamState.RESET

    def may_begin(self) -> Bool:
        """Returns whether a client may begin another stream now.

        Returns:
            False at the limit of either end.
        """
        return may_begin(self.state)

    def send_request_head(
        self, start: RequestStart, fields: HeaderMap, output: PointerTo[Buffer]
    ) raises H2Error -> Int:
        """Begins a stream with the head of a request.

        Args:
            start: Method, path, scheme and length.
            fields: The fields, with one Host. Those of a connection of HTTP/1.1
                are left out.
            output: The destination.

        Returns:
            The slot of the stream.

        Raises:
            H2Error: If no stream may begin now, or a part would be invalid; the
                output is then unchanged.
        """
        return send_request_head(self.state, start, fields, output)

    @always_inline
    def sendable_octets(self, slot: Int) -> Int:
        """Returns how much content of a stream the peer accepts now.

        Args:
            slot: The slot of the stream.

        Returns:
            The number of octets; 0 if it must widen a window first.
        """
        return sendable_octets(self.state, slot)

    def send_within_windows(
        self,
        slot: Int,
        octets: Span[UInt8, _],
        ends: Bool,
        output: PointerTo[Buffer],
    ) -> Int:
        """Sends as much content as the peer accepts now, out of the schedule.

        Args:
            slot: The slot of the stream.
            octets: The content, which was counted.
            ends: Whether it is the last of the stream.
            output: The destination.

        Returns:
            The number of octets that were sent.
        """
        return send_within_windows(self.state, slot, octets, ends, output)

    def send_informational(
        self,
        slot: Int,
        status: Int,
        fields: HeaderMap,
        output: PointerTo[Buffer],
    ) raises H2Error:
        """Sends a 1xx response, such as 103 (Early Hints).

        Args:
            slot: The slot of the stream.
            status: 100 or 102 to 199.
            fields: The fields.
            output: The destination.

        Raises:
            H2Error: If the response may not be sent now, or the fields contain
                framing.
        """
        send_informational(self.state, slot, status, fields, output)

    def send_response_head(
        self,
        start: ResponseStart,
        fields: HeaderMap,
        output: PointerTo[Buffer],
    ) raises H2Error:
        """Sends a final response head. If it may have no content, that ends the
        stream.

        Args:
            start: Stream, status and length. The status is 200 to 599.
            fields: The fields. Those of a connection of HTTP/1.1 are left out,
                and a Content-Length must agree with the length.
            output: The destination.

        Raises:
            H2Error: If no response is awaited, or the fields contradict the
                content; the output is then unchanged.
        """
        send_response_head(self.state, start, fields, output)

    @always_inline
    def send_plain_response(
        self,
        start: ResponseStart,
        fields: HeaderMap,
        octets: Span[UInt8, _],
        output: PointerTo[Buffer],
    ) -> Bool:
        """Sends a whole response if it is a plain one, as most are.

        Args:
            start: Stream, status and date.
            fields: The fields.
            octets: The whole content.
            output: The destination.

        Returns:
            True if the response was sent. Otherwise nothing was written: send
            head and content one by one.
        """
        return send_plain_response(self.state, start, fields, octets, output)

    def count_content(self, slot: Int, octets: Int) raises H2Error:
        """Checks content against the Content-Length of its head.

        Args:
            slot: The slot of the stream, whose head was sent.
            octets: The number of octets that are to be queued.

        Raises:
            H2Error: If the content would be longer than that.
        """
        count_content(self.state, slot, octets)

    def is_content_short(self, slot: Int) -> Bool:
        """Returns whether content is missing.

        Args:
            slot: The slot of the stream.

        Returns:
            True if less than the Content-Length was counted.
        """
        return is_content_short(self.state, slot)

    def queue(self, slot: Int, octets: Int):
        """Announces that content of a stream is ready to be sent.

        Args:
            slot: The slot of the stream.
            octets: The number of octets.
        """
        queue_content(self.state, slot, octets)

    @always_inline
    def next_turn(self, room: Int) -> SendTurn:
        """Returns the stream that sends next (RFC 9218 section 10).

        Args:
            room: The longest frame for which there is room, over 9 octets.

        Returns:
            The stream, and the length of its next frame.
        """
        return next_turn(self.state, room)

    def send_data(
        self,
        slot: Int,
        octets: Span[UInt8, _],
        ends: Bool,
        output: PointerTo[Buffer],
    ):
        """Sends one frame of content that was queued.

        Args:
            slot: The slot that `next_turn` returned.
            octets: The content; no more than `next_turn` allowed.
            ends: Whether it is the last of the stream.
            output: The destination.
        """
        send_data(self.state, slot, octets, ends, output)

    def check_trailers(self, fields: HeaderMap) raises H2Error:
        """Checks the fields of a program before they become trailers.

        Args:
            fields: The fields.

        Raises:
            H2Error: If one of them belongs to the header section.
        """
        check_trailers(fields)

    def send_trailers(
        self, slot: Int, fields: HeaderMap, output: PointerTo[Buffer]
    ):
        """Sends trailers, which end the stream. No content may be queued.

        Args:
            slot: The slot of the stream.
            fields: The trailers, which `check_trailers` has accepted.
            output: The destination.
        """
        send_trailers(self.state, slot, fields, output)

    def send_end(self, slot: Int, output: PointerTo[Buffer]):
        """Ends a stream without further content.

        Args:
            slot: The slot of the stream.
            output: The destination.
        """
        send_end(self.state, slot, output)

    def release(self, slot: Int, octets: Int, output: PointerTo[Buffer]):
        """Reports that content was taken, so that the peer may send more.

        Args:
            slot: The slot of the stream.
            octets: The number of octets; no more than were reported.
            output: The destination of frames.
        """
        self.state[].streams[slot].receiving.held -= Int32(octets)
        return_stream_credit(self.state, slot, octets, output)

    def grow_windows(self, output: PointerTo[Buffer]) -> Int:
        """Widens the windows of received content, after `WINDOW_SMALL`.

        Args:
            output: The destination of a frame.

        Returns:
            By how many octets the window of the connection grew.
        """
        return grow_windows(self.state, output)

    def grown_octets(self) -> Int:
        """Returns by how much the window of the connection has grown.

        Returns:
            The octets.
        """
        ref s = self.state[]
        return s.window.receive_max - s.limits.connection_window_octets

    def held_octets(self, slot: Int) -> Int:
        """Returns how much content was reported and not released.

        Args:
            slot: The slot of the stream.

        Returns:
            The number of octets.
        """
        return Int(self.state[].streams[slot].receiving.held)

    def reset(self, slot: Int, code: UInt32, output: PointerTo[Buffer]):
        """Ends a stream at once. Its owner still forgets it.

        Args:
            slot: The slot of the stream, which has not ended.
            code: One of `H2Code`.
            output: The destination.
        """
        reset_stream(self.state, slot, code, output)

    def forget(self, slot: Int, output: PointerTo[Buffer]):
        """Frees the slot of a stream with which its owner is done.

        Args:
            slot: The slot of the stream. If it has not ended, it is reset; with
                NO_ERROR, if only the rest of the request is missing.
            output: The destination of frames.
        """
        forget_stream(self.state, slot, output)

    @always_inline
    def is_head_open(self) -> Bool:
        """Returns whether part of a head, or of the preface, is still due.

        Returns:
            True before the first settings, and within a field block.
        """
        ref s = self.state[]
        return s.input.block.stream_id != 0 or s.input.phase < H2Phase.OPEN

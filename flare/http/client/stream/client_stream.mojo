"""Writes the content of a request, and reads that of its response, piece by
piece.
"""

from flare.core import OctetBlock, PointerTo, heap_destroy
from flare.io import Reader, Writer
from flare.message import HeaderMap

from ...client_error import ClientError, Phase, raised
from ...timings import ExchangeTimings
from ...version import HttpVersion
from ..call.cookies import keep_cookies
from ..exchange.client_exchange import exceeds_limit
from ..exchange.decoding import CodedPieces
from ..transport.clock import now
from .stream_state import (
    ClientStreamState,
    RequestSide,
    ResponseSide,
    StreamSides,
)


struct ClientStream(Movable, Reader, Writer):
    """One exchange, from `HttpClient.open` or `HttpClient.stream`.

    Write the content and call `end`, then read the response with `status`,
    `headers` and `read`. One fiber may write while another reads. Each wait has
    the limit of the client's configuration. Contents may have any length.

    After the response was read to its end, the connection returns to the
    client's pool. If the stream is dropped earlier, the connection is closed.
    """

    var _state: PointerTo[ClientStreamState]

    def __init__(out self, *, unsafe_state: PointerTo[ClientStreamState]):
        """Takes ownership of an exchange.

        Args:
            unsafe_state: The exchange.

        Safety:
            No other code frees it.
        """
        self._state = unsafe_state

    def __deinit__(deinit self):
        """Closes the connection, unless the whole response was read."""
        self.close()
        heap_destroy(self._state)

    def close(self):
        """Abandons the exchange. Further calls have no effect."""
        self._sides().end(is_whole=False)

    def give_up(self, cause: Error):
        """Abandons the exchange, and reports the cause to the client's
        `CallLog`.

        Args:
            cause: The program's error.
        """
        if self._state[].is_over:
            return
        var phase = Phase.CONTENT
        if self._sides().is_request_open():
            phase = Phase.SEND
        self._state[].owner.call[].fail(cause, phase)
        self.close()

    def write(self, octets: Span[UInt8, _]) raises -> Int:
        """Sends octets of the content; waits while the kernel has no room.

        Args:
            octets: The octets.

        Returns:
            The number of octets written, always all.

        Raises:
            Error: `client.closed send` and others. If the server has answered
                already, `status` returns its status.
        """
        if not self.begin_content():
            raise raised(
                ClientError.CLOSED,
                Phase.SEND,
                "the server has answered, and wants no content",
            )
        if len(octets) == 0:
            return 0
        self._sides().enter_request()
        var failure = Optional[Error](None)
        try:
            self._state[].exchange.write(octets)
        except e:
            failure = Error(ClientError.because(Phase.SEND, e))
        self._sides().leave_request(failure^)
        return len(octets)

    def begin_content(self) raises -> Bool:
        """Sends the head, and waits for 100 (Continue) if it was requested.

        Returns:
            True if the server wants the content; False if it has answered
            without it.

        Raises:
            Error: `client.closed send` and others.
        """
        self._sides().check_request()
        ref request = self._state[].request
        var state = request.state
        if state > RequestSide.EXPECTING:
            return state == RequestSide.CONTENT
        self._sides().enter_request()
        request.state = RequestSide.CONTENT
        var goes_on = True
        var failure = Optional[Error](None)
        try:
            if state == RequestSide.EXPECTING:
                goes_on = self._state[].exchange.may_go_on()
            else:
                self._state[].exchange.flush()
        except e:
            failure = Error(ClientError.because(Phase.SEND, e))
        if not goes_on:
            request.state = RequestSide.REFUSED
        self._sides().leave_request(failure^)
        return goes_on

    def set_trailer(self, name: StringSlice, value: StringSlice) raises:
        """Sets a trailer field, which follows the content if that is chunked.

        Args:
            name: The name.
            value: The value.

        Raises:
            An error `message.bad_header_name` or `message.bad_header_value`.
        """
        self._sides().check_request()
        self._state[].request.trailers.set(name, value)

    def end(self) raises:
        """Ends the content. Further calls have no effect.

        Raises:
            Error: `client.bad_request send` if the content is shorter than
                announced, and the errors of `write`.
        """
        if not self._sides().is_request_open():
            return
        self._sides().enter_request()
        ref request = self._state[].request
        var failure = Optional[Error](None)
        try:
            if request.state != RequestSide.REFUSED:
                self._state[].exchange.end(request.trailers)
        except e:
            failure = Error(ClientError.because(Phase.SEND, e))
        if not self._state[].is_over:
            request.state = RequestSide.ENDED
            ref call = self._state[].owner.call[]
            call.timings.send_us += call.next_phase_us()
        self._sides().leave_request(failure^)

    def status(self) raises -> Int:
        """Waits for the head of the response, and returns the status.

        Returns:
            The status.

        Raises:
            Error: `client.timeout head`, `client.protocol head` and others.
        """
        self._receive_head()
        return self._state[].response.status

    def version(self) raises -> HttpVersion:
        """Waits for the head of the response, and returns the server's version
        of HTTP.

        Returns:
            The version.

        Raises:
            Error: As `status` does.
        """
        self._receive_head()
        return HttpVersion(1, self._state[].response.version_minor)

    def headers(self) raises -> ref[origin_of(self)] HeaderMap:
        """Waits for the head of the response, and returns its fields.

        Returns:
            The fields, which live as long as the stream.

        Raises:
            Error: As `status` does.
        """
        self._receive_head()
        return (
            Pointer(to=self._state[].response.headers)
            .unsafe_mut_cast[False]()
            .unsafe_origin_cast[origin_of(self)]()[]
        )

    def url(self) -> String:
        """Returns the URL of the present request, after the redirections that
        were followed.

        Returns:
            The URL.
        """
        return self._state[].owner.call[].url_text()

    def timings(self) -> ExchangeTimings:
        """Returns the durations of the phases.

        Returns:
            The durations of the phases that have ended.
        """
        return self._state[].owner.call[].timings

    def decoded_from(self) raises -> String:
        """Returns the content codings that are removed while the content is
        read.

        The `headers` then contain neither Content-Encoding nor Content-Length.

        Returns:
            The value of Content-Encoding; empty if the content is read
            unchanged.

        Raises:
            Error: As `status` does.
        """
        self._receive_head()
        return self._state[].response.codings

    def trailers(self) -> HeaderMap:
        """Returns the trailer section of the response.

        Returns:
            The fields; none before all was read.
        """
        return self._state[].response.trailers.copy()

    def read(self, into: Span[mut=True, UInt8, _]) raises -> Int:
        """Reads content of the response; waits for its first octet.

        Args:
            into: The destination.

        Returns:
            The number of octets; 0 at the end, or if `into` is empty.

        Raises:
            Error: `client.closed content`, `client.timeout content`,
                `client.encoding content` and others: the content read before is
                then incomplete. `client.over content` if the exchange was
                abandoned or has failed before.
        """
        self._receive_head()
        ref response = self._state[].response
        if len(into) == 0 or response.state == ResponseSide.WHOLE:
            return 0
        self._sides().enter_response(Phase.CONTENT)
        var count = 0
        var failure = Optional[Error](None)
        try:
            count = self._read(into)
        except e:
            failure = Error(ClientError.because(Phase.CONTENT, e))
        self._sides().leave_response(failure^)
        if count == 0:
            response.state = ResponseSide.WHOLE
            response.trailers = self._state[].exchange.take_trailers()
            self._sides().end(is_whole=True)
        return count

    def has_received(self) -> Bool:
        """Returns whether octets after the head have arrived.

        Returns:
            True if `read` would find content, its end, a failure or framing
            octets at once. False before the head was read.
        """
        ref s = self._state[]
        if s.is_over or s.response.state == ResponseSide.WHOLE:
            return True
        if s.response.state == ResponseSide.AWAITED:
            return False
        return self._state[].exchange.has_received()

    def read_all(self, octets_max: Int) raises -> List[UInt8]:
        """Reads the rest of the content.

        Args:
            octets_max: The maximum number of octets.

        Returns:
            The octets.

        Raises:
            Error: `client.too_large content`, and the errors of `read`.
        """
        var all = List[UInt8]()
        var piece = OctetBlock(length=16 * 1024)
        while True:
            var count = self.read(piece.span())
            if count == 0:
                return all^
            if len(all) + count > octets_max:
                self._sides().fail(exceeds_limit())
            all.extend(piece.span()[0:count])

    @always_inline
    def _sides(self) -> StreamSides:
        return StreamSides(self._state)

    def _receive_head(self) raises:
        ref s = self._state[]
        if s.response.state != ResponseSide.AWAITED:
            return
        # A reader beside the writer looks for an early answer.
        if (
            not s.is_over
            and not s.request.is_in_use
            and s.request.state <= RequestSide.EXPECTING
        ):
            _ = self.begin_content()
        self._sides().enter_response(Phase.HEAD)
        var failure = Optional[Error](None)
        try:
            self._await_head()
            keep_cookies(s.owner.state, s.owner.call)
            ref call = s.owner.call[]
            call.timings.head_us += call.next_phase_us()
            s.take_head()
        except e:
            failure = Error(ClientError.because(Phase.HEAD, e))
        self._sides().leave_response(failure^)
        self._sides().end_without_content()

    def _await_head(self) raises:
        # The time of the server begins after the last octet sent, and another
        # fiber may be sending still.
        ref request = self._state[].request
        var x = self._state[].exchange
        var bound_ms = x.state[].timeouts.first_octet_ms
        var left_ms = bound_ms
        while True:
            var began_ms = now()
            try:
                _ = x.receive_head_within(left_ms)
                return
            except e:
                var least_ms = min(left_ms, x.state[].timeouts.read_ms)
                if (
                    ClientError.because(Phase.HEAD, e).kind
                    != ClientError.TIMEOUT
                    # Then a deadline of the program has passed.
                    or now() - began_ms < least_ms
                    or not (request.is_in_use or request.sent_ms > began_ms)
                ):
                    raise e^
            left_ms = bound_ms
            if not request.is_in_use:
                left_ms = max(bound_ms - (now() - request.sent_ms), 1)

    def _read(self, into: Span[mut=True, UInt8, _]) raises -> Int:
        if not self._state[].response.coded:
            return self._state[].exchange.read(into)
        var pieces = CodedPieces(
            Pointer(to=self._state[].response.coded.value()).unsafe_origin_cast[
                MutUntrackedOrigin
            ]()
        )
        while True:
            var count = pieces.take(into)
            if count > 0 or pieces.has_ended():
                return count
            pieces.add(self._state[].exchange.read(pieces.room()))

"""Writes the content of a request, and reads that of its response, piece by
piece: the work of a `ClientStream`.

If the program calls a driver library, each function passes the call on to the
function of the same name there.
"""

from flare.core import OctetBlock, heap_destroy
from flare.sys.driver import (
    CALLS_DRIVER,
    MutOctetView,
    OctetView,
    TextView,
    mut_octet_view,
)

from ...body import Body
from ...received import Received
from ...response import Response
from ..call.cookies import keep_cookies
from ...client_error import ClientError, Phase, raised
from ..exchange.client_exchange import exceeds_limit
from ..exchange.decoding import CodedPieces
from ..transport.clock import now
from .stream_functions import Stream, stream_functions
from .stream_state import RequestSide, ResponseSide, StreamSides

comptime _READ_OCTETS = 16 * 1024


def drop(stream: Stream):
    """Closes the connection, unless the whole response was read, and frees the
    stream.

    Args:
        stream: The stream.
    """
    comptime if CALLS_DRIVER:
        stream_functions()[].drop(stream)
    else:
        close(stream)
        heap_destroy(stream)


def close(stream: Stream):
    """Abandons the exchange. Further calls have no effect.

    Args:
        stream: The stream.
    """
    comptime if CALLS_DRIVER:
        stream_functions()[].close(stream)
    else:
        StreamSides(stream).end(is_whole=False)


def give_up(stream: Stream, cause: Error):
    """Abandons the exchange, and reports the cause to the `CallLog`.

    Args:
        stream: The stream.
        cause: The program's error.
    """
    comptime if CALLS_DRIVER:
        stream_functions()[].give_up(stream, cause)
    else:
        if stream[].is_over:
            return
        var phase = Phase.CONTENT
        if StreamSides(stream).is_request_open():
            phase = Phase.SEND
        stream[].owner.call[].fail(cause, phase)
        close(stream)


def write(stream: Stream, octets: OctetView) raises:
    """Sends octets of the content; waits while the kernel has no room.

    Args:
        stream: The stream.
        octets: The octets.

    Raises:
        Error: `client.closed send` and others.
    """
    comptime if CALLS_DRIVER:
        stream_functions()[].write(stream, octets)
    else:
        if not begin_content(stream):
            raise raised(
                ClientError.CLOSED,
                Phase.SEND,
                "the server has answered, and wants no content",
            )
        if len(octets) == 0:
            return
        var sides = StreamSides(stream)
        sides.enter_request()
        var failure = Optional[Error](None)
        try:
            stream[].exchange.write(octets)
        except e:
            failure = Error(ClientError.because(Phase.SEND, e))
        sides.leave_request(failure^)


def begin_content(stream: Stream) raises -> Bool:
    """Sends the head, and waits for 100 (Continue) if it was requested.

    Args:
        stream: The stream.

    Returns:
        True if the server wants the content.

    Raises:
        Error: `client.closed send` and others.
    """
    comptime if CALLS_DRIVER:
        return stream_functions()[].begin_content(stream)
    else:
        var sides = StreamSides(stream)
        sides.check_request()
        ref request = stream[].request
        var state = request.state
        if state > RequestSide.EXPECTING:
            return state == RequestSide.CONTENT
        sides.enter_request()
        request.state = RequestSide.CONTENT
        var goes_on = True
        var failure = Optional[Error](None)
        try:
            if state == RequestSide.EXPECTING:
                goes_on = stream[].exchange.may_go_on()
            else:
                stream[].exchange.flush()
        except e:
            failure = Error(ClientError.because(Phase.SEND, e))
        if not goes_on:
            request.state = RequestSide.REFUSED
        sides.leave_request(failure^)
        return goes_on


def set_trailer(stream: Stream, name: TextView, value: TextView) raises:
    """Sets a trailer field of the request.

    Args:
        stream: The stream.
        name: The name.
        value: The value.

    Raises:
        An error `message.bad_header_name` or `message.bad_header_value`.
    """
    comptime if CALLS_DRIVER:
        stream_functions()[].set_trailer(stream, name, value)
    else:
        StreamSides(stream).check_request()
        stream[].request.trailers.set(name, value)


def end(stream: Stream) raises:
    """Ends the content. Further calls have no effect.

    Args:
        stream: The stream.

    Raises:
        Error: `client.bad_request send` if the content is shorter than
            announced, and the errors of `write`.
    """
    comptime if CALLS_DRIVER:
        stream_functions()[].end(stream)
    else:
        var sides = StreamSides(stream)
        if not sides.is_request_open():
            return
        sides.enter_request()
        ref request = stream[].request
        var failure = Optional[Error](None)
        try:
            if request.state != RequestSide.REFUSED:
                stream[].exchange.end(request.trailers)
        except e:
            failure = Error(ClientError.because(Phase.SEND, e))
        if not stream[].is_over:
            request.state = RequestSide.ENDED
            ref call = stream[].owner.call[]
            call.timings.send_us += call.next_phase_us()
        sides.leave_request(failure^)


def receive_head(stream: Stream) raises:
    """Waits for the head of the response, unless it was received.

    Args:
        stream: The stream.

    Raises:
        Error: `client.timeout head`, `client.protocol head` and others.
    """
    if stream[].response.state != ResponseSide.AWAITED:
        return
    comptime if CALLS_DRIVER:
        stream_functions()[].receive_head(stream)
    else:
        _receive_head(stream)


def read(stream: Stream, into: MutOctetView) raises -> Int:
    """Reads content of the response; waits for its first octet.

    Args:
        stream: The stream.
        into: The destination.

    Returns:
        The number of octets; 0 at the end, or if `into` is empty.

    Raises:
        Error: `client.closed content` and others.
    """
    comptime if CALLS_DRIVER:
        return stream_functions()[].read(stream, into)
    else:
        receive_head(stream)
        ref response = stream[].response
        if len(into) == 0 or response.state == ResponseSide.WHOLE:
            return 0
        var sides = StreamSides(stream)
        sides.enter_response(Phase.CONTENT)
        var count = 0
        var failure = Optional[Error](None)
        try:
            count = _read(stream, into)
        except e:
            failure = Error(ClientError.because(Phase.CONTENT, e))
        sides.leave_response(failure^)
        if count == 0:
            response.state = ResponseSide.WHOLE
            response.trailers = stream[].exchange.take_trailers()
            sides.end(is_whole=True)
        return count


def read_all(stream: Stream, octets_max: Int) raises -> List[UInt8]:
    """Reads the rest of the content.

    Args:
        stream: The stream.
        octets_max: The maximum number of octets.

    Returns:
        The octets.

    Raises:
        Error: `client.too_large content`, and the errors of `read`.
    """
    comptime if CALLS_DRIVER:
        return stream_functions()[].read_all(stream, octets_max)
    else:
        var all = List[UInt8]()
        var piece = OctetBlock(length=_READ_OCTETS)
        while True:
            var count = read(stream, mut_octet_view(piece.span()))
            if count == 0:
                return all^
            if len(all) + count > octets_max:
                StreamSides(stream).fail(exceeds_limit())
            all.extend(piece.span()[0:count])


def has_received(stream: Stream) -> Bool:
    """Returns whether octets after the head have arrived.

    Args:
        stream: The stream.

    Returns:
        As `ClientStream.has_received`.
    """
    comptime if CALLS_DRIVER:
        return stream_functions()[].has_received(stream)
    else:
        ref s = stream[]
        if s.is_over or s.response.state == ResponseSide.WHOLE:
            return True
        if s.response.state == ResponseSide.AWAITED:
            return False
        return s.exchange.has_received()


def finish(stream: Stream) raises -> Response:
    """Ends the content, and reads the response.

    Args:
        stream: The stream.

    Returns:
        The response, even if it arrived before the whole request was sent.

    Raises:
        ClientError: If the content does not arrive completely.
    """
    comptime if CALLS_DRIVER:
        return stream_functions()[].finish(stream)
    else:
        try:
            end(stream)
        except e:
            var error = ClientError.of(e)
            if not error or error.value().kind == ClientError.BAD_REQUEST:
                raise e^
        return _whole_response(stream)


def _receive_head(stream: Stream) raises:
    ref s = stream[]
    # A reader beside the writer looks for an early answer.
    if (
        not s.is_over
        and not s.request.is_in_use
        and s.request.state <= RequestSide.EXPECTING
    ):
        _ = begin_content(stream)
    var sides = StreamSides(stream)
    sides.enter_response(Phase.HEAD)
    var failure = Optional[Error](None)
    try:
        _await_head(stream)
        keep_cookies(s.owner.state, s.owner.call)
        ref call = s.owner.call[]
        call.timings.head_us += call.next_phase_us()
        s.take_head()
    except e:
        failure = Error(ClientError.because(Phase.HEAD, e))
    sides.leave_response(failure^)
    sides.end_without_content()


def _await_head(stream: Stream) raises:
    # The time of the server begins after the last octet sent, and another
    # fiber may be sending still.
    ref request = stream[].request
    var x = stream[].exchange
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
                ClientError.because(Phase.HEAD, e).kind != ClientError.TIMEOUT
                # Then a deadline of the program has passed.
                or now() - began_ms < least_ms
                or not (request.is_in_use or request.sent_ms > began_ms)
            ):
                raise e^
        left_ms = bound_ms
        if not request.is_in_use:
            left_ms = max(bound_ms - (now() - request.sent_ms), 1)


def _read(stream: Stream, into: MutOctetView) raises -> Int:
    if not stream[].response.coded:
        return stream[].exchange.read(into)
    var pieces = CodedPieces(
        Pointer(to=stream[].response.coded.value()).unsafe_origin_cast[
            MutUntrackedOrigin
        ]()
    )
    while True:
        var count = pieces.take(into)
        if count > 0 or pieces.has_ended():
            return count
        pieces.add(stream[].exchange.read(pieces.room()))


def _whole_response(stream: Stream) raises -> Response:
    receive_head(stream)
    ref owner = stream[].owner
    ref parts = stream[].response
    var response = Response(parts.status)
    response.headers = parts.headers.copy()
    var received = Received()
    var r = received.state
    r[].url.append(owner.call[].url_text().as_bytes())
    r[].codings.append(parts.codings.as_bytes())
    var octets_max = owner.state[].config.limits.body_octets_max
    var piece = OctetBlock(length=_READ_OCTETS)
    while True:
        var count = read(stream, mut_octet_view(piece.span()))
        if count == 0:
            break
        r[].content.append(piece.span()[0:count])
        if len(r[].content) > octets_max:
            var failure = exceeds_limit()
            give_up(stream, failure)
            raise failure^
    r[].trailers = parts.trailers.copy()
    r[].timings = owner.call[].timings
    response.body = Body(received=received^)
    return response^

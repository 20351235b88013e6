"""Turns responses of handlers into octets of HTTP/1.1."""

from flare.core import PointerTo
from flare.http.exchange import Exchange
from flare.http.response import Response
from flare.message import HeaderMap
from flare.proto.h1 import BodyLength, H1Error, H1Machine

from ..transport.connection_state import ConnectionState, Stage, connection_of
from ..transport.outbox import (
    has_output,
    keep_large,
    make_room,
    output_of,
)
from ..transport.worker_state import worker_of
from .sent import Sent

# The size for most heads; a longer one makes the buffer grow.
comptime _HEAD_OCTETS = 512


@always_inline
def machine(c: PointerTo[ConnectionState]) -> H1Machine:
    """Returns the protocol machine of a connection.

    Args:
        c: The connection.

    Returns:
        The handle.
    """
    return H1Machine(
        Pointer(to=c[].h1.state).unsafe_origin_cast[MutUntrackedOrigin]()
    )


@always_inline
def close_if_never_asked(x: Exchange):
    """Makes a connection end after a response whose request is not complete,
    and whose client was not told to send the rest.

    Args:
        x: The request.
    """
    if (
        x[].head.expects_continue
        and not x[].content.is_complete
        and x[].is_running()
    ):
        # The client was not told to send its content: whether it will is not
        # known, so that no request may follow (RFC 9110 section 10.1.1).
        var c = connection_of(x)
        machine(c).close_after_exchange()
        c[].ending.lingers = True


@always_inline
def ends_with_close(c: PointerTo[ConnectionState]) -> Bool:
    """Returns whether only the end of a connection ends its response.

    Args:
        c: The connection, which is about to end.

    Returns:
        True if a clean close would make a truncated response look complete.
    """
    var h1 = machine(c)
    if h1.is_upgraded():
        return c[].running > 0 or has_output(c)
    # To a client of HTTP/1.0 an orderly end makes what came the whole.
    return h1.ends_with_close() and (h1.is_sending_body() or has_output(c))


def abort(c: PointerTo[ConnectionState]):
    """Breaks a response off: the connection is reset after its output. Earlier
    responses may be part of that output.

    Args:
        c: The connection.
    """
    c[].ending.resets = True
    c[].stage = Stage.LAST_SEND


def inform(x: Exchange, status: Int, fields: HeaderMap) raises H1Error:
    """Writes an interim response.

    Args:
        x: The request.
        status: The status, 1xx.
        fields: The fields.

    Raises:
        H1Error: If the response has begun, or a field is invalid.
    """
    var c = connection_of(x)
    machine(c).send_informational(status, fields, output_of(c))


def write_stream_head(x: Exchange) raises H1Error:
    """Writes the head of a streamed response, or the 101 of an upgrade.

    Args:
        x: The exchange, which has the head.

    Raises:
        H1Error: If its fields contradict one another; the output is unchanged.
    """
    var c = connection_of(x)
    var w = worker_of(c)
    w[].refresh_date()
    close_if_never_asked(x)
    machine(c).send_response_head(
        x[].stream.status,
        x[].stream.headers,
        BodyLength.UNKNOWN,
        Span(w[].date.octets),
        output_of(c),
    )
    x[].stream.is_head_due = False
    # A stream may last for days, and needs them no more.
    x[].stream.headers = HeaderMap()


def write_stream_content(x: Exchange, octets: Span[UInt8, _]) raises H1Error:
    """Writes content of a streamed response whose head is written.

    Args:
        x: The exchange.
        octets: The content, for which there is room.

    Raises:
        H1Error: If it exceeds the Content-Length of the response.
    """
    var c = connection_of(x)
    var output = output_of(c)
    make_room(c, len(octets))
    machine(c).send_data(octets, output)
    x[].stream.written += len(octets)


def can_send_file(x: Exchange, octets: Int) -> Bool:
    """Returns whether octets of a file may follow the head of a streamed
    response as they are.

    Args:
        x: The exchange, whose head is written.
        octets: Their number.

    Returns:
        False if they need framing or are too many.
    """
    return machine(connection_of(x)).plain_octets_left() >= octets


def count_file_content(x: Exchange, octets: Int):
    """Counts octets of a file that were sent as content of a response.

    Args:
        x: The exchange.
        octets: Their number, for which there was room.
    """
    x[].stream.written += octets
    try:
        _ = machine(connection_of(x)).count_data(octets)
    except:
        debug_assert(False, "more octets were sent than there was room for")


def end_stream(x: Exchange) raises H1Error:
    """Ends a streamed response whose function has returned.

    Args:
        x: The exchange.

    Raises:
        H1Error: If the content falls short of its Content-Length, or a field
            may not be a trailer.
    """
    var c = connection_of(x)
    if x[].stream.is_head_due:
        write_stream_head(x)
    if len(x[].stream.trailers) > 0:
        machine(c).send_trailers(x[].stream.trailers, output_of(c))
    machine(c).send_end(output_of(c))


@always_inline
def write_plain_h1(x: Exchange, response: Response) -> Bool:
    """Writes a whole response in one step, if it is a plain one.

    Args:
        x: The request.
        response: The response. If its content is not copied, the caller keeps
            it until it is sent.

    Returns:
        False if the response needs more steps; the output is then unchanged.
    """
    var c = connection_of(x)
    var octets = response.body.octets()
    var w = worker_of(c)
    var output = output_of(c)
    w[].refresh_date()
    return machine(c).send_plain_response(
        response.status,
        response.headers,
        octets,
        Span(w[].date.octets),
        output,
        copies=response.body.is_copied(),
    )


def write_h1(x: Exchange, var response: Response) raises H1Error -> Sent:
    """Writes a response.

    Args:
        x: The request.
        response: The response.

    Returns:
        The response that was written.

    Raises:
        H1Error: If its fields contradict its content. Before the head
            is out, the output is then unchanged.
    """
    var c = connection_of(x)
    var output = output_of(c)
    var w = worker_of(c)
    w[].refresh_date()
    var sent = Sent(response.status, len(response.body))
    var length = sent.content_octets
    var is_copied = response.body.is_copied()
    make_room(c, _HEAD_OCTETS + (length if is_copied else 0))
    var h1 = machine(c)
    h1.send_response_head(
        response.status,
        response.headers,
        BodyLength.known(length),
        Span(w[].date.octets),
        output,
    )
    if is_copied:
        h1.send_data(response.body.octets(), output)
    elif h1.count_data(length):
        keep_large(c, response^.into_body())
    h1.send_end(output)
    return sent


def write_continue(x: Exchange):
    """Writes 100 (Continue), so that the waiting client sends its content.

    Args:
        x: The request.
    """
    var c = connection_of(x)
    try:
        machine(c).send_informational(100, output_of(c))
    except:
        # Too late for it: the response has begun.
        return

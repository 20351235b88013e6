"""Writes responses in the protocol of their connection."""

from flare.core import PointerTo
from flare.http.body import COPY_OCTETS_MAX
from flare.http.error_answer import error_answer
from flare.http.exchange import Exchange
from flare.http.response import Response
from flare.message import HeaderMap, Method, Status
from flare.proto.h2.h2_error import H2Code

from ..records.statistics import count
from ..transport.buffered import buffered_octets, is_full
from ..transport.connection_state import ConnectionState, Stage, connection_of
from ..transport.log_lines import log_line_of_peer
from ..transport.outbox import (
    has_output,
    keep_large,
    release_output,
    stream_room,
)
from ..transport.worker_state import worker_of
from .h1_responses import (
    abort,
    close_if_never_asked,
    end_stream,
    ends_with_close,
    inform,
    write_h1,
    write_plain_h1,
    write_stream_content,
    write_stream_head,
)
from .h2_responses import (
    end_h2_stream,
    h2_stream_room,
    inform_h2,
    is_false_success,
    may_answer,
    reset_h2,
    write_h2,
    write_h2_stream_content,
    write_h2_stream_head,
    write_plain_h2,
)
from .h2_pump import pump
from .sent import Sent


@always_inline
def write_response(x: Exchange, var response: Response) -> Sent:
    """Writes the response to a request.

    A response that cannot be final becomes a 500: its status is not 200 to
    599, or framing fields of the handler contradict its content.

    If the worker's budget is used up, a long answer to GET becomes a 503. At
    twice the budget, a long answer to another method does too.

    Args:
        x: The request.
        response: The response.

    Returns:
        The response that was written.
    """
    var c = connection_of(x)
    if len(response.body) > COPY_OCTETS_MAX and _must_do_without(x, response):
        count(worker_of(c)[].statistics[].refused)
        response = error_answer(x, Status.SERVICE_UNAVAILABLE)
    if c[].h2:
        return _write_to_stream(x, response^)
    close_if_never_asked(x)
    if write_plain_h1(x, response):
        var sent = Sent(response.status, len(response.body))
        if not response.body.is_copied():
            keep_large(c, response^.into_body())
        return sent
    return _write_general(x, response^)


@no_inline
def _write_to_stream(x: Exchange, var response: Response) -> Sent:
    if not may_answer(x):
        return Sent.NOTHING
    if is_false_success(x, response.status):
        response = error_answer(x, Status.NOT_IMPLEMENTED)
    if write_plain_h2(x, response):
        return Sent(response.status, len(response.body))
    return _write_general(x, response^)


@no_inline
def _must_do_without(x: Exchange, response: Response) -> Bool:
    """Returns whether the budget has no room to keep a long content until the
    peer has read it. The answer to another method than GET is kept until twice
    the budget is used: the handler may have changed something."""
    var w = worker_of(connection_of(x))
    if not is_full(w) or response.body.is_sealed() or not x[].is_running():
        return False
    return (
        x[].head.method == Method.GET
        or buffered_octets(w) > 2 * w[].budget.octets_max
    )


@no_inline
def _write_general(x: Exchange, var response: Response) -> Sent:
    var w = worker_of(connection_of(x))
    if response.status < 200 or response.status > 599:
        # An interim response is none, and 101 would hand the connection over.
        log_line_of_peer(
            w, "flare: a response was refused: its status is not 200 to 599"
        )
        response = error_answer(x, 500)
    try:
        return _write(x, response^)
    except:
        log_line_of_peer(
            w,
            "flare: a response was refused: it contradicts its own framing",
        )
        try:
            return _write(x, error_answer(x, 500))
        except:
            # The head is out already: only the end tells the peer.
            break_off_at_once(x)
            return Sent.NOTHING


def _write(x: Exchange, var response: Response) raises -> Sent:
    if connection_of(x)[].h2:
        return write_h2(x, response^)
    try:
        return write_h1(x, response^)
    except e:
        raise Error(e.reason)


def break_off(x: Exchange):
    """Ends a response that is not complete, so that the peer notices. On a
    connection of HTTP/1.1, earlier responses may be part of the output, which
    is sent before.

    Args:
        x: The request.
    """
    var c = connection_of(x)
    if c[].h2:
        reset_h2(x, H2Code.INTERNAL_ERROR)
    else:
        abort(c)


def break_off_at_once(x: Exchange):
    """Ends a request that gets no complete response, also without sending the
    output.

    Args:
        x: The request.
    """
    var c = connection_of(x)
    if c[].h2:
        reset_h2(x, H2Code.INTERNAL_ERROR)
    else:
        end_at_once(c)


def end_at_once(c: PointerTo[ConnectionState]):
    """Closes a connection without sending the remaining output. Resets it if a
    clean close would make a truncated response look complete.

    Args:
        c: The connection.
    """
    if not c[].h2:
        c[].ending.resets = c[].ending.resets or ends_with_close(c)
    c[].stage = Stage.CLOSING


def write_interim(x: Exchange, status: Int, fields: HeaderMap) raises:
    """Writes an interim response.

    Args:
        x: The request.
        status: The status, 1xx.
        fields: The fields.

    Raises:
        Error: The phrase of the rule, if the response has begun or a field is
            invalid.
    """
    if connection_of(x)[].h2:
        return inform_h2(x, status, fields)
    try:
        inform(x, status, fields)
    except e:
        raise Error(e.reason)


def write_continue(x: Exchange):
    """Writes 100 (Continue), so that the waiting client sends its content.

    Args:
        x: The request.
    """
    try:
        write_interim(x, Status.CONTINUE, HeaderMap())
    except:
        # Too late for it: the response has begun.
        return


def begin_stream_output(x: Exchange) raises:
    """Writes the head of a streamed response, or the 101 of an upgrade.

    Args:
        x: The exchange, which has the head.

    Raises:
        Error: The phrase of the rule, if fields contradict one another. The output
            is then unchanged.
    """
    if connection_of(x)[].h2:
        return write_h2_stream_head(x)
    try:
        write_stream_head(x)
    except e:
        raise Error(e.reason)


def write_stream_octets(x: Exchange, octets: Span[UInt8, _]) raises:
    """Writes content of a streamed response whose head is written.

    Args:
        x: The exchange.
        octets: The content, for which there is room.

    Raises:
        Error: The phrase of the rule, if it exceeds the Content-Length.
    """
    if connection_of(x)[].h2:
        return write_h2_stream_content(x, octets)
    try:
        write_stream_content(x, octets)
    except e:
        raise Error(e.reason)


def end_stream_output(x: Exchange) raises:
    """Ends a streamed response whose function has returned.

    Args:
        x: The exchange.

    Raises:
        Error: The phrase of the rule, if the content falls short of its
            Content-Length, or a field may not be a trailer.
    """
    if connection_of(x)[].h2:
        return end_h2_stream(x)
    try:
        end_stream(x)
    except e:
        raise Error(e.reason)


def room_for_stream(x: Exchange) -> Int:
    """Returns how many octets of a streamed response may be written.

    Args:
        x: The exchange.

    Returns:
        The octets; 0 or less if its function has to wait.
    """
    var c = connection_of(x)
    if c[].h2:
        return h2_stream_room(x)
    return stream_room(c) - len(c[].outbox.output)


@always_inline
def add_queued_content(c: PointerTo[ConnectionState]):
    """Moves content that waits for its turn into the output.

    Args:
        c: The connection.
    """
    if c[].h2:
        pump(c)


@always_inline
def release_unused_output(c: PointerTo[ConnectionState]):
    """Returns an output buffer that a connection of HTTP/2 did not need after
    all.

    Args:
        c: The connection.
    """
    if c[].h2 and not has_output(c):
        release_output(c)

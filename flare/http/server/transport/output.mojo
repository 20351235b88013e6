"""Sends what a connection has to say: one send in flight, the rest gathers."""

from flare.core import Buffer, PointerTo
from flare.http.body import COPY_OCTETS_MAX
from flare.http.builders import error_response
from flare.http.error_answer import error_answer
from flare.http.exchange import Exchange
from flare.http.response import Response
from flare.message import Method, Status
from flare.proto.h1 import BodyLength, H1Error, H1Machine
from flare.proto.h1.head import BodyKind
from flare.proto.h1.state import SideState
from flare.runtime.operation import Operation
from flare.runtime.reactor import LARGE_BUFFER_OCTETS

from .buffered import buffered_octets, drop_large, is_full
from .connection_state import ConnectionState, Stage
from .encryption import encrypt
from .log_lines import log_line_of_peer
from ..records.statistics import WorkerStatistics
from .worker_state import OUTPUT_OCTETS, WorkerState

comptime STREAM_OCTETS_MAX = LARGE_BUFFER_OCTETS - 64
"""What may gather of a streamed response behind a send before its function
waits; the rest of the buffer is for what is written around it."""

# While more than this is unsent no further request is read.
comptime _UNSENT_OCTETS_MAX = 256 * 1024
# A chunk size with its line ends, and the last chunk.
comptime _AROUND_CONTENT_OCTETS = 32
# What most heads fit into; a longer one lets the buffer grow.
comptime _HEAD_OCTETS = 512


@always_inline
def machine(c: PointerTo[ConnectionState]) -> H1Machine:
    """Names the protocol machine of a connection.

    Args:
        c: The connection.

    Returns:
        The handle.
    """
    return H1Machine(
        Pointer(to=c[].h1).unsafe_origin_cast[MutUntrackedOrigin]()
    )


@always_inline
def worker_of(c: PointerTo[ConnectionState]) -> PointerTo[WorkerState]:
    """Names the worker of a connection.

    Args:
        c: The connection.

    Returns:
        The worker's state.
    """
    return c[].worker.unsafe_bitcast[WorkerState]()


@always_inline
def output_of(c: PointerTo[ConnectionState]) -> PointerTo[Buffer]:
    """Names the buffer in which a connection gathers what is to be sent.

    Args:
        c: The connection.

    Returns:
        The buffer; it has memory.
    """
    if c[].output.capacity() == 0:
        c[].output = worker_of(c)[].take_output()
    return Pointer(to=c[].output).unsafe_origin_cast[MutUntrackedOrigin]()


@always_inline
def make_room(c: PointerTo[ConnectionState], count: Int):
    """Makes room for content in the buffer of `output_of`.

    Args:
        c: The connection, which has such a buffer.
        count: The octets, without those that are written around them.
    """
    worker_of(c)[].make_room(c[].output, count + _AROUND_CONTENT_OCTETS)


def write_response(c: PointerTo[ConnectionState], var response: Response):
    """Writes a response to the request in progress.

    One that cannot be a final response (its status is not 200 to 599, or
    framing fields of the handler's own contradict its content) becomes a 500.

    A long answer becomes a 503 if the worker has buffered all that it may, and
    one to another method than GET if it has buffered twice as much.

    Args:
        c: The connection.
        response: The response.
    """
    if c[].exchange:
        _close_if_never_asked(c, c[].exchange.unsafe_value())
    if len(response.body) > COPY_OCTETS_MAX and _must_do_without(c, response):
        WorkerStatistics.add(Pointer(to=worker_of(c)[].statistics[].refused), 1)
        response = error_answer(
            c[].exchange.unsafe_value(), Status.SERVICE_UNAVAILABLE
        )
    if _write_plain(c, response):
        if len(response.body) > COPY_OCTETS_MAX:
            _keep_large(c, response^)
        return
    _write_general(c, response^)


@no_inline
def _must_do_without(c: PointerTo[ConnectionState], response: Response) -> Bool:
    """Tells whether the budget has no room to keep a long content until the peer
    has read it. The answer to another method than GET is kept until twice the
    budget is used: the handler may have changed something."""
    var w = worker_of(c)
    if not is_full(w) or response.body.is_sealed() or not c[].running:
        return False
    return (
        c[].exchange.unsafe_value()[].head.method == Method.GET
        or buffered_octets(w) > 2 * w[].budget.octets_max
    )


@no_inline
def _write_general(c: PointerTo[ConnectionState], var response: Response):
    if response.status < 200 or response.status > 599:
        # An interim response is none, and 101 would hand the connection over.
        log_line_of_peer(
            worker_of(c),
            "flare: a response was refused: its status is not 200 to 599",
        )
        response = _own_answer(c)
    try:
        _write(c, response^)
    except e:
        log_line_of_peer(
            worker_of(c),
            "flare: a response was refused: it contradicts its own framing",
        )
        try:
            _write(c, _own_answer(c))
        except:
            # The head is out already: only closing tells the peer.
            end_at_once(c)


def _own_answer(c: PointerTo[ConnectionState]) -> Response:
    if c[].exchange:
        return error_answer(c[].exchange.unsafe_value(), 500)
    return error_response(500)


@always_inline
def _close_if_never_asked(c: PointerTo[ConnectionState], x: Exchange):
    if x[].head.expects_continue and not x[].content_complete and c[].running:
        # The client was not told to send its content: whether it will is not
        # known, so that nothing may follow (RFC 9110 section 10.1.1).
        machine(c).close_after_exchange()
        c[].lingers = True


def stream_room(c: PointerTo[ConnectionState]) -> Int:
    """Tells how much may gather of a stream before its function waits.

    Args:
        c: The connection.

    Returns:
        64 KiB or so, or what fits a buffer of the usual size where the worker
        has buffered all that it may.
    """
    return STREAM_OCTETS_MAX if not is_full(worker_of(c)) else OUTPUT_OCTETS


def cut_off(c: PointerTo[ConnectionState], x: Exchange):
    """Gives up an exchange whose peer has left: nobody is answered.

    Args:
        c: The connection.
        x: The exchange.
    """
    x[].peer_gone = True
    end_at_once(c)


def end_at_once(c: PointerTo[ConnectionState]):
    """Ends a connection without sending the rest, and orderly only where the
    peer cannot take what came for the whole.

    Args:
        c: The connection.
    """
    c[].resets = c[].resets or _ends_with_close(c)
    c[].stage = Stage.CLOSING


@always_inline
def _ends_with_close(c: PointerTo[ConnectionState]) -> Bool:
    # To a client of HTTP/1.0, and in another protocol, an orderly end makes
    # what came the whole.
    if c[].upgraded:
        return c[].running or has_output(c)
    return c[].h1.send_body == BodyKind.UNTIL_CLOSE and (
        c[].h1.response == SideState.BODY or has_output(c)
    )


def write_stream_head(
    c: PointerTo[ConnectionState], x: Exchange
) raises H1Error:
    """Writes the head of a streamed response, or the 101 of an upgrade.

    Args:
        c: The connection.
        x: The exchange, which has the head.

    Raises:
        H1Error: If its fields contradict one another; nothing is written then.
    """
    var w = worker_of(c)
    w[].refresh_date()
    _close_if_never_asked(c, x)
    machine(c).send_response_head(
        x[].stream.status,
        x[].stream.headers,
        BodyLength.UNKNOWN,
        Span(w[].date),
        output_of(c),
    )
    x[].stream.is_head_due = False


def end_stream(c: PointerTo[ConnectionState], x: Exchange) raises H1Error:
    """Ends a streamed response whose function has returned.

    Args:
        c: The connection.
        x: The exchange.

    Raises:
        H1Error: If the content falls short of its Content-Length, or a field
            may not be a trailer.
    """
    if x[].stream.is_head_due:
        write_stream_head(c, x)
    if len(x[].stream.trailers) > 0:
        machine(c).send_trailers(x[].stream.trailers, output_of(c))
    machine(c).send_end(output_of(c))


def record_access(c: PointerTo[ConnectionState], status: Int, octets: Int):
    """Hands a record of an answered request to the access log, if there is one.

    Args:
        c: The connection.
        status: The status of the response.
        octets: The length of its content.
    """
    if worker_of(c)[].access_ring:
        _record(c, status, octets)


@always_inline
def _write_plain(c: PointerTo[ConnectionState], response: Response) -> Bool:
    var octets = response.body.octets()
    var w = worker_of(c)
    var output = output_of(c)
    w[].refresh_date()
    if not machine(c).send_plain_response(
        response.status,
        response.headers,
        octets,
        Span(w[].date),
        output,
        copies=len(octets) <= COPY_OCTETS_MAX,
    ):
        return False
    record_access(c, response.status, len(octets))
    return True


def _write(
    c: PointerTo[ConnectionState], var response: Response
) raises H1Error:
    var output = output_of(c)
    var w = worker_of(c)
    w[].refresh_date()
    var length = len(response.body)
    var is_copied = length <= COPY_OCTETS_MAX
    make_room(c, _HEAD_OCTETS + (length if is_copied else 0))
    var response_status = response.status
    var h1 = machine(c)
    h1.send_response_head(
        response.status,
        response.headers,
        _length_of(h1, response.status, length),
        Span(w[].date),
        output,
    )
    if is_copied or not h1.response_allows_body(response.status):
        h1.send_data(response.body.octets(), output)
    else:
        h1.count_data(length)
        _keep_large(c, response^)
    h1.send_end(output)
    record_access(c, response_status, length)


@always_inline
def _length_of(h1: H1Machine, status: Int, length: Int) -> BodyLength:
    # Where no content goes out, that there is none says nothing of the content
    # that GET would have got (RFC 9110 section 8.6); the handler may know.
    if (
        length == 0
        and status != Status.NO_CONTENT
        and not h1.response_allows_body(status)
    ):
        return BodyLength.NONE
    return BodyLength.known(length)


@no_inline
def _keep_large(c: PointerTo[ConnectionState], var response: Response):
    c[].large = response^.into_body()
    c[].large_sent = 0
    c[].large_since_ms = worker_of(c)[].reactor.now_ms()


def _record(c: PointerTo[ConnectionState], status: Int, octets: Int):
    if not c[].exchange:
        return
    var w = worker_of(c)
    ref x = c[].exchange.value()[]
    var slot = w[].access_ring.value().next_slot()
    if not slot:
        WorkerStatistics.add(
            Pointer(to=w[].statistics[].access_records_dropped), 1
        )
        return
    ref record = slot.value()[]
    record.unix_seconds = w[].reactor.wall_seconds()
    record.worker = w[].index
    record.request_id = x.request_id
    record.status = status
    record.response_octets = octets
    record.duration_ms = 0
    if x.started_ms != 0:
        record.duration_ms = max(w[].reactor.now_ms() - x.started_ms, 0)
    # What is refused before its handler runs is not named: its head may be cut
    # off, and its octets are dropped already.
    record.method = x.head.method if c[].running else Method.OTHER
    record.set_target(
        x.head.target_text(x.window())
        .as_bytes() if c[]
        .running else Span[UInt8, ImmUntrackedOrigin]()
    )
    w[].access_ring.value().publish()


def write_continue(c: PointerTo[ConnectionState]):
    """Tells a client that waits with its content to send it (100).

    Args:
        c: The connection.
    """
    try:
        machine(c).send_informational(100, output_of(c))
    except:
        # Too late for it: the response has begun.
        return
    flush(c)


@always_inline
def has_output(c: PointerTo[ConnectionState]) -> Bool:
    """Tells whether anything is still to be sent.

    Args:
        c: The connection.

    Returns:
        True until the peer's kernel has taken all of it.
    """
    return (
        len(c[].output) > 0
        or len(c[].sending) > 0
        or Bool(c[].large)
        or not send_operation(c).is_idle()
    )


@always_inline
def has_room_for_answer(c: PointerTo[ConnectionState]) -> Bool:
    """Tells whether a further request may be read.

    Args:
        c: The connection.

    Returns:
        False while too much of earlier answers is unsent.
    """
    if c[].large:
        return False
    var unsent = len(c[].output)
    return unsent <= OUTPUT_OCTETS or (
        unsent <= _UNSENT_OCTETS_MAX and not is_full(worker_of(c))
    )


@always_inline
def send_operation(c: PointerTo[ConnectionState]) -> Operation:
    """Names the send of a connection.

    Args:
        c: The connection.

    Returns:
        The operation.
    """
    return Operation(
        Pointer(to=c[].send).unsafe_origin_cast[MutUntrackedOrigin]()
    )


@always_inline
def flush(c: PointerTo[ConnectionState]):
    """Sends what has gathered, unless a send is in flight.

    Args:
        c: The connection.
    """
    if not send_operation(c).is_idle():
        return
    if c[].tls:
        _flush_encrypted(c)
        return
    if len(c[].sending) == 0:
        if len(c[].output) == 0:
            if c[].large:
                _send_large(c)
            return
        swap(c[].sending, c[].output)
    c[].send.address = c[].sending.unsafe_front()
    c[].send.length = len(c[].sending)
    c[].send.second = None
    if c[].large and len(c[].output) == 0:
        _send_with_large(c)
    else:
        worker_of(c)[].reactor.submit(send_operation(c))


@no_inline
def _flush_encrypted(c: PointerTo[ConnectionState]):
    if len(c[].sending) == 0:
        encrypt(c)
    if len(c[].sending) == 0:
        return
    c[].send.address = c[].sending.unsafe_front()
    c[].send.length = len(c[].sending)
    c[].send.second = None
    worker_of(c)[].reactor.submit(send_operation(c))


@no_inline
def _send_with_large(c: PointerTo[ConnectionState]):
    var octets = _unsent_of_large(c)
    c[].send.second = octets.unsafe_ptr()
    c[].send.second_length = len(octets)
    # A short rest is copied for less than what it takes not to copy it.
    c[].send.second_is_sealed = (
        len(octets) > COPY_OCTETS_MAX and c[].large.value().is_sealed()
    )
    worker_of(c)[].reactor.submit_at_once(send_operation(c))


@no_inline
def _send_large(c: PointerTo[ConnectionState]):
    # Nothing precedes it any more.
    c[].send.address = _unsent_of_large(c).unsafe_ptr()
    c[].send.length = 0
    _send_with_large(c)


def _unsent_of_large(
    c: PointerTo[ConnectionState],
) -> Span[UInt8, MutUntrackedOrigin]:
    var octets = c[].large.value().octets()
    return Span[UInt8, MutUntrackedOrigin](
        unsafe_ptr=octets.unsafe_ptr()
        .unsafe_mut_cast[True]()
        .unsafe_origin_cast[MutUntrackedOrigin]()
        .unsafe_offset(c[].large_sent),
        length=len(octets) - c[].large_sent,
    )


@always_inline
def count_sent(c: PointerTo[ConnectionState], count: Int):
    """Drops what the kernel has taken.

    Args:
        c: The connection, whose send has just completed.
        count: How many octets; at least 1.
    """
    var of_large = count - len(c[].sending)
    if of_large <= 0:
        c[].sending.consume(count)
        return
    c[].sending.clear()
    c[].large_sent += of_large
    if c[].large_sent >= len(c[].large.value()):
        drop_large(c)


@always_inline
def release_output(c: PointerTo[ConnectionState]):
    """Gives empty output buffers back; no send is in flight.

    Args:
        c: The connection.
    """
    if c[].sending.capacity() > 0 and len(c[].sending) == 0:
        var buffer = Buffer()
        swap(buffer, c[].sending)
        worker_of(c)[].give_output(buffer^)
    if c[].output.capacity() > 0 and len(c[].output) == 0:
        var buffer = Buffer()
        swap(buffer, c[].output)
        worker_of(c)[].give_output(buffer^)


def drop_output(c: PointerTo[ConnectionState]):
    """Forgets what was not sent; no send is in flight.

    Args:
        c: The connection.
    """
    c[].sending.clear()
    c[].output.clear()
    drop_large(c)
    release_output(c)

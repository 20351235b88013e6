"""Runs the function that writes a response bit by bit, or speaks another protocol.

It runs on the fiber of the handler, after handler and middleware have returned
and while the request still lives.
"""

from flare.core import PointerTo, equals_ignoring_case, write_escaped
from flare.http.body import Body
from flare.http.exchange import Exchange, STOPPING, UpgradeState
from flare.http.response import Response
from flare.http.stream_response import (
    begin_stream,
    can_upgrade,
    run_stream,
    upgrade_required,
)
from flare.message import HeaderMap, Method, Status
from flare.runtime.deadline import set_run_deadline
from flare.runtime.fiber import NO_DEADLINE
from flare.sys.errno import ENOTCONN
from flare.sys.socket_address import SocketAddressStorage

from ..records.access_facts import AccessEnd
from ..records.statistics import count
from ..sending.h2_responses import is_false_success, wire_status
from ..sending.protocol_output import break_off, end_stream_output
from ..sending.sent import Sent
from ..sending.upgraded_output import end_upgraded
from ..transport.buffered import is_full
from ..transport.connection_state import ConnectionState, connection_of
from ..transport.log_lines import log_line_of_peer
from ..transport.worker_state import WorkerState, worker_of
from .departures import connection_lost, cut_off
from .record import (
    answer,
    answer_with_error,
    note_identifier,
    record_access,
    record_departure,
)

# A stream that keeps less than that is no long answer.
comptime _HELD_OCTETS_MIN = 256 * 1024


@no_inline
def answer_with_stream(x: Exchange, var response: Response):
    """Answers a request with a response whose content a function writes.

    Args:
        x: The exchange.
        response: The response; its content is a stream.
    """
    if _refuse(x, response):
        return
    var content = _begin(x, response^)
    try:
        run_stream(x, content)
    except e:
        _break_off(x, e)
        return _end(x, content^)
    _record(x, AccessEnd.COMPLETE)
    _end(x, content^)


# Neither of these is part of the frame that lies under the function of the
# stream while it waits.
@no_inline
def _begin(x: Exchange, var response: Response) -> Body:
    var w = worker_of(connection_of(x))
    var is_upgrade = response.status == Status.SWITCHING_PROTOCOLS
    var held = response.body.held_octets()
    if w[].records.access:
        # The fields are gone when the stream ends.
        note_identifier(x, response.headers)
    _count_stream(x, w, 1)
    var content = begin_stream(x, response^)
    ref stream = x[].stream
    stream.held_octets = held
    stream.upgrade = UpgradeState(w[].config.idle_timeout_ms)
    stream.stop.is_endless = is_upgrade or _is_event_stream(stream.headers)
    stream.stop.is_stopping = w[].stopping
    # After an upgrade, it may have a last word.
    stream.stop.write_tells = not is_upgrade
    # From here on each read and each write has a deadline of its own.
    set_run_deadline(x[].fiber.value(), NO_DEADLINE)
    return content^


@no_inline
def _end(x: Exchange, var content: Body):
    # The function's captures are destroyed on the fiber, before the stream is
    # over: that may wait.
    _ = content^
    connection_of(x)[].ending.is_agreed = (
        x[].stream.upgrade.has_said_end and x[].stream.upgrade.has_heard_end
    )
    if x[].is_upgraded():
        end_upgraded(x)
    x[].stream.end()
    _count_stream(x, worker_of(connection_of(x)), -1)


@no_inline
def _refuse(x: Exchange, response: Response) -> Bool:
    """Answers with a refusal if the stream may not begin.

    Returns:
        False if the stream may begin.
    """
    var w = worker_of(connection_of(x))
    var is_upgrade = response.status == Status.SWITCHING_PROTOCOLS
    if is_upgrade and not can_upgrade(x, response):
        answer(x, upgrade_required(x, response))
        return True
    if is_false_success(x, response.status):
        answer_with_error(x, Status.NOT_IMPLEMENTED)
        return True
    if (
        w[].streams >= w[].config.max_streams
        # Its peer would be told to leave at once.
        or (is_upgrade and w[].stopping)
        or (
            response.body.held_octets() >= _HELD_OCTETS_MIN
            and is_full(w)
            and x[].head.method == Method.GET
        )
    ):
        count(w[].statistics[].refused)
        answer_with_error(x, Status.SERVICE_UNAVAILABLE, AccessEnd.REFUSED)
        return True
    return False


def report_error(x: Exchange, error: Error):
    """Logs and counts the error of a handler, unless its peer has left.

    The handler may notice a reset before its completion arrives. Such a failure
    counts as a cancelled request, not as an error of the handler.

    Args:
        x: The exchange.
        error: The error.
    """
    var c = connection_of(x)
    var w = worker_of(c)
    if _has_no_peer(c):
        connection_lost(c)
        return
    count(w[].statistics[].handler_errors)
    var text = String(error)
    var line = String(
        "flare: worker ", w[].index, " request ", x[].request_id, " raised: "
    )
    write_escaped(text.as_bytes(), line)
    log_line_of_peer(w, line)


def _has_no_peer(c: PointerTo[ConnectionState]) -> Bool:
    var address = SocketAddressStorage()
    return (
        worker_of(c)[].reactor.peer_address(c[].descriptor, address)
        == -ENOTCONN
    )


def _count_stream(x: Exchange, w: PointerTo[WorkerState], change: Int):
    w[].streams += change
    w[].in_flight -= change
    if x[].read_buffer:
        # An open stream keeps the buffer of its head. As many streams as there
        # are receive buffers must not keep other connections from receiving.
        w[].reactor.buffers().except_from_limit(change)


def _is_event_stream(headers: HeaderMap) -> Bool:
    var kind = headers.get("Content-Type")
    if not kind:
        return False
    comptime EVENTS: StaticString = "text/event-stream"
    var octets = kind.value().as_bytes()
    return len(octets) >= EVENTS.byte_length() and equals_ignoring_case(
        octets[: EVENTS.byte_length()], EVENTS.as_bytes()
    )


@no_inline
def _break_off(x: Exchange, error: Error):
    if x[].peer_gone:
        return record_lost(x)
    if _ends_for_stop(x, error):
        return
    # Where the content is at fault its own status says so.
    var status = x[].content.status
    if status == 0 and x[].peer_ended:
        break_off(x)
        cut_off(x)
        return record_lost(x)
    if status == 0:
        status = x[].status_of(error)
        if not (x[].is_upgraded() and _says_stopping(error)):
            report_error(x, error)
            if x[].peer_gone:
                return record_lost(x)
    if x[].stream.is_head_due:
        answer_with_error(x, status)
        return
    if x[].stream.upgrade.has_said_end:
        return _record(x, AccessEnd.COMPLETE)
    _record(x, AccessEnd.BROKEN_OFF)
    # The reset tells the peer that the answer is not whole. The output goes out
    # before it: earlier answers may be part of it.
    break_off(x)


def _ends_for_stop(x: Exchange, error: Error) -> Bool:
    """Returns whether an endless stream ended properly for a stop.

    Returns:
        False if the stream is broken off like any other.
    """
    ref stream = x[].stream
    if not stream.stop.is_stopping or not stream.stop.is_endless:
        return False
    if x[].is_upgraded():
        if not stream.stop.was_told_idle or not _says_stopping(error):
            return False
        _record(x, AccessEnd.COMPLETE)
        return True
    if x[].content.status != 0 or x[].peer_ended or stream.filter:
        # The remaining output of a filter cannot be had any more.
        return False
    try:
        end_stream_output(x)
    except:
        return False
    _record(x, AccessEnd.COMPLETE)
    return True


def _says_stopping(error: Error) -> Bool:
    return String(error).startswith(STOPPING)


def record_lost(x: Exchange):
    """Records a request whose client left before its answer ended.

    Args:
        x: The request, whose answer may have begun.
    """
    if x[].stream.is_open and not x[].stream.is_head_due:
        _record(x, AccessEnd.CLIENT_LEFT)
    else:
        record_departure(x)


@no_inline
def _record(x: Exchange, end: AccessEnd):
    var has_lost_peer = x[].stream.upgrade.has_lost_peer
    record_access(
        x,
        Sent(wire_status(x), x[].stream.written),
        AccessEnd.CLIENT_LEFT if has_lost_peer else end,
    )

"""Passes requests that have ended to the metrics and to the access log."""

from flare.core import Erased
from flare.http.error_answer import error_answer
from flare.http.exchange import Exchange, ExchangeStage
from flare.http.response import Response
from flare.message import HeaderMap, Method, Status
from flare.net import IpAddr, SocketAddr

from ..records.access_entry import REQUEST_ID_OCTETS_MAX
from ..records.access_facts import (
    CLIENT_LEFT_STATUS,
    AccessEnd,
    AccessEvent,
    AccessOutcome,
)
from ..records.request_metrics import RequestEnd
from ..records.statistics import count
from ..sending.protocol_output import write_response
from ..sending.sent import Sent
from ..transport.connection_state import connection_of
from ..transport.worker_state import worker_of

comptime _REQUEST_ID: StaticString = "X-Request-Id"


def answer(
    x: Exchange,
    var response: Response,
    end: AccessEnd = AccessEnd.COMPLETE,
):
    """Writes the response to a request, and its record.

    Args:
        x: The request.
        response: The response.
        end: How the request ended, unless the client has left.
    """
    if worker_of(connection_of(x))[].records.access:
        note_identifier(x, response.headers)
    record_access(x, write_response(x, response^), end)


@no_inline
def answer_with_error(
    x: Exchange, status: Int, end: AccessEnd = AccessEnd.COMPLETE
):
    """Writes the answer to a failed request, and its record.

    Args:
        x: The request.
        status: The status, 400 to 599.
        end: How the request ended, unless the client has left.
    """
    answer(x, error_answer(x, status), end)


@always_inline
def record_access(x: Exchange, sent: Sent, end: AccessEnd = AccessEnd.COMPLETE):
    """Passes a request that has ended to the metrics and the access log, if
    there are any.

    Args:
        x: The request.
        sent: The response; `NOTHING` if the client left before it began.
        end: How the request ended.
    """
    var w = worker_of(connection_of(x))
    if w[].records.recorder != 0 or w[].records.access:
        _record(x, sent, end)


@no_inline
def record_departure(x: Exchange):
    """Records a request whose client left before its answer began.

    Args:
        x: The request.
    """
    record_access(x, Sent.NOTHING, AccessEnd.CLIENT_LEFT)


@no_inline
def note_identifier(x: Exchange, headers: HeaderMap):
    """Keeps the identifier in an answer for its record, if the access log shows
    it.

    Args:
        x: The request, on a server with an access log. Its answer is written
            and recorded next.
        headers: The fields of the answer.
    """
    var w = worker_of(connection_of(x))
    if not w[].records.access.unsafe_value().wants_identifier:
        return
    ref kept = x[].stream.identifier
    kept.clear()
    var found = headers.get(_REQUEST_ID)
    if found:
        var octets = found.value().as_bytes()
        kept.extend(octets[: min(len(octets), REQUEST_ID_OCTETS_MAX)])


@no_inline
def _record(x: Exchange, sent: Sent, end: AccessEnd):
    var c = connection_of(x)
    var w = worker_of(c)
    var outcome = AccessOutcome(
        Int32(sent.status),
        end,
        Bool(c[].tls),
        sent.content_octets,
        w[].reactor.clock_ns(),
    )
    if sent.status == 0:
        # The answer could not be written.
        outcome.status = CLIENT_LEFT_STATUS
        outcome.end = AccessEnd.CLIENT_LEFT
    elif (
        end == AccessEnd.COMPLETE
        and sent.status >= 400
        and (not x[].fiber or x[].content.status != 0)
    ):
        outcome.end = AccessEnd.REFUSED
    if w[].records.recorder != 0 and sent.status != 0:
        w[].config.metrics.functions()[].record(
            Erased(unsafe_from_address=w[].records.recorder),
            x,
            RequestEnd(
                sent.status,
                x[].stage != ExchangeStage.HEAD,
                outcome.is_secure,
                outcome.ended_ns,
            ),
        )
    if w[].records.access:
        _put(x, outcome)


@always_inline
def _put(x: Exchange, outcome: AccessOutcome):
    var c = connection_of(x)
    var w = worker_of(c)
    # A request that is refused before its handler runs is not named: its head
    # may be incomplete, and its octets are dropped already.
    var is_named = x[].stage != ExchangeStage.HEAD
    var event = AccessEvent(
        outcome,
        Int32(w[].index),
        is_named,
        is_named or Bool(c[].h2),
        Bool(c[].proxy.client),
        c[]
        .proxy.client.unsafe_value()[] if c[]
        .proxy.client else SocketAddr(IpAddr.v4(0, 0, 0, 0), 0),
        Span[UInt8, ImmUntrackedOrigin](
            unsafe_ptr=x[]
            .stream.identifier.unsafe_ptr()
            .unsafe_mut_cast[False]()
            .unsafe_origin_cast[ImmUntrackedOrigin](),
            length=len(x[].stream.identifier),
        ),
    )
    # HEAD gets no content, nor does a client whose copy is fresh.
    if (
        is_named and x[].head.method == Method.HEAD
    ) or outcome.status == Status.NOT_MODIFIED:
        event.outcome.response_octets = 0
    var access = w[].records.access.unsafe_value()
    if not access.put(access.ring, x, event):
        count(w[].statistics[].access_records_dropped)
    x[].stream.identifier.clear()

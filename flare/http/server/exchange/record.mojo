"""Counts answered requests, and writes their records into the access log's ring.
"""

from flare.core import Erased
from flare.http.exchange import Exchange
from flare.http.response import Response
from flare.http.version import HttpVersion
from flare.message import Method
from flare.runtime.reactor import NS_PER_MS

from ..records.request_metrics import RequestEnd
from ..records.statistics import count
from ..sending.protocol_output import write_response
from ..sending.sent import Sent
from ..transport.connection_state import connection_of
from ..transport.worker_state import worker_of


def answer(x: Exchange, var response: Response):
    """Writes the response to a request, and its record.

    Args:
        x: The request.
        response: The response.
    """
    record_access(x, write_response(x, response^))


@always_inline
def record_access(x: Exchange, sent: Sent):
    """Passes an answered request to the metrics and the access log, if there
    are any.

    Args:
        x: The request.
        sent: The response.
    """
    var w = worker_of(connection_of(x))
    if (
        w[].records.recorder != 0 or w[].records.access_ring
    ) and sent.status != 0:
        _record(x, sent)


@no_inline
def _record(exchange: Exchange, sent: Sent):
    var c = connection_of(exchange)
    var w = worker_of(c)
    if w[].records.recorder != 0:
        w[].config.metrics.functions()[].record(
            Erased(unsafe_from_address=w[].records.recorder),
            exchange,
            RequestEnd(
                sent.status,
                exchange[].is_running(),
                Bool(c[].tls),
                w[].reactor.clock_ns(),
            ),
        )
    if not w[].records.access_ring:
        return
    ref x = exchange[]
    var slot = w[].records.access_ring.value().next_slot()
    if not slot:
        count(w[].statistics[].access_records_dropped)
        return
    ref record = slot.value()[]
    record.unix_seconds = w[].reactor.wall_seconds()
    record.worker = w[].index
    record.request_id = x.request_id
    record.status = sent.status
    record.response_octets = sent.content_octets
    record.duration_ms = 0
    if x.started_ns != 0:
        record.duration_ms = max(
            w[].reactor.now_ms()
            - Int(UInt64(x.started_ns) // UInt64(NS_PER_MS)),
            0,
        )
    # A request that is refused before its handler runs is not named: its head
    # may be incomplete, and its octets are dropped already.
    record.version = HttpVersion.HTTP_1_1
    if x.is_running() or connection_of(exchange)[].h2:
        record.version = HttpVersion(x.head.version.major, x.head.version.minor)
    record.method = x.head.method if x.is_running() else Method.OTHER
    record.set_target(
        x.head.target_text(x.window()).as_bytes() if x.is_running() else Span[
            UInt8, ImmUntrackedOrigin
        ]()
    )
    w[].records.access_ring.value().publish()

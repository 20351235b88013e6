"""Counts the requests of a worker by method, route and status.

A table leads from the address of a route to the latest series that had it. The
text of the route is compared, too.
"""

from flare.core import Erased, PointerTo, equals
from flare.http.exchange import Exchange
from flare.message import Method
from flare.metrics.area import change
from flare.metrics.buckets import BUCKETS
from flare.metrics.family import (
    Family,
    FamilyKind,
    HistogramShape,
    HistogramUnit,
    LABEL_OCTETS_MAX,
)
from flare.metrics.place import Place
from flare.metrics.registry_state import RegistryState
from flare.metrics.series_key import SeriesKey

comptime _KNOWN_BITS = 9
# Where the key of a series begins.
comptime _KEY_OFFSET = 8 * (1 + BUCKETS) + 8
# 2 to the power of 64, divided by the golden ratio: it mixes all bits upwards.
comptime _MIXER: UInt64 = 0x9E37_79B9_7F4A_7C15


@fieldwise_init
struct RequestEnd(TrivialRegisterPassable):
    """How a request ended."""

    var status: Int
    """The status of its response."""
    var is_named: Bool
    """Whether its method and target are known."""
    var is_secure: Bool
    """Whether it came over TLS."""
    var now_ns: Int
    """The time."""


def request_family(edges: List[Int]) -> Family:
    """Describes the times of requests (OpenTelemetry, semantic conventions of
    HTTP, `http.server.request.duration`).

    Args:
        edges: The bounds to show, as indices of edges.

    Returns:
        The description.
    """
    # The route is the first label: `record_request` compares it in the key.
    return Family(
        "http_server_request_duration_seconds",
        "Duration of HTTP server requests.",
        FamilyKind.HISTOGRAM,
        [
            "http_route",
            "http_request_method",
            "http_response_status_code",
            "url_scheme",
        ],
        HistogramShape(HistogramUnit.SECONDS, edges.copy()),
    )


@fieldwise_init
struct _Known(Copyable, Movable):
    # The address of the route's text, and all else that tells series apart; 0
    # in an unused entry.
    var route: Int
    var facts: UInt64
    # The address of the series.
    var series: Int


struct RequestRecorder(Movable):
    """Counts the requests of one worker."""

    var registry: PointerTo[RegistryState]
    """The registry."""
    var number: Int
    """The index of the family."""
    var place: Place
    """Where the worker counts."""
    var _known: List[_Known]

    def __init__(
        out self, registry: PointerTo[RegistryState], number: Int, place: Place
    ):
        """Creates a recorder that knows no series.

        Args:
            registry: The registry.
            number: The index of the family.
            place: Where the worker counts.
        """
        self.registry = registry
        self.number = number
        self.place = place
        self._known = List[_Known](
            length=1 << _KNOWN_BITS, fill=_Known(0, 0, 0)
        )


def record_request(recorder: Erased, x: Exchange, end: RequestEnd):
    """Counts a request.

    Args:
        recorder: The `RequestRecorder` of the worker.
        x: The request.
        end: How it ended.
    """
    ref s = recorder.unsafe_bitcast[RequestRecorder]()[]
    var method = x[].head.method if end.is_named else Method.OTHER
    var route = x[].route.as_bytes()
    var address = Int(route.unsafe_ptr())
    var facts = (
        UInt64(len(route)) << 32
        | UInt64(end.is_secure) << 24
        | UInt64(method.id) << 16
        | UInt64(end.status)
    )
    var mixed = (UInt64(address) ^ (facts * _MIXER)) * _MIXER
    ref known = s._known.unsafe_get(Int(mixed >> (64 - _KNOWN_BITS)))
    var series = known.series
    if (
        known.facts != facts
        or known.route != address
        or not _is_of_route(series, route)
    ):
        series = _find(s, method, route, end)
        known = _Known(address, facts, series)
    # A refused head has no start.
    var ns = 0
    if x[].started_ns != 0:
        ns = max(end.now_ns - x[].started_ns, 0)
    var bucket = s.registry[].table.bucket_of(ns)
    change(PointerTo[Int64](unsafe_from_address=series), ns)
    change(
        PointerTo[Int64](unsafe_from_address=series + 8 + 8 * bucket),
        1,
    )


@always_inline
def _is_of_route(series: Int, route: Span[UInt8, _]) -> Bool:
    # A route that has gone may have left its address to another one. The first
    # label is the route.
    var length = min(len(route), LABEL_OCTETS_MAX)
    return equals(
        route[:length],
        Span[UInt8, MutUntrackedOrigin](
            unsafe_ptr=PointerTo[UInt8](
                unsafe_from_address=series + _KEY_OFFSET
            ),
            length=length,
        ),
    )


@no_inline
def _find(
    s: RequestRecorder, method: Method, route: Span[UInt8, _], end: RequestEnd
) -> Int:
    var key = SeriesKey()
    key.add(StringSlice(unsafe_from_utf8=route))
    key.add("_OTHER" if method == Method.OTHER else method.name())
    key.add(String(end.status))
    key.add("https" if end.is_secure else "http")
    var family = s.registry[].families[s.number]
    return s.place.area().address + s.place.find(family, s.number, key.span())

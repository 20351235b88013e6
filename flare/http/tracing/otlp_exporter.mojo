"""Reports spans to a collector (OpenTelemetry Protocol over HTTP)."""

from std.atomic import Atomic, Ordering

from flare.core import PointerTo, heap_create
from flare.message import HeaderMap, Url

from .export_state import ExportState
from .exporting import open_feed
from flare.http.spans.span_feed import SpanFeed

comptime _DELAY_MS_MAX = 60_000


@fieldwise_init
struct ExporterStatistics(TrivialRegisterPassable):
    """How many spans an exporter was given."""

    var exported: Int
    """Those that the collector has accepted."""
    var dropped: Int
    """Those that found no room, because the collector was slow or away."""
    var failed: Int
    """Those that the collector has refused, or did not take in time."""


@fieldwise_init
struct OtlpExporter(TrivialRegisterPassable):
    """Reports spans to a collector by HTTP POST, with the JSON encoding of the
    OpenTelemetry Protocol (OTLP 1).

    A thread of its own sends them in batches of up to 512, and never holds a
    worker up. Up to 512 KiB of a worker's spans may wait; further ones are
    dropped and counted. A batch that a collector does not take is tried up to
    five times, for a minute at most. A line on standard error tells when spans
    begin to be lost, and when they arrive again.

    Create it before the server starts. Copies refer to the same exporter, which
    lives as long as the process; its thread runs while a server does.
    """

    var _state: PointerTo[ExportState]

    def __init__(
        out self,
        *,
        service_name: StringSlice,
        url: StringSlice = "http://127.0.0.1:4318/v1/traces",
        headers: HeaderMap = HeaderMap(),
        delay_ms: Int = 1_000,
    ) raises:
        """Creates an exporter.

        Args:
            service_name: The name of the program (`service.name`).
            url: Where spans are posted to; by default the usual port of a
                collector on this machine.
            headers: Further fields of each request, such as Authorization.
            delay_ms: How long a span waits for others, to be sent with them:
                1 to 60,000 ms. By default a second, so that a developer sees a
                request at once.

        Raises:
            Error: `message.bad_url`, or `http.bad_exporter` with the argument
                that is out of bounds.
        """
        var parsed = Url.parse(url)
        var scheme = String(parsed.scheme())
        if scheme != "http" and scheme != "https":
            raise Error("http.bad_exporter the scheme is not http or https")
        if delay_ms < 1 or delay_ms > _DELAY_MS_MAX:
            raise Error("http.bad_exporter delay_ms not in 1..60000")
        if service_name.byte_length() == 0:
            raise Error("http.bad_exporter service_name is empty")
        self._state = heap_create(
            ExportState(
                String(url), String(service_name), headers.copy(), delay_ms
            )
        )

    def statistics(self) -> ExporterStatistics:
        """Returns how many spans were reported so far. Callable on any thread.

        Returns:
            The numbers.
        """
        ref s = self._state[]
        s.lock.acquire()
        var dropped = 0
        for feed in s.feeds:
            dropped += feed.dropped()
        s.lock.release()
        return ExporterStatistics(_load(s.exported), dropped, _load(s.failed))

    def open_feed(self) -> Optional[SpanFeed]:
        """Returns a feed for the spans of a worker; the first one starts the
        thread.

        Returns:
            The feed; `None` if no thread can be started, or 1,024 workers have
            one.
        """
        return open_feed(self._state)


def _load(ref number: Int64) -> Int:
    return Int(
        Atomic[Int64].load[ordering=Ordering.RELAXED](Pointer(to=number))
    )

"""Holds the state that workers and the thread of an exporter share."""

from flare.message import HeaderMap
from flare.sys.thread import Lock

from flare.http.spans.span_feed import SpanFeed


struct ExportState(Movable):
    """The state of an exporter. Only `OtlpExporter` and its thread use it."""

    var url: String
    """Where spans are posted to."""
    var service_name: String
    """The name of the program."""
    var headers: HeaderMap
    """Further fields of each request."""
    var delay_ms: Int
    """How long a span waits for others."""
    var lock: Lock
    """Guards the next five fields; the thread sleeps on it."""
    var feeds: List[SpanFeed]
    """The feeds of all workers; those of ended ones are used again."""
    var open_count: Int
    """How many feeds are open."""
    var thread: UInt64
    """The thread that was started last."""
    var is_running: Bool
    """Whether that thread still looks for spans."""
    var is_asleep: UInt32
    """1 while the thread sleeps or is about to; atomic."""
    var exported: Int64
    """How many spans the collector has accepted; atomic."""
    var failed: Int64
    """How many it has not; atomic."""

    def __init__(
        out self,
        var url: String,
        var service_name: String,
        var headers: HeaderMap,
        delay_ms: Int,
    ):
        """Creates the state without feeds.

        Args:
            url: Where spans are posted to.
            service_name: The name of the program.
            headers: Further fields of each request.
            delay_ms: How long a span waits for others.
        """
        self.url = url^
        self.service_name = service_name^
        self.headers = headers^
        self.delay_ms = delay_ms
        self.lock = Lock.create()
        self.feeds = []
        self.open_count = 0
        self.thread = 0
        self.is_running = False
        self.is_asleep = 0
        self.exported = 0
        self.failed = 0

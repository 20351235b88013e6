"""Assigns a span of a trace to each request."""

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.http.handler import Handler
from flare.http.request import Request
from flare.http.request_values import find_value, set_value
from flare.http.response import Response
from flare.http.spans.span import OpenSpan, RequestSpan, now_ns
from flare.http.spans.span_facts import SpanFacts, SpanTexts
from flare.http.spans.span_feed import SpanFeed, SpanFeedState
from flare.message import TraceContext
from flare.runtime.current import current_reactor
from flare.runtime.turn_parts import OutletEnd
from flare.sys.process import process_id
from flare.sys.random import fill_random

from .exporting import close_feed
from .otlp_exporter import OtlpExporter


comptime TRACE_STATE_OCTETS_MAX = 512
"""The most octets of `tracestate` that are passed on (W3C Trace Context,
section 3.3.1.5).
"""
comptime _TRACE_PARENT: StaticString = "traceparent"
comptime _TRACE_STATE: StaticString = "tracestate"
# 2 to the power of 64, divided by the golden ratio.
comptime _STEP: UInt64 = 0x9E37_79B9_7F4A_7C15


struct _WorkerState(Movable):
    # The state of the generator of ids.
    var seed: UInt64
    # Makes the first halves of trace ids differ between workers for good.
    var salt: UInt64
    var feed: Optional[SpanFeed]
    var opening: Int
    # Whether the worker has asked the exporter for its feed.
    var has_asked: Bool

    # Whether the generator was seeded.
    var has_seed: Bool

    def __init__(out self):
        self.seed = 0
        self.salt = 0
        self.feed = None
        self.opening = 0
        self.has_asked = False
        self.has_seed = False

    # At the first request: a worker that is a process copies the state of its
    # supervisor each time that it starts.
    @no_inline
    def begin_seed(mut self):
        var octets = Array[UInt8, 16](fill=0)
        if fill_random(Span(octets)) < 0:
            # Ids that are less random are better than the same for all.
            self.seed = UInt64(now_ns()) * _STEP
            self.salt = UInt64(process_id()) * _STEP
        else:
            for i in range(8):
                self.seed = self.seed << 8 | UInt64(octets[i])
                self.salt = self.salt << 8 | UInt64(octets[8 + i])
        self.has_seed = True


struct Tracing[H: Handler](Handler):
    """Assigns a span of a trace to each request, so that its way through
    several programs can be followed (W3C Trace Context).

    A request with a valid `traceparent` continues its trace; another one begins
    a new trace. Handlers find the span by `current_trace()`. An `HttpClient`
    with `field_source=trace_fields` sends it on, and the access log shows it. With
    an exporter, each sampled span is reported after the response was sent.

    Of two that contain each other, the outer one counts.

    Parameters:
        H: The type of the inner handler.
    """

    var inner: Self.H
    """The inner handler."""
    var trusts_incoming: Bool
    """Whether requests may continue a trace. Clear it where strangers should
    not choose ids, nor which requests are sampled.
    """
    var _exporter: Optional[OtlpExporter]
    # A new trace is sampled if its last octets are not above this number.
    var _sampled_max: UInt64
    var _worker: PointerTo[_WorkerState]

    def __init__(
        out self,
        var inner: Self.H,
        *,
        exporter: Optional[OtlpExporter] = None,
        sampled_share: Float64 = 1.0,
        trusts_incoming: Bool = True,
    ) raises:
        """Creates middleware that traces a handler's requests.

        Args:
            inner: The inner handler.
            exporter: Where spans are reported; by default nowhere.
            sampled_share: Which share of new traces is reported, 0.0 to 1.0.
                A trace that another program has begun is reported if that one
                says so.
            trusts_incoming: Whether requests may continue a trace.

        Raises:
            Error: `http.bad_share` if the share is out of bounds.
        """
        if not (sampled_share >= 0.0 and sampled_share <= 1.0):
            raise Error("http.bad_share 0.0 to 1.0 are possible")
        self.inner = inner^
        self.trusts_incoming = trusts_incoming
        self._exporter = exporter
        self._sampled_max = _share_of_all(sampled_share if exporter else 0.0)
        self._worker = heap_create(_WorkerState())

    def __init__(out self, *, copy: Self):
        """Copies the middleware for another worker.

        Args:
            copy: The middleware to copy.
        """
        self.inner = copy.inner.copy()
        self.trusts_incoming = copy.trusts_incoming
        self._exporter = copy._exporter
        self._sampled_max = copy._sampled_max
        self._worker = heap_create(_WorkerState())

    def __init__(out self, *, deinit move: Self):
        """Moves the middleware.

        Args:
            move: The middleware to move.
        """
        self.inner = move.inner^
        self.trusts_incoming = move.trusts_incoming
        self._exporter = move._exporter
        self._sampled_max = move._sampled_max
        self._worker = move._worker

    def __deinit__(deinit self):
        """Releases the exporter. The last worker waits until its spans are
        reported, for at most five seconds.
        """
        if self._worker[].feed:
            close_feed(self._worker[].feed.value(), self._worker[].opening)
        heap_destroy(self._worker)

    def serve(self, req: Request) raises -> Response:
        """Returns the inner handler's response.

        Args:
            req: The request.

        Returns:
            The response.

        Raises:
            The error of the inner handler.
        """
        var x = req.unsafe_exchange()
        if x[].app.values and find_value[OpenSpan](x[].app.values):
            return self.inner.serve(req)
        var span = self._begin(req)
        set_value(x[].app.values, OpenSpan(span))
        # The response may be sent, and the block be used again, only after
        # this function.
        try:
            var response = self.inner.serve(req)
            span.state[].facts.status = UInt16(response.status)
            return response^
        except e:
            if x[].fiber and x[].fiber.unsafe_value().is_cancelled():
                span.state[].facts.was_cancelled = True
            else:
                span.state[].facts.status = UInt16(x[].status_of(e))
            raise e^

    def _begin(self, req: Request) -> RequestSpan:
        var x = req.unsafe_exchange()
        var incoming = Optional[TraceContext]()
        if self.trusts_incoming:
            incoming = _incoming(req)
        var context: TraceContext
        var parent_id: UInt64 = 0
        if incoming:
            context = incoming.unsafe_value()
            parent_id = context.span_id
        else:
            context = self._new_trace()
        context.span_id = self._random()
        var span = RequestSpan.begin(
            SpanFacts(
                context,
                parent_id,
                x[].started_ns if x[].started_ns != 0 else now_ns(),
                0,
                x[].head.method,
                UInt8(x[].head.version.major),
                UInt8(x[].head.version.minor),
                0,
                req.is_secure(),
                False,
                SpanTexts(0, 0, 0),
            ),
            x,
        )
        if incoming and _TRACE_STATE in req.headers:
            span.state[].trace_state = _state_of(req)
        if context.is_sampled and self._exporter:
            span.state[].feed = self._feed()
            span.set_path(x[].head.path(x[].window()))
        span.make_current()
        return span

    @always_inline
    def _new_trace(self) -> TraceContext:
        var high = self._random()
        high ^= self._worker[].salt
        var low = self._random()
        return TraceContext(
            high,
            low,
            0,
            self._sampled_max > 0 and low <= self._sampled_max,
        )

    @always_inline
    def _random(self) -> UInt64:
        # SplitMix64; never 0, which is no id.
        if not self._worker[].has_seed:
            self._worker[].begin_seed()
        self._worker[].seed += _STEP
        var z = self._worker[].seed
        z = (z ^ (z >> 30)) * 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) * 0x94D0_49BB_1331_11EB
        z ^= z >> 31
        return z if z != 0 else _STEP

    @always_inline
    def _feed(self) -> Optional[SpanFeed]:
        if not self._worker[].has_asked:
            self._ask()
        return self._worker[].feed

    @no_inline
    def _ask(self):
        self._worker[].has_asked = True
        var feed = self._exporter.value().open_feed()
        self._worker[].feed = feed
        if feed:
            self._worker[].opening = feed.value().state[].opening
        var reactor = current_reactor()
        if feed and reactor:
            # The process of a supervised worker ends without destructors.
            ref outlets = reactor.value().state[].outlets
            var state = feed.value().state
            state[].end = OutletEnd(
                _close, state.unsafe_bitcast[NoneType](), outlets.first_end
            )
            outlets.first_end = (
                Pointer(to=state[].end)
                .unsafe_origin_cast[MutUntrackedOrigin]()
                .unsafe_bitcast[NoneType]()
            )


def _close(feed: Erased):
    # No other worker can have it before its own one has called this.
    var state = feed.unsafe_bitcast[SpanFeedState]()
    close_feed(SpanFeed(state), state[].opening)


def _incoming(req: Request) -> Optional[TraceContext]:
    # It is not known which of two is right.
    if req.headers.count(_TRACE_PARENT) != 1:
        return None
    return TraceContext.parse(
        req.headers.get(_TRACE_PARENT).unsafe_value().as_bytes()
    )


def _state_of(req: Request) -> String:
    # Several lines are one list (section 3.3.1). One that is too long is
    # dropped whole: its last member would be cut in two.
    var whole = String()
    for value in req.headers.values(_TRACE_STATE):
        if whole.byte_length() + value.byte_length() + Int(
            whole.byte_length() > 0
        ) > TRACE_STATE_OCTETS_MAX or not _is_printable(value.as_bytes()):
            return ""
        if whole.byte_length() > 0:
            whole += ","
        whole += value
    return whole^


def _is_printable(octets: Span[UInt8, _]) -> Bool:
    for octet in octets:
        if octet < 32 or octet > 126:
            return False
    return True


def _share_of_all(share: Float64) -> UInt64:
    if share >= 1.0:
        return UInt64.MAX
    # 2 to the power of 53: all of it is exact.
    return UInt64(share * 9007199254740992.0) << 11

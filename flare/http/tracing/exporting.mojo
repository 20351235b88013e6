"""Takes the spans of all workers, and posts them to a collector."""

from std.atomic import Atomic, Ordering

from flare.core import Erased, PointerTo, heap_create
from flare.core.text_buffer import TextBuffer
from flare.http.client import (
    ClientConfig,
    ClientTimeouts,
    HttpClient,
    RetryPolicy,
)
from flare.http.content import Content
from flare.proto.h1 import H1Limits
from flare.runtime.octet_ring import OctetRing
from flare.sys.clock import monotonic_ns, unix_us
from flare.sys.file import STANDARD_ERROR, write_line_to
from flare.sys.process import block_signals
from flare.sys.signal import SIGPIPE
from flare.sys.thread import join_thread_within, start_thread

from .export_state import ExportState
from .otlp_text import append_span, begin_spans, end_spans
from flare.http.spans.span_facts import SpanFacts
from flare.http.spans.span_feed import FACTS_OCTETS, SpanFeed, SpanFeedState

comptime LAST_SPANS_MS = 5_000
"""How long a server that ends waits until its spans are reported."""
comptime _FEEDS_MAX = 1024
comptime _BATCH_SPANS_MAX = 512
comptime _BATCH_OCTETS_MAX = 512 * 1024
comptime _ATTEMPTS_MAX = 5
comptime _FIRST_PAUSE_MS = 1_000
comptime _CALL_MS = 10_000
comptime _LAST_CALL_MS = 2_000
comptime _ANSWER_OCTETS_MAX = 64 * 1024
comptime _NS_PER_US = 1_000


def open_feed(s: PointerTo[ExportState]) -> Optional[SpanFeed]:
    """Opens a feed for a worker.

    Args:
        s: The exporter.

    Returns:
        The feed; `None` if no thread can be started, or all feeds are open.
    """
    s[].lock.acquire()
    var feed = _free_feed(s)
    if feed and not s[].is_running:
        var started = start_thread(_export, s.unsafe_bitcast[NoneType]())
        if started[0] < 0:
            feed = None
        else:
            s[].thread = started[1]
            s[].is_running = True
    if feed:
        feed.value().state[].is_open = True
        feed.value().state[].opening += 1
        s[].open_count += 1
    s[].lock.release()
    return feed


def close_feed(feed: SpanFeed, opening: Int):
    """Ends a feed, unless it has ended. The last one waits until all spans are
    reported, for at most five seconds.

    Args:
        feed: The feed; it gets no more spans.
        opening: Its count of openings when it was opened. Another worker may
            have it by now.
    """
    var s = feed.state[].exporter.unsafe_bitcast[ExportState]()
    s[].lock.acquire()
    var was_open = feed.state[].is_open and feed.state[].opening == opening
    if was_open:
        feed.state[].is_open = False
        s[].open_count -= 1
    var is_last = was_open and s[].open_count == 0
    var thread = s[].thread
    s[].lock.wake_all()
    s[].lock.release()
    if is_last:
        _ = join_thread_within(thread, LAST_SPANS_MS)


def _free_feed(s: PointerTo[ExportState]) -> Optional[SpanFeed]:
    for feed in s[].feeds:
        if not feed.state[].is_open:
            return feed
    if len(s[].feeds) == _FEEDS_MAX:
        return None
    var asleep = Pointer(to=s[].is_asleep).unsafe_origin_cast[
        MutUntrackedOrigin
    ]()
    var feed = SpanFeed(
        heap_create(
            SpanFeedState(asleep, s[].lock, s.unsafe_bitcast[NoneType]())
        )
    )
    s[].feeds.append(feed)
    return feed


struct _Batch(Movable):
    var text: TextBuffer
    var count: Int

    def __init__(out self):
        self.text = TextBuffer()
        self.count = 0


def _export(argument: Erased) abi("C") -> Optional[Erased]:
    var s = argument.unsafe_bitcast[ExportState]()
    # A collector that has gone makes a write fail; it does not end the process.
    _ = block_signals(SIGPIPE)
    try:
        var sender = _Sender(s)
        var batch = _Batch()
        while not _is_over(s):
            _sleep(s, s[].delay_ms)
            # Both clocks are read once for a batch.
            var offset_ns = unix_us() * _NS_PER_US - monotonic_ns()
            for i in range(_feed_count(s)):
                _drain(sender, batch, _feed_at(s, i).entries(), offset_ns)
            sender.send(batch)
    except e:
        # The configuration of the client is wrong, which no test found.
        write_line_to(STANDARD_ERROR, String("flare: no spans are sent: ", e))
    return None


def _drain(
    mut sender: _Sender,
    mut batch: _Batch,
    entries: OctetRing,
    offset_ns: Int,
):
    # Those that are added meanwhile wait for the next call.
    for _ in range(entries.waiting() // FACTS_OCTETS):
        var entry = entries.oldest()
        if not entry:
            return
        var octets = entry.unsafe_value()
        if batch.count == 0:
            begin_spans(batch.text, sender.state[].service_name)
        else:
            batch.text.append(",")
        append_span(
            batch.text,
            octets.unsafe_ptr().unsafe_bitcast[SpanFacts]()[],
            Span[UInt8, ImmUntrackedOrigin](
                unsafe_ptr=octets.unsafe_ptr()
                .unsafe_offset(FACTS_OCTETS)
                .unsafe_mut_cast[False]()
                .unsafe_origin_cast[ImmUntrackedOrigin](),
                length=len(octets) - FACTS_OCTETS,
            ),
            offset_ns,
        )
        entries.drop_oldest()
        batch.count += 1
        if (
            batch.count == _BATCH_SPANS_MAX
            or len(batch.text) > _BATCH_OCTETS_MAX
        ):
            sender.send(batch)


struct _Sender(Movable):
    var state: PointerTo[ExportState]
    var client: HttpClient
    # Whether the latest batch was lost, which was said on standard error.
    var is_failing: Bool

    def __init__(out self, state: PointerTo[ExportState]) raises:
        self.state = state
        self.client = HttpClient(
            config=ClientConfig(
                timeouts=ClientTimeouts(total_ms=_CALL_MS),
                limits=H1Limits(
                    field_section_octets_max=16 * 1024,
                    field_lines_max=100,
                    body_octets_max=_ANSWER_OCTETS_MAX,
                ),
                # Which answers are worth another attempt, OTLP says itself.
                retry=RetryPolicy(retries_max=0),
                redirects_max=0,
                headers=state[].headers.copy(),
            )
        )
        self.is_failing = False

    def send(mut self, mut batch: _Batch):
        """Posts a batch, and empties it."""
        if batch.count == 0:
            return
        end_spans(batch.text)
        var text = batch.text.take()
        var count = batch.count
        batch.count = 0
        var problem = String()
        var pause_ms = _FIRST_PAUSE_MS
        for attempt in range(_ATTEMPTS_MAX):
            if attempt > 0:
                _pause(self.state, pause_ms)
                pause_ms *= 2
            var is_last = _is_ending(self.state)
            if not self._attempt(text, is_last, problem):
                break
            if is_last:
                break
        if problem.byte_length() == 0:
            _add(self.state[].exported, count)
        else:
            _add(self.state[].failed, count)
        self._report(problem)

    def _attempt(
        mut self, text: String, is_last: Bool, mut problem: String
    ) -> Bool:
        # Returns whether another attempt may succeed.
        try:
            var response = self.client.post(
                self.state[].url,
                Content(text),
                timeout_ms=_LAST_CALL_MS if is_last else _CALL_MS,
            )
            if 200 <= response.status < 300:
                problem = String()
                return False
            problem = String("the collector has answered ", response.status)
            return response.status in [429, 502, 503, 504]
        except e:
            problem = String(e)
            return True

    def _report(mut self, problem: String):
        var fails = problem.byte_length() > 0
        if fails == self.is_failing:
            return
        self.is_failing = fails
        if fails:
            write_line_to(
                STANDARD_ERROR,
                String("flare: spans are lost: ", problem),
            )
        else:
            write_line_to(STANDARD_ERROR, "flare: spans arrive again")


def _feed_count(s: PointerTo[ExportState]) -> Int:
    s[].lock.acquire()
    var count = len(s[].feeds)
    s[].lock.release()
    return count


def _feed_at(s: PointerTo[ExportState], index: Int) -> SpanFeed:
    s[].lock.acquire()
    var feed = s[].feeds[index]
    s[].lock.release()
    return feed


def _is_ending(s: PointerTo[ExportState]) -> Bool:
    s[].lock.acquire()
    var is_ending = s[].open_count == 0
    s[].lock.release()
    return is_ending


def _is_over(s: PointerTo[ExportState]) -> Bool:
    # Decided under the lock: a feed that is opened afterwards starts a thread.
    s[].lock.acquire()
    var is_over = s[].open_count == 0
    for feed in s[].feeds:
        is_over = is_over and feed.entries().waiting() == 0
    if is_over:
        s[].is_running = False
    s[].lock.release()
    return is_over


def _sleep(s: PointerTo[ExportState], duration_ms: Int):
    # A feed that fills wakes the thread.
    s[].lock.acquire()
    if s[].open_count > 0:
        var asleep = Pointer(to=s[].is_asleep)
        Atomic[UInt32].store[ordering=Ordering.RELEASE](asleep, 1)
        s[].lock.wait_for(duration_ms)
        Atomic[UInt32].store[ordering=Ordering.RELEASE](asleep, 0)
    s[].lock.release()


def _pause(s: PointerTo[ExportState], duration_ms: Int):
    # Only the end of the last feed makes the pause shorter.
    s[].lock.acquire()
    if s[].open_count > 0:
        s[].lock.wait_for(duration_ms)
    s[].lock.release()


def _add(mut number: Int64, count: Int):
    Atomic[Int64].store[ordering=Ordering.RELAXED](
        Pointer(to=number), number + Int64(count)
    )

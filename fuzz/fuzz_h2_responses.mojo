"""Any frames of a server yield the same, in whatever pieces they arrive.

Invariant: events and frames of the client do not depend on the pieces. A
response has one final head, then content, then an end; none after a reset. All
credit returns.
"""

from flare.core import Buffer, PointerTo, heap_create, heap_destroy
from flare.message import HeaderMap
from flare.proto.h1 import BodyLength
from flare.proto.h2.h2_event import H2Event
from flare.proto.h2.h2_limits import H2Limits
from flare.proto.h2.h2_machine import H2Machine
from flare.proto.h2.h2_state import H2State
from flare.proto.h2.outgoing_requests import RequestStart
from flare.proto.h2.stream_table import NO_SLOT

from fuzz.h1_split import cuts_of, require_equal
from fuzz.h2_frames import ServerFrames, describe_frames
from fuzz.harness import Histogram, run
from fuzz.random import Random, mutate

comptime _STREAMS = 6


def fuzz_h2_responses(mut random: Random, mut histogram: Histogram) raises:
    """Feeds one stream of frames whole and in pieces.

    Args:
        random: Draws the frames and the pieces.
        histogram: Counts the outcome.

    Raises:
        Error: If the invariant does not hold.
    """
    var frames = ServerFrames(2 * _STREAMS - 1, random)
    for _ in range(random.below(30)):
        frames.draw(random)
    var octets = frames.octets.copy()
    if random.chance(20):
        octets = mutate(Span(octets), random)
    histogram.input(Span(octets))
    var whole = _Client()
    whole.receive(octets, [])
    var pieces = _Client()
    pieces.receive(octets, cuts_of(octets, random))
    require_equal(whole.log, pieces.log)
    if random.chance(5):
        var every = List[Int]()
        for i in range(1, len(octets)):
            every.append(i)
        var single = _Client()
        single.receive(octets, every)
        require_equal(whole.log, single.log)
    if whole.has_failed:
        histogram.count("refused")
    else:
        histogram.count_whole("whole")
    histogram.count("heads", whole.heads)
    histogram.count("ended", whole.ended)
    histogram.count("reset", whole.resets)


struct _Client(Movable):
    """A client that has asked six times, and gets any frames."""

    var state: PointerTo[H2State]
    var output: PointerTo[Buffer]
    var slots: List[Int]
    var answered: List[Bool]
    var content: List[Int]
    var log: List[String]
    var has_failed: Bool
    var heads: Int
    var ended: Int
    var resets: Int

    def __init__(out self) raises:
        var limits = H2Limits()
        limits.streams_max = _STREAMS
        limits.glitches = 50
        limits.stream_window_octets = 30_000
        limits.connection_window_octets = 100_000
        self.state = heap_create(H2State(limits, is_client=True))
        self.output = heap_create(Buffer())
        self.slots = []
        self.answered = List[Bool](length=_STREAMS, fill=False)
        self.content = List[Int](length=_STREAMS, fill=0)
        self.log = []
        self.has_failed = False
        self.heads = 0
        self.ended = 0
        self.resets = 0
        self._machine().begin(self.output)
        var fields = HeaderMap()
        fields.append("Host", "a.test")
        for i in range(_STREAMS):
            # The last but one is a HEAD, the last one has content to send.
            var method = "HEAD" if i == _STREAMS - 2 else "POST"
            var length = BodyLength.NONE
            if i == _STREAMS - 1:
                length = BodyLength.known(20_000)
            try:
                self.slots.append(
                    self._machine().send_request_head(
                        RequestStart(
                            method.as_bytes(), "/".as_bytes(), True, length
                        ),
                        fields,
                        self.output,
                    )
                )
            except e:
                raise Error(e)
        self.output[].clear()

    def __deinit__(deinit self):
        heap_destroy(self.state)
        heap_destroy(self.output)

    def receive(mut self, octets: List[UInt8], cuts: List[Int]) raises:
        var window = heap_create(Buffer())
        var start = 0
        for i in range(len(cuts) + 1):
            var end = cuts[i] if i < len(cuts) else len(octets)
            window[].append(Span(octets)[start:end])
            start = end
            while not self.has_failed:
                var event: H2Event
                try:
                    event = self._machine().next_event(
                        window[].span(), 1000, self.output
                    )
                except e:
                    self.has_failed = True
                    self._flush()
                    self.log.append(String(e))
                    break
                self._flush()
                self._take(event)
                window[].consume(event.consumed)
                self._flush()
                if event.kind == H2Event.NEED_OCTETS:
                    break
        heap_destroy(window)
        if not self.has_failed:
            self._end()

    def _machine(self) -> H2Machine:
        return H2Machine(self.state)

    def _flush(mut self):
        if len(self.output[]) == 0:
            return
        var text = String()
        describe_frames(self.output[].span(), text)
        self.output[].clear()
        if text.byte_length() == 0:
            return
        if len(self.log) > 0 and self.log[len(self.log) - 1].startswith("sent"):
            self.log[len(self.log) - 1] += text
        else:
            self.log.append("sent" + text)

    def _take(mut self, event: H2Event) raises:
        if event.slot == NO_SLOT:
            if event.kind == H2Event.GOING_AWAY:
                self.log.append(String("goaway ", event.stream_id))
            return
        var i = event.stream_id // 2
        if self.slots[i] != event.slot:
            raise Error("an event of a stream that has ended")
        if event.kind == H2Event.RESPONSE_HEAD:
            if self.answered[i]:
                raise Error("a second head")
            self.answered[i] = True
            self.heads += 1
            ref head = self.state[].input.heads.head
            self.log.append(
                String(
                    "head ",
                    i,
                    " ",
                    head.status,
                    " ",
                    len(head.lines),
                    " ",
                    head.content_length,
                )
            )
        elif event.kind == H2Event.INFORMATIONAL_HEAD:
            if self.answered[i]:
                raise Error("an interim head behind the final one")
            self.log.append(
                String("interim ", i, self.state[].input.heads.head.status)
            )
        elif not self.answered[i] and event.kind != H2Event.RESET:
            raise Error("content before its head")
        if event.kind == H2Event.DATA:
            if i == _STREAMS - 2 and event.length > 0:
                raise Error("content of a response to HEAD")
            self.content[i] += event.length
            # Every other one takes its content at once.
            if i % 2 == 0:
                self._machine().release(event.slot, event.length, self.output)
        if event.kind == H2Event.RESET:
            self.resets += 1
            self.log.append(String("reset ", i, " ", event.code))
            self._forget(i)
        elif event.ends:
            self.ended += 1
            self.log.append(String("end ", i, " ", self.content[i]))
            self._forget(i)

    def _forget(mut self, i: Int):
        self._machine().forget(self.slots[i], self.output)
        self.slots[i] = NO_SLOT

    def _end(mut self) raises:
        """Checks that all credit returns and nothing is left."""
        for i in range(_STREAMS):
            if self.slots[i] != NO_SLOT:
                self._forget(i)
        self._flush()
        if self._machine().count() != 0:
            raise Error("streams are left")
        ref window = self.state[].window
        # The rest of a frame that has not arrived is not paid back yet.
        var owed = self.state[].input.data.left
        if window.receive + window.due + owed != window.receive_max:
            raise Error(
                "credit is lost: ", window.receive, " ", window.due, " ", owed
            )


def main() raises:
    run(fuzz_h2_responses)

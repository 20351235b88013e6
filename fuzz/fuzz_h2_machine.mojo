"""Any frames of a client yield the same, in whatever pieces they arrive.

Invariant: events and answers do not depend on the pieces. The answers are legal:
no window is exceeded, each stream ends once, the tables of HPACK are equal at
both ends. All credit returns. No more streams than allowed are open.
"""

from flare.core import Buffer, PointerTo, heap_create, heap_destroy
from flare.message import HeaderMap
from flare.proto.h2.h2_event import H2Event
from flare.proto.h2.h2_limits import H2Limits
from flare.proto.h2.h2_machine import H2Machine
from flare.proto.h2.h2_state import H2State
from flare.proto.h2.outgoing_heads import ResponseStart
from flare.proto.h2.stream_table import NO_SLOT

from fuzz.h1_split import cuts_of, require_equal
from fuzz.h2_frames import ClientFrames, describe_frames
from fuzz.h2_peer import H2Judge
from fuzz.harness import Histogram, run
from fuzz.random import Random, mutate

comptime _STREAMS_MAX = 8
comptime _CONTENT: StaticString = "0123456789abcdefghijklmnopqrstuvwxyz"


def fuzz_h2_machine(mut random: Random, mut histogram: Histogram) raises:
    """Feeds one stream of frames whole and in pieces.

    Args:
        random: Draws the frames and the pieces.
        histogram: Counts the outcome.

    Raises:
        Error: If the invariant does not hold.
    """
    var frames = ClientFrames(random)
    for _ in range(random.below(30)):
        frames.draw(random)
    var octets = frames.octets.copy()
    if random.chance(20):
        octets = mutate(Span(octets), random)
    histogram.input(Span(octets))
    var whole = _Owner()
    whole.receive(octets, [])
    var pieces = _Owner()
    pieces.receive(octets, cuts_of(octets, random))
    require_equal(whole.log, pieces.log)
    if random.chance(5):
        var every = List[Int]()
        for i in range(1, len(octets)):
            every.append(i)
        var single = _Owner()
        single.receive(octets, every)
        require_equal(whole.log, single.log)
    if whole.has_failed:
        histogram.count("refused")
    else:
        histogram.count_whole("whole")
    histogram.count("answered", whole.answered)
    histogram.count("reset", whole.resets)


struct _Stream(Copyable, Movable):
    var id: Int
    var slot: Int
    var unsent: Int
    var content: Int
    var has_ended: Bool

    def __init__(out self, id: Int, slot: Int):
        self.id = id
        self.slot = slot
        self.unsent = 0
        self.content = 0
        self.has_ended = False


struct _Owner(Movable):
    """Answers requests as their numbers say."""

    var state: PointerTo[H2State]
    var output: PointerTo[Buffer]
    var judge: H2Judge
    var streams: List[_Stream]
    var log: List[String]
    var has_failed: Bool
    var answered: Int
    var resets: Int

    def __init__(out self):
        var limits = H2Limits()
        limits.streams_max = _STREAMS_MAX
        limits.resets = 20
        limits.glitches = 50
        limits.connection_window_octets = 100_000
        limits.stream_window_octets = 30_000
        self.state = heap_create(H2State(limits))
        self.output = heap_create(Buffer())
        self.judge = H2Judge()
        self.streams = []
        self.log = []
        self.has_failed = False
        self.answered = 0
        self.resets = 0

    def __deinit__(deinit self):
        heap_destroy(self.state)
        heap_destroy(self.output)

    def receive(mut self, octets: List[UInt8], cuts: List[Int]) raises:
        var window = heap_create(Buffer())
        var consumed = 0
        self._machine().begin(self.output)
        self._flush(octets, 0)
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
                    self._flush(octets, consumed)
                    self.log.append(String(e))
                    self._machine().fail(e, self.output)
                    self._flush(octets, consumed)
                    break
                # What was consumed so far is known to the machine.
                self._flush(octets, consumed + event.consumed)
                self._take(event)
                consumed += event.consumed
                window[].consume(event.consumed)
                self._flush(octets, consumed)
                if event.kind == H2Event.NEED_OCTETS:
                    break
                if self._machine().count() > _STREAMS_MAX:
                    raise Error("too many streams")
        heap_destroy(window)
        self._end(octets, consumed)

    def _machine(self) -> H2Machine:
        return H2Machine(self.state)

    def _flush(mut self, octets: List[UInt8], consumed: Int) raises:
        self.judge.follow(Span(octets), consumed)
        if len(self.output[]) > 0:
            self.judge.judge(self.output[].span())
            # Pieces divide the output, and change nothing else of it.
            var text = String()
            describe_frames(self.output[].span(), text)
            self.output[].clear()
            if text.byte_length() == 0:
                return
            if len(self.log) > 0 and self.log[len(self.log) - 1].startswith(
                "sent"
            ):
                self.log[len(self.log) - 1] += text
            else:
                self.log.append("sent" + text)

    def _find(self, slot: Int) raises -> Int:
        for i in range(len(self.streams)):
            if self.streams[i].slot == slot:
                return i
        raise Error("an event of no stream")

    def _take(mut self, event: H2Event) raises:
        if event.kind == H2Event.NEED_OCTETS or event.kind == H2Event.PONG:
            return
        if event.kind == H2Event.GOING_AWAY:
            self.log.append("tick")
            return self._pump()
        if event.kind == H2Event.REQUEST_HEAD:
            self.log.append(
                String("head ", event.stream_id, event.ends, event.status)
            )
            self.streams.append(_Stream(event.stream_id, event.slot))
            return self._answer(len(self.streams) - 1)
        var i = self._find(event.slot)
        if event.kind == H2Event.DATA:
            self.streams[i].content += event.length
            # Every other one takes its content at once.
            if self.streams[i].id % 4 == 1:
                self._machine().release(event.slot, event.length, self.output)
            if event.ends:
                self._note_end(i)
        elif event.kind == H2Event.TRAILERS:
            self._note_end(i)
        else:
            self.resets += 1
            self.log.append(String("reset ", event.stream_id, event.code))
            self._forget(i)

    def _note_end(mut self, i: Int) raises:
        self.log.append(
            String("end ", self.streams[i].id, self.streams[i].content)
        )

    def _answer(mut self, i: Int) raises:
        var slot = self.streams[i].slot
        var id = self.streams[i].id
        var start = ResponseStart(
            slot, 200, (id * 977) % 40_000, _untracked("a date".as_bytes())
        )
        var kind = id // 2 % 5
        var fields = HeaderMap()
        fields.append("X-Kind", String(kind))
        if kind == 0:
            if self._machine().send_plain_response(
                start, fields, "hello".as_bytes(), self.output
            ):
                self.answered += 1
                self._forget(i)
        elif kind == 1 or kind == 2:
            try:
                self._machine().send_response_head(start, fields, self.output)
            except e:
                raise Error(e.reason)
            self.answered += 1
            if self._machine().may_send(slot):
                self.streams[i].unsent = start.content_octets
                self._machine().queue(slot, start.content_octets)
            else:
                self._forget(i)
        elif kind == 3:
            self._machine().reset(slot, 8, self.output)
            self._forget(i)

    def _pump(mut self) raises:
        while True:
            var turn = self._machine().next_turn(16_384)
            if turn.slot == NO_SLOT:
                return
            var i = self._find(turn.slot)
            if turn.octets <= 0 or turn.octets > self.streams[i].unsent:
                raise Error("a turn of ", turn.octets, " octets")
            self.streams[i].unsent -= turn.octets
            var octets = List[UInt8](length=turn.octets, fill=120)
            self._machine().send_data(
                turn.slot,
                Span(octets),
                self.streams[i].unsent == 0,
                self.output,
            )
            if self.streams[i].unsent == 0:
                self._forget(i)

    def _forget(mut self, i: Int) raises:
        self._machine().forget(self.streams[i].slot, self.output)
        _ = self.streams.pop(i)

    def _end(mut self, octets: List[UInt8], consumed: Int) raises:
        """Checks that all credit returns and nothing is left."""
        if self.has_failed:
            return
        self._pump()
        while len(self.streams) > 0:
            self._forget(len(self.streams) - 1)
        self._flush(octets, consumed)
        if self._machine().count() != 0:
            raise Error("streams are left")
        ref window = self.state[].window
        # The rest of a frame that has not arrived is not paid back yet.
        var owed = self.state[].input.data.left
        if window.receive + window.due + owed != window.receive_max:
            raise Error(
                "credit is lost: ", window.receive, " ", window.due, " ", owed
            )
        if not self.state[].schedule.is_empty():
            raise Error("a stream is scheduled that is gone")


def _untracked(octets: Span[UInt8, _]) -> Span[UInt8, ImmUntrackedOrigin]:
    return Span[UInt8, ImmUntrackedOrigin](
        unsafe_ptr=octets.unsafe_ptr()
        .unsafe_mut_cast[False]()
        .unsafe_origin_cast[ImmUntrackedOrigin](),
        length=len(octets),
    )


def main() raises:
    run(fuzz_h2_machine)

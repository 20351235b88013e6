"""Plays a server of HTTP/2 on the simulated network, right or wrong, as a seed
decides.

It answers whole or in pieces, early or late, with interim answers and trailers.
It resets, refuses or ignores streams, has low limits, small windows, goes away,
stalls, breaks the rules, and ends a connection between any two octets. It judges
the frames of the client.
"""

from flare.core import Buffer, PointerTo, heap_create, heap_destroy
from flare.message import HeaderMap
from flare.proto.h2.frame import append_frame_header
from flare.proto.h2.h2_error import H2Code
from flare.proto.h2.h2_event import H2Event
from flare.proto.h2.h2_limits import H2Limits
from flare.proto.h2.h2_machine import H2Machine
from flare.proto.h2.h2_state import H2State
from flare.proto.h2.outgoing_heads import ResponseStart
from flare.proto.h2.settings import (
    H2SettingId,
    append_setting,
    append_settings_header,
)
from flare.runtime.backends.simulated_network import Peer

from fuzz.h2_calls import OCTETS_MAX, Story, content_of, letter_at
from fuzz.h2_served import Deed, Ending, Served
from fuzz.random import Random
from tests.proto_h2.machine_scene import block_of, number

comptime _STREAMS_MAX = 128
comptime _PREFACE_OCTETS = 24
comptime _HEADER_OCTETS = 9
comptime _SETTINGS: UInt8 = 4
comptime _GOAWAY: UInt8 = 7


struct OriginConnection(Movable):
    """One connection of the server."""

    var peer: Peer
    """Its end."""
    var index: Int
    """Its number."""
    var state: PointerTo[H2State]
    """The machine."""
    var window: PointerTo[Buffer]
    """Octets that have arrived and are not consumed."""
    var output: PointerTo[Buffer]
    """Octets that are not sent."""
    var sent: Int
    """How much was sent."""
    var ending: Int
    """One of `Ending`."""
    var ends_at: Int
    """How much is sent before that."""
    var skipped: Int
    """Octets of the client up to the next header of a frame."""
    var header: List[UInt8]
    """The part of such a header that was consumed."""
    var settings_sent: Int
    """How many settings were written."""
    var acknowledged: Int
    """How many the client has acknowledged."""
    var limits: List[Tuple[Int, Int]]
    """The number of the settings, and the limit of streams in them."""
    var last_id: Int
    """The last stream after GOAWAY; -1 before."""
    var has_ended: Bool
    """Whether it has ended its side."""
    var is_over: Bool
    """Whether it neither reads nor sends any more."""
    var is_broken: Bool
    """Whether octets on their way to the client may be lost."""

    def __init__(
        out self,
        peer: Peer,
        index: Int,
        mut random: Random,
        is_calm: Bool,
    ):
        """Begins a connection with the settings of the server.

        Args:
            peer: Its end.
            index: Its number.
            random: Decides.
            is_calm: Whether it keeps the rules, and serves to the end.
        """
        self.peer = peer
        self.index = index
        var limits = H2Limits()
        limits.streams_max = _STREAMS_MAX
        limits.stream_window_octets = random.between(100, 70_000)
        limits.connection_window_octets = random.between(65_535, 90_000)
        limits.resets = 1 << 20
        limits.glitches = 1 << 20
        self.state = heap_create(H2State(limits))
        self.window = heap_create(Buffer())
        self.output = heap_create(Buffer())
        self.sent = 0
        self.ending = Ending.NONE
        self.ends_at = Int.MAX
        self.skipped = _PREFACE_OCTETS
        self.header = []
        self.settings_sent = 1
        self.acknowledged = 0
        self.limits = [(1, _STREAMS_MAX)]
        self.last_id = -1
        self.has_ended = False
        self.is_over = False
        self.is_broken = False
        H2Machine(self.state).begin(self.output)
        if random.chance(50):
            self.limit(random.between(1, 4) if is_calm else random.below(4))
        if not is_calm and random.chance(50):
            self.ending = random.below(Ending.COUNT)
            self.ends_at = random.below(3) * random.below(40_000)
            if random.chance(30):
                self.ends_at = random.below(300)

    def __deinit__(deinit self):
        """Frees the machine."""
        heap_destroy(self.state)
        heap_destroy(self.window)
        heap_destroy(self.output)

    def machine(self) -> H2Machine:
        """Returns the machine.

        Returns:
            A handle.
        """
        return H2Machine(self.state)

    def limit(mut self, streams: Int):
        """Announces a limit of streams.

        Args:
            streams: The limit.
        """
        append_settings_header(1, self.output)
        append_setting(H2SettingId.MAX_CONCURRENT_STREAMS, streams, self.output)
        self.settings_sent += 1
        self.limits.append((self.settings_sent, streams))

    def act(
        mut self, story: PointerTo[Story], mut random: Random, is_calm: Bool
    ) -> Bool:
        """Reads, does something, and sends.

        Args:
            story: The story.
            random: Decides.
            is_calm: Whether it keeps the rules.

        Returns:
            Whether anything has happened.
        """
        if self.is_over:
            return False
        self.is_broken = self.is_broken or self.peer.is_reset()
        var has_acted = self._read(story, random, is_calm)
        if self.is_over:
            return True
        for i in range(len(story[].served)):
            if story[].served[i].connection == self.index:
                has_acted = self._serve(story, i, random) or has_acted
        if random.chance(2):
            self._change_settings(random, is_calm)
        has_acted = self._send(story, random) or has_acted
        return has_acted

    def leave(mut self):
        """Closes the connection, if it is open."""
        self.is_over = True
        self.peer.close()

    def open_streams(self, story: PointerTo[Story]) -> Int:
        """Returns how many streams have not ended.

        Args:
            story: The story.

        Returns:
            The number, as the server sees it.
        """
        var count = 0
        for served in story[].served:
            if served.connection == self.index and served.slot >= 0:
                if not self.machine().has_ended(served.slot):
                    count += 1
        return count

    def _limit_in_force(self) -> Int:
        var limit = Int.MAX
        for entry in self.limits:
            if entry[0] <= self.acknowledged:
                limit = entry[1]
        return limit

    def _change_settings(mut self, mut random: Random, is_calm: Bool):
        if random.chance(50):
            self.limit(random.between(1, 8) if is_calm else random.below(8))
            return
        append_settings_header(2, self.output)
        append_setting(
            H2SettingId.INITIAL_WINDOW_SIZE,
            # Never more than the machine counts with.
            self.state[].limits.stream_window_octets
            - random.below(self.state[].limits.stream_window_octets // 2),
            self.output,
        )
        append_setting(
            H2SettingId.HEADER_TABLE_SIZE, random.below(5_000), self.output
        )
        self.settings_sent += 1

    def _read(
        mut self, story: PointerTo[Story], mut random: Random, is_calm: Bool
    ) -> Bool:
        var octets = self.peer.received(
            Int.MAX if random.chance(60) else random.below(4_000)
        )
        if len(octets) == 0:
            if self.peer.is_closed():
                self.is_broken = self.is_broken or self.peer.is_reset()
                self.leave()
            return False
        self.window[].append(Span(octets))
        while True:
            var event: H2Event
            try:
                event = self.machine().next_event(
                    self.window[].span(), story[].network.now_ms(), self.output
                )
            except e:
                if not self.is_broken:
                    story[].complain(
                        String("the client breaks a rule: ", e.reason)
                    )
                self.leave()
                return True
            self._scan(event.consumed)
            if event.kind == H2Event.REQUEST_HEAD:
                self._take_request(story, event, random, is_calm)
            elif event.slot >= 0:
                self._take_part(story, event)
            self.window[].consume(event.consumed)
            if event.kind == H2Event.NEED_OCTETS:
                return True

    def _scan(mut self, count: Int):
        """Counts the acknowledgements of settings among consumed octets."""
        var octets = self.window[].span()
        for i in range(count):
            if self.skipped > 0:
                self.skipped -= 1
                continue
            self.header.append(octets[i])
            if len(self.header) < _HEADER_OCTETS:
                continue
            self.skipped = (
                Int(self.header[0]) << 16
                | Int(self.header[1]) << 8
                | Int(self.header[2])
            )
            if self.header[3] == _SETTINGS and self.header[4] & 1 != 0:
                self.acknowledged += 1
            self.header.clear()

    def _take_request(
        mut self,
        story: PointerTo[Story],
        event: H2Event,
        mut random: Random,
        is_calm: Bool,
    ):
        ref heads = self.state[].input.heads
        var target = heads.head.target_text(heads.octets.span())
        if event.status != 0:
            story[].complain(String("a head is refused: ", event.status))
            return
        var call: Int
        try:
            call = Int(String(target[byte=1:]))
        except:
            story[].complain(String("another path: ", target))
            return
        var served = Served(call, self.index, event.stream_id, event.slot)
        served.has_ended = event.ends
        served.octets = random.below(4) * random.below(OCTETS_MAX // 3)
        served.has_length = random.chance(50)
        served.has_trailer = random.chance(30)
        served.informational = random.below(2) * random.below(3)
        served.is_early = random.chance(25)
        if not is_calm and random.chance(25):
            served.deed = random.below(5)
        if self.last_id >= 0 and event.stream_id > self.last_id:
            served.is_unprocessed = True
            served.deed = Deed.IS_SILENT
        story[].served.append(served^)
        if self.open_streams(story) > self._limit_in_force():
            story[].complain("the limit of streams is exceeded")

    def _take_part(self, story: PointerTo[Story], event: H2Event):
        var i = self._find(story, event.slot)
        if i < 0:
            story[].complain("an event of a stream that is forgotten")
            return
        ref served = story[].served[i]
        if event.kind == H2Event.DATA:
            var octets = self.window[].span()[event.start :][: event.length]
            for at in range(event.length):
                if octets[at] != letter_at(served.number, served.got + at):
                    story[].complain("content of a request is wrong")
                    break
            served.got += event.length
            served.held += event.length
        if event.kind == H2Event.RESET:
            served.was_reset = True
        elif event.ends:
            served.has_ended = True
            if served.got != story[].calls[served.number].upload:
                story[].complain(
                    String(
                        "call ",
                        served.number,
                        " has sent ",
                        served.got,
                        " octets",
                    )
                )

    def _find(self, story: PointerTo[Story], slot: Int) -> Int:
        for i in range(len(story[].served)):
            ref served = story[].served[i]
            if served.connection == self.index and served.slot == slot:
                return i
        return -1

    def _serve(
        mut self, story: PointerTo[Story], i: Int, mut random: Random
    ) -> Bool:
        """Does a step of an answer. Returns whether there was one."""
        ref served = story[].served[i]
        if served.slot < 0:
            return False
        var machine = self.machine()
        var slot = served.slot
        if machine.has_ended(slot):
            served.is_done = True
            self._forget(story, i)
            return True
        if served.held > 0 and random.chance(60):
            var count = random.below(served.held) + 1
            machine.release(slot, count, self.output)
            served.held -= count
            return True
        if served.is_done:
            if served.is_early or served.deed != Deed.ANSWERS:
                # The rest of the request is not wanted.
                self._forget(story, i)
                return True
            return False
        if served.deed == Deed.IS_SILENT or random.chance(40):
            return served.deed != Deed.IS_SILENT
        if served.deed == Deed.REFUSES:
            served.is_unprocessed = True
            served.is_done = True
            machine.reset(slot, H2Code.REFUSED_STREAM, self.output)
            self._forget(story, i)
            return True
        if not served.has_ended and not served.is_early:
            return False
        try:
            if served.deed == Deed.LIES:
                self._lie(served.id, random)
                served.is_done = True
                self._forget(story, i)
            elif served.deed == Deed.RESETS and random.chance(30):
                served.is_done = True
                machine.reset(
                    slot, UInt32(8 if random.chance(50) else 2), self.output
                )
                self._forget(story, i)
            else:
                self._answer(story, i, random)
        except e:
            story[].complain(String("the server cannot answer: ", e))
            served.is_done = True
        return True

    def _answer(
        mut self, story: PointerTo[Story], i: Int, mut random: Random
    ) raises:
        ref served = story[].served[i]
        var machine = self.machine()
        var fields = HeaderMap()
        fields.append("X-Number", String(served.number))
        var trailers = HeaderMap()
        trailers.append("X-End", String(served.number))
        try:
            if served.informational > 0:
                served.informational -= 1
                machine.send_informational(
                    served.slot,
                    100 if random.chance(50) else 103,
                    fields,
                    self.output,
                )
                return
            if not served.has_head:
                served.has_head = True
                var length = served.octets if served.has_length else -1
                machine.send_response_head(
                    ResponseStart(
                        served.slot,
                        200,
                        length,
                        Span[UInt8, ImmUntrackedOrigin](),
                    ),
                    fields,
                    self.output,
                )
                if machine.may_send(served.slot):
                    machine.count_content(served.slot, served.octets)
                else:
                    # The head of an empty content ends the stream.
                    served.has_trailer = False
            elif served.sent < served.octets:
                self._send_content(story, i, random)
            elif served.has_trailer:
                machine.send_trailers(served.slot, trailers, self.output)
            elif machine.may_send(served.slot):
                machine.send_end(served.slot, self.output)
        except e:
            raise Error(e)
        if not machine.may_send(served.slot):
            served.is_done = True
            served.end_at = self.sent + len(self.output[])

    def _send_content(
        self, story: PointerTo[Story], i: Int, mut random: Random
    ):
        ref served = story[].served[i]
        var most = served.octets - served.sent
        var count = most if random.chance(50) else random.below(most) + 1
        var content = content_of(served.number, served.octets)
        served.sent += self.machine().send_within_windows(
            served.slot,
            content.as_bytes()[served.sent : served.sent + count],
            count == most and not served.has_trailer,
            self.output,
        )
        _ = content^

    def _lie(mut self, id: Int, mut random: Random) raises:
        """Sends a malformed answer."""
        comptime TEXT: StaticString = "short"
        var kind = random.below(3)
        ref window = self.state[].window
        if kind == 2 and Int(window.send) < TEXT.byte_length():
            kind = 0
        if kind == 0:
            self._frame(1, 5, id, block_of("x-number: 1"))
        elif kind == 1:
            self._frame(1, 5, id, block_of(":status: 200|X-Upper: 1"))
        else:
            self._frame(1, 4, id, block_of(":status: 200|content-length: 9"))
            self._frame(0, 1, id, List[UInt8](TEXT.as_bytes()))
            window.send -= type_of(window.send)(TEXT.byte_length())

    def _forget(self, story: PointerTo[Story], i: Int):
        ref served = story[].served[i]
        if served.held > 0:
            served.held = 0
        self.machine().forget(served.slot, self.output)
        served.slot = -1

    def _frame(self, kind: Int, flags: Int, id: Int, payload: List[UInt8]):
        append_frame_header(
            len(payload), UInt8(kind), UInt8(flags), id, self.output
        )
        self.output[].append(Span(payload))

    def _send(mut self, story: PointerTo[Story], mut random: Random) -> Bool:
        if self.has_ended:
            self.output[].clear()
            return False
        var count = min(len(self.output[]), self.peer.room())
        if count > 0 and random.chance(50):
            count = random.below(count) + 1
        var is_end = self.sent + count >= self.ends_at
        if is_end and self.ending != Ending.GOES_AWAY:
            count = self.ends_at - self.sent
        if count > 0:
            self.peer.send(self.output[].span()[:count])
            self.output[].consume(count)
            self.sent += count
            self._note_arrivals(story)
        if is_end:
            self._end(story, random)
        elif self.last_id >= 0 and len(self.output[]) == 0:
            if self._is_idle(story) and random.chance(50):
                if random.chance(50):
                    # It reads what the client still sends.
                    self.has_ended = True
                    self.peer.end_sending()
                else:
                    self.is_broken = True
                    self.leave()
        return count > 0 or is_end

    def _note_arrivals(self, story: PointerTo[Story]):
        for i in range(len(story[].served)):
            ref served = story[].served[i]
            if served.connection == self.index and served.arrived_ms < 0:
                if 0 <= served.end_at <= self.sent:
                    served.arrived_ms = story[].network.now_ms()

    def _is_idle(self, story: PointerTo[Story]) -> Bool:
        for served in story[].served:
            if served.connection == self.index and not (
                served.is_done or served.is_unprocessed or served.was_reset
            ):
                return False
        return True

    def _end(mut self, story: PointerTo[Story], mut random: Random):
        self.ends_at = Int.MAX
        if self.ending == Ending.CLOSES:
            self.is_broken = True
            self.leave()
        elif self.ending == Ending.ENDS:
            # What it would still send is lost.
            self.is_broken = True
            self.has_ended = True
            self.peer.end_sending()
        elif self.ending == Ending.BREAKS:
            self.is_broken = True
            self.peer.reset()
            self.leave()
        elif self.ending == Ending.STALLS:
            self.is_broken = True
            self.is_over = True
        elif self.ending == Ending.GOES_AWAY:
            self._go_away(story, random)
        elif self.ending == Ending.LIES:
            self.is_broken = True
            var id = random.below(2)
            if random.chance(50):
                self._frame(4, 0, id, [0])
            else:
                self._frame(5, 4, 1 + 2 * random.below(9), number(2))

    def _go_away(mut self, story: PointerTo[Story], mut random: Random):
        """Announces the last stream. Above it are only streams whose answer has
        not begun."""
        var last = 0
        for served in story[].served:
            if served.connection != self.index:
                continue
            var has_begun = served.has_head or served.is_done
            if has_begun or random.chance(50):
                last = max(last, served.id)
        for i in range(len(story[].served)):
            ref served = story[].served[i]
            if served.connection == self.index and served.id > last:
                served.is_unprocessed = True
                served.deed = Deed.IS_SILENT
        self.last_id = last
        var payload = number(last)
        payload.extend(Span(number(0)))
        self._frame(Int(_GOAWAY), 0, 0, payload)

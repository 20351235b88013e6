"""A client's machine and a server's machine understand each other, in whatever
pieces their octets arrive.

Invariant: neither finds a fault of the other, so no window is exceeded and no
table of HPACK differs. Each request arrives as it was sent, and so does each
response that was not cancelled. At the end all credit has returned, and nothing
is left.
"""

from flare.core import (
    Buffer,
    PointerTo,
    equals,
    heap_create,
    heap_destroy,
)
from flare.message import HeaderMap
from flare.proto.h1 import BodyLength
from flare.proto.h2.h2_event import H2Event
from flare.proto.h2.h2_limits import H2Limits
from flare.proto.h2.h2_machine import H2Machine
from flare.proto.h2.h2_state import H2State
from flare.proto.h2.outgoing_heads import ResponseStart
from flare.proto.h2.outgoing_requests import RequestStart
from flare.proto.h2.settings import (
    H2SettingId,
    append_setting,
    append_settings_header,
)
from flare.proto.h2.stream_table import NO_SLOT

from fuzz.harness import Histogram, run
from fuzz.random import Random

comptime _STREAMS_MAX = 8
comptime _STEPS_MAX = 120
comptime _CONTENT_OCTETS_MAX = 70_000


def fuzz_h2_pair(mut random: Random, mut histogram: Histogram) raises:
    """Runs one connection to its end.

    Args:
        random: Draws what both ends do, and the pieces.
        histogram: Counts the outcome.

    Raises:
        Error: If the invariant does not hold.
    """
    var pair = _Pair(random)
    var steps = random.below(_STEPS_MAX)
    for _ in range(steps):
        pair.step(random, histogram)
    pair.finish(random, histogram)
    histogram.count_whole("whole")


struct _Exchange(Copyable, Movable):
    """A request, as both ends know it."""

    var id: Int
    var slot: Int
    var server_slot: Int
    var upload: Int
    var uploaded: Int
    var uploads_arrived: Int
    var download: Int
    var downloads_arrived: Int
    var is_answered: Bool
    var has_response: Bool
    var is_left: Bool
    var is_forgotten: Bool

    def __init__(out self, id: Int, slot: Int):
        self.id = id
        self.slot = slot
        self.server_slot = NO_SLOT
        self.upload = 0
        self.uploaded = 0
        self.uploads_arrived = 0
        self.download = 0
        self.downloads_arrived = 0
        self.is_answered = False
        self.has_response = False
        self.is_left = False
        self.is_forgotten = False


struct _End(Movable):
    """One end: its machine, the octets that it has received, and those that it
    has written."""

    var state: PointerTo[H2State]
    var window: PointerTo[Buffer]
    var output: PointerTo[Buffer]

    def __init__(out self, limits: H2Limits, *, is_client: Bool):
        self.state = heap_create(H2State(limits, is_client=is_client))
        self.window = heap_create(Buffer())
        self.output = heap_create(Buffer())
        self.machine().begin(self.output)

    def __deinit__(deinit self):
        heap_destroy(self.state)
        heap_destroy(self.window)
        heap_destroy(self.output)

    def machine(self) -> H2Machine:
        return H2Machine(self.state)

    def next(self) raises -> H2Event:
        try:
            return self.machine().next_event(
                self.window[].span(), 1000, self.output
            )
        except e:
            raise Error(e)

    def require_credit(self) raises:
        ref window = self.state[].window
        if window.receive + window.due != window.receive_max:
            raise Error("credit is lost: ", window.receive, " ", window.due)
        if self.machine().count() != 0:
            raise Error("streams are left")
        if not self.state[].schedule.is_empty():
            raise Error("a stream is scheduled that is gone")


def _require_equal_tables(sender: _End, receiver: _End) raises:
    """Checks that what one end has inserted is what the other one has."""
    ref encoder = sender.state[].encoder.state[]
    if encoder.size_told_first >= 0:
        # The next block says that the table is smaller.
        return
    ref sent = encoder.table
    ref received = receiver.state[].input.decoder.state[].table
    if sent.count != received.count or sent.size != received.size:
        raise Error("tables of ", sent.size, " and ", received.size, " octets")
    for i in range(1, sent.count + 1):
        var wanted = sent.entry(i)
        var found = received.entry(i)
        if not (
            equals(sent.unsafe_name(wanted), received.unsafe_name(found))
            and equals(sent.unsafe_value(wanted), received.unsafe_value(found))
        ):
            raise Error("the tables differ at ", i)


struct _Pair(Movable):
    """Both ends, and the exchanges between them."""

    var client: _End
    var server: _End
    var exchanges: List[_Exchange]

    def __init__(out self, mut random: Random):
        var limits = H2Limits()
        limits.streams_max = _STREAMS_MAX
        limits.stream_window_octets = random.between(100, 40_000)
        limits.connection_window_octets = random.between(65_535, 90_000)
        limits.resets = 1 << 20
        self.client = _End(limits, is_client=True)
        self.server = _End(limits, is_client=False)
        self.exchanges = []

    def step(mut self, mut random: Random, mut histogram: Histogram) raises:
        var kind = random.below(12)
        if kind < 2:
            self._ask(random, histogram)
        elif kind < 4:
            self._upload(random)
        elif kind < 6:
            self._answer(random, histogram)
        elif kind == 6:
            self._pump(random)
        elif kind == 7 and random.chance(40):
            self._cancel(random, histogram)
        elif kind == 8:
            self._change_settings(random)
        self._deliver(self.client.output, self.server.window, random)
        self._deliver(self.server.output, self.client.window, random)
        self._receive_at_server(random)
        self._receive_at_client(random)

    def finish(mut self, mut random: Random, mut histogram: Histogram) raises:
        for _ in range(100_000):
            for i in range(len(self.exchanges)):
                self._upload_one(i, 1 << 20)
                self._answer_one(i, random, histogram)
            self._pump(random)
            var moved = len(self.client.output[]) + len(self.server.output[])
            self._deliver(self.client.output, self.server.window, random)
            self._deliver(self.server.output, self.client.window, random)
            self._receive_at_server(random)
            self._receive_at_client(random)
            if moved == 0 and len(self.exchanges) == 0:
                break
        if len(self.exchanges) > 0:
            raise Error("an exchange does not end: ", self.exchanges[0].id)
        self.client.require_credit()
        self.server.require_credit()
        _require_equal_tables(self.client, self.server)
        _require_equal_tables(self.server, self.client)

    def _deliver(
        self,
        source: PointerTo[Buffer],
        target: PointerTo[Buffer],
        mut random: Random,
    ):
        var count = len(source[])
        if count > 0 and random.chance(50):
            count = random.below(count) + 1
        target[].append(source[].span()[:count])
        source[].consume(count)

    def _ask(mut self, mut random: Random, mut histogram: Histogram) raises:
        if not self.client.machine().may_begin():
            return
        var fields = HeaderMap()
        fields.append("Host", String("a", random.below(3), ".test"))
        for i in range(random.below(5)):
            fields.append(
                String("X-", random.below(8)), String(random.below(5), i)
            )
        var upload = 0
        var length = BodyLength.NONE
        if random.chance(50):
            upload = random.below(_CONTENT_OCTETS_MAX)
            length = BodyLength.UNKNOWN if random.chance(
                50
            ) else BodyLength.known(upload)
        var path = String("/", upload)
        var slot: Int
        try:
            slot = self.client.machine().send_request_head(
                RequestStart("PUT".as_bytes(), path.as_bytes(), True, length),
                fields,
                self.client.output,
            )
        except e:
            raise Error(e)
        _ = path^
        var exchange = _Exchange(self.client.state[].ids.last_begun, slot)
        exchange.upload = upload
        # The head has ended it, or the first frame of content does.
        if length.octets != BodyLength.UNKNOWN.octets and upload == 0:
            exchange.uploaded = -1
        self.exchanges.append(exchange^)
        histogram.count("asked")

    def _upload(mut self, mut random: Random) raises:
        if len(self.exchanges) > 0:
            self._upload_one(
                random.below(len(self.exchanges)), random.below(30_000) + 1
            )

    def _upload_one(mut self, i: Int, octets_max: Int) raises:
        ref x = self.exchanges[i]
        var machine = self.client.machine()
        if x.uploaded < 0 or x.is_left or not machine.may_send(x.slot):
            return
        if x.uploaded == x.upload:
            machine.send_end(x.slot, self.client.output)
            x.uploaded = -1
            return
        var count = min(x.upload - x.uploaded, octets_max)
        var octets = List[UInt8](length=count, fill=117)
        var sent = machine.send_within_windows(
            x.slot,
            Span(octets),
            x.uploaded + count == x.upload,
            self.client.output,
        )
        x.uploaded += sent
        if x.uploaded == x.upload and sent > 0:
            x.uploaded = -1

    def _answer(mut self, mut random: Random, mut histogram: Histogram) raises:
        if len(self.exchanges) > 0:
            self._answer_one(
                random.below(len(self.exchanges)), random, histogram
            )

    def _answer_one(
        mut self, i: Int, mut random: Random, mut histogram: Histogram
    ) raises:
        ref x = self.exchanges[i]
        var machine = self.server.machine()
        if x.server_slot == NO_SLOT or x.is_answered:
            return
        if not machine.may_send(x.server_slot):
            return
        var fields = HeaderMap()
        fields.append("X-Kind", String(random.below(4)))
        try:
            if random.chance(20):
                machine.send_informational(
                    x.server_slot, 103, fields, self.server.output
                )
            x.download = 0
            if random.chance(70):
                x.download = random.below(_CONTENT_OCTETS_MAX)
            var is_stated = random.chance(50)
            machine.send_response_head(
                ResponseStart(
                    x.server_slot,
                    200,
                    x.download if is_stated else -1,
                    Span[UInt8, ImmUntrackedOrigin](),
                ),
                fields,
                self.server.output,
            )
        except e:
            raise Error(e)
        x.is_answered = True
        histogram.count("answered")
        if not machine.may_send(x.server_slot):
            return
        if x.download > 0:
            machine.queue(x.server_slot, x.download)
        elif random.chance(50):
            machine.send_trailers(x.server_slot, fields, self.server.output)
        else:
            machine.send_end(x.server_slot, self.server.output)

    def _pump(mut self, mut random: Random) raises:
        var machine = self.server.machine()
        for _ in range(random.below(8)):
            var room = 10 + random.below(20_000)
            var turn = machine.next_turn(room)
            if turn.octets > room - 9:
                raise Error("a frame is longer than the room for it")
            if turn.slot == NO_SLOT:
                return
            var left = self.server.state[].streams[turn.slot].queued_octets
            var octets = List[UInt8](length=turn.octets, fill=100)
            machine.send_data(
                turn.slot,
                Span(octets),
                left == turn.octets,
                self.server.output,
            )

    def _cancel(mut self, mut random: Random, mut histogram: Histogram) raises:
        if len(self.exchanges) == 0:
            return
        var i = random.below(len(self.exchanges))
        if not self.exchanges[i].is_left:
            histogram.count("cancelled")
            self._leave(i)

    def _leave(mut self, i: Int):
        self.exchanges[i].is_left = True
        self.client.machine().forget(self.exchanges[i].slot, self.client.output)

    def _change_settings(self, mut random: Random):
        var end = self.server.output if random.chance(
            50
        ) else self.client.output
        append_settings_header(2, end)
        # Never more than the end counts with.
        var most = self.client.state[].limits.stream_window_octets
        append_setting(
            H2SettingId.INITIAL_WINDOW_SIZE,
            random.between(most // 2, most),
            end,
        )
        append_setting(H2SettingId.HEADER_TABLE_SIZE, random.below(5_000), end)

    def _receive_at_server(mut self, mut random: Random) raises:
        # A stream counts until its owner forgets it.
        for i in range(len(self.exchanges)):
            self._end_at_server(i)
        while True:
            var event = self.server.next()
            self.server.window[].consume(event.consumed)
            if event.kind == H2Event.NEED_OCTETS:
                return
            if event.slot == NO_SLOT:
                continue
            var i = self._find(event.stream_id)
            if event.kind == H2Event.REQUEST_HEAD:
                self.exchanges[i].server_slot = event.slot
                self._check_request(i, event)
            elif event.kind == H2Event.DATA:
                self.exchanges[i].uploads_arrived += event.length
                self.server.machine().release(
                    event.slot, event.length, self.server.output
                )
            elif event.kind == H2Event.RESET and not (
                self.exchanges[i].is_left
            ):
                raise Error("a stream was reset: ", event.code)
            if event.ends and event.kind != H2Event.RESET:
                if (
                    self.exchanges[i].uploads_arrived
                    != self.exchanges[i].upload
                ):
                    raise Error("an upload is not whole")
            self._end_at_server(i)

    def _receive_at_client(mut self, mut random: Random) raises:
        while True:
            var event = self.client.next()
            self.client.window[].consume(event.consumed)
            if event.kind == H2Event.NEED_OCTETS:
                break
            if event.slot == NO_SLOT:
                continue
            var i = self._find(event.stream_id)
            if event.kind == H2Event.RESET:
                # Its response was whole before its request was.
                if not self.exchanges[i].has_response or event.code != 0:
                    raise Error("a stream was reset: ", event.code)
            elif event.kind == H2Event.DATA:
                self.exchanges[i].downloads_arrived += event.length
                self.client.machine().release(
                    event.slot, event.length, self.client.output
                )
            if event.ends and event.kind != H2Event.RESET:
                ref x = self.exchanges[i]
                x.has_response = True
                if x.downloads_arrived != x.download:
                    raise Error("a download is not whole")
        for i in range(len(self.exchanges) - 1, -1, -1):
            self._end_at_server(i)
            self._drop_if_over(i)

    def _check_request(self, i: Int, event: H2Event) raises:
        ref head = self.server.state[].input.heads
        var text = head.head.target_text(head.octets.span())
        if text != String("/", self.exchanges[i].upload):
            raise Error("another path: ", text)
        if event.status != 0:
            raise Error("a head is refused: ", event.status)

    def _find(self, id: Int) raises -> Int:
        for i in range(len(self.exchanges)):
            if self.exchanges[i].id == id:
                return i
        raise Error("an event of no exchange: ", id)

    def _end_at_server(mut self, i: Int):
        """Forgets a stream that has ended at the server, which need not read the
        whole request."""
        ref x = self.exchanges[i]
        if x.server_slot == NO_SLOT:
            return
        var machine = self.server.machine()
        if machine.has_ended(x.server_slot) or (
            x.is_answered and not machine.may_send(x.server_slot)
        ):
            machine.forget(x.server_slot, self.server.output)
            x.server_slot = NO_SLOT
            x.is_forgotten = True

    def _drop_if_over(mut self, i: Int):
        if self.exchanges[i].has_response and not self.exchanges[i].is_left:
            # It leaves at once, whether its request is whole or not.
            self._leave(i)
        if self.exchanges[i].is_left and self.exchanges[i].is_forgotten:
            _ = self.exchanges.pop(i)


def main() raises:
    run(fuzz_h2_pair)

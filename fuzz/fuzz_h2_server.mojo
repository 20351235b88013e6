"""Whatever the network does, a server of HTTP/2 answers each stream once.

Invariant: a client that keeps the rules gets exactly the content of each request,
or a reset where the handler failed or the client asked for it; no window is
exceeded, the tables of HPACK are equal at both ends; and when the server has
ended, nothing is left of it. Each run is a simulated server whose fate a seed
decides.
"""

from flare.core import Buffer, heap_create, heap_destroy
from flare.http.builders import ok
from flare.http.handler import Handler
from flare.http.request import Request
from flare.http.response import Response
from flare.http.response_stream import ResponseStream
from flare.http.upgraded_stream import UpgradedStream
from flare.proto.h2.frame import append_frame_header
from flare.proto.h2.hpack import (
    append_indexed,
    append_literal,
    append_named_literal,
)
from flare.proto.h2.preface import PREFACE
from flare.runtime.backends.simulated_faults import SimulatedFaults
from flare.runtime.backends.simulated_network import Peer
from flare.runtime.wait import sleep
from flare.testing.test_server import TestServer

from fuzz.h2_peer import H2Judge
from fuzz.harness import Histogram, run
from fuzz.random import Random

comptime _TURNS_MAX = 20_000
comptime _REQUESTS_MAX = 12
comptime _OCTETS_MAX = 120_000
comptime _KINDS = 7


struct _Kind:
    comptime WHOLE = 0
    comptime STREAM = 1
    comptime ECHO = 2
    comptime BOTH = 3
    comptime RAISE = 4
    comptime BROKEN = 5
    comptime TUNNEL = 6


@fieldwise_init
struct _Server(Handler):
    """Answers `/KIND/OCTETS/MILLISECONDS`."""

    def serve(self, req: Request) raises -> Response:
        var parts = req.path.split("/")
        var kind = Int(parts[1])
        var octets = Int(parts[2])
        sleep(Int(parts[3]))
        if kind == _Kind.WHOLE:
            return ok(List[UInt8](length=octets, fill=120))
        if kind == _Kind.ECHO:
            return ok(List[UInt8](req.body.octets()))
        if kind == _Kind.RAISE:
            raise Error("on purpose")
        if kind == _Kind.BOTH:
            return Response.stream(_write_what_is_read)
        if kind == _Kind.TUNNEL:
            return Response.upgrade("echo", _echo_tunnel)
        var raises_at_end = kind == _Kind.BROKEN

        def write(
            req: Request, stream: ResponseStream
        ) raises {var octets, var raises_at_end}:
            var left = octets
            while left > 0:
                var count = min(left, 7000)
                stream.write_all(Span(List[UInt8](length=count, fill=120)))
                left -= count
                sleep(1)
            if raises_at_end:
                raise Error("on purpose")

        return Response.stream(write)


def _write_what_is_read(req: Request, stream: ResponseStream) raises:
    stream.flush()
    var piece = List[UInt8](length=5000, fill=0)
    while True:
        var count = req.body.read(Span(piece))
        if count == 0:
            return
        stream.write_all(Span(piece)[:count])


def _echo_tunnel(req: Request, stream: UpgradedStream) raises:
    while True:
        var octets = stream.unsafe_await_octets()
        if len(octets) == 0:
            return
        var room = stream.unsafe_await_room(len(octets))
        octets = stream.unsafe_received()
        var count = min(len(octets), room.octets)
        room.output[].append(octets[:count])
        stream.announce_output()
        stream.consume_octets(count)


struct _Request(Copyable, Movable):
    var id: Int
    var kind: Int
    var octets: Int
    var unsent: Int
    var is_reset: Bool

    def __init__(out self, id: Int, mut random: Random):
        self.id = id
        self.kind = random.below(_KINDS)
        self.octets = random.below(4) * random.below(_OCTETS_MAX // 3)
        self.unsent = 0
        if self.kind in (_Kind.ECHO, _Kind.BOTH, _Kind.TUNNEL):
            # Within the windows that the server grants at first.
            self.octets = random.below(60_000)
            self.unsent = self.octets
        self.is_reset = False


struct _Client(Movable):
    var peer: Peer
    var requests: List[_Request]
    var sent: List[UInt8]
    var received: List[UInt8]
    var judge: H2Judge
    var is_lost: Bool

    def __init__(out self, peer: Peer, mut random: Random) raises:
        self.peer = peer
        self.requests = []
        self.sent = []
        self.received = []
        self.judge = H2Judge()
        self.is_lost = False
        self._send(List[UInt8](PREFACE.as_bytes()))
        var payload = List[UInt8]()
        if random.chance(60):
            payload.extend([UInt8(0), 4])
            payload.extend(_number(random.below(3) * random.below(40_000)))
        if random.chance(30):
            payload.extend([UInt8(0), 1])
            payload.extend(_number(random.below(200) * random.below(40)))
        self._frame(4, 0, 0, payload)

    def act(mut self, mut random: Random) raises:
        """Does one thing that a client may do."""
        var kind = random.below(10)
        if kind < 4 and len(self.requests) < _REQUESTS_MAX:
            return self._begin(random)
        if kind == 4:
            return self._frame(8, 0, 0, _number(random.between(1, 60_000)))
        if kind == 5:
            return self._frame(6, 0, 0, random.octets(8))
        if len(self.requests) == 0:
            return
        var i = random.below(len(self.requests))
        if kind == 6:
            self._widen(i, random.between(1, 60_000))
        elif kind == 7 and random.chance(20):
            self._reset(i)
        else:
            self._send_content(i, random.between(1, 16_384))

    def finish(mut self) raises:
        """Sends all that is still owed, and opens all windows."""
        self._frame(8, 0, 0, _number(1 << 24))
        for i in range(len(self.requests)):
            while self.requests[i].unsent > 0:
                self._send_content(i, 16_384)
            self._widen(i, 1 << 20)

    def take(mut self, octets: List[UInt8]) raises:
        """Judges what has arrived, as far as frames are whole."""
        self.received.extend(Span(octets))
        self.judge.follow(Span(self.sent), len(self.sent))
        var whole = 0
        while len(self.received) - whole >= 9:
            var length = (
                Int(self.received[whole]) << 16
                | Int(self.received[whole + 1]) << 8
                | Int(self.received[whole + 2])
            )
            if len(self.received) - whole < 9 + length:
                break
            whole += 9 + length
        self.judge.judge(Span(self.received)[:whole])
        var rest = List[UInt8](self.received[whole:])
        self.received = rest^
        if self.judge.unanswered > 0:
            self._frame(4, 1, 0, [])
            self.judge.unanswered = 0

    def is_answered(self) -> Bool:
        for request in self.requests:
            if not request.is_reset and not self.judge.has_ended(request.id):
                return False
        return True

    def check(self) raises:
        """Compares each answer with its request."""
        for request in self.requests:
            if request.is_reset:
                continue
            var answer = self.judge.stream_of(request.id)
            var wanted = request.octets
            if request.kind == _Kind.RAISE or (
                request.kind == _Kind.BROKEN and request.octets == 0
            ):
                if answer.status != 500:
                    raise Error("a failure with ", answer.status)
                continue
            if answer.status != 200:
                raise Error(
                    "an answer with ", answer.status, " to kind ", request.kind
                )
            if request.kind == _Kind.BROKEN:
                if not answer.is_reset:
                    raise Error("a broken answer looks whole")
                continue
            if answer.is_reset or answer.sent != wanted:
                raise Error(
                    answer.sent, " octets of ", wanted, " for ", request.id
                )

    def _begin(mut self, mut random: Random) raises:
        var request = _Request(2 * len(self.requests) + 1, random)
        var block = heap_create(Buffer())
        if request.kind == _Kind.TUNNEL:
            append_literal(2, "CONNECT".as_bytes(), block)
            append_named_literal(
                ":protocol".as_bytes(), "echo".as_bytes(), block
            )
        else:
            append_indexed(3 if request.unsent > 0 else 2, block)
        append_indexed(7, block)
        append_literal(1, "a.test".as_bytes(), block)
        var path = String(
            "/",
            request.kind,
            "/",
            request.octets,
            "/",
            random.below(2) * random.below(20),
        )
        append_literal(4, path.as_bytes(), block)
        var octets = List[UInt8](block[].span())
        heap_destroy(block)
        var ends = 1 if request.unsent == 0 else 0
        if random.chance(80):
            self._frame(1, 4 | ends, request.id, octets)
        else:
            var cut = random.below(len(octets) + 1)
            self._frame(1, ends, request.id, List[UInt8](octets[:cut]))
            self._frame(9, 4, request.id, List[UInt8](octets[cut:]))
        self.requests.append(request^)

    def _widen(mut self, i: Int, octets: Int) raises:
        var id = self.requests[i].id
        if not self.requests[i].is_reset and not self.judge.has_ended(id):
            self._frame(8, 0, id, _number(octets))

    def _reset(mut self, i: Int) raises:
        if not self.judge.has_ended(self.requests[i].id):
            self.requests[i].is_reset = True
            self.requests[i].unsent = 0
            self._frame(3, 0, self.requests[i].id, _number(8))

    def _send_content(mut self, i: Int, octets_max: Int) raises:
        var count = min(self.requests[i].unsent, octets_max)
        if count == 0:
            return
        self.requests[i].unsent -= count
        self._frame(
            0,
            1 if self.requests[i].unsent == 0 else 0,
            self.requests[i].id,
            List[UInt8](length=count, fill=120),
        )

    def _frame(
        mut self, kind: Int, flags: Int, id: Int, payload: List[UInt8]
    ) raises:
        var frame = heap_create(Buffer())
        append_frame_header(len(payload), UInt8(kind), UInt8(flags), id, frame)
        frame[].append(Span(payload))
        self._send(List[UInt8](frame[].span()))
        heap_destroy(frame)

    def _send(mut self, octets: List[UInt8]):
        self.sent.extend(Span(octets))
        self.peer.send(Span(octets))


def fuzz_h2_server(mut random: Random, mut histogram: Histogram) raises:
    """Runs one simulated server from its beginning to its end.

    Args:
        random: Draws the fate of the server and the client.
        histogram: Counts the outcome.

    Raises:
        Error: If the invariant does not hold.
    """
    var faults = SimulatedFaults.frequent(
        resets=random.below(2) * random.below(5)
    )
    if random.chance(20):
        faults = SimulatedFaults()
    faults.accept_errors = 0
    var server = TestServer[_Server](
        _Server(), seed=random.below(1 << 30), faults=faults
    )
    var client = _Client(server.connect(), random)
    var actions = random.below(40)
    for _ in range(actions):
        client.act(random)
        if random.chance(60):
            server.turn_now() if random.chance(50) else server.advance(
                random.below(5)
            )
            client.take(client.peer.received())
    client.finish()
    var turns = 0
    while not client.is_answered() and turns < _TURNS_MAX:
        if client.peer.is_closed():
            client.is_lost = True
            break
        server.advance(1)
        client.take(client.peer.received())
        turns += 1
    if client.is_lost and faults.resets == 0:
        raise Error("the connection ended")
    if not client.is_lost:
        if not client.is_answered():
            raise Error("a request has no answer")
        client.check()
    client.peer.close()
    server.stop()
    var remains = server.remains()
    if remains.byte_length() > 0:
        raise Error("left: ", remains)
    histogram.count("lost" if client.is_lost else "answered")
    histogram.count("requests", len(client.requests))


def _number(value: Int) -> List[UInt8]:
    return [
        UInt8(value >> 24 & 255),
        UInt8(value >> 16 & 255),
        UInt8(value >> 8 & 255),
        UInt8(value & 255),
    ]


def main() raises:
    run(fuzz_h2_server, has_whole_inputs=False)

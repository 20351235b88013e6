"""Whatever a server and the network do, each call of a client of HTTP/2 ends
once.

Fibers share a client. The server keeps the rules, or breaks them, as a seed
decides. Invariants: the client breaks no rule and no limit; a call ends within
its time, with exactly the content of its answer, or with an error that has a
cause; it succeeds if its answer arrived whole; no request is sent twice, unless
it is idempotent or was not processed; connections that are kept have all their
credit and no stream; and nothing is left.
"""

from std.memory import ArcPointer

from flare.core import PointerTo, heap_create, heap_destroy
from flare.http.client.client import HttpClient
from flare.http.client.config.client_config import (
    ClientConfig,
    ClientTimeouts,
    PoolLimits,
)
from flare.http.client.config.http2 import ClientHttp2Config
from flare.http.client.config.retry import RetryPolicy
from flare.http.client.shared.shared_connection import SharedConnection
from flare.http.client_error import ClientError
from flare.runtime.backends.simulated_faults import SimulatedFaults
from flare.runtime.current import current_reactor, set_current_reactor
from flare.runtime.task import JoinHandle

from fuzz.h2_calls import (
    PATIENT_MS,
    CallRecord,
    Client,
    Story,
    begin_call,
    content_of,
)
from fuzz.h2_origin import OriginConnection
from fuzz.h2_served import Deed, Ending, Served
from fuzz.harness import Histogram, run
from fuzz.random import Random
from tests.simulation.world import World

comptime _CALLS_MAX = 12
comptime _STEPS_MAX = 200_000
comptime _STEP_MS = 5
comptime _LAST_STEPS = 400
comptime _QUIET_STEPS = 20
# How much longer than its time a call may take on this network.
comptime _LATE_MS = 150
# How long a client may take to notice what has arrived.
comptime _UNNOTICED_MS = 2_000
# How long a call takes at most if nothing goes wrong.
comptime _CALM_MS = 12_000


struct _Run(Movable):
    """One client, and its server."""

    var world: World
    var listener: Int32
    var connections: List[OriginConnection]
    var story: PointerTo[Story]
    var is_calm: Bool
    var was_struck: Bool

    def __init__(out self, mut random: Random):
        self.is_calm = random.chance(30)
        var resets = 0 if self.is_calm else random.below(2) * random.below(4)
        var faults = SimulatedFaults.frequent(resets=resets)
        if random.chance(20):
            faults = SimulatedFaults()
        # Without a buffer to receive into, the connection is lost.
        faults.missing_buffers = 0
        faults.droughts = 0
        self.world = World(random.below(1 << 30), faults)
        self.listener = self.world.network.listen()
        var index = Int(self.listener) % 1_000_000
        self.connections = []
        self.story = heap_create(
            Story(self.world.network, String("10.0.0.", index))
        )
        for _ in range(random.below(_CALLS_MAX) + 1):
            self.story[].calls.append(CallRecord(random, self.is_calm))
        self.was_struck = False

    def client(self, mut random: Random) raises -> Client:
        var http2 = ClientHttp2Config()
        if random.chance(50):
            http2.stream_window_octets = 65_536
            http2.connection_window_octets = 65_536
        if not self.is_calm:
            http2.ping_after_ms = random.between(100, 2_000)
            http2.ping_timeout_ms = random.between(300, 2_000)
        var config = ClientConfig(
            http2_prior_knowledge=True,
            http2=http2,
            timeouts=ClientTimeouts(total_ms=PATIENT_MS),
            pool=PoolLimits(
                connections_per_origin_max=random.below(3) + 1,
                idle_timeout_ms=random.between(50, 30_000),
            ),
            # Without chance of its own.
            retry=RetryPolicy(delay_ms=1, delay_max_ms=1),
        )
        return ArcPointer(HttpClient(config=config^))

    def serve(mut self, mut random: Random) -> Bool:
        """Lets the server act. Returns whether it did."""
        var peer = self.world.network.accept(self.listener)
        if peer:
            self.connections.append(
                OriginConnection(
                    peer.value(), len(self.connections), random, self.is_calm
                )
            )
        var has_acted = Bool(peer)
        for i in range(len(self.connections)):
            ref connection = self.connections[i]
            self.was_struck = self.was_struck or connection.peer.is_struck()
            has_acted = (
                connection.act(self.story, random, self.is_calm) or has_acted
            )
        return has_acted

    def converse(mut self, client: Client, mut random: Random) raises:
        """Runs all calls to their end."""
        var handles = List[JoinHandle[NoneType]]()
        for number in range(len(self.story[].calls)):
            handles.append(begin_call(self.story, number, client))
        for _ in range(_STEPS_MAX):
            var has_acted = self.serve(random)
            if self.story[].problem != "":
                return
            self._turn(has_acted, random)
            if not self.is_calm and random.chance(1):
                self._cancel(handles, random)
            if self._have_ended(handles):
                break
        for i in range(len(handles)):
            if not handles[i].is_done():
                self.story[].complain(String("call ", i, " waits for ever"))
                return
        while len(handles) > 0:
            try:
                handles.pop().join()
            except e:
                # A cancelled fiber may never have begun.
                if "net.cancelled" not in String(e):
                    raise e^

    def _turn(self, has_acted: Bool, mut random: Random):
        var now_ms = self.world.network.now_ms()
        if has_acted and not random.chance(20):
            self.world.turn(now_ms)
        else:
            self.world.turn(now_ms + 1 + random.below(_STEP_MS))
        if now_ms == self.world.network.now_ms() and not has_acted:
            if not self.world.reactor.state[].fibers.has_ready():
                self.world.network.state[].now_ms += 1

    def _cancel(self, handles: List[JoinHandle[NoneType]], mut random: Random):
        var number = random.below(len(handles))
        if self.story[].calls[number].ends == 0 and random.chance(30):
            self.story[].calls[number].is_cancelled = True
            handles[number].cancel()

    def _have_ended(self, handles: List[JoinHandle[NoneType]]) -> Bool:
        for i in range(len(handles)):
            if not handles[i].is_done():
                return False
        return self.story[].fibers == 0

    def settle(mut self, mut random: Random) raises:
        """Lets the rest pass."""
        var quiet = 0
        for _ in range(_LAST_STEPS):
            var has_acted = self.serve(random)
            self._turn(has_acted, random)
            quiet = 0 if has_acted else quiet + 1
            if quiet > _QUIET_STEPS and self.world.remains() == "":
                return

    def check_kept(self, client: Client) -> None:
        """Looks at the connections that the client keeps."""
        for origin in client[].unsafe_state()[].pool.origins:
            if len(origin[].connections.shared) > 0:
                self.story[].complain("a connection is in use")
            for kept in origin[].connections.idle:
                var c = SharedConnection(kept)
                ref s = c.state()[]
                ref window = s.machine.window
                if s.users != 0 or s.writers != 0 or s.beginners != 0:
                    self.story[].complain("users of an unused connection")
                if s.reader or len(s.waiting) > 0 or s.sending.is_busy:
                    self.story[].complain("a fiber of an unused connection")
                if c.machine().count() != 0:
                    self.story[].complain("a stream is left")
                if (
                    not s.machine.input.data.is_open
                    and window.receive + window.due != window.receive_max
                ):
                    self.story[].complain("credit is lost")

    def has_stalled(self) -> Bool:
        """Returns whether the server fell silent, maybe within a frame."""
        for i in range(len(self.connections)):
            ref connection = self.connections[i]
            if connection.ending == Ending.STALLS and connection.is_over:
                return True
        return False

    def destroy(mut self):
        for i in range(len(self.connections)):
            self.connections[i].leave()
        self.world.network.close(Int(self.listener) % 1_000_000)


def fuzz_h2_client(mut random: Random, mut histogram: Histogram) raises:
    """Runs one client from its beginning to its end.

    Args:
        random: Draws the calls, the server and the faults.
        histogram: Counts the outcome.

    Raises:
        Error: If an invariant does not hold.
    """
    var r = _Run(random)
    var story = r.story
    var before = current_reactor()
    set_current_reactor(r.world.reactor)
    r.world.network.state[].trace.is_on = histogram.is_shown()
    try:
        _run(r, random)
    except e:
        story[].complain(String(e))
    set_current_reactor(before)
    _judge(r, histogram)
    if story[].problem != "":
        # What still runs uses the rest.
        var text = String(story[].problem, _told(story))
        if histogram.is_shown():
            text += r.world.network.state[].trace.text()
        raise Error(text)
    var world = r.world
    _ = r^
    world.destroy()
    heap_destroy(story)


def _run(mut r: _Run, mut random: Random) raises:
    var client = r.client(random)
    r.converse(client, random)
    if r.story[].problem != "":
        # The client has fibers that wait.
        var kept = heap_create(client)
        _ = kept
        return
    r.settle(random)
    r.check_kept(client)
    client[].close_idle()
    if client[].statistics().open != 0:
        r.story[].complain("the pool counts a connection")
    _ = client^
    r.settle(random)
    for i in range(len(r.connections)):
        ref connection = r.connections[i]
        if not connection.is_over and not connection.has_ended:
            r.story[].complain(
                String("connection ", i, " is open after the end")
            )
        elif not connection.is_broken and connection.open_streams(r.story) > 0:
            r.story[].complain("a stream has not ended")
    r.destroy()
    var remains = r.world.remains()
    if remains != "":
        r.story[].complain(String("left over: ", remains))
    if r.world.network.open_count() != 0:
        r.story[].complain("a socket is open")


def _judge(r: _Run, mut histogram: Histogram):
    for number in range(len(r.story[].calls)):
        if r.story[].problem == "":
            _judge_call(r, number, histogram)
    histogram.count("calm" if r.is_calm else "not calm")
    histogram.count("connections", len(r.connections))


def _judge_call(r: _Run, number: Int, mut histogram: Histogram):
    ref call = r.story[].calls[number]
    if call.began_ms < 0:
        return histogram.count("cancelled before it began")
    if call.ends != 1:
        return r.story[].complain(
            String("call ", number, " ended ", call.ends, " times")
        )
    var lasted_ms = call.ended_ms - call.began_ms
    if lasted_ms > call.timeout_ms + _LATE_MS:
        r.story[].complain(String("call ", number, " took ", lasted_ms))
    if r.is_calm and lasted_ms > _CALM_MS:
        r.story[].complain(String("call ", number, " took ", lasted_ms))
    _judge_repetitions(r, number)
    if call.error == "":
        histogram.count("left" if call.has_left else "answered")
        return _judge_answer(r, number)
    var error = ClientError.of(Error(call.error))
    if not error:
        return r.story[].complain(String("call ", number, ": ", call.error))
    var text = call.error
    histogram.count(text[byte = : text.find(":")])
    if not _has_cause(r, number, error.value()):
        r.story[].complain(String("call ", number, ": ", text))


def _judge_repetitions(r: _Run, number: Int):
    """A request is sent again if it was not processed, or if it is idempotent
    and its connection broke."""
    ref call = r.story[].calls[number]
    var requests = 0
    var unsafe_requests = 0
    for served in r.story[].served:
        if served.number != number:
            continue
        requests += 1
        var is_safe = served.is_unprocessed or (
            call.may_repeat() and r.connections[served.connection].is_broken
        )
        unsafe_requests += Int(not is_safe)
    if unsafe_requests > 1 or (requests > 1 and not call.is_repeated()):
        r.story[].complain(String("call ", number, " is sent twice"))


def _judge_answer(r: _Run, number: Int):
    for served in r.story[].served:
        if served.number == number and _is_answer(r, number, served):
            return
    ref call = r.story[].calls[number]
    r.story[].complain(
        String(
            "call ",
            number,
            " got ",
            call.status,
            " with ",
            call.answer.byte_length(),
            " octets",
        )
    )


def _is_answer(r: _Run, number: Int, served: Served) -> Bool:
    ref call = r.story[].calls[number]
    if call.status != 200 or call.echo != String(number):
        return False
    if served.deed not in (Deed.ANSWERS, Deed.RESETS):
        return False
    var wanted = served.octets
    if call.has_left:
        wanted = call.answer.byte_length()
    elif (call.trailer == String(number)) != served.has_trailer:
        return False
    return call.answer == content_of(number, wanted)


def _has_cause(r: _Run, number: Int, error: ClientError) -> Bool:
    ref call = r.story[].calls[number]
    if error.kind == ClientError.CANCELLED:
        return call.is_cancelled
    if r.is_calm or _has_arrived(r, number, call.ended_ms - _UNNOTICED_MS):
        # Whatever else has happened, its answer was there.
        return False
    if error.kind == ClientError.TIMEOUT:
        var lasted_ms = call.ended_ms - call.began_ms
        return lasted_ms >= call.timeout_ms - 1 or r.has_stalled()
    if _has_arrived(r, number, call.ended_ms):
        return False
    var is_broken = r.was_struck
    var has_gone = False
    var has_lied = False
    for i in range(len(r.connections)):
        ref connection = r.connections[i]
        is_broken = is_broken or connection.is_broken
        has_gone = has_gone or connection.last_id >= 0
        has_lied = has_lied or (
            connection.ending == Ending.LIES and connection.ends_at == Int.MAX
        )
    if error.kind == ClientError.RESET:
        return is_broken or _has_met(r, number, Deed.RESETS)
    if error.kind == ClientError.CLOSED:
        return is_broken or has_gone
    if error.kind == ClientError.PROTOCOL:
        return has_lied or _has_met(r, number, Deed.LIES)
    if error.kind == ClientError.NOT_PROCESSED:
        return is_broken or has_gone or _has_met(r, number, Deed.REFUSES)
    return False


def _has_met(r: _Run, number: Int, deed: Int) -> Bool:
    for served in r.story[].served:
        if served.number == number and served.deed == deed:
            return True
    return False


def _has_arrived(r: _Run, number: Int, until_ms: Int) -> Bool:
    """Returns whether an answer arrived whole, on a connection that held."""
    for served in r.story[].served:
        if (
            served.number == number
            and 0 <= served.arrived_ms <= until_ms
            and not r.connections[served.connection].is_broken
        ):
            return True
    return False


def _told(story: PointerTo[Story]) -> String:
    var text = String("\n")
    for number in range(len(story[].calls)):
        ref call = story[].calls[number]
        text += String(
            "  call ",
            number,
            " program ",
            call.program,
            " from ",
            call.began_ms,
            " to ",
            call.ended_ms,
            " of ",
            call.timeout_ms,
            " upload ",
            call.upload,
            " cancelled " if call.is_cancelled else " ",
            call.error,
            "\n",
        )
    for served in story[].served:
        text += String(
            "  request of ",
            served.number,
            " on ",
            served.connection,
            " stream ",
            served.id,
            " deed ",
            served.deed,
            " sent ",
            served.sent,
            " of ",
            served.octets,
            " got ",
            served.got,
            " end at ",
            served.arrived_ms,
            "\n",
        )
    return text^


def main() raises:
    run(fuzz_h2_client, has_whole_inputs=False)

"""Runs a client's WebSocket on a network with faults, as a seed decides.

The client is the real one: the request of the handshake, the upgrade of its
connection, and `WsClient`, each on fibers of a loop. Only the connection is
made before: the HTTP client finds it among those that it has kept.

Invariants: the client opens no WebSocket that was refused; its frames are
masked and in order, with one Close at most and no octet after it; it receives
the server's messages in order, and all of them if the server's Close is the
cause; each WebSocket has one cause of its end, which fits what has happened;
no call waits for ever; and nothing is left, neither fiber nor block nor socket.
"""

from flare.core import BlockKind, PointerTo, heap_create, heap_destroy
from flare.http.client.client import HttpClient
from flare.http.client.config.client_config import (
    ClientConfig,
    ClientTimeouts,
)
from flare.runtime.backends.simulated_faults import Draws, SimulatedFaults
from flare.runtime.current import current_reactor, set_current_reactor
from flare.runtime.task import spawn
from flare.ws import WsClientConfig

from tests.simulation.world import World

from .client_story import Program, Story, run_story
from .scripted_server import Opening, ScriptedServer

comptime _STEPS_MAX = 20_000
comptime _STEP_MS = 20
# No wait of the client is longer.
comptime _END_MS = 30_000
# After its end, what it has cancelled completes.
comptime _LAST_STEPS = 200


def check_client_seed(seed: Int, *, is_traced: Bool = False) raises -> Int:
    """Runs a seed.

    Args:
        seed: Decides everything.
        is_traced: Whether an error has the last events of the network.

    Returns:
        The number of WebSockets that were opened: 0 or 1.

    Raises:
        Error: If an invariant does not hold.
    """
    var draws = Draws(seed)
    var is_hasty = draws.strikes(600)
    var faults = SimulatedFaults.frequent(resets=draws.below(2) * 3)
    # Without a buffer to receive into, the connection is lost.
    faults.missing_buffers = 0
    faults.droughts = 0
    var world = World(seed, faults)
    var descriptor, peer = world.network.pair()
    var server = ScriptedServer(peer, draws)
    var story = heap_create(Story(_config(is_hasty), draws))
    if story[].program == Program.RECEIVES:
        server.close_at_last()
    ref trace = world.network.state[].trace
    trace.is_on = is_traced
    var before = current_reactor()
    set_current_reactor(world.reactor)
    try:
        _converse(world, server, story, descriptor, draws)
    except e:
        story[].complain(String(e))
        set_current_reactor(before)
        raise Error(_told(story, server), trace.text())
    set_current_reactor(before)
    _judge(story, server, is_hasty)
    var blocks = len(
        world.reactor.state[].recycler.state[].blocks[BlockKind.UPGRADE]
    )
    if blocks > 1 or (story[].has_opened and blocks != 1):
        story[].complain(String(blocks, " blocks of one upgrade"))
    var remains = world.remains()
    if remains != "":
        story[].complain(String("left over: ", remains))
    peer.close()
    if world.network.open_count() != 0:
        story[].complain("the client's socket is open")
    if story[].problem != "":
        raise Error(_told(story, server), trace.text())
    var opened = Int(story[].has_opened)
    # Where something is wrong all is left as it is: what still runs uses it.
    world.destroy()
    heap_destroy(story)
    return opened


def _config(is_hasty: Bool) -> WsClientConfig:
    if is_hasty:
        return WsClientConfig(
            ping_interval_ms=40,
            pong_timeout_ms=30,
            close_timeout_ms=50,
            message_timeout_ms=60,
            handshake_timeout_ms=150,
        )
    return WsClientConfig(
        ping_interval_ms=600,
        pong_timeout_ms=1_500,
        close_timeout_ms=1_500,
        message_timeout_ms=3_000,
        handshake_timeout_ms=3_000,
    )


def _converse(
    world: World,
    mut server: ScriptedServer,
    story: PointerTo[Story],
    descriptor: Int32,
    mut draws: Draws,
) raises:
    def work() raises {var story, var descriptor}:
        story[].begun += 1
        var timeouts = ClientTimeouts(write_ms=200)
        var client = HttpClient(config=ClientConfig(timeouts=timeouts))
        try:
            run_story(story, client, descriptor)
        except e:
            story[].complain(String("the program ended: ", e))
        # Those that wait in the network are closed, and not open.
        client.close_idle()
        if client.statistics().open != 0:
            story[].complain("the pool counts a connection")
        story[].ended += 1

    spawn(work).detach()
    var ended_steps = 0
    for _ in range(_STEPS_MAX):
        var has_acted = server.act(draws)
        var now_ms = world.network.now_ms()
        if has_acted and not draws.strikes(50):
            world.turn(now_ms)
        else:
            world.turn(now_ms + 1 + draws.below(_STEP_MS))
        if now_ms == world.network.now_ms() and not has_acted:
            if not world.reactor.state[].fibers.has_ready():
                # Nobody waits for an earlier time.
                world.network.state[].now_ms += _STEP_MS
        if world.reactor.state[].fibers.busy() == 0:
            ended_steps += 1
            if ended_steps == _LAST_STEPS or world.remains() == "":
                break
        elif world.network.now_ms() > _END_MS:
            raise Error("the client waits for ever")
    if story[].ended != story[].begun:
        story[].complain("a fiber of the program has not ended")


def _judge(story: PointerTo[Story], server: ScriptedServer, is_hasty: Bool):
    ref s = story[]
    var was_struck = server.peer.is_struck()
    var is_deaf = not server.reads or server.is_at_end
    if not s.has_opened:
        if (
            server.is_head_sent
            and server.opening == Opening.ACCEPTS
            and not server.has_left
            and not was_struck
            and not is_hasty
        ):
            s.complain(String("not opened: ", s.refusal))
        return
    if server.opening != Opening.ACCEPTS or not server.is_head_sent:
        s.complain("opened though refused")
    if not _are_first(s.received, server.messages):
        s.complain("a message was lost or changed")
    if s.is_dropped:
        return
    if server.seen_close:
        for entry in s.sent.items():
            if server.received.get(entry.key).or_else(0) < entry.value:
                s.complain("a message that was sent did not arrive")
    if s.code == 0:
        s.complain("it ended without a cause")
    elif not _fits(s, server, was_struck, is_deaf, is_hasty):
        s.complain(String("it ended with ", s.code))
    if (
        s.program == Program.RECEIVES
        and s.own_code == 0
        and server.is_close_sent
        and s.code in (1000, 3000)
        and len(s.received) != len(server.messages)
    ):
        s.complain("a message in front of the Close is lost")


def _fits(
    s: Story,
    server: ScriptedServer,
    was_struck: Bool,
    is_deaf: Bool,
    is_hasty: Bool,
) -> Bool:
    """Tells whether the cause of the end is one that has happened."""
    # The server's Close may itself answer one of the causes below.
    if s.code == s.own_code or (
        server.is_close_sent and s.code == server.close_code
    ):
        return True
    if s.code == 1006:
        return server.has_left or was_struck or is_deaf
    if s.code == 1002:
        return server.is_illegal
    if s.code == 1008:
        return is_hasty or server.is_at_end
    if s.code == 1011:
        return is_hasty or is_deaf or not server.answers_pings or s.has_raised
    return False


def _are_first(got: List[String], wanted: List[String]) -> Bool:
    if len(got) > len(wanted):
        return False
    for i in range(len(got)):
        if got[i] != wanted[i]:
            return False
    return True


def _told(story: PointerTo[Story], server: ScriptedServer) -> String:
    return String(
        story[].problem,
        " (program ",
        story[].program,
        ", opening ",
        server.opening,
        ", ending ",
        server.ending,
        ", cause ",
        story[].code,
        ", of the program ",
        story[].own_code,
        ", of the server ",
        server.close_code,
        ", refusal ",
        story[].refusal,
        ")",
    )

"""Runs a server for sockets on a network with faults, as a seed decides.

Clients complete the handshake or are cut within it, send messages whole, in
fragments and in pieces, pings, illegal frames and a Close, then wait, close,
end their side, break the connection or never read. Some share a topic. The
server is stopped at any step.

Invariants: a client receives valid frames, its messages in order, one Close at
most and no octet after it; every socket ends with one code; and nothing of the
server is left.
"""

from flare.http.server.config import ServerConfig
from flare.http.server.records.log import LogSink
from flare.proto.ws import WsRole
from flare.runtime.backends.simulated_faults import Draws, SimulatedFaults
from flare.runtime.backends.simulated_network import Peer
from flare.runtime.wait import sleep
from flare.testing.test_server import TestServer
from flare.ws import (
    WebSocket,
    WsConnection,
    WsFrame,
    WsHub,
    WsOpcode,
    WsOptions,
)

from tests.proto_ws.peer import frame

from .socket_peer import HANDSHAKE

comptime _STEPS_MAX = 400
comptime _TOPIC: StaticString = "news "


struct _Client(Movable):
    var peer: Peer
    # What it sends, and how far it is.
    var octets: List[UInt8]
    var sent: Int
    # The messages that come back, in order.
    var messages: List[String]
    var received: List[UInt8]
    # From then on it does what `ending` says.
    var reads: Bool
    var ending: Int

    def __init__(out self, peer: Peer, mut draws: Draws):
        self.peer = peer
        self.octets = List[UInt8](HANDSHAKE.as_bytes())
        self.sent = 0
        self.messages = []
        self.received = []
        self.reads = not draws.strikes(100)
        self.ending = draws.below(5)
        for _ in range(draws.below(8)):
            _add_message(self, draws)
        if draws.strikes(500):
            var code: List[UInt8] = [0x03, 0xE8]
            self.octets.extend(frame(WsRole.SERVER, 0x88, Span(code)))
        if draws.strikes(300):
            self.octets.shrink(draws.below(len(self.octets)) + 1)


def check_seed(seed: Int) raises -> Int:
    """Runs a seed.

    Args:
        seed: Decides everything.

    Returns:
        The number of sockets that were opened.

    Raises:
        Error: If an invariant does not hold.
    """
    var draws = Draws(seed)
    var faults = SimulatedFaults.frequent(resets=draws.below(2) * 2)
    faults.accept_errors = 0
    var hub = WsHub()
    var options = WsOptions(hub=hub)
    if draws.strikes(300):
        options.limits.held_octets_max = 200
    var server = TestServer(
        WebSocket(_converse, options^),
        seed=seed,
        faults=faults,
        config=ServerConfig(log=LogSink.nowhere()),
    )
    var clients = List[_Client]()
    for _ in range(1 + draws.below(4)):
        clients.append(_Client(server.connect(), draws))
    var stop_at = draws.below(_STEPS_MAX) if draws.strikes(500) else -1
    for step in range(_STEPS_MAX):
        if step == stop_at:
            server.begin_stop()
        for i in range(len(clients)):
            _act(clients[i], draws)
        if draws.strikes(50):
            hub.publish("room", String(_TOPIC, step))
        if draws.strikes(30):
            server.turn()
        else:
            server.turn_now()
    server.stop()
    for i in range(len(clients)):
        clients[i].received.extend(Span(clients[i].peer.received()))
        _check_received(clients[i])
    var remains = server.remains()
    if remains != "":
        raise Error("left of the server: ", remains)
    return _check_counts(hub)


def _check_counts(hub: WsHub) raises -> Int:
    var counts = hub.statistics()
    if counts.sockets != 0:
        raise Error(counts.sockets, " sockets have not ended")
    var closes = 0
    for i in range(len(counts.closes)):
        closes += Int(counts.closes[i])
    if closes != Int(counts.opened):
        raise Error(counts.opened, " sockets ended with ", closes, " codes")
    if hub.unsafe_alive_octets() != 0:
        raise Error("messages of topics are left")
    return Int(counts.opened)


def _add_message(mut client: _Client, mut draws: Draws):
    var text = String(len(client.messages), ":")
    text += String("x") * (draws.below(3) * draws.below(2000))
    if draws.strikes(60):
        # Its answer does not fit into the output at once.
        text += String("y") * (70_000 + draws.below(60_000))
    var octets = text.as_bytes()
    var kind = draws.below(10)
    if kind == 0:
        # A reserved opcode; all later frames are lost.
        client.octets.extend(frame(WsRole.SERVER, 0x83, octets[:1]))
        client.octets.shrink(len(client.octets) - draws.below(2))
        return
    if kind == 1:
        client.octets.extend(frame(WsRole.SERVER, 0x89, octets[:2]))
        return
    if kind < 5:
        var cut = draws.below(len(octets))
        client.octets.extend(frame(WsRole.SERVER, 0x01, octets[:cut]))
        if draws.strikes(300):
            client.octets.extend(frame(WsRole.SERVER, 0x89, octets[:1]))
        client.octets.extend(frame(WsRole.SERVER, 0x80, octets[cut:]))
    else:
        client.octets.extend(frame(WsRole.SERVER, 0x81, octets))
    client.messages.append(text^)


def _act(mut client: _Client, mut draws: Draws):
    if client.reads and draws.strikes(500):
        client.received.extend(Span(client.peer.received()))
    if client.sent < len(client.octets):
        if draws.strikes(400):
            var left = len(client.octets) - client.sent
            var piece = 1 + draws.below(900 if left < 10_000 else 30_000)
            var count = min(min(left, piece), client.peer.room())
            client.peer.send(
                Span(client.octets)[client.sent : client.sent + count]
            )
            client.sent += count
    elif draws.strikes(50):
        if client.ending == 1:
            client.peer.close()
        elif client.ending == 2:
            client.peer.end_sending()
        elif client.ending == 3:
            client.peer.reset()


def _check_received(client: _Client) raises:
    var text = StringSlice(unsafe_from_utf8=Span(client.received))
    if not text.startswith("HTTP/1.1 101 "):
        return
    var at = text.find("\r\n\r\n") + 4
    if at < 4:
        return
    var echoed = 0
    while at < len(client.received):
        var decoded = WsFrame.decode_one(Span(client.received)[at:])
        if not decoded.is_whole():
            # The connection broke within a frame.
            return
        at += decoded.consumed
        var frame = decoded.take_frame()
        if frame.opcode == WsOpcode.CLOSE:
            if at != len(client.received):
                raise Error("octets follow the Close")
            return
        if frame.opcode != WsOpcode.TEXT:
            continue
        var message = frame.text_payload()
        if message.startswith(_TOPIC):
            continue
        if echoed == len(client.messages) or message != client.messages[echoed]:
            raise Error("message ", echoed, " did not come back")
        echoed += 1


def _converse(ws: WsConnection) raises:
    ws.subscribe("room")
    for message in ws:
        ws.send(message)
        if len(message) % 7 == 0:
            sleep(20)
    if not ws.close_code():
        raise Error("a socket ended without a code")

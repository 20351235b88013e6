"""Plays a program that uses `WsClient`, as a seed decides, and notes what it
gets.

It receives on one fiber and sends on others, pings, has deadlines, closes, or
drops the client while fibers wait on it. After each call it looks whether the
WebSocket has one cause of its end, and keeps it.
"""

from flare.core import PointerTo
from flare.http.client.call.client_state import ClientState
from flare.http.client.client import HttpClient
from flare.http.client.transport.client_connection import ClientConnection
from flare.message import Url
from flare.net import NetError
from flare.runtime.backends.simulated_faults import Draws
from flare.runtime.socket import FiberSocket
from flare.runtime.task import JoinHandle, spawn
from flare.runtime.wait import deadline_in, sleep
from flare.tcp import TcpStream
from flare.ws import WsClient, WsClientConfig, WsConnection, WsError

# No listener is there: only the connection that was made before.
comptime _URL: StaticString = "http://10.255.255.1/"


struct Program:
    """Names what the program does with the open WebSocket."""

    comptime RECEIVES = 0
    """It receives to the end, and sends in between."""
    comptime CLOSES = 1
    """One fiber receives; another sends, then closes."""
    comptime DROPS = 2
    """One fiber receives; another sends, then drops the client."""
    comptime PINGS = 3
    """It sends and pings, receives some messages, and closes."""
    comptime RAISES = 4
    """It raises within the `with` block."""
    comptime HURRIES = 5
    """It receives with a deadline, again and again, and closes."""
    comptime COUNT = 6
    """The number of programs."""


struct Story(Movable):
    """What the program does, and what it has got."""

    var program: Int
    """One of `Program`."""
    var count: Int
    """How many messages each fiber sends."""
    var config: WsClientConfig
    """The limits of the client."""
    var draws: Draws
    """Decides the rest."""
    var has_opened: Bool
    """Whether the handshake has succeeded."""
    var refusal: String
    """The error of the handshake."""
    var received: List[String]
    """The messages that it has received."""
    var sent: Dict[Int, Int]
    """How many sends of each fiber have returned."""
    var code: Int
    """The first cause that it has seen; 0 before."""
    var own_code: Int
    """The code with which it closes; 0 if it does not."""
    var has_raised: Bool
    """Whether it has written a message that it did not finish."""
    var is_dropped: Bool
    """Whether the client is gone."""
    var problem: String
    """What it found wrong; empty if nothing."""
    var ended: Int
    """How many of its fibers have ended."""
    var begun: Int
    """How many of its fibers have begun."""

    def __init__(out self, var config: WsClientConfig, mut draws: Draws):
        """Draws the program.

        Args:
            config: The limits of the client.
            draws: Decides everything.
        """
        self.program = draws.below(Program.COUNT)
        self.count = draws.below(6)
        self.config = config^
        self.draws = draws.copy()
        self.draws.state ^= 0x5EED_0000
        self.has_opened = False
        self.refusal = String()
        self.received = []
        self.sent = {}
        self.code = 0
        self.own_code = 0
        self.has_raised = False
        self.is_dropped = False
        self.problem = String()
        self.ended = 0
        self.begun = 0

    def complain(mut self, problem: String):
        """Notes what is wrong.

        Args:
            problem: The text.
        """
        if self.problem == "":
            self.problem = problem

    def look(mut self, ws: WsConnection):
        """Looks whether there is a cause, and whether it is still the same.

        Args:
            ws: The WebSocket.
        """
        if self.is_dropped:
            return
        var code = Int(ws.close_code().or_else(0))
        if ws.is_open() != (code == 0):
            self.complain(String("open, and closed with ", code))
        if self.code == 0:
            self.code = code
        elif code != self.code:
            self.complain(String("closed with ", self.code, ", then ", code))

    def fail(mut self, ws: WsConnection, e: Error, may_time_out: Bool = False):
        """Checks the error of a call.

        Args:
            ws: The WebSocket.
            e: The error.
            may_time_out: Whether the call had a deadline.
        """
        self.look(ws)
        if self.is_dropped:
            return
        var error = WsError.of(e)
        if not error:
            var net = NetError.of(e)
            if not (
                may_time_out
                and net
                and net.value().kind in (NetError.TIMEOUT, NetError.CANCELLED)
            ):
                self.complain(String("an error of a call: ", e))
        elif error.value().is_closed() and Int(error.value().code) != self.code:
            self.complain(String("closed with ", self.code, ", but ", e))
        elif error.value().kind in (WsError.BAD_CALL, WsError.HANDSHAKE):
            self.complain(String("an error of a call: ", e))


def run_story(
    story: PointerTo[Story], client: HttpClient, descriptor: Int32
) raises:
    """Runs the program to its end.

    Args:
        story: The program.
        client: The HTTP client, which has no connection.
        descriptor: The connection to the server.

    Raises:
        Error: If the client cannot be given the connection.
    """
    _give_connection(client, descriptor)
    var ws: WsClient
    try:
        ws = WsClient.over(client, "ws://10.255.255.1/", story[].config)
    except e:
        story[].refusal = String(e)
        return
    story[].has_opened = True
    var program = story[].program
    if program == Program.RECEIVES:
        _receive_all(story, ws.connection(), answers=True)
    elif program == Program.RAISES:
        _raise_within(story, ws)
    elif program == Program.PINGS:
        _ping(story, ws.connection())
    elif program == Program.HURRIES:
        _receive_in_a_hurry(story, ws.connection())
    else:
        var receiving = _begin(story, ws.connection(), -1)
        var other = _begin(story, ws.connection(), 1)
        _send_all(story, ws.connection(), 0)
        if program == Program.DROPS:
            story[].is_dropped = True
            _ = ws^
            receiving^.join()
            other^.join()
            return
        _close(story, ws, 3001)
        receiving^.join()
        other^.join()
    _close(story, ws, 3002)
    if not ws.close_code():
        story[].complain("open after its close")
    try:
        ws.send_text("late")
        story[].complain("a message was sent after the close")
    except e:
        story[].fail(ws.connection(), e)
    _ = ws^


def _give_connection(client: HttpClient, descriptor: Int32) raises:
    """Makes a connection of the network one that the client has kept."""
    var state = client.unsafe_state()
    var origin = ClientState.origin_of(
        state, Url.parse(_URL), asks_upgrade=True
    )
    var connection = ClientConnection.create(state[].config.limits)
    connection.carry_over(
        TcpStream(unsafe_socket=FiberSocket.create(descriptor))
    )
    origin[].connections.open += 1
    origin[].connections.idle.append(connection)
    state[].pool.idle += 1


def _begin(
    story: PointerTo[Story], ws: WsConnection, number: Int
) raises -> JoinHandle[NoneType]:
    def work() raises {var story, var ws, var number}:
        story[].begun += 1
        if number < 0:
            _receive_all(story, ws, answers=False)
        else:
            _send_all(story, ws, number)
        story[].ended += 1

    return spawn(work)


def _receive_all(story: PointerTo[Story], ws: WsConnection, *, answers: Bool):
    while True:
        try:
            var message = ws.recv_message()
            story[].received.append(String(message.as_text()))
            story[].look(ws)
        except e:
            story[].fail(ws, e)
            if story[].is_dropped or not ws.is_open():
                return
        if answers and story[].draws.strikes(300):
            _ = _send(story, ws, 0)
        elif story[].draws.strikes(200):
            _pause(story)


def _send_all(story: PointerTo[Story], ws: WsConnection, number: Int):
    for _ in range(story[].count):
        if not _send(story, ws, number):
            return
        if story[].draws.strikes(300):
            _pause(story)


def _send(story: PointerTo[Story], ws: WsConnection, number: Int) -> Bool:
    """Sends the next message of a fiber; returns whether another may follow."""
    var count = story[].sent.get(number).or_else(0)
    var text = String(number, ":", count, ":")
    text += String("z") * (story[].draws.below(3) * story[].draws.below(3000))
    if story[].draws.strikes(40):
        text += String("z") * (70_000 + story[].draws.below(60_000))
    try:
        if story[].draws.strikes(200):
            var octets = text.as_bytes()
            var cut = story[].draws.below(len(octets))
            story[].has_raised = True
            with ws.message_writer(is_text=True) as writer:
                _ = writer.write(octets[:cut])
                _ = writer.write(octets[cut:])
            story[].has_raised = False
        else:
            ws.send_text(text)
    except e:
        story[].fail(ws, e)
        return False
    story[].sent[number] = count + 1
    story[].look(ws)
    return True


def _ping(story: PointerTo[Story], ws: WsConnection):
    for _ in range(3):
        if not _send(story, ws, 0):
            return
        try:
            _ = ws.ping()
            story[].look(ws)
        except e:
            story[].fail(ws, e)
        try:
            with deadline_in(20):
                story[].received.append(String(ws.recv_message().as_text()))
        except e:
            story[].fail(ws, e, may_time_out=True)


def _receive_in_a_hurry(story: PointerTo[Story], ws: WsConnection):
    for _ in range(12):
        try:
            with deadline_in(1 + story[].draws.below(30)):
                story[].received.append(String(ws.recv_message().as_text()))
            story[].look(ws)
        except e:
            story[].fail(ws, e, may_time_out=True)
            if not ws.is_open():
                return


def _raise_within(story: PointerTo[Story], ws: WsClient):
    _send_all(story, ws.connection(), 0)
    if ws.is_open():
        story[].own_code = 1011
    # As a block that raises does; the block would also end the client.
    if ws.__exit__(Error("on purpose")):
        story[].complain("the error of a block is lost")
    story[].look(ws.connection())


def _close(story: PointerTo[Story], ws: WsClient, code: Int):
    var was_open = ws.is_open()
    if was_open:
        story[].own_code = code
    try:
        ws.close(UInt16(code))
    except e:
        story[].complain(String("close raised ", e))
    story[].look(ws.connection())
    if was_open and not ws.close_code():
        story[].complain("open after its close")


def _pause(story: PointerTo[Story]):
    try:
        sleep(1 + story[].draws.below(15))
    except e:
        story[].complain(String("a pause ended: ", e))

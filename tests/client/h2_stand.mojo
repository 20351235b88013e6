"""Stands in for a server of HTTP/2: each test says what it does, right or
wrong.
"""

from std.memory import ArcPointer

from flare.core import Buffer, PointerTo, heap_create, heap_destroy
from flare.http import (
    ClientConfig,
    ClientHttp2Config,
    ClientStatistics,
    ClientTimeouts,
    HttpClient,
    PoolLimits,
)
from flare.net import SocketAddr
from flare.proto.h2.frame import append_frame_header
from flare.proto.h2.h2_event import H2Event
from flare.proto.h2.h2_limits import H2Limits
from flare.proto.h2.h2_machine import H2Machine
from flare.proto.h2.h2_state import H2State
from flare.proto.h2.token_bucket import TokenBucket
from flare.runtime.task import JoinHandle, spawn
from flare.runtime.wait import deadline_in
from flare.tcp import TcpListener, TcpStream

from tests.asserting import assert_equal
from tests.proto_h2.machine_scene import block_of, number

comptime Client = ArcPointer[HttpClient]
"""A client that fibers share."""


struct H2Stand(Movable):
    """A listener, and a client of it that has prior knowledge."""

    var listener: TcpListener
    """The listener."""
    var client: Client
    """The client."""

    def __init__(
        out self,
        *,
        connections_max: Int = 4,
        timeouts: ClientTimeouts = ClientTimeouts(total_ms=10_000),
        http2: ClientHttp2Config = ClientHttp2Config(),
    ) raises:
        """Begins to listen.

        Args:
            connections_max: The most connections of the client.
            timeouts: Its waits.
            http2: Its limits.

        Raises:
            Error: If it cannot listen.
        """
        self.listener = TcpListener.bind(SocketAddr.localhost(0))
        var config = ClientConfig(
            http2_prior_knowledge=True,
            http2=http2,
            timeouts=timeouts,
            pool=PoolLimits(connections_per_origin_max=connections_max),
        )
        config.limits.body_octets_max = 1 << 20
        var port = self.listener.local_address().port
        self.client = ArcPointer(
            HttpClient(String("http://127.0.0.1:", port), config=config^)
        )

    def statistics(self) -> ClientStatistics:
        """Counts the events of the client.

        Returns:
            The counters.
        """
        return self.client[].statistics()

    def accept(
        self, settings: List[UInt8] = [], window_octets: Int = 65_536
    ) raises -> H2Peer:
        """Accepts a connection, and sends settings.

        Args:
            settings: The payload of the settings.
            window_octets: The window of each stream; that of the connection is
                sixteen times as large.

        Returns:
            The server's end.

        Raises:
            Error: If none comes.
        """
        var peer = H2Peer(
            heap_create(H2PeerState(self.listener.accept(), window_octets))
        )
        peer.frame(4, 0, 0, settings)
        # The window that the machine counts with.
        peer.frame(8, 0, 0, number(16 * window_octets - 65_535))
        if window_octets != 65_536:
            var setting: List[UInt8] = [0, 4]
            setting.extend(number(window_octets))
            peer.frame(4, 0, 0, setting)
        return peer

    def ask(
        self,
        path: String,
        method: String = "GET",
        content: String = "",
        deadline_ms: Int = 10_000,
    ) raises -> JoinHandle[String]:
        """Sends a request on a fiber.

        Args:
            path: Its path.
            method: Its method.
            content: Its content.
            deadline_ms: How long it may take.

        Returns:
            The fiber. It returns status and content, or kind and phase of the
            error.

        Raises:
            Error: If no fiber can begin.
        """
        var client = self.client

        def run() raises {
            var client, var path, var method, var content, var deadline_ms
        } -> String:
            try:
                var response = client[].request(
                    method, path, content, timeout_ms=deadline_ms
                )
                return String(response.status, " ", response.text())
            except e:
                var text = String(e)
                return String(text[byte = : text.find(":")])

        return spawn(run^)


struct H2PeerState(Movable):
    """The server's end of one connection."""

    var stream: TcpStream
    """The transport."""
    var machine: H2State
    """A machine that reads the client's frames."""
    var window: Buffer
    """Octets that it has not consumed."""
    var output: Buffer
    """Frames that are not sent."""
    var content: String
    """The content of the latest stream that had some."""

    def __init__(out self, var stream: TcpStream, window_octets: Int):
        """Creates the state before the first octet.

        Args:
            stream: The transport.
            window_octets: The window of each stream.
        """
        self.stream = stream^
        var limits = H2Limits()
        limits.stream_window_octets = window_octets
        limits.connection_window_octets = 16 * window_octets
        self.machine = H2State(limits)
        self.window = Buffer()
        self.output = Buffer()
        self.content = String()


@fieldwise_init
struct Asked(Copyable, Movable):
    """A request that came."""

    var id: Int
    """Its stream."""
    var slot: Int
    """The slot of the stream."""
    var text: String
    """Method and path."""
    var ends: Bool
    """Whether it has no content."""


@fieldwise_init
struct H2Peer(TrivialRegisterPassable):
    """A handle to the server's end. Call `leave` once."""

    var state: PointerTo[H2PeerState]
    """The state."""

    def leave(self):
        """Closes the connection."""
        heap_destroy(self.state)

    def reset_connection(self) raises:
        """Breaks the connection off.

        Raises:
            Error: Never on a socket.
        """
        self.state[].stream.set_linger(0)
        self.leave()

    def machine(self) -> H2Machine:
        """Returns the machine that reads.

        Returns:
            The machine.
        """
        return H2Machine(
            Pointer(to=self.state[].machine).unsafe_origin_cast[
                MutUntrackedOrigin
            ]()
        )

    def next(self) raises -> H2Event:
        """Waits for an event. Content is added to `content`.

        Returns:
            The event.

        Raises:
            Error: `gone` if the client has closed; and faults of the client.
        """
        while True:
            var event: H2Event
            try:
                event = self.machine().next_event(
                    self.state[].window.span(), 1000, self.output()
                )
            except e:
                raise Error(e)
            if event.kind == H2Event.DATA:
                var octets = self.state[].window.span()
                self.state[].content += StringSlice(
                    unsafe_from_utf8=octets[event.start :][: event.length]
                )
            self.state[].window.consume(event.consumed)
            if event.kind != H2Event.NEED_OCTETS:
                return event
            self.flush()
            var target = self.state[].window.reserve(65536)
            var count = self.state[].stream.read(target, 65536)
            if count == 0:
                raise Error("gone")
            self.state[].window.advance(count)

    def next_frames(self) raises -> Bool:
        """Takes the frames that come within 20 ms.

        Returns:
            Whether an event was among them.
        """
        try:
            with deadline_in(20):
                _ = self.next()
            return True
        except e:
            if "net.timeout" not in String(e):
                raise e^
            return False

    def request(self) raises -> Asked:
        """Waits for the head of a request; drops other events.

        Returns:
            The request.

        Raises:
            Error: As `next` does.
        """
        while True:
            var event = self.next()
            if event.kind != H2Event.REQUEST_HEAD:
                continue
            ref heads = self.state[].machine.input.heads
            var octets = heads.octets.span()
            return Asked(
                event.stream_id,
                event.slot,
                String(
                    heads.head.method_text(octets),
                    " ",
                    heads.head.target_text(octets),
                ),
                event.ends,
            )

    def content_of(self, asked: Asked) raises -> String:
        """Waits for the end of a request, and takes its content at once.

        Args:
            asked: The request, the only one with content.

        Returns:
            The content.

        Raises:
            Error: As `next` does.
        """
        self.state[].content = String()
        while not asked.ends:
            var event = self.next()
            if event.kind == H2Event.DATA:
                self.machine().release(event.slot, event.length, self.output())
            if event.slot == asked.slot and event.ends:
                break
        return self.state[].content

    def frame(
        self, kind: Int, flags: Int, id: Int, payload: List[UInt8]
    ) raises:
        """Sends a frame.

        Args:
            kind: Its type.
            flags: Its flags.
            id: Its stream.
            payload: Its payload.

        Raises:
            Error: If the client is gone.
        """
        append_frame_header(
            len(payload), UInt8(kind), UInt8(flags), id, self.output()
        )
        self.state[].output.append(Span(payload))
        self.flush()

    def head(self, id: Int, lines: StringSlice, ends: Bool = False) raises:
        """Sends a head.

        Args:
            id: Its stream.
            lines: Its lines, with bars between them.
            ends: Whether it ends the stream.

        Raises:
            Error: If the client is gone.
        """
        self.frame(1, 5 if ends else 4, id, block_of(lines))

    def data(self, id: Int, text: StringSlice, ends: Bool = False) raises:
        """Sends content.

        Args:
            id: Its stream.
            text: The content.
            ends: Whether it ends the stream.

        Raises:
            Error: If the client is gone.
        """
        self.frame(0, 1 if ends else 0, id, List[UInt8](text.as_bytes()))

    def answer(self, asked: Asked, text: StringSlice = "ok") raises:
        """Sends a whole response, and forgets the request.

        Args:
            asked: The request.
            text: The content.

        Raises:
            Error: If the client is gone.
        """
        self.head(asked.id, ":status: 200")
        self.data(asked.id, text, ends=True)
        self.forget(asked)

    def forget(self, asked: Asked):
        """Frees the slot of a request, whose rest is dropped.

        Args:
            asked: The request.
        """
        self.state[].machine.meters.recent_resets.note(asked.id)
        ref streams = self.state[].machine.streams
        self.state[].machine.schedule.remove(streams, asked.slot)
        streams.remove(asked.slot)

    def serve_quietly(self, duration_ms: Int) -> Int:
        """Answers pings for a time.

        Args:
            duration_ms: How long.

        Returns:
            How many frames without a use came.
        """
        try:
            with deadline_in(duration_ms):
                while True:
                    _ = self.next()
        except:
            ref meter = self.state[].machine.meters.glitches
            return (meter._parts_max - meter._parts) // TokenBucket.WHOLE

    def flush(self) raises:
        """Sends the frames.

        Raises:
            Error: If the client is gone.
        """
        var octets = Buffer()
        swap(octets, self.state[].output)
        self.state[].stream.write_all(octets.span())

    def output(self) -> PointerTo[Buffer]:
        """Returns the frames that are not sent.

        Returns:
            The buffer.
        """
        return Pointer(to=self.state[].output).unsafe_origin_cast[
            MutUntrackedOrigin
        ]()


def require(var handle: JoinHandle[String], text: StringSlice) raises:
    """Fails unless a request ended so.

    Args:
        handle: The request.
        text: Status and content, or kind and phase.

    Raises:
        Error: If it ended otherwise.
    """
    assert_equal(handle^.join(), text)

"""Runs a whole server on a simulated network.

The server is the real one with its driver; only the kernel is simulated. It
runs only during the calls below, on the calling thread. Time passes only while
code waits for it, so tests of timeouts are instantaneous.
"""

from flare.core import PointerTo, heap_create
from flare.http.handler import FnHandler, Handler, HandlerFunction
from flare.http.server.config import ServerConfig
from flare.http.server.records.log import LogSink
from flare.http.server.records.statistics import WorkerStatistics
from flare.http.server.worker.worker import Worker
from flare.message import HeaderMap
from flare.runtime.backends.simulated_faults import SimulatedFaults
from flare.runtime.backends.simulated_network import Peer, SimulatedNetwork
from flare.runtime.reactor import ReactorConfig
from flare.tls import TlsContext
from flare.ws import WsCompression

from .simulated_server import SharedServer, SimulatedServer
from .test_web_socket import TestWebSocket
from .web_socket_end import WebSocketRequest


struct TestServer[H: Handler = FnHandler](Movable):
    """A server for a handler, on a simulated network.

    Parameters:
        H: The type of the handler.
    """

    var network: SimulatedNetwork
    """The network."""
    var worker: Worker
    """The one worker of the server."""
    var listener: Int32
    """The listening descriptor."""
    var _shared: SharedServer
    # The server frees it.
    var _handler: PointerTo[Self.H]

    def __init__(
        out self,
        var handler: Self.H,
        *,
        seed: Int = 1,
        faults: SimulatedFaults = SimulatedFaults(),
        config: ServerConfig = ServerConfig(log=LogSink.nowhere()),
        reactor: ReactorConfig = ReactorConfig(fibers_max=1024),
        var tls: Optional[TlsContext] = None,
    ):
        """Creates and starts a server for a handler.

        Args:
            handler: The handler.
            seed: Decides all random events of the network.
            faults: The faults of the network; none by default.
            config: The limits of the server; by default, its log is dropped.
            reactor: The bounds of its reactor.
            tls: The TLS context of its connections, if they are encrypted.
        """
        self._handler = heap_create(handler^)
        self._shared = SharedServer(
            SimulatedServer.begin(
                self._handler,
                SimulatedNetwork.create(seed, faults),
                config=config,
                reactor=reactor,
                tls=tls^,
            )
        )
        ref state = self._shared.server.state[]
        self.network = state.network
        self.worker = state.worker
        self.listener = state.listener

    @staticmethod
    def of(function: HandlerFunction) -> TestServer[FnHandler]:
        """Starts a server for a plain function, on a network without faults.

        Args:
            function: The handler function.

        Returns:
            The server.
        """
        return TestServer[FnHandler](FnHandler(function))

    def connect(self) -> Peer:
        """Returns a client's connection to the server.

        Returns:
            The client's end. It does not keep the server alive: end a test
            with `stop`.
        """
        return self._shared.server.connect()

    def websocket(
        self,
        target: StringSlice,
        *,
        var protocols: List[String] = [],
        headers: HeaderMap = HeaderMap(),
        compression: WsCompression = WsCompression.OFF,
        timeout_ms: Int = 60_000,
    ) raises -> TestWebSocket:
        """Opens a WebSocket to the server; see `TestClient.websocket`.

        Args:
            target: The path, optionally with a query.
            protocols: The subprotocols to offer, the preferred one first.
            headers: Further fields of the request, such as Origin.
            compression: How messages are compressed if the handler accepts it.
            timeout_ms: How long the handshake, and each receive, may wait for
                the handler, in simulated time.

        Returns:
            The client's end, after the handshake.

        Raises:
            The errors of `TestClient.websocket`.
        """
        return TestWebSocket(
            self._shared,
            WebSocketRequest(
                target, headers, protocols^, compression, timeout_ms
            ),
        )

    def exchange(self, octets: Span[UInt8, _]) -> List[UInt8]:
        """Sends octets on a new connection, and returns the server's output.

        Args:
            octets: The octets for the server: one request, several, or none.

        Returns:
            All octets that the server sends before it only waits for the
            client.
        """
        var peer = self.connect()
        peer.send(octets)
        var answer = self.receive(peer)
        peer.close()
        self.settle()
        return answer^

    def exchange(self, text: StringSlice) -> String:
        """Sends a text on a new connection, and returns the server's output.

        Args:
            text: The text for the server.

        Returns:
            All that the server sends before it only waits for the client.
        """
        var answer = self.exchange(text.as_bytes())
        return String(StringSlice(unsafe_from_utf8=Span(answer)))

    def receive(self, peer: Peer) -> List[UInt8]:
        """Runs the server as far as possible, and returns a client's received
        octets.

        Time passes while a request is answered, while accepting pauses after
        an error, and while the network delays octets. So the call waits for a
        handler that sleeps, but not for an idle connection.

        Args:
            peer: The client's end.

        Returns:
            The octets that arrived since the last call.
        """
        return self._shared.server.receive(peer)

    def settle(self):
        """Runs the server as far as possible without time passing."""
        self._shared.server.settle()

    def advance(self, duration_ms: Int):
        """Advances the clock, and runs the server's due work.

        Args:
            duration_ms: The time.
        """
        self._shared.server.advance(duration_ms)

    def turn(self):
        """Runs one turn of the worker, during which time may pass."""
        self._shared.server.turn()

    def turn_now(self):
        """Runs one turn of the worker without time passing."""
        self.network.limit_clock(self.network.now_ms())
        self._shared.server.turn()
        self.network.limit_clock(Int.MAX)

    def stop(self):
        """Stops the server and waits for its end, as `shutdown` does.

        Connections that were not accepted break, as when a listener is closed.
        """
        self._shared.server.stop()
        self.network.break_waiting(self.listener)

    def begin_stop(self):
        """Starts to stop the server, without waiting."""
        self._shared.server.begin_stop()

    def abort(self):
        """Breaks all connections off, as the second signal does. Call
        `begin_stop` first.
        """
        self.worker.abort_all()

    def remains(self) -> String:
        """Returns a list of all that the server still holds. Call it after
        `stop`.

        Returns:
            The list; empty if the server has freed everything.
        """
        return self._shared.server.remains()

    def statistics(self) -> WorkerStatistics:
        """Returns the counters of the worker.

        Returns:
            The counters.
        """
        return self._shared.server.statistics()

"""Runs a whole server on a simulated network.

The server is the real one with its driver; only the kernel is simulated. It
runs only during the calls below, on the calling thread. Time passes only while
code waits for it, so tests of timeouts are instantaneous.
"""

from flare.core import PointerTo, heap_create, heap_destroy
from flare.http.handler import FnHandler, Handler, HandlerFunction
from flare.http.server.config import ServerConfig
from flare.http.server.driver.carrier import exchange_functions
from flare.http.server.records.log import LogSink
from flare.http.server.exchange.respond import run_handler
from flare.http.server.records.statistics import WorkerStatistics
from flare.http.server.worker.worker import Worker
from flare.http.server.transport.worker_state import WorkerState
from flare.runtime.backend import BackendKind
from flare.runtime.backends.simulated import SimulatedBackend
from flare.runtime.backends.simulated_faults import SimulatedFaults
from flare.runtime.backends.simulated_network import Peer, SimulatedNetwork
from flare.runtime.buffer_pool import BufferPool
from flare.runtime.current import current_reactor, set_current_reactor
from flare.runtime.reactor import (
    RECEIVE_BUFFER_OCTETS,
    Reactor,
    ReactorConfig,
)
from flare.tls import TlsContext

comptime _TURNS_MAX = 1_000_000


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
    var _handler: PointerTo[Self.H]
    var _statistics: PointerTo[WorkerStatistics]

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
        self.network = SimulatedNetwork.create(seed, faults)
        self.listener = self.network.listen()
        self._handler = heap_create(handler^)
        self._statistics = heap_create(WorkerStatistics())
        var buffers = BufferPool.create(
            RECEIVE_BUFFER_OCTETS, reactor.receive_buffers_max
        )
        self.worker = Worker(
            heap_create(
                WorkerState(
                    Reactor.over(
                        SimulatedBackend(self.network, buffers),
                        BackendKind.SIMULATED,
                        reactor,
                        buffers,
                    ),
                    config,
                    0,
                    self._statistics,
                    run_handler[Self.H],
                    self._handler.unsafe_bitcast[NoneType](),
                    exchange_functions(),
                )
            )
        )
        self.worker.listen(self.listener, tls^)
        _ = self.worker.prepare()
        self.worker.begin()

    @staticmethod
    def of(function: HandlerFunction) -> TestServer[FnHandler]:
        """Starts a server for a plain function, on a network without faults.

        Args:
            function: The handler function.

        Returns:
            The server.
        """
        return TestServer[FnHandler](FnHandler(function))

    def __deinit__(deinit self):
        """Ends the server and the network."""
        _stop(self.worker)
        self.worker.destroy()
        self.network.destroy()
        heap_destroy(self._handler)
        heap_destroy(self._statistics)

    def connect(self) -> Peer:
        """Returns a client's connection to the server.

        Returns:
            The client's end. It does not keep the server alive: end a test
            with `stop`.
        """
        return self.network.connect(self.listener)

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
        var octets = List[UInt8]()
        for _ in range(_TURNS_MAX):
            self.settle()
            var arrived = peer.received()
            octets.extend(Span(arrived))
            if len(arrived) > 0:
                continue
            if not self._let_time_pass():
                break
        return octets^

    def settle(self):
        """Runs the server as far as possible without time passing."""
        self.network.limit_clock(self.network.now_ms())
        var quiet = 0
        for _ in range(_TURNS_MAX):
            var before = self.network.completions()
            self.turn()
            ref reactor = self.worker.state[].reactor.state[]
            if (
                self.network.completions() > before
                or reactor.submit_first
                or reactor.fibers.has_ready()
            ):
                quiet = 0
                continue
            quiet += 1
            # Operations that a turn cancels complete in the next one.
            if quiet == 3:
                break
        self.network.limit_clock(Int.MAX)

    def advance(self, duration_ms: Int):
        """Advances the clock, and runs the server's due work.

        Args:
            duration_ms: The time.
        """
        var until = self.network.now_ms() + duration_ms
        self.settle()
        while self.network.now_ms() < until:
            self.network.limit_clock(until)
            var before = self.network.now_ms()
            self.turn()
            if self.network.now_ms() == before:
                # No code waits for a time before the end.
                self.network.state[].now_ms = until
            self.settle()

    def turn(self):
        """Runs one turn of the worker, during which time may pass."""
        _turn(self.worker)

    def turn_now(self):
        """Runs one turn of the worker without time passing."""
        self.network.limit_clock(self.network.now_ms())
        _turn(self.worker)
        self.network.limit_clock(Int.MAX)

    def stop(self):
        """Stops the server and waits for its end, as `shutdown` does.

        Connections that were not accepted break, as when a listener is closed.
        """
        _stop(self.worker)
        self.network.break_waiting(self.listener)

    def begin_stop(self):
        """Starts to stop the server, without waiting."""
        _begin_stop(self.worker)

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
        ref w = self.worker.state[]
        var text = String()
        _note(text, "connections", w.connections.lent())
        _note(text, "sockets without a connection", len(w.accepting.waiting))
        _note(text, "requests", w.in_flight)
        _note(text, "streams", w.streams)
        _note(text, "exchanges", w.exchanges.lent)
        _note(text, "output buffers", w.outputs.lent)
        _note(text, "octets of the budget", w.budget.charged)
        _note(
            text,
            "receive buffers",
            w.reactor.buffers().lent() - self.network.withheld_buffers(),
        )
        _note(
            text,
            "receive buffers given back twice",
            _doubled(w.reactor.buffers()),
        )
        _note(text, "large buffers", w.reactor.large_buffers().lent())
        _note(text, "fibers", w.reactor.state[].fibers.busy())
        _note(text, "timers", w.reactor.timers().armed_count())
        _note(text, "operations", w.reactor.state[].in_flight)
        _note(text, "operations of the backend", self.network.in_flight())
        _note(text, "misuses of descriptors", self.network.misuses())
        return text^

    def statistics(self) -> WorkerStatistics:
        """Returns the counters of the worker.

        Returns:
            The counters.
        """
        return WorkerStatistics.snapshot(self._statistics)

    def _let_time_pass(self) -> Bool:
        # False if all waits are for clients.
        ref w = self.worker.state[]
        var delay = self.network.next_delay_ms()
        if delay:
            self.network.limit_clock(delay.value())
        elif w.in_flight + w.streams == 0 and not w.accepting.timer.is_armed():
            return False
        var before = self.network.now_ms()
        self.turn()
        self.network.limit_clock(Int.MAX)
        return self.network.now_ms() > before


def _turn(worker: Worker):
    var before = current_reactor()
    set_current_reactor(worker.state[].reactor)
    worker.turn()
    set_current_reactor(before)


def _begin_stop(worker: Worker):
    # A worker is told on its own loop.
    var before = current_reactor()
    set_current_reactor(worker.state[].reactor)
    worker.stop()
    set_current_reactor(before)


def _stop(worker: Worker):
    _begin_stop(worker)
    var turns = 0
    while not worker.is_done() and turns < _TURNS_MAX:
        _turn(worker)
        turns += 1


def _doubled(buffers: BufferPool) -> Int:
    var addresses = List[Int]()
    for buffer in buffers.state[].free:
        addresses.append(Int(buffer))
    sort(addresses)
    var count = 0
    for i in range(1, len(addresses)):
        if addresses[i] == addresses[i - 1]:
            count += 1
    return count


def _note(mut text: String, name: StringSlice, count: Int):
    if count != 0:
        text += String("" if text == "" else ", ", count, " ", name)

"""Runs the worker of a server on a simulated network, for any handler.

`TestServer` knows the type of the handler; `SimulatedServer` does not. It also
serves the WebSockets of a test.
"""

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.http.handler import Handler
from flare.http.server.config import ServerConfig
from flare.http.server.driver.carrier import exchange_functions
from flare.http.server.exchange.respond import run_handler
from flare.http.server.records.statistics import WorkerStatistics
from flare.http.server.transport.worker_state import WorkerState
from flare.http.server.worker.worker import Worker
from flare.runtime.backend import BackendKind
from flare.runtime.backends.simulated import SimulatedBackend
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


@fieldwise_init
struct Keepsake(TrivialRegisterPassable):
    """A block that is freed with its server."""

    var block: Erased
    """The block."""
    var destroy: def(Erased) thin -> None
    """Frees it, after the end of the worker and before that of the network."""


struct SimulatedServerState(Movable):
    """A worker and its network. Only `SimulatedServer` uses it."""

    var owners: Int
    """How many `SharedServer` there are."""
    var network: SimulatedNetwork
    """The network."""
    var worker: Worker
    """The one worker."""
    var listener: Int32
    """The listening descriptor."""
    var statistics: PointerTo[WorkerStatistics]
    """The counters of the worker."""
    var keepsakes: List[Keepsake]
    """The blocks that are freed with the server."""
    # Called by address: programs that begin no server contain no code of one.
    var destroy: def(Erased) thin -> None
    """Frees the state."""

    def __init__(
        out self,
        network: SimulatedNetwork,
        worker: Worker,
        listener: Int32,
        statistics: PointerTo[WorkerStatistics],
    ):
        """Creates the state of a server that has one owner.

        Args:
            network: The network.
            worker: The worker, which listens.
            listener: Its descriptor.
            statistics: The counters of the worker.
        """
        self.owners = 1
        self.network = network
        self.worker = worker
        self.listener = listener
        self.statistics = statistics
        self.keepsakes = List[Keepsake]()
        self.destroy = _destroy


@fieldwise_init
struct SimulatedServer(TrivialRegisterPassable):
    """A handle to a server. It does not keep the server alive."""

    var state: PointerTo[SimulatedServerState]
    """The heap state."""

    @staticmethod
    def begin[
        H: Handler
    ](
        handler: PointerTo[H],
        network: SimulatedNetwork,
        *,
        config: ServerConfig = ServerConfig(),
        reactor: ReactorConfig = ReactorConfig(fibers_max=1024),
        var tls: Optional[TlsContext] = None,
    ) -> Self:
        """Creates and starts a server, which frees the handler at its end.

        Parameters:
            H: The type of the handler.

        Args:
            handler: The handler, of `heap_create`.
            network: The network, which the server frees too.
            config: The limits of the server.
            reactor: The bounds of its reactor.
            tls: The TLS context of its connections, if they are encrypted.

        Returns:
            A handle. A `SharedServer` takes ownership.
        """
        var listener = network.listen()
        var statistics = heap_create(WorkerStatistics())
        var buffers = BufferPool.create(
            RECEIVE_BUFFER_OCTETS, reactor.receive_buffers_max
        )
        var worker = Worker(
            heap_create(
                WorkerState(
                    Reactor.over(
                        SimulatedBackend(network, buffers),
                        BackendKind.SIMULATED,
                        reactor,
                        buffers,
                    ),
                    config,
                    0,
                    statistics,
                    run_handler[H],
                    handler.unsafe_bitcast[NoneType](),
                    exchange_functions(),
                )
            )
        )
        worker.listen(listener, tls^)
        _ = worker.prepare()
        worker.begin()
        var server = Self(
            heap_create(
                SimulatedServerState(network, worker, listener, statistics)
            )
        )
        server.keep(
            Keepsake(handler.unsafe_bitcast[NoneType](), _destroy_handler[H])
        )
        return server

    def keep(self, keepsake: Keepsake):
        """Frees a block when the server ends.

        Args:
            keepsake: The block.
        """
        self.state[].keepsakes.append(keepsake)

    def network(self) -> SimulatedNetwork:
        """Returns the network.

        Returns:
            A handle.
        """
        return self.state[].network

    def connect(self) -> Peer:
        """Returns a client's connection to the server.

        Returns:
            The client's end.
        """
        return self.state[].network.connect(self.state[].listener)

    def receive(self, peer: Peer) -> List[UInt8]:
        """Runs the server as far as possible, and returns a client's received
        octets; see `TestServer.receive`.

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

    def await_arrival(self, peer: Peer, until_ms: Int) -> Bool:
        """Runs the server until octets arrive at a client.

        Args:
            peer: The client's end.
            until_ms: The time of the network at which the wait is over.

        Returns:
            True if there are octets, or if the connection has ended.
        """
        while True:
            self.settle()
            if peer.has_arrivals() or peer.has_ended():
                return True
            if self.network().now_ms() >= until_ms:
                return False
            self._pass_time(until_ms)

    def settle(self):
        """Runs the server as far as possible without time passing."""
        var network = self.network()
        network.limit_clock(network.now_ms())
        var quiet = 0
        for _ in range(_TURNS_MAX):
            var before = network.completions()
            self.turn()
            ref reactor = self.state[].worker.state[].reactor.state[]
            if (
                network.completions() > before
                or reactor.submit_first
                or reactor.fibers.has_ready()
            ):
                quiet = 0
                continue
            quiet += 1
            # Operations that a turn cancels complete in the next one.
            if quiet == 3:
                break
        network.limit_clock(Int.MAX)

    def advance(self, duration_ms: Int):
        """Advances the clock, and runs the server's due work.

        Args:
            duration_ms: The time.
        """
        var until_ms = self.network().now_ms() + duration_ms
        self.settle()
        while self.network().now_ms() < until_ms:
            self._pass_time(until_ms)
            self.settle()

    def turn(self):
        """Runs one turn of the worker, during which time may pass."""
        var before = current_reactor()
        set_current_reactor(self.state[].worker.state[].reactor)
        self.state[].worker.turn()
        set_current_reactor(before)

    def stop(self):
        """Stops the server and waits for its end. Connections that were not
        accepted stay.
        """
        self.begin_stop()
        var turns = 0
        while not self.state[].worker.is_done() and turns < _TURNS_MAX:
            self.turn()
            turns += 1

    def begin_stop(self):
        """Starts to stop the server, without waiting."""
        # A worker is told on its own loop.
        var before = current_reactor()
        set_current_reactor(self.state[].worker.state[].reactor)
        self.state[].worker.stop()
        set_current_reactor(before)

    def remains(self) -> String:
        """Returns a list of all that the server still holds. Call it after
        `stop`.

        Returns:
            The list; empty if the server has freed everything.
        """
        ref w = self.state[].worker.state[]
        var network = self.network()
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
            w.reactor.buffers().lent() - network.withheld_buffers(),
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
        _note(text, "operations of the backend", network.in_flight())
        _note(text, "misuses of descriptors", network.misuses())
        return text^

    def statistics(self) -> WorkerStatistics:
        """Returns the counters of the worker.

        Returns:
            The counters.
        """
        return WorkerStatistics.snapshot(self.state[].statistics)

    def destroy(self):
        """Ends the server, and frees it with its network and all it keeps."""
        self.stop()
        self.state[].worker.destroy()
        for keepsake in reversed(self.state[].keepsakes):
            keepsake.destroy(keepsake.block)
        self.state[].network.destroy()
        heap_destroy(self.state[].statistics)
        heap_destroy(self.state)

    def _let_time_pass(self) -> Bool:
        # False if all waits are for clients.
        ref w = self.state[].worker.state[]
        var network = self.network()
        var delay = network.next_delay_ms()
        if delay:
            network.limit_clock(delay.value())
        elif w.in_flight + w.streams == 0 and not w.accepting.timer.is_armed():
            return False
        var before = network.now_ms()
        self.turn()
        network.limit_clock(Int.MAX)
        return network.now_ms() > before

    def _pass_time(self, until_ms: Int):
        # Advances the clock to the next event, or to the end of the wait.
        var network = self.network()
        network.limit_clock(until_ms)
        var before = network.now_ms()
        self.turn()
        network.limit_clock(Int.MAX)
        if network.now_ms() == before:
            # No code waits for a time before the end.
            network.state[].now_ms = until_ms


struct SharedServer(ImplicitlyCopyable):
    """One of the owners of a server, which ends with the last of them."""

    var server: SimulatedServer
    """The server."""

    def __init__(out self, server: SimulatedServer):
        """Creates the first owner.

        Args:
            server: A server that has just begun.
        """
        self.server = server

    def __init__(out self, *, copy: Self):
        """Copies the reference.

        Args:
            copy: An owner.
        """
        self.server = copy.server
        self.server.state[].owners += 1

    def __deinit__(deinit self):
        """Ends the server with its last owner."""
        self.server.state[].owners -= 1
        if self.server.state[].owners == 0:
            self.server.state[].destroy(
                self.server.state.unsafe_bitcast[NoneType]()
            )


def _destroy(state: Erased):
    SimulatedServer(state.unsafe_bitcast[SimulatedServerState]()).destroy()


def _destroy_handler[H: Handler](handler: Erased):
    heap_destroy(handler.unsafe_bitcast[H]())


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

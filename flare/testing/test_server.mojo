"""Runs a whole server on a simulated network: octets in, octets out.

The server is the real one, driver and all; only the kernel is missing. Nothing
runs but in the calls below, on the calling thread, and the clock stands still
unless something waits for it, so a test of timeouts takes no time.
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


struct TestServer[H: Handler](Movable):
    """Serves a handler on a simulated network.

    Parameters:
        H: The type of the handler.
    """

    var network: SimulatedNetwork
    """The network."""
    var worker: Worker
    """The one worker of the server."""
    var listener: Int32
    """Where it accepts connections."""
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
        """Begins to serve.

        Args:
            handler: What answers.
            seed: Decides what the network leaves to chance.
            faults: What goes wrong on the network; nothing by default.
            config: The limits of the server; its log goes nowhere by default.
            reactor: The bounds of its reactor.
            tls: What connections encrypt with, if they do.
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
        """Begins to serve a plain function on a network without faults.

        Args:
            function: What answers.

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
        """Connects to the server.

        Returns:
            The client's end. It does not keep the server alive: let a test end
            with `stop`.
        """
        return self.network.connect(self.listener)

    def exchange(self, octets: Span[UInt8, _]) -> List[UInt8]:
        """Sends octets on a connection of their own.

        Args:
            octets: What the server receives: one request, many, or none.

        Returns:
            All that the server sent until nothing more was to come.
        """
        var peer = self.connect()
        peer.send(octets)
        var answer = self.receive(peer)
        peer.close()
        self.settle()
        return answer^

    def exchange(self, text: StringSlice) -> String:
        """Sends text on a connection of its own.

        Args:
            text: What the server receives.

        Returns:
            All that the server sent until nothing more was to come.
        """
        var answer = self.exchange(text.as_bytes())
        return String(StringSlice(unsafe_from_utf8=Span(answer)))

    def receive(self, peer: Peer) -> List[UInt8]:
        """Lets the server do all it can, and collects what a client gets.

        Time passes while a request is being answered, accepting pauses after
        an error or the network delays something, so a handler that sleeps is
        waited for; an idle connection is not.

        Args:
            peer: The client's end.

        Returns:
            What has arrived since the last call.
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
        """Lets the server do all it can while time stands still."""
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
            # What a turn cancels completes in the next one.
            if quiet == 3:
                break
        self.network.limit_clock(Int.MAX)

    def advance(self, duration_ms: Int):
        """Lets time pass, and the server do what is due.

        Args:
            duration_ms: How much time.
        """
        var until = self.network.now_ms() + duration_ms
        self.settle()
        while self.network.now_ms() < until:
            self.network.limit_clock(until)
            var before = self.network.now_ms()
            self.turn()
            if self.network.now_ms() == before:
                # Nothing waits for any time before the end.
                self.network.state[].now_ms = until
            self.settle()

    def turn(self):
        """Runs one turn of the worker, which may let time pass."""
        _turn(self.worker)

    def turn_now(self):
        """Runs one turn of the worker while time stands still."""
        self.network.limit_clock(self.network.now_ms())
        _turn(self.worker)
        self.network.limit_clock(Int.MAX)

    def stop(self):
        """Stops the server and waits for its end, as `shutdown` does.

        Connections that nobody has accepted break, as they do when the
        listener is closed.
        """
        _stop(self.worker)
        self.network.break_waiting(self.listener)

    def begin_stop(self):
        """Asks the server to stop, and returns at once."""
        self.worker.stop()

    def abort(self):
        """Cuts everything off, as the second signal does; after
        `begin_stop`."""
        self.worker.abort_all()

    def remains(self) -> String:
        """Lists what the server still holds; call it after `stop`.

        Returns:
            An empty text if nothing is left.
        """
        ref w = self.worker.state[]
        var text = String()
        _note(text, "connections", w.connections.lent())
        _note(text, "sockets without a connection", len(w.waiting))
        _note(text, "requests", w.in_flight)
        _note(text, "streams", w.streams)
        _note(text, "exchanges", w.lent_exchanges)
        _note(text, "output buffers", w.lent_outputs)
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
        """Reads the counters of the worker.

        Returns:
            The counters.
        """
        return WorkerStatistics.snapshot(self._statistics)

    def _let_time_pass(self) -> Bool:
        # False if nobody waits for anything but a client.
        ref w = self.worker.state[]
        var delay = self.network.next_delay_ms()
        if delay:
            self.network.limit_clock(delay.value())
        elif w.in_flight + w.streams == 0 and not w.accept_timer.is_armed():
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


def _stop(worker: Worker):
    worker.stop()
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

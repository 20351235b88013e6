"""Holds the workers of a server, and passes orders on to them."""

from std.memory import ArcPointer
from std.sys import size_of

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.sys.memory import at_address, map_shared_anonymous, unmap
from flare.sys.socket import send_octets
from flare.sys.socket_constants import MSG_DONTWAIT
from flare.sys.thread import Lock
from flare.tls import TlsContext, TlsServerConfig

from .service import Service
from ..listening.listening import Listening
from ..records.statistics import WorkerStatistics
from ..listening.protocols import HttpProtocols
from ..listening.tls_listeners import TlsListenerState
from ..worker.worker import Worker
from ..transport.worker_state import WorkerState

comptime ORDER_STOP: UInt8 = 128
"""Finish requests in flight; signals have lower numbers."""
comptime ORDER_STOP_NOW: UInt8 = 129
"""Break off requests in flight."""
comptime ORDER_RELOAD_TLS: UInt8 = 133
"""Read certificates and keys again."""
comptime ORDER_LEAVE: UInt8 = 134
"""Finish requests in flight, and leave the sockets to another process."""
comptime ORDER_ANSWER: UInt8 = 135
"""Prove that the loop turns: the worker returns the same octet."""


struct ServerShared(Movable):
    """The state that the copies of a registry share; guarded by its lock."""

    var lock: Lock
    """Guards the fields below."""
    var tls: List[Optional[TlsListenerState]]
    """The TLS state of each address, if it speaks TLS."""
    var workers: List[PointerTo[WorkerState]]
    """The running workers."""
    var statistics: List[PointerTo[WorkerStatistics]]
    """The counters of all workers so far, on separate cache lines."""
    var stopping: Bool
    """Whether `shutdown` was called."""
    var orders: Int32
    """The descriptor from which a supervisor reads orders; -1 if there is
    none.
    """
    var shared_counters: Int
    """The address of the first counters in memory that processes share; 0 if
    there is none.
    """
    var shared_count: Int
    """The number of counters there."""

    def __init__(out self):
        """Creates the state of a server that does not listen yet."""
        self.lock = Lock.create()
        self.tls = List[Optional[TlsListenerState]]()
        self.workers = List[PointerTo[WorkerState]]()
        self.statistics = List[PointerTo[WorkerStatistics]]()
        self.stopping = False
        self.orders = -1
        self.shared_counters = 0
        self.shared_count = 0

    def __deinit__(deinit self):
        """Frees the counters and the lock."""
        for i in range(self.shared_count, len(self.statistics)):
            heap_destroy(self.statistics[i].unsafe_bitcast[_PaddedStatistics]())
        if self.shared_counters != 0:
            _ = unmap(self.shared_counters, self.shared_count * _PADDED_OCTETS)
        self.lock.destroy()


struct _PaddedStatistics(Movable):
    var statistics: WorkerStatistics
    # Workers count without disturbing one another: no line holds two of them.
    var padding: Array[UInt64, 8]

    def __init__(out self):
        self.statistics = WorkerStatistics()
        self.padding = Array[UInt64, 8](fill=0)


comptime _PADDED_OCTETS = size_of[_PaddedStatistics]()


struct ServerRegistry(Copyable, Movable):
    """Holds the workers, sockets and counters of a server. Its copies share them;
    any thread may call it, even before the server serves.
    """

    var listening: Listening
    """The addresses of the server."""
    var service: Service
    """The connection to systemd."""
    var _shared: ArcPointer[ServerShared]

    def __init__(out self):
        """Creates the registry of a server that does not listen yet."""
        self.listening = Listening()
        self.service = Service()
        self._shared = ArcPointer(ServerShared())

    def leave_to_another(self) -> Bool:
        """Stops the server because another process holds its sockets.

        Returns:
            False if the server is already stopping and no other process has its
            sockets.
        """
        var shared = self._shared
        with shared[].lock:
            var begins = not shared[].stopping
            if begins:
                shared[].stopping = True
                self.listening.note_hand_over()
                for worker in shared[].workers:
                    worker[].reactor.post(
                        _leave, worker.unsafe_bitcast[NoneType]()
                    )
                _send_order(shared[].orders, ORDER_LEAVE)
            return begins

    def read_tls_again(self) raises:
        """Reads certificates and keys again for the workers of this process.

        Raises:
            Error: As `ServerHandle.reload_tls` does.
        """
        var listeners = self._tls_listeners()
        var fresh = List[TlsContext]()
        for listener in listeners:
            fresh.append(TlsContext.for_servers(listener.config))
        for i in range(len(listeners)):
            listeners[i].context.replace(fresh[i])

    def replace_tls(self, var config: TlsServerConfig, listener: Int) raises:
        """Replaces the TLS configuration for new handshakes.

        Args:
            config: The new configuration.
            listener: The index among the addresses that speak TLS.

        Raises:
            Error: As `ServerHandle.reload_tls` does.
        """
        var listeners = self._tls_listeners()
        if listener < 0 or listener >= len(listeners):
            raise Error("http.no_tls at this address")
        if self._is_supervised():
            raise Error("http.supervised workers only read files again")
        var fresh = TlsListenerState(config^, self._protocols_of(listener))
        listeners[listener].context.replace(fresh.context)
        var shared = self._shared
        with shared[].lock:
            var seen = 0
            for i in range(len(shared[].tls)):
                if shared[].tls[i]:
                    if seen == listener:
                        shared[].tls[i].value().config = fresh.config.copy()
                    seen += 1

    def _protocols_of(self, listener: Int) -> HttpProtocols:
        var shared = self._shared
        var seen = 0
        for tls in shared[].tls:
            if tls:
                if seen == listener:
                    return tls.value().protocols
                seen += 1
        return HttpProtocols.ALL

    def order_tls_again(self):
        """Makes a supervisor's workers read certificates and keys again."""
        var shared = self._shared
        with shared[].lock:
            _send_order(shared[].orders, ORDER_RELOAD_TLS)

    def _is_supervised(self) -> Bool:
        var shared = self._shared
        with shared[].lock:
            return shared[].orders >= 0

    def _tls_listeners(self) raises -> List[TlsListenerState]:
        var shared = self._shared
        var listeners = List[TlsListenerState]()
        with shared[].lock:
            for listener in shared[].tls:
                if listener:
                    listeners.append(listener.value().copy())
        if len(listeners) == 0:
            raise Error("http.no_tls at any address")
        return listeners^

    def note_tls(self, var tls: Optional[TlsListenerState]):
        """Sets the TLS state of the address that was added last.

        Args:
            tls: The TLS state; `None` without TLS.
        """
        var shared = self._shared
        with shared[].lock:
            shared[].tls.append(tls^)

    def tls_contexts(self) -> List[Optional[TlsContext]]:
        """Returns the TLS context of each address, if it speaks TLS.

        Returns:
            One entry for each address, in their order.
        """
        var shared = self._shared
        var contexts = List[Optional[TlsContext]]()
        with shared[].lock:
            for listener in shared[].tls:
                if listener:
                    contexts.append(listener.value().context)
                else:
                    contexts.append(None)
        return contexts^

    def shutdown(self):
        """Stops the workers after finishing the requests in flight; further
        calls have no effect.
        """
        var shared = self._shared
        var speaks: Bool
        with shared[].lock:
            var begins = not shared[].stopping
            if begins:
                shared[].stopping = True
                self.listening.remove_files()
                for worker in shared[].workers:
                    worker[].reactor.post(
                        _stop, worker.unsafe_bitcast[NoneType]()
                    )
                _send_order(shared[].orders, ORDER_STOP)
            # A supervisor speaks for its workers.
            speaks = begins and shared[].orders < 0
        if speaks:
            self.service.say_stopping()

    def shutdown_now(self):
        """Stops the workers without waiting for requests in flight."""
        self.shutdown()
        var shared = self._shared
        with shared[].lock:
            for worker in shared[].workers:
                worker[].reactor.post(
                    _stop_now, worker.unsafe_bitcast[NoneType]()
                )
            _send_order(shared[].orders, ORDER_STOP_NOW)

    def statistics(self) -> List[WorkerStatistics]:
        """Returns the counters of all workers.

        Returns:
            One snapshot for each worker, in the order of their numbers; empty
            before `serve`.
        """
        var shared = self._shared
        var snapshots = List[WorkerStatistics]()
        with shared[].lock:
            for counters in shared[].statistics:
                snapshots.append(WorkerStatistics.snapshot(counters))
        return snapshots^

    def counters(self, worker: Int) -> PointerTo[WorkerStatistics]:
        """Returns the counters of a worker, which only that worker changes.

        Args:
            worker: The worker's number.

        Returns:
            The counters.
        """
        var shared = self._shared
        with shared[].lock:
            while worker >= len(shared[].statistics):
                shared[].statistics.append(
                    heap_create(_PaddedStatistics()).unsafe_bitcast[
                        WorkerStatistics
                    ]()
                )
            return shared[].statistics[worker]

    def enter(self, worker: Worker):
        """Registers a running worker; it stops at once if the server is
        stopping.

        Args:
            worker: The worker; called on its thread.
        """
        var shared = self._shared
        var stopping: Bool
        with shared[].lock:
            shared[].workers.append(worker.state)
            stopping = shared[].stopping
        if self.listening.has_handed_over():
            worker.leave()
        elif stopping:
            worker.stop()

    def running_workers(self) -> Int:
        """Returns the number of workers that have entered and not left.

        Returns:
            The number.
        """
        var shared = self._shared
        with shared[].lock:
            return len(shared[].workers)

    def send_orders_to(self, descriptor: Int32) -> Bool:
        """Sets the supervisor's socket for `shutdown` orders.

        Args:
            descriptor: The socket, or -1 for none.

        Returns:
            True if `shutdown` was called already.
        """
        var shared = self._shared
        with shared[].lock:
            shared[].orders = descriptor
            return shared[].stopping

    def share_counters(self, workers: Int):
        """Moves the counters to memory that forked processes share.

        Args:
            workers: The number of workers to start.
        """
        var shared = self._shared
        with shared[].lock:
            ref s = shared[]
            var count = max(workers, len(s.statistics))
            if count > s.shared_count:
                var base = map_shared_anonymous(count * _PADDED_OCTETS)
                if base > 0:
                    _move_counters(s, base, count)

    def fork(self) -> Int:
        """Forks the process while no other thread changes the shared state.

        Returns:
            The result of `fork_process`.
        """
        var shared = self._shared
        with shared[].lock:
            return self.listening.fork()

    def visit_workers(
        self,
        visit: def(Erased, PointerTo[WorkerState]) thin -> None,
        owner: Erased,
    ):
        """Calls a function for each running worker. No worker can end
        meanwhile.

        Args:
            visit: The function; it calls no method of a handle.
            owner: Its first argument.
        """
        var shared = self._shared
        with shared[].lock:
            for worker in shared[].workers:
                visit(owner, worker)

    def ask_for_room(self, asking: PointerTo[WorkerState]):
        """Asks the other workers to close idle connections, so that one can
        accept.

        Args:
            asking: The worker, which has none to close itself.
        """
        var shared = self._shared
        with shared[].lock:
            for worker in shared[].workers:
                if Int(worker) != Int(asking):
                    worker[].reactor.post(
                        _shed_connections, worker.unsafe_bitcast[NoneType]()
                    )

    def finish(self):
        """Prepares for another `serve` after one has returned."""
        var shared = self._shared
        with shared[].lock:
            shared[].stopping = False
        self.listening.note_stop()

    def leave(self, worker: Worker):
        """Removes a worker that has ended. It has no effect on one that has not
        entered.

        Args:
            worker: The worker.
        """
        var shared = self._shared
        with shared[].lock:
            for i in range(len(shared[].workers)):
                if Int(shared[].workers[i]) == Int(worker.state):
                    _ = shared[].workers.pop(i)
                    break


def _send_order(descriptor: Int32, order: UInt8):
    if descriptor >= 0:
        # No client waits for room there: a server that no longer reads is
        # stopping.
        _ = send_octets(descriptor, [order], MSG_DONTWAIT)


def _move_counters(mut s: ServerShared, base: Int, count: Int):
    for i in range(count):
        var target = (
            at_address(base)
            .unsafe_offset(i * _PADDED_OCTETS)
            .unsafe_bitcast[_PaddedStatistics]()
        )
        target.unsafe_write(_PaddedStatistics())
        if i < len(s.statistics):
            var old = s.statistics[i].unsafe_bitcast[_PaddedStatistics]()
            target[].statistics = old[].statistics
            if i >= s.shared_count:
                heap_destroy(old)
            s.statistics[i] = target.unsafe_bitcast[WorkerStatistics]()
        else:
            s.statistics.append(target.unsafe_bitcast[WorkerStatistics]())
    if s.shared_counters != 0:
        _ = unmap(s.shared_counters, s.shared_count * _PADDED_OCTETS)
    s.shared_counters = base
    s.shared_count = count


def _stop(worker: Erased):
    Worker(worker.unsafe_bitcast[WorkerState]()).stop()


def _leave(worker: Erased):
    Worker(worker.unsafe_bitcast[WorkerState]()).leave()


def _shed_connections(worker: Erased):
    Worker(worker.unsafe_bitcast[WorkerState]()).shed_connections()


def _stop_now(worker: Erased):
    var w = worker.unsafe_bitcast[WorkerState]()
    Worker(w).stop()
    w[].stop_deadline_ms = w[].reactor.now_ms()

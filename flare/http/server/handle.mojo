"""Lets any thread watch a server and stop it."""

from std.memory import ArcPointer
from std.sys import size_of

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.net import SocketAddr
from flare.sys.memory import at_address, map_shared_anonymous, unmap
from flare.sys.process import fork_process
from flare.sys.socket import send_octets
from flare.sys.socket_constants import MSG_DONTWAIT
from flare.sys.thread import Lock

from .statistics import WorkerStatistics
from .worker import Worker
from .worker_state import WorkerState

comptime ORDER_STOP: UInt8 = 128
"""Finish what is in flight; signals have lower numbers."""
comptime ORDER_STOP_NOW: UInt8 = 129
"""Cut off what is in flight."""


struct ServerShared(Movable):
    """Holds what the handles of a server share; guarded by its lock."""

    var lock: Lock
    """Guards the fields below."""
    var addresses: List[SocketAddr]
    """Where the server listens."""
    var workers: List[PointerTo[WorkerState]]
    """The workers that run now."""
    var statistics: List[PointerTo[WorkerStatistics]]
    """The counters of all workers there ever were; on cache lines apart."""
    var stopping: Bool
    """`shutdown` was called."""
    var orders: Int32
    """Where a supervisor reads orders; -1 if there is none."""
    var shared_counters: Int
    """The address of memory that processes share, with the first counters; 0 if
    there is none."""
    var shared_count: Int
    """How many counters lie there."""

    def __init__(out self, var addresses: List[SocketAddr]):
        """Describes a server that does not serve yet.

        Args:
            addresses: Where it listens.
        """
        self.lock = Lock.create()
        self.addresses = addresses^
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


struct ServerHandle(Copyable, Movable):
    """Watches and stops a server, from any thread, also before it serves."""

    var _shared: ArcPointer[ServerShared]

    def __init__(out self, var addresses: List[SocketAddr]):
        """Makes the first handle of a server.

        Args:
            addresses: Where the server listens; at least one.
        """
        self._shared = ArcPointer(ServerShared(addresses^))

    def local_address(self) -> SocketAddr:
        """Tells where the server listens.

        Returns:
            Its first address, with the port that the kernel chose.
        """
        return self._shared[].addresses[0]

    def local_addresses(self) -> List[SocketAddr]:
        """Tells all addresses where the server listens.

        Returns:
            The addresses, in the order given to `bind_many`.
        """
        return self._shared[].addresses.copy()

    def shutdown(self):
        """Stops the server: requests in flight are finished, then it ends.

        It returns at once; `serve` returns when the last connection has ended
        or the shutdown timeout is over. Further calls do nothing.
        """
        var shared = self._shared
        shared[].lock.acquire()
        if not shared[].stopping:
            shared[].stopping = True
            for worker in shared[].workers:
                worker[].reactor.post(_stop, worker.unsafe_bitcast[NoneType]())
            _send_order(shared[].orders, ORDER_STOP)
        shared[].lock.release()

    def shutdown_now(self):
        """Stops the server without waiting for requests in flight.

        Their handlers are cancelled and their connections closed.
        """
        self.shutdown()
        var shared = self._shared
        shared[].lock.acquire()
        for worker in shared[].workers:
            worker[].reactor.post(_stop_now, worker.unsafe_bitcast[NoneType]())
        _send_order(shared[].orders, ORDER_STOP_NOW)
        shared[].lock.release()

    def statistics(self) -> List[WorkerStatistics]:
        """Reads the counters of all workers.

        Returns:
            One snapshot for each worker, in the order of their numbers; empty
            before `serve`.
        """
        var shared = self._shared
        var snapshots = List[WorkerStatistics]()
        shared[].lock.acquire()
        for counters in shared[].statistics:
            snapshots.append(WorkerStatistics.snapshot(counters))
        shared[].lock.release()
        return snapshots^

    def counters(self, worker: Int) -> PointerTo[WorkerStatistics]:
        """Finds the counters of a worker, which the worker alone writes.

        Args:
            worker: The worker's number.

        Returns:
            The counters.
        """
        var shared = self._shared
        shared[].lock.acquire()
        while worker >= len(shared[].statistics):
            shared[].statistics.append(
                heap_create(_PaddedStatistics()).unsafe_bitcast[
                    WorkerStatistics
                ]()
            )
        var counters = shared[].statistics[worker]
        shared[].lock.release()
        return counters

    def enter(self, worker: Worker):
        """Notes that a worker runs; it stops at once if it is too late.

        Args:
            worker: The worker; called on its thread.
        """
        var shared = self._shared
        shared[].lock.acquire()
        shared[].workers.append(worker.state)
        var stopping = shared[].stopping
        shared[].lock.release()
        if stopping:
            worker.stop()

    def running_workers(self) -> Int:
        """Counts the workers that have entered and not left.

        Returns:
            The count.
        """
        var shared = self._shared
        shared[].lock.acquire()
        var count = len(shared[].workers)
        shared[].lock.release()
        return count

    def send_orders_to(self, descriptor: Int32) -> Bool:
        """Says who else is to be told of `shutdown`, besides own workers.

        Args:
            descriptor: A socket, or -1 for nobody.

        Returns:
            True if `shutdown` was called already.
        """
        var shared = self._shared
        shared[].lock.acquire()
        shared[].orders = descriptor
        var stopping = shared[].stopping
        shared[].lock.release()
        return stopping

    def share_counters(self, workers: Int):
        """Moves the counters to memory that forked processes share.

        Args:
            workers: How many workers there will be.
        """
        var shared = self._shared
        shared[].lock.acquire()
        ref s = shared[]
        var count = max(workers, len(s.statistics))
        if count > s.shared_count:
            var base = map_shared_anonymous(count * _PADDED_OCTETS)
            if base > 0:
                _move_counters(s, base, count)
        shared[].lock.release()

    def fork(self) -> Int:
        """Forks the process while no other thread changes what handles share.

        Returns:
            What `fork_process` returns.
        """
        var shared = self._shared
        shared[].lock.acquire()
        var process = fork_process()
        shared[].lock.release()
        return process

    def ask_for_room(self, asking: PointerTo[WorkerState]):
        """Lets workers end connections that idle, for one that cannot accept.

        Args:
            asking: The worker that has none to end itself.
        """
        var shared = self._shared
        shared[].lock.acquire()
        for worker in shared[].workers:
            if Int(worker) != Int(asking):
                worker[].reactor.post(
                    _shed_connections, worker.unsafe_bitcast[NoneType]()
                )
        shared[].lock.release()

    def finish(self):
        """Notes that `serve` returns: a later one serves again."""
        var shared = self._shared
        shared[].lock.acquire()
        shared[].stopping = False
        shared[].lock.release()

    def leave(self, worker: Worker):
        """Notes that a worker has ended.

        Args:
            worker: The worker.
        """
        var shared = self._shared
        shared[].lock.acquire()
        for i in range(len(shared[].workers)):
            if Int(shared[].workers[i]) == Int(worker.state):
                _ = shared[].workers.pop(i)
                break
        shared[].lock.release()


def _send_order(descriptor: Int32, order: UInt8):
    if descriptor >= 0:
        # Nobody waits for room: who does not read any more is ending.
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


def _shed_connections(worker: Erased):
    Worker(worker.unsafe_bitcast[WorkerState]()).shed_connections()


def _stop_now(worker: Erased):
    var w = worker.unsafe_bitcast[WorkerState]()
    Worker(w).stop()
    w[].stop_deadline_ms = w[].reactor.now_ms()

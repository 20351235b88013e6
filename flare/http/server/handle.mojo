"""Lets any thread watch a server and stop it."""

from std.memory import ArcPointer

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.net import SocketAddr
from flare.sys.thread import Lock

from .statistics import WorkerStatistics
from .worker import Worker
from .worker_state import WorkerState


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

    def __deinit__(deinit self):
        """Frees the counters and the lock."""
        for counters in self.statistics:
            heap_destroy(counters.unsafe_bitcast[_PaddedStatistics]())
        self.lock.destroy()


struct _PaddedStatistics(Movable):
    var statistics: WorkerStatistics
    # Workers count without disturbing one another: no line holds two of them.
    var padding: Array[UInt64, 8]

    def __init__(out self):
        self.statistics = WorkerStatistics()
        self.padding = Array[UInt64, 8](fill=0)


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


def _stop(worker: Erased):
    Worker(worker.unsafe_bitcast[WorkerState]()).stop()


def _stop_now(worker: Erased):
    var w = worker.unsafe_bitcast[WorkerState]()
    Worker(w).stop()
    w[].stop_deadline_ms = w[].reactor.now_ms()

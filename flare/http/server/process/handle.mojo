"""Lets any thread watch a server and stop it."""

from std.memory import ArcPointer
from std.sys import size_of

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.http.stream_address import StreamAddr
from flare.net import SocketAddr
from flare.sys.memory import at_address, map_shared_anonymous, unmap
from flare.sys.socket import send_octets
from flare.sys.socket_constants import MSG_DONTWAIT
from flare.sys.thread import Lock
from flare.tls import TlsContext, TlsServerConfig

from .service import Service
from ..listening.listening import Listening
from ..records.statistics import WorkerStatistics
from ..listening.tls_listeners import TlsListenerState
from ..listening.successor import SuccessorChannel, check_command
from ..worker.worker import Worker
from ..transport.worker_state import WorkerState

comptime ORDER_STOP: UInt8 = 128
"""Finish what is in flight; signals have lower numbers."""
comptime ORDER_STOP_NOW: UInt8 = 129
"""Cut off what is in flight."""
comptime ORDER_RELOAD_TLS: UInt8 = 133
"""Read certificates and keys again."""
comptime ORDER_LEAVE: UInt8 = 134
"""Finish what is in flight, and leave the sockets to another process."""
comptime ORDER_ANSWER: UInt8 = 135
"""Show that the loop turns: the worker sends the same octet back."""
comptime HAND_OVER_MS = 10_000
"""How long a new program may take until it serves."""


struct ServerShared(Movable):
    """Holds what the handles of a server share; guarded by its lock."""

    var lock: Lock
    """Guards the fields below."""
    var tls: List[Optional[TlsListenerState]]
    """What encrypts at each address, if anything does."""
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

    def __init__(out self):
        """Describes a server that does not listen yet."""
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


struct ServerHandle(Copyable, Movable):
    """Watches and stops a server, from any thread, also before it serves."""

    var listening: Listening
    """Where the server listens."""
    var service: Service
    """Speaks to systemd for the server."""
    var _shared: ArcPointer[ServerShared]

    def __init__(out self):
        """Makes the first handle of a server."""
        self.listening = Listening()
        self.service = Service()
        self._shared = ArcPointer(ServerShared())

    def local_address(self) raises -> SocketAddr:
        """Tells where the server listens.

        Returns:
            Its first address, with the port that the kernel chose.

        Raises:
            Error: `net.unsupported address` if that is a Unix socket; see
                `local_addresses`.
        """
        return self.local_addresses()[0].socket_address()

    def local_addresses(self) -> List[StreamAddr]:
        """Tells all addresses where the server listens.

        Returns:
            The addresses, in the order in which they were added.
        """
        return self.listening.addresses()

    def hand_over(
        self, command: List[String], *, timeout_ms: Int = HAND_OVER_MS
    ) raises -> Int:
        """Starts a program that listens at the same sockets, and stops this
        server once that one serves.

        The program gets the sockets by `Listener.from_systemd`. No client
        that connects meanwhile is refused: both servers accept for a moment,
        and this one finishes the connections that it has accepted. If the program ends before it
        serves, or takes too long, this server goes on as if nothing had been.

        The call blocks its thread until the program serves: use a thread that
        does not serve, or `blocking`.

        Args:
            command: The path of the program, and its arguments.
            timeout_ms: How long it may take until it serves.

        Returns:
            The id of the new process.

        Raises:
            An error `http.not_serving` if this server does not serve or stops
            already, `http.bad_command` for a command without a path or with a
            NUL, `http.successor` if the program does not get to serve.
        """
        check_command(command)
        var channel = SuccessorChannel.open()
        var process = self.listening.start_successor(
            channel, command, self.service.socket().variables()
        )
        channel.await_ready(process, timeout_ms)
        if not self.leave_to_another():
            channel.give_up(process)
            raise Error("http.not_serving it was stopped meanwhile")
        # systemd goes on with the new process when this one ends.
        self.service.say_who_goes_on(process)
        return process

    def leave_to_another(self) -> Bool:
        """Stops the server, whose sockets another process holds.

        Returns:
            False if it stops already, as the last one at its sockets.
        """
        var shared = self._shared
        shared[].lock.acquire()
        var begins = not shared[].stopping
        if begins:
            shared[].stopping = True
            self.listening.note_hand_over()
            for worker in shared[].workers:
                worker[].reactor.post(_leave, worker.unsafe_bitcast[NoneType]())
            _send_order(shared[].orders, ORDER_LEAVE)
        shared[].lock.release()
        return begins

    def reload_tls(self) raises:
        """Reads certificates and keys again, from where they came.

        The next handshakes use them; connections that live go on with what
        they have. If anything cannot be used, nothing changes. Supervised
        workers read for themselves, a moment later.

        Raises:
            Error: `tls.bad_file configure`, `tls.wrong_key configure` and the
                like; `http.no_tls` if no address speaks TLS.
        """
        self.read_tls_again()
        var shared = self._shared
        shared[].lock.acquire()
        _send_order(shared[].orders, ORDER_RELOAD_TLS)
        shared[].lock.release()

    def read_tls_again(self) raises:
        """Reads certificates and keys again for the workers of this process.

        Raises:
            Error: As `reload_tls` does.
        """
        var listeners = self._tls_listeners()
        var fresh = List[TlsContext]()
        for listener in listeners:
            fresh.append(TlsContext.for_servers(listener.config))
        for i in range(len(listeners)):
            listeners[i].context.replace(fresh[i])

    def reload_tls(
        self, var config: TlsServerConfig, *, listener: Int = 0
    ) raises:
        """Lets the next handshakes use another configuration.

        Connections that live go on with what they have. If anything of it
        cannot be used, nothing changes.

        Args:
            config: What was decided.
            listener: Which of the addresses that speak TLS, in the order in
                which they were opened.

        Raises:
            Error: What `TlsContext.for_servers` raises; `http.no_tls` if there
                is no such address, and `http.supervised` if workers are
                processes of their own: they can only read files again.
        """
        var listeners = self._tls_listeners()
        if listener < 0 or listener >= len(listeners):
            raise Error("http.no_tls at this address")
        if self._is_supervised():
            raise Error("http.supervised workers only read files again")
        var fresh = TlsListenerState(config^)
        listeners[listener].context.replace(fresh.context)
        var shared = self._shared
        shared[].lock.acquire()
        var seen = 0
        for i in range(len(shared[].tls)):
            if shared[].tls[i]:
                if seen == listener:
                    shared[].tls[i].value().config = fresh.config.copy()
                seen += 1
        shared[].lock.release()

    def _is_supervised(self) -> Bool:
        var shared = self._shared
        shared[].lock.acquire()
        var is_supervised = shared[].orders >= 0
        shared[].lock.release()
        return is_supervised

    def _tls_listeners(self) raises -> List[TlsListenerState]:
        var shared = self._shared
        var listeners = List[TlsListenerState]()
        shared[].lock.acquire()
        for listener in shared[].tls:
            if listener:
                listeners.append(listener.value().copy())
        shared[].lock.release()
        if len(listeners) == 0:
            raise Error("http.no_tls at any address")
        return listeners^

    def note_tls(self, var tls: Optional[TlsListenerState]):
        """Notes what encrypts at the address that was added last.

        Args:
            tls: What encrypts there, if anything does.
        """
        var shared = self._shared
        shared[].lock.acquire()
        shared[].tls.append(tls^)
        shared[].lock.release()

    def tls_contexts(self) -> List[Optional[TlsContext]]:
        """Tells what encrypts at each address, if anything does.

        Returns:
            One entry for each address, in their order.
        """
        var shared = self._shared
        var contexts = List[Optional[TlsContext]]()
        shared[].lock.acquire()
        for listener in shared[].tls:
            if listener:
                contexts.append(listener.value().context)
            else:
                contexts.append(None)
        shared[].lock.release()
        return contexts^

    def shutdown(self):
        """Stops the server: requests in flight are finished, then it ends.

        It returns at once; `serve` returns when the last connection has ended
        or the shutdown timeout is over. Further calls do nothing.
        """
        var shared = self._shared
        shared[].lock.acquire()
        var begins = not shared[].stopping
        if begins:
            shared[].stopping = True
            self.listening.remove_files()
            for worker in shared[].workers:
                worker[].reactor.post(_stop, worker.unsafe_bitcast[NoneType]())
            _send_order(shared[].orders, ORDER_STOP)
        # A supervisor speaks for its workers.
        var speaks = begins and shared[].orders < 0
        shared[].lock.release()
        if speaks:
            self.service.say_stopping()

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
        if self.listening.has_handed_over():
            worker.leave()
        elif stopping:
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
        var process = self.listening.fork()
        shared[].lock.release()
        return process

    def visit_workers(
        self,
        visit: def(Erased, PointerTo[WorkerState]) thin -> None,
        owner: Erased,
    ):
        """Calls a function for each worker that runs, none of which can end
        meanwhile.

        Args:
            visit: The function; it calls no method of a handle.
            owner: Handed to it.
        """
        var shared = self._shared
        shared[].lock.acquire()
        for worker in shared[].workers:
            visit(owner, worker)
        shared[].lock.release()

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
        self.listening.note_stop()

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


def _leave(worker: Erased):
    Worker(worker.unsafe_bitcast[WorkerState]()).leave()


def _shed_connections(worker: Erased):
    Worker(worker.unsafe_bitcast[WorkerState]()).shed_connections()


def _stop_now(worker: Erased):
    var w = worker.unsafe_bitcast[WorkerState]()
    Worker(w).stop()
    w[].stop_deadline_ms = w[].reactor.now_ms()

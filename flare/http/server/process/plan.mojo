"""Runs the workers of a server on threads of this process."""

from flare.core import Erased, PointerTo, heap_create
from flare.net import NetError, RawSocket
from flare.runtime.fiber import FiberFunction
from flare.runtime.line_queue import LineQueue
from flare.runtime.reactor import Reactor, ReactorConfig
from flare.runtime.scheduler import Scheduler
from flare.runtime.start import open_reactor
from flare.sys.errno import ENOMEM, errno_name
from flare.sys.fatal_signal import AlternateStack
from flare.sys.thread import allowed_cpus, pin_to_cpu
from flare.tls import TlsContext

from .abort_line import AbortLine
from ..listening.protocols import HttpProtocols
from ..records.access_facts import AccessFields
from ..records.access_log import RunningAccessLog
from ..config import ServerConfig
from ..driver.carrier import exchange_functions
from .registry import ServerRegistry
from ..transport.log_lines import log_line
from .signals import OrderSocket, OrderWatch
from .start_barrier import StartBarrier
from ..records.server_metrics import MetricsEntry
from ..records.statistics import WorkerStatistics
from ..worker.worker import Worker
from ..transport.worker_state import WorkerState
from .watchdog import Watchdog

# How often the first worker looks whether the others have ended.
comptime _LAST_WORKERS_MS = 10


struct PlannedListener(Movable):
    """The sockets of one address from which workers accept."""

    var first: Int32
    """The socket of worker 0, which the server keeps."""
    var others: List[RawSocket]
    """The sockets of the other workers, in order; empty if all share one."""
    var is_shared: Bool
    """Whether several workers accept from `first`."""
    var is_lent: Bool
    """Whether another process keeps `first` open."""
    var tls: Optional[TlsContext]
    """The TLS context of its connections, if they are encrypted."""
    var protocols: HttpProtocols
    """The versions of HTTP that its connections may speak."""

    def __init__(out self, first: Int32):
        """Creates an address with one socket.

        Args:
            first: The socket.
        """
        self.first = first
        self.others = List[RawSocket]()
        self.is_shared = False
        self.is_lent = False
        self.tls = None
        self.protocols = HttpProtocols.ALL

    def descriptor(self, worker: Int) -> Int32:
        """Returns the socket from which a worker accepts.

        Args:
            worker: The worker's number.

        Returns:
            The descriptor.
        """
        if worker == 0 or len(self.others) == 0:
            return self.first
        return self.others[worker - 1].descriptor()


struct ProcessParts(Movable):
    """The parts that the workers of one process share while they run."""

    var line_queue: Optional[LineQueue]
    """Writes their log lines."""
    var access_log: Optional[RunningAccessLog]
    """Writes the records of requests, if a program asked for them."""
    var abort_line: Optional[AbortLine]
    """Logs the request that ends the process."""
    var barrier: Optional[StartBarrier]
    """The barrier at which the workers wait for one another."""
    var first_area: Int
    """The index of the first area of `ServerConfig.metrics`; 0 without
    metrics."""
    var watchdog: Optional[Watchdog]
    """Asks them whether they turn, if systemd wants signs of life."""

    def __init__(out self):
        """Creates the parts before any of them is open."""
        self.line_queue = None
        self.access_log = None
        self.abort_line = None
        self.barrier = None
        self.first_area = 0
        self.watchdog = None


struct ServePlan(Movable):
    """The state that the workers of one `serve` share; they only read it."""

    var config: ServerConfig
    """The limits."""
    var run: FiberFunction
    """Runs the handler of an exchange."""
    var registry: ServerRegistry
    """Watches and stops the server."""
    var pin: Bool
    """Whether each worker keeps to one CPU."""
    var supervised: Bool
    """Whether each worker is a process of its own."""
    var handlers: List[Erased]
    """One handler for each worker."""
    var listeners: List[PlannedListener]
    """The sockets from which the workers accept."""
    var parts: ProcessParts
    """Parts that the workers of this process share while they run."""
    var orders: Int32
    """The descriptor from which orders are read; -1 if there is none."""
    var first_worker: Int
    """The worker on the calling thread, which obeys the orders."""
    var announces: Bool
    """Whether that worker logs the addresses of the server."""
    var began: def(Int32) thin -> None
    """Called with `orders` when the first worker's loop starts."""
    var problem: Int
    """The negated errno if no worker could serve, or 0. It is read after all
    workers have ended.
    """

    def __init__(
        out self,
        config: ServerConfig,
        run: FiberFunction,
        registry: ServerRegistry,
        *,
        pin: Bool,
        supervised: Bool,
    ):
        """Creates a plan without handlers and sockets.

        Args:
            config: The limits.
            run: Runs the handler of an exchange.
            registry: Knows the workers.
            pin: Whether each worker keeps to one CPU.
            supervised: Whether each worker is a process of its own.
        """
        self.config = config.copy()
        self.run = run
        self.registry = registry.copy()
        self.pin = pin
        self.supervised = supervised
        self.handlers = List[Erased]()
        self.listeners = List[PlannedListener]()
        self.parts = ProcessParts()
        self.orders = -1
        self.first_worker = 0
        self.announces = True
        self.began = _nothing
        self.problem = 0

    def worker_count(self) -> Int:
        """Returns the number of workers.

        Returns:
            The number.
        """
        return len(self.handlers)


def run_workers(plan: PointerTo[ServePlan]) raises:
    """Runs all workers on threads of this process, until the server stops.

    Args:
        plan: The shared state.

    Raises:
        NetError: If a worker cannot start.

        An error `http.no_thread` if no thread for a log can be started, and
        `http.no_access_log` if the file of the access log cannot be opened.
    """
    var orders = Optional[OrderSocket](None)
    if plan[].config.handle_signals:
        orders = OrderSocket.open(catches_signals=True)
        if orders:
            plan[].orders = orders.value().reader
    try:
        var problem = _begin(plan)
        if problem == -ENOMEM:
            raise Error("http.no_thread for a log")
        if problem < 0:
            raise Error("http.no_access_log ", errno_name(-problem))
        Scheduler.start(
            plan[].worker_count(),
            plan[].pin,
            _run_worker,
            plan.unsafe_bitcast[NoneType](),
        )
    finally:
        _end(plan)
        if orders:
            orders.value().close()
    if plan[].problem < 0:
        raise Error(NetError.from_errno("serve", plan[].problem))


def run_one_worker(plan: PointerTo[ServePlan], index: Int) -> Int:
    """Runs one worker in a process of its own, until the server stops.

    Args:
        plan: The shared state.
        index: The worker's number.

    Returns:
        0, or the negated errno if it could not start.
    """
    plan[].first_worker = index
    if plan[].pin:
        var cpus = allowed_cpus()
        # A sandbox may forbid it; the worker is as right on any CPU.
        _ = pin_to_cpu(cpus[index % len(cpus)])
    var problem = _begin(plan)
    if problem < 0:
        return problem
    _run_worker(plan.unsafe_bitcast[NoneType](), index)
    _end(plan)
    return plan[].problem


def _begin(plan: PointerTo[ServePlan]) -> Int:
    # Returns 0, or the negated errno.
    var count = 1 if plan[].supervised else plan[].worker_count()
    plan[].parts.barrier = StartBarrier.create(count)
    if not plan[].supervised:
        plan[].parts.watchdog = Watchdog.create(
            plan[].registry.service.socket(), plan[].registry, count
        )
    # A program that keeps its signals to itself keeps those of faults too.
    if plan[].config.handle_signals:
        plan[].parts.abort_line = AbortLine.open(
            plan[].worker_count(), supervised=plan[].supervised
        )
    var names = List[String](capacity=count)
    for i in range(count):
        names.append(String("worker ", plan[].first_worker + i))
    plan[].parts.line_queue = LineQueue.begin(plan[].config.log.write, names^)
    if not plan[].parts.line_queue:
        return -ENOMEM
    if plan[].config.access_log:
        return _begin_access_log(plan, count)
    return 0


def _begin_access_log(plan: PointerTo[ServePlan], workers: Int) -> Int:
    ref log = plan[].config.access_log.value()
    var functions = log.functions()
    var queue = functions.begin(log.options, workers)
    if queue < 0:
        return queue
    plan[].parts.access_log = RunningAccessLog(
        functions,
        Erased(unsafe_from_address=queue),
        log.options.format.fields().has(AccessFields.REQUEST_ID),
    )
    return 0


def _end(plan: PointerTo[ServePlan]):
    if plan[].parts.barrier:
        plan[].parts.barrier.value().destroy()
        plan[].parts.barrier = None
    if plan[].parts.watchdog:
        plan[].parts.watchdog.value().destroy()
        plan[].parts.watchdog = None
    if plan[].parts.access_log:
        plan[].parts.access_log.value().end()
        plan[].parts.access_log = None
    if plan[].parts.line_queue:
        plan[].parts.line_queue.value().end()
        plan[].parts.line_queue = None
    if plan[].parts.abort_line:
        plan[].parts.abort_line.value().close()
        plan[].parts.abort_line = None


def _run_worker(argument: Erased, index: Int):
    var plan = argument.unsafe_bitcast[ServePlan]()
    var opened = open_reactor(
        ReactorConfig(
            backend=plan[].config.backend,
            receive_buffers_max=plan[].config.max_receive_buffers,
        )
    )
    if not opened[1]:
        plan[].problem = plan[].parts.barrier.value().arrive(opened[0])
        return
    var worker = _make_worker(plan, opened[1].value(), index)
    var problem = worker.prepare()
    var is_first = index == plan[].first_worker
    if problem >= 0 and not is_first:
        # Before the barrier: the first worker waits for those that have
        # entered, and may stop before this thread runs again.
        plan[].registry.enter(worker)
    problem = plan[].parts.barrier.value().arrive(problem)
    if problem < 0:
        plan[].problem = problem
        plan[].registry.leave(worker)
        worker.destroy()
        return
    var stack = AlternateStack.install()
    if plan[].parts.abort_line:
        plan[].parts.abort_line.value().enter(worker.state)
    if is_first:
        _run_first(plan, worker, opened[0])
    else:
        worker.run()
    if plan[].parts.abort_line:
        plan[].parts.abort_line.value().leave(worker.state)
    stack.remove()
    plan[].registry.leave(worker)
    if plan[].parts.watchdog:
        plan[].parts.watchdog.value().leave(index)
    worker.end_fibers()
    worker.state[].reactor.state[].outlets.end()
    # The end of a process frees all, and cannot wait for a lock of the
    # allocator that some thread held when the process was forked.
    if not plan[].supervised:
        worker.destroy()
        WorkerStatistics.forget_present(plan[].registry.counters(index))


def _make_worker(
    plan: PointerTo[ServePlan], reactor: Reactor, index: Int
) -> Worker:
    var worker = Worker(
        heap_create(
            WorkerState(
                reactor,
                plan[].config,
                index,
                plan[].registry.counters(index),
                plan[].run,
                plan[].handlers[index],
                exchange_functions(),
            )
        )
    )
    var place = 0 if plan[].supervised else index
    if plan[].parts.access_log:
        worker.state[].records.access = (
            plan[].parts.access_log.value().feed(place)
        )
    if plan[].config.metrics.is_chosen():
        _count_requests(plan, worker, index)
    if plan[].parts.line_queue:
        reactor.state[].outlets.lines = (
            plan[].parts.line_queue.value().ring(place)
        )
    worker.state[].accepting.ask_for_room = _ask_for_room
    worker.state[].accepting.peers = plan.unsafe_bitcast[NoneType]()
    _listen(plan, worker, index)
    return worker


@always_inline
def _count_requests(plan: PointerTo[ServePlan], worker: Worker, index: Int):
    var metrics = plan[].config.metrics.functions()
    var recorder = metrics[].enter(
        metrics[].owner,
        MetricsEntry(
            worker.state[].reactor,
            worker.state[].statistics,
            plan[].parts.first_area,
            index,
            plan[].worker_count(),
            plan[].supervised,
        ),
    )
    worker.state[].records.recorder = Int(recorder)


def _ask_for_room(plan: Erased, worker: Erased):
    plan.unsafe_bitcast[ServePlan]()[].registry.ask_for_room(
        worker.unsafe_bitcast[WorkerState]()
    )


def _run_first(plan: PointerTo[ServePlan], worker: Worker, passed_over: Int):
    if plan[].announces:
        _announce(plan, passed_over, worker)
    var watch = Optional[OrderWatch](None)
    if plan[].orders >= 0:
        watch = OrderWatch.begin(worker, plan[].orders, plan[].registry)
        plan[].began(plan[].orders)
    plan[].registry.enter(worker)
    plan[].registry.listening.report_ready()
    if not plan[].supervised:
        plan[].registry.service.say_ready()
    if plan[].parts.watchdog:
        plan[].parts.watchdog.value().begin(worker.state[].reactor)
    worker.run()
    if watch:
        # The second order must reach the workers that still finish.
        while plan[].registry.running_workers() > 1:
            worker.state[].reactor.turn(_LAST_WORKERS_MS)
        watch.value().end()
    if plan[].parts.watchdog:
        plan[].parts.watchdog.value().end()


def _listen(plan: PointerTo[ServePlan], worker: Worker, index: Int):
    for i in range(len(plan[].listeners)):
        ref listener = plan[].listeners[i]
        worker.listen(
            listener.descriptor(index),
            listener.tls,
            is_shared=listener.is_shared,
            is_lent=listener.is_lent,
            protocols=listener.protocols,
        )


def _announce(plan: PointerTo[ServePlan], passed_over: Int, worker: Worker):
    var kind = worker.state[].reactor.backend_kind()
    var line = String("flare: listening on")
    for address in plan[].registry.listening.addresses():
        line.write(" ", address)
    line.write(
        ", ",
        plan[].worker_count(),
        " worker" if plan[].worker_count() == 1 else " workers",
        " on ",
        kind,
    )
    if passed_over < 0:
        line.write(" (io_uring: ", errno_name(-passed_over), ")")
    if plan[].supervised:
        line.write(", supervised")
    log_line(worker.state, line)


def _nothing(orders: Int32):
    pass

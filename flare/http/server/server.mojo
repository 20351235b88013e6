"""Opens a server's sockets and runs its workers."""

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.http.exchange import ExchangeState
from flare.http.handler import FnHandler, Handler, HandlerFunction
from flare.http.request import Request
from flare.http.response import Response
from flare.net import NetError, RawSocket, SocketAddr
from flare.runtime.backend import BackendKind
from flare.runtime.fiber import FiberFunction
from flare.runtime.reactor import ReactorConfig
from flare.runtime.scheduler import Scheduler
from flare.runtime.start import open_reactor
from flare.sys.errno import errno_name
from flare.sys.limits import raise_descriptor_limit

from .access_queue import AccessQueue
from .config import ServerConfig
from .connection import exchange_functions
from .handle import ServerHandle
from .respond import run_comptime_handler, run_handler
from .signals import SignalWatch
from .worker import Worker
from .worker_state import WorkerState

comptime _WORKERS_MAX = 256
# How often the first worker looks whether the others have ended.
comptime _LAST_WORKERS_MS = 10


struct HttpServer(Movable):
    """Answers HTTP requests on one or more addresses.

    The sockets are open from `bind` on: connections wait in the listen queue
    until `serve`, and the server may serve again after it was stopped.
    """

    var _config: ServerConfig
    var _listeners: List[RawSocket]
    var _handle: ServerHandle

    def __init__(
        out self,
        *,
        var config: ServerConfig,
        var listeners: List[RawSocket],
        var addresses: List[SocketAddr],
    ):
        """Joins the parts; `bind` is the way to make a server.

        Args:
            config: The limits.
            listeners: Listening sockets.
            addresses: Their addresses.
        """
        self._config = config^
        self._listeners = listeners^
        self._handle = ServerHandle(addresses^)

    @staticmethod
    def bind(
        address: SocketAddr, var config: ServerConfig = ServerConfig()
    ) raises -> Self:
        """Opens the listening socket.

        Args:
            address: Where to listen; port 0 lets the kernel choose.
            config: The limits.

        Returns:
            The server.

        Raises:
            NetError: If the address is in use or cannot be had.
            An error `http.bad_config` that names the field.
        """
        return Self.bind_many([address], config^)

    @staticmethod
    def bind_many(
        addresses: List[SocketAddr],
        var config: ServerConfig = ServerConfig(),
    ) raises -> Self:
        """Opens a listening socket on each of several addresses.

        Args:
            addresses: Where to listen; at least one.
            config: The limits.

        Returns:
            The server.

        Raises:
            NetError: If an address is in use or cannot be had.
            An error `http.bad_config` that names the field, or
            `http.no_address`.
        """
        var problem = config.first_problem()
        if problem:
            raise Error("http.bad_config ", problem.value())
        if len(addresses) == 0:
            raise Error("http.no_address to listen on")
        var listeners = List[RawSocket]()
        var bound = List[SocketAddr]()
        for address in addresses:
            var socket = _listen(address, config.listen_backlog, False)
            bound.append(socket.local_address())
            listeners.append(socket^)
        return Self(config=config^, listeners=listeners^, addresses=bound^)

    def local_address(self) -> SocketAddr:
        """Tells where the server listens.

        Returns:
            Its first address, with the port that the kernel chose.
        """
        return self._handle.local_address()

    def handle(self) -> ServerHandle:
        """Makes a handle, with which any thread can watch and stop the server.

        Returns:
            The handle; it may outlive the server.
        """
        return self._handle.copy()

    def serve(
        self,
        handler: HandlerFunction,
        *,
        num_workers: Int = 1,
        pin_cores: Bool = True,
    ) raises:
        """Answers requests with a function until the server is stopped.

        Args:
            handler: What answers.
            num_workers: How many threads serve, 1 to 256; the calling thread
                is the first of them.
            pin_cores: Whether each of several workers keeps to one of the CPUs
                that the process may use.

        Raises:
            NetError: If a worker cannot start.
            An error `http.bad_workers` if the number is out of bounds.
        """
        self.serve(
            FnHandler(handler), num_workers=num_workers, pin_cores=pin_cores
        )

    def serve[
        H: Handler
    ](
        self,
        var handler: H,
        *,
        num_workers: Int = 1,
        pin_cores: Bool = True,
    ) raises:
        """Answers requests with a handler until the server is stopped.

        Parameters:
            H: The type of the handler.

        Args:
            handler: What answers; each worker has a copy of its own.
            num_workers: How many threads serve, 1 to 256; the calling thread
                is the first of them.
            pin_cores: Whether each of several workers keeps to one of the CPUs
                that the process may use.

        Raises:
            NetError: If a worker cannot start.
            An error `http.bad_workers` if the number is out of bounds.
        """
        if num_workers < 1 or num_workers > _WORKERS_MAX:
            raise Error("http.bad_workers must be 1 to 256: ", num_workers)
        var handlers = List[PointerTo[H]]()
        for _ in range(num_workers - 1):
            handlers.append(heap_create(handler.copy()))
        handlers.append(heap_create(handler^))
        var plan = _Plan(self._config, run_handler[H], self._handle)
        for own in handlers:
            plan.handlers.append(own.unsafe_bitcast[NoneType]())
        try:
            self._run(plan^, pin_cores and num_workers > 1)
        finally:
            for own in handlers:
                heap_destroy(own)

    def serve_comptime[
        H: Handler, //, handler: H, config: ServerConfig
    ](self, *, num_workers: Int = 1, pin_cores: Bool = True) raises:
        """Answers requests with a handler that is known when building.

        The call of the handler is direct, and a configuration that contradicts
        itself fails the build with a message that names the field. The
        configuration replaces the one given to `bind`.

        Parameters:
            H: The type of the handler.
            handler: What answers.
            config: The limits.

        Args:
            num_workers: How many threads serve, 1 to 256.
            pin_cores: Whether each of several workers keeps to one CPU.

        Raises:
            NetError: If a worker cannot start.
            An error `http.bad_workers` if the number is out of bounds.
        """
        comptime assert not config.first_problem(), _problem_text(config)
        if num_workers < 1 or num_workers > _WORKERS_MAX:
            raise Error("http.bad_workers must be 1 to 256: ", num_workers)
        var plan = _Plan(
            materialize[config](),
            run_comptime_handler[handler],
            self._handle,
        )
        for _ in range(num_workers):
            plan.handlers.append(Erased(unsafe_from_address=64))
        self._run(plan^, pin_cores and num_workers > 1)

    def _run(self, var plan: _Plan, pin: Bool) raises:
        _ = raise_descriptor_limit()
        var shared = heap_create(plan^)
        try:
            self._open_listeners(shared)
            if shared[].config.handle_signals:
                shared[].signals = SignalWatch.open(self._handle)
            var access_log = shared[].config.access_log
            if access_log:
                shared[].access_queue = AccessQueue.begin(
                    access_log.value(), len(shared[].handlers)
                )
                if not shared[].access_queue:
                    raise Error("http.no_thread for the access log")
            Scheduler.start(
                len(shared[].handlers),
                pin,
                _run_worker,
                shared.unsafe_bitcast[NoneType](),
            )
            var problem = shared[].problem
            if problem < 0:
                raise Error(NetError.from_errno("serve", problem))
        finally:
            if shared[].signals:
                shared[].signals.value().close()
            if shared[].access_queue:
                shared[].access_queue.value().end()
            heap_destroy(shared)
            self._handle.finish()

    def _open_listeners(self, plan: PointerTo[_Plan]) raises:
        for _ in range(1, len(plan[].handlers)):
            for address in self._handle.local_addresses():
                plan[].listeners.append(
                    _listen(address, plan[].config.listen_backlog, True)
                )
        for i in range(len(self._listeners)):
            plan[].first_listeners.append(self._listeners[i].descriptor())


struct _Plan(Movable):
    """Holds what the workers of one `serve` share; they only read it."""

    var config: ServerConfig
    var run: FiberFunction
    var handle: ServerHandle
    var handlers: List[Erased]
    var first_listeners: List[Int32]
    var listeners: List[RawSocket]
    var access_queue: Optional[AccessQueue]
    # Written by a worker that cannot start, read when all have ended.
    var problem: Int
    var signals: Optional[SignalWatch]

    def __init__(
        out self,
        config: ServerConfig,
        run: FiberFunction,
        handle: ServerHandle,
    ):
        self.config = config.copy()
        self.run = run
        self.handle = handle.copy()
        self.handlers = List[Erased]()
        self.first_listeners = List[Int32]()
        self.listeners = List[RawSocket]()
        self.access_queue = None
        self.problem = 0
        self.signals = None


def _problem_text(config: ServerConfig) -> String:
    var problem = config.first_problem()
    return String(problem.value()) if problem else String()


def _listen(
    address: SocketAddr, backlog: Int, shared: Bool
) raises -> RawSocket:
    var socket = (
        RawSocket.tcp_v6() if address.ip.is_v6() else RawSocket.tcp_v4()
    )
    socket.set_reuse_address(True)
    socket.set_reuse_port(shared)
    socket.bind(address)
    # Set after the first bind, it makes a second server fail to bind, and yet
    # lets the sockets of our own other workers share the port.
    socket.set_reuse_port(True)
    # Accepted sockets inherit it.
    socket.set_no_delay(True)
    socket.listen(backlog)
    return socket^


def _run_worker(argument: Erased, index: Int):
    var plan = argument.unsafe_bitcast[_Plan]()
    var opened = open_reactor(ReactorConfig(backend=plan[].config.backend))
    if not opened[1]:
        plan[].problem = opened[0]
        plan[].handle.shutdown()
        return
    var reactor = opened[1].value()
    var worker = Worker(
        heap_create(
            WorkerState(
                reactor,
                plan[].config,
                index,
                plan[].handle.counters(index),
                plan[].run,
                plan[].handlers[index],
                exchange_functions(),
            )
        )
    )
    if plan[].access_queue:
        worker.state[].access_ring = plan[].access_queue.value().ring(index)
    var count = len(plan[].first_listeners)
    for i in range(count):
        if index == 0:
            worker.listen(plan[].first_listeners[i])
        else:
            worker.listen(
                plan[].listeners[(index - 1) * count + i].descriptor()
            )
    var watches = index == 0 and Bool(plan[].signals)
    if index == 0:
        _announce(plan, opened[0], worker)
    if watches:
        plan[].signals.value().begin(worker)
    plan[].handle.enter(worker)
    worker.run()
    if watches:
        # The second signal must reach the workers that still finish.
        while plan[].handle.running_workers() > 1:
            reactor.turn(_LAST_WORKERS_MS)
        plan[].signals.value().end()
    plan[].handle.leave(worker)
    worker.destroy()


def _announce(plan: PointerTo[_Plan], passed_over: Int, worker: Worker):
    var kind = worker.state[].reactor.backend_kind()
    var line = String("flare: listening on")
    for address in plan[].handle.local_addresses():
        line.write(" ", address)
    line.write(
        ", ",
        len(plan[].handlers),
        " worker" if len(plan[].handlers) == 1 else " workers",
        " on ",
        kind,
    )
    if passed_over < 0:
        line.write(" (io_uring: ", errno_name(-passed_over), ")")
    plan[].config.log.line(line)

"""Opens a server's sockets and runs its workers."""

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.http.handler import FnHandler, Handler, HandlerFunction
from flare.net import RawSocket, SocketAddr
from flare.sys.limits import raise_descriptor_limit

from .config import ServerConfig
from .handle import ServerHandle
from .plan import ServePlan, run_workers
from .respond import run_comptime_handler, run_handler
from .supervise import supervise_workers

comptime _WORKERS_MAX = 256


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
        supervise: Bool = False,
    ) raises:
        """Answers requests with a function until the server is stopped.

        Args:
            handler: What answers.
            num_workers: How many threads serve, 1 to 256; the calling thread
                is the first of them.
            pin_cores: Whether each of several workers keeps to one of the CPUs
                that the process may use.
            supervise: Whether each worker is a process of its own, which is
                started again when it dies.

        Raises:
            NetError: If a worker cannot start.
            An error `http.bad_workers` if the number is out of bounds.
            An error `http.worker_died` if a supervised worker died five times
            and never served, or `http.no_descriptor` to supervise with.
        """
        self.serve(
            FnHandler(handler),
            num_workers=num_workers,
            pin_cores=pin_cores,
            supervise=supervise,
        )

    def serve[
        H: Handler
    ](
        self,
        var handler: H,
        *,
        num_workers: Int = 1,
        pin_cores: Bool = True,
        supervise: Bool = False,
    ) raises:
        """Answers requests with a handler until the server is stopped.

        Under `supervise` the calling process answers nothing. It holds the
        listening sockets, forks a process for each worker, and forks another
        one when a worker dies: only the connections of that worker are lost,
        and those that wait for it in the listen queue are answered by the next
        one. What handlers share (`Shared`, the state of an `App`) is then
        shared within a worker only, and a new process begins with what it was
        when `serve` was called. Other threads of the calling process should
        wait while it serves: a forked process has none of them, but the locks
        that they held, such as the allocator's.

        Parameters:
            H: The type of the handler.

        Args:
            handler: What answers; each worker has a copy of its own.
            num_workers: How many threads serve, 1 to 256; the calling thread
                is the first of them.
            pin_cores: Whether each of several workers keeps to one of the CPUs
                that the process may use.
            supervise: Whether each worker is a process of its own, which is
                started again when it dies.

        Raises:
            NetError: If a worker cannot start.
            An error `http.bad_workers` if the number is out of bounds.
            An error `http.worker_died` if a supervised worker died five times
            and never served, or `http.no_descriptor` to supervise with.
        """
        if num_workers < 1 or num_workers > _WORKERS_MAX:
            raise Error("http.bad_workers must be 1 to 256: ", num_workers)
        var handlers = List[PointerTo[H]]()
        for _ in range(num_workers - 1):
            handlers.append(heap_create(handler.copy()))
        handlers.append(heap_create(handler^))
        var plan = ServePlan(
            self._config,
            run_handler[H],
            self._handle,
            pin=pin_cores and num_workers > 1,
            supervised=supervise,
        )
        for own in handlers:
            plan.handlers.append(own.unsafe_bitcast[NoneType]())
        try:
            self._run(plan^)
        finally:
            for own in handlers:
                heap_destroy(own)

    def serve_comptime[
        H: Handler, //, handler: H, config: ServerConfig
    ](
        self,
        *,
        num_workers: Int = 1,
        pin_cores: Bool = True,
        supervise: Bool = False,
    ) raises:
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
            supervise: Whether each worker is a process of its own, which is
                started again when it dies; see `serve`.

        Raises:
            NetError: If a worker cannot start.
            An error `http.bad_workers` if the number is out of bounds.
            An error `http.worker_died` if a supervised worker died five times
            and never served, or `http.no_descriptor` to supervise with.
        """
        comptime assert not config.first_problem(), _problem_text(config)
        if num_workers < 1 or num_workers > _WORKERS_MAX:
            raise Error("http.bad_workers must be 1 to 256: ", num_workers)
        var plan = ServePlan(
            materialize[config](),
            run_comptime_handler[handler],
            self._handle,
            pin=pin_cores and num_workers > 1,
            supervised=supervise,
        )
        for _ in range(num_workers):
            plan.handlers.append(Erased(unsafe_from_address=64))
        self._run(plan^)

    def _run(self, var plan: ServePlan) raises:
        _ = raise_descriptor_limit()
        var shared = heap_create(plan^)
        try:
            self._open_listeners(shared)
            if shared[].supervised:
                supervise_workers(shared)
            else:
                run_workers(shared)
        finally:
            heap_destroy(shared)
            self._handle.finish()

    def _open_listeners(self, plan: PointerTo[ServePlan]) raises:
        for _ in range(1, plan[].worker_count()):
            for address in self._handle.local_addresses():
                plan[].listeners.append(
                    _listen(address, plan[].config.listen_backlog, True)
                )
        for i in range(len(self._listeners)):
            plan[].first_listeners.append(self._listeners[i].descriptor())


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

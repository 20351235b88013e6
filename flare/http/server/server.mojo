"""Opens a server's sockets and runs its workers."""

from flare.core import Erased
from flare.http.app import check_state_is_given
from flare.http.endpoint import Endpoint
from flare.http.handler import (
    FnHandler,
    Handler,
    HandlerFunction,
    NoHandler,
)
from flare.http.stream_address import StreamAddr
from flare.net import SocketAddr
from flare.sys.driver import CALLS_DRIVER, text_view
from flare.tls import TlsServerConfig
from flare.unix.socket_file import MODE_DEFAULT

from .config import ServerConfig
from .exchange.respond import run_comptime_handler
from .listening.listener import Listener
from .process.handle import ServerHandle
from .process.notify_socket import NotifySocket
from .process.server_state import (
    WorkerOptions,
    add_listener,
    make_plan,
    run_plan,
)
from .server_functions import Server
from .serving import (
    add,
    bind_addresses,
    bind_text,
    check_config,
    check_tls_driver,
    close_server,
    listen,
    local_address,
    open_server,
    serve_endpoint,
    serve_handler,
)


struct HttpServer(Movable):
    """An HTTP server on one or more addresses.

    The sockets are open from `bind` on: clients wait in the listen queue until
    `serve`. After it was stopped, the server can serve again.
    """

    var _state: Server

    def __init__(out self, *, var config: ServerConfig):
        """Creates a server that does not listen yet; `bind` is the usual way.

        Args:
            config: The limits.
        """
        self._state = open_server(config^)

    def __init__(out self, *, unsafe_state: Server):
        """Takes ownership of a server.

        Args:
            unsafe_state: The server.

        Safety:
            No other code frees it.
        """
        self._state = unsafe_state

    def __deinit__(deinit self):
        """Removes the paths and closes the sockets."""
        close_server(self._state)

    @staticmethod
    def bind(
        address: SocketAddr, var config: ServerConfig = ServerConfig()
    ) raises -> Self:
        """Opens the listening socket.

        Args:
            address: The address to listen at; port 0 lets the kernel choose.
            config: The limits.

        Returns:
            The server.

        Raises:
            NetError: If the address is in use or not available.

            An error `http.bad_config` with the name of the field.
        """
        return Self.bind_many([address], config^)

    @staticmethod
    def bind(
        text: StringSlice,
        var config: ServerConfig = ServerConfig(),
        *,
        mode: Int = MODE_DEFAULT,
    ) raises -> Self:
        """Opens the listening socket, TCP or Unix.

        Args:
            text: `127.0.0.1:80`, `[::1]:80`, `unix:/run/app.sock`, or `unix:@`
                and an abstract name.
            config: The limits.
            mode: The permissions of a path: users who may write to it may
                connect. By default, only this process's user may.

        Returns:
            The server.

        Raises:
            NetError: `net.bad_address parse`, or if the address is in use or
                not available.

            An error `http.bad_config` with the name of the field.
        """
        return Self(
            unsafe_state=bind_text(text_view(text), config^, mode, None)
        )

    @unavailable("write HttpServer.bind(SocketAddr.localhost(8080))")
    @staticmethod
    def bind(port: Int) -> Self:
        """Fails the build for a port without an address.

        Args:
            port: The port.

        Returns:
            Never.
        """
        ...

    @staticmethod
    def bind_many(
        addresses: List[SocketAddr],
        var config: ServerConfig = ServerConfig(),
    ) raises -> Self:
        """Opens a listening socket on each of several addresses.

        Args:
            addresses: The addresses to listen at; at least one.
            config: The limits.

        Returns:
            The server.

        Raises:
            NetError: If an address is in use or not available.

            An error `http.bad_config` with the name of the field, or
            `http.no_address`.
        """
        return Self(unsafe_state=bind_addresses(addresses, config^, None))

    @staticmethod
    def bind_tls(
        address: SocketAddr,
        var tls: TlsServerConfig,
        var config: ServerConfig = ServerConfig(),
    ) raises -> Self:
        """Opens a listening socket whose connections speak TLS (HTTPS).

        Args:
            address: The address to listen at; port 0 lets the kernel choose.
            tls: The TLS configuration: certificates and requirements.
            config: The limits.

        Returns:
            The server.

        Raises:
            NetError: If the address is in use or not available.

            An error `http.bad_config` with the name of the field, or an error
            of `TlsContext.for_servers`.
        """
        check_tls_driver()
        return Self(unsafe_state=bind_addresses([address], config^, tls^))

    @staticmethod
    def bind_tls(
        text: StringSlice,
        var tls: TlsServerConfig,
        var config: ServerConfig = ServerConfig(),
        *,
        mode: Int = MODE_DEFAULT,
    ) raises -> Self:
        """Opens a listening socket, TCP or Unix, whose connections speak TLS.

        Args:
            text: As for `bind`.
            tls: The TLS configuration: certificates and requirements.
            config: The limits.
            mode: As for `bind`.

        Returns:
            The server.

        Raises:
            NetError: If the address is in use or not available.

            An error `http.bad_config` with the name of the field, or an error
            of `TlsContext.for_servers`.
        """
        check_tls_driver()
        return Self(
            unsafe_state=bind_text(text_view(text), config^, mode, tls^)
        )

    @staticmethod
    def with_listeners(
        var listeners: List[Listener],
        var config: ServerConfig = ServerConfig(),
    ) raises -> Self:
        """Creates a server from sockets that already listen.

        Args:
            listeners: The sockets; at least one.
            config: The limits.

        Returns:
            The server.

        Raises:
            An error `http.bad_config` with the name of the field, or
            `http.no_address`.
        """
        check_config(config)
        if len(listeners) == 0:
            raise Error("http.no_address to listen on")
        var server = Self(config=config^)
        while len(listeners) > 0:
            server.add(listeners.pop(0))
        return server^

    def add(mut self, var listener: Listener):
        """Adds a listening socket. Call it before `serve`.

        Args:
            listener: The socket.
        """
        add_listener(self._state, listener^, None)

    def add_tls(
        mut self, var listener: Listener, var tls: TlsServerConfig
    ) raises:
        """Adds a listening socket whose connections speak TLS. Call it before
        `serve`.

        Args:
            listener: The socket.
            tls: The TLS configuration: certificates and requirements.

        Raises:
            An error of `TlsContext.for_servers`.
        """
        check_tls_driver()
        add(self._state, listener^, tls^)

    def listen(mut self, address: SocketAddr) raises:
        """Opens one more listening socket, without TLS. Call it before
        `serve`.

        Args:
            address: The address to listen at; port 0 lets the kernel choose.

        Raises:
            NetError: If the address is in use or not available.
        """
        listen(self._state, address, None)

    def listen_tls(
        mut self, address: SocketAddr, var tls: TlsServerConfig
    ) raises:
        """Opens one more listening socket, with TLS. Call it before `serve`.

        Args:
            address: The address to listen at; port 0 lets the kernel choose.
            tls: The TLS configuration: certificates and requirements.

        Raises:
            NetError: If the address is in use or not available.

            An error of `TlsContext.for_servers`.
        """
        check_tls_driver()
        listen(self._state, address, tls^)

    def notify(mut self, socket: NotifySocket):
        """Enables notifications to systemd about the server. Call it before
        `serve`.

        The server sends READY=1 when all workers serve, and STOPPING=1 when it
        starts to stop. `hand_over` sends MAINPID with the process that takes
        over.

        If the unit has a `WatchdogSec=`, the server sends WATCHDOG=1 four
        times in that period, as long as every worker turns its loop. It stops
        doing so if a worker has not turned for three quarters of the period.
        Under `supervise`, the server then ends that worker and starts another
        one.

        Args:
            socket: The socket, from `NotifySocket.from_systemd`.
        """
        self._state[].registry.service.set_socket(socket)

    def local_address(self) raises -> SocketAddr:
        """Returns the first address of the server.

        Returns:
            The address, with the port that the kernel chose.

        Raises:
            Error: `net.unsupported address` if it is a Unix socket; see
                `local_addresses`.
        """
        return local_address(self._state)

    def local_addresses(self) -> List[StreamAddr]:
        """Returns all addresses of the server.

        Returns:
            The addresses, in the order in which they were added.
        """
        return self._state[].registry.listening.addresses()

    def handle(self) -> ServerHandle:
        """Returns a handle with which any thread can watch and stop the
        server.

        Returns:
            The handle; it may outlive the server.
        """
        return ServerHandle(self._state[].registry)

    def serve(
        self,
        handler: HandlerFunction,
        *,
        num_workers: Int = 1,
        pin_cores: Bool = True,
        supervise: Bool = False,
    ) raises:
        """Serves requests with a function until the server is stopped.

        Args:
            handler: The handler function.
            num_workers: The number of threads, 1 to 256; the calling thread is
                the first.
            pin_cores: Whether each of several workers runs on one CPU only.
            supervise: Whether each worker is a process of its own, which is
                restarted if it dies.

        Raises:
            NetError: If a worker cannot start.

            An error `http.bad_workers` if the number is out of bounds.

            An error `http.worker_died` if a supervised worker died five times
            before it served. An error `http.no_descriptor` if the supervisor
            lacks a descriptor. An error `http.handed_over` after `hand_over`.
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
        """Serves requests with a handler until the server is stopped.

        Under `supervise`, the calling process answers no requests. It holds the
        listening sockets and forks a process for each worker. When a worker
        dies, the calling process forks another one. Only the dead worker's
        connections are lost: the next worker serves the clients in its listen
        queue. `Shared` values and the state of an `App` are then shared within
        one worker only. A new process starts with their values at the call of
        `serve`. Let other threads of the calling process wait meanwhile. A
        forked process lacks these threads, but keeps the locks that they held,
        such as the allocator's.

        Parameters:
            H: The type of the handler.

        Args:
            handler: The handler; each worker has its own copy.
            num_workers: The number of threads, 1 to 256; the calling thread is
                the first.
            pin_cores: Whether each of several workers runs on one CPU only.
            supervise: Whether each worker is a process of its own, which is
                restarted if it dies.

        Raises:
            NetError: If a worker cannot start.

            An error `http.bad_workers` if the number is out of bounds.

            An error `http.worker_died` if a supervised worker died five times
            before it served. An error `http.no_descriptor` if the supervisor
            lacks a descriptor. An error `http.handed_over` after `hand_over`.
        """
        check_state_is_given[H]()
        var options = WorkerOptions(num_workers, pin_cores, supervise)
        ref config = self._state[].config
        comptime if CALLS_DRIVER:
            serve_endpoint(self._state, config, Endpoint(handler^), options)
        else:
            serve_handler(self._state, config, handler^, options)

    @unavailable(
        "serve takes router^, an App, a type that conforms to Handler or"
        " 'def name(req: Request) raises -> Response'; for a function with"
        ' other parameters or another result write router.get("/", name)'
    )
    def serve(
        self,
        *handler: NoHandler,
        num_workers: Int = 1,
        pin_cores: Bool = True,
        supervise: Bool = False,
    ):
        """Fails the build for a value that is no handler.

        Args:
            handler: The value.
            num_workers: Not used.
            pin_cores: Not used.
            supervise: Not used.
        """
        ...

    def serve_comptime[
        H: Handler, //, handler: H, config: ServerConfig
    ](
        self,
        *,
        num_workers: Int = 1,
        pin_cores: Bool = True,
        supervise: Bool = False,
    ) raises:
        """Serves requests with a handler that is known at compile time.

        A configuration that is invalid fails the build, with a message that
        names the field. The configuration replaces the one given to `bind`.

        Parameters:
            H: The type of the handler.
            handler: The handler.
            config: The limits.

        Args:
            num_workers: The number of threads, 1 to 256.
            pin_cores: Whether each of several workers runs on one CPU only.
            supervise: Whether each worker is a process of its own, which is
                restarted if it dies; see `serve`.

        Raises:
            NetError: If a worker cannot start.

            An error `http.bad_workers` if the number is out of bounds.

            An error `http.worker_died` if a supervised worker died five times
            before it served. An error `http.no_descriptor` if the supervisor
            lacks a descriptor. An error `http.handed_over` after `hand_over`.
        """
        comptime assert not config.first_problem(), _problem_text(config)
        var options = WorkerOptions(num_workers, pin_cores, supervise)
        comptime if CALLS_DRIVER:
            var own = materialize[config]()
            var endpoint = Endpoint(materialize[handler]())
            serve_endpoint(self._state, own, endpoint^, options)
        else:
            var plan = make_plan(self._state, materialize[config](), options)
            plan.run = run_comptime_handler[handler]
            for _ in range(num_workers):
                plan.handlers.append(Erased(unsafe_from_address=64))
            run_plan(self._state, plan^)


def _problem_text(config: ServerConfig) -> String:
    var problem = config.first_problem()
    return String(problem.value()) if problem else String()

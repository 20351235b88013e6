"""Opens a server's sockets and runs its workers."""

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.http.handler import FnHandler, Handler, HandlerFunction
from flare.net import NetError, RawSocket, SocketAddr
from flare.runtime.fiber import FiberFunction
from flare.runtime.reactor import ReactorConfig
from flare.runtime.start import open_reactor

from .config import ServerConfig
from .connection import exchange_functions
from .statistics import WorkerStatistics
from .worker import Worker, run_handler
from .worker_state import WorkerState


struct HttpServer(Movable):
    """Answers HTTP requests on one address."""

    var _config: ServerConfig
    var _listener: RawSocket
    var _address: SocketAddr

    def __init__(
        out self,
        var config: ServerConfig,
        var listener: RawSocket,
        address: SocketAddr,
    ):
        self._config = config^
        self._listener = listener^
        self._address = address

    @staticmethod
    def bind(
        address: SocketAddr, var config: ServerConfig = ServerConfig()
    ) raises -> Self:
        """Opens the listening socket; connections wait until `serve`.

        Args:
            address: Where to listen; port 0 lets the kernel choose.
            config: The limits.

        Returns:
            The server.

        Raises:
            NetError: If the address is in use or cannot be had.
            An error `http.bad_config` that names the field.
        """
        var problem = config.first_problem()
        if problem:
            raise Error("http.bad_config ", problem.value())
        var socket = RawSocket.tcp_v6() if address.ip.is_v6() else RawSocket.tcp_v4()
        socket.set_reuse_address(True)
        socket.bind(address)
        # Set only now, it makes a second server fail above, and lets the
        # sockets of our own other workers share the port below.
        socket.set_reuse_port(True)
        socket.set_no_delay(True)
        socket.listen(config.listen_backlog)
        var bound = socket.local_address()
        return Self(config^, socket^, bound)

    def local_address(self) -> SocketAddr:
        """Tells where the server listens.

        Returns:
            The address, with the port that the kernel chose.
        """
        return self._address

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
            num_workers: How many threads serve, 1 to 256.
            pin_cores: Whether each worker keeps to one CPU.

        Raises:
            NetError: If a worker cannot start.
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
            handler: What answers; each worker gets a copy.
            num_workers: How many threads serve, 1 to 256.
            pin_cores: Whether each worker keeps to one CPU.

        Raises:
            NetError: If a worker cannot start.
        """
        var own = heap_create(handler^)
        self._run(run_handler[H], own.unsafe_bitcast[NoneType]())
        heap_destroy(own)

    def _run(self, run: FiberFunction, handler: Erased) raises:
        var opened = open_reactor(ReactorConfig(backend=self._config.backend))
        if not opened[1]:
            raise Error(NetError.from_errno("serve", opened[0]))
        var statistics = heap_create(WorkerStatistics())
        var worker = Worker(
            heap_create(
                WorkerState(
                    opened[1].value(),
                    self._config,
                    0,
                    self._listener.descriptor(),
                    statistics,
                    run,
                    handler,
                    exchange_functions(),
                )
            )
        )
        worker.run()
        worker.destroy()
        heap_destroy(statistics)

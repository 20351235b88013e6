"""Opens servers and runs them: the work of an `HttpServer`.

If the program calls a driver library, each function passes the call on to the
function of the same name there.
"""

from flare.core import PointerTo, heap_create, heap_destroy
from flare.http.endpoint import Endpoint
from flare.http.handler import Handler
from flare.http.request import Request
from flare.http.response import Response
from flare.net import SocketAddr
from flare.sys.driver import (
    CALLS_DRIVER,
    TextView,
    driver_tables,
    missing_driver,
)
from flare.tls import TlsServerConfig

from .config import ServerConfig
from .exchange.respond import run_handler
from .listening.listener import Listener
from .listening.protocols import HttpProtocols
from .listening.tls_listeners import TlsListenerState
from .process.server_state import (
    ServerState,
    WorkerOptions,
    add_listener,
    make_plan,
    run_plan,
)
from .server_functions import (
    Server,
    present_server_functions,
    server_functions,
)


struct ErasedHandler(Handler):
    """A handler of any type, as the driver library calls it."""

    var _endpoint: Endpoint

    def __init__(out self, var endpoint: Endpoint):
        """Creates a handler from an endpoint.

        Args:
            endpoint: The handler.
        """
        self._endpoint = endpoint^

    def serve(self, req: Request) raises -> Response:
        """Calls the handler.

        Args:
            req: The request.

        Returns:
            The handler's response.

        Raises:
            The handler's error.
        """
        return self._endpoint.serve(req._exchange)


def open_server(var config: ServerConfig) -> Server:
    """Creates a server that does not listen yet.

    Args:
        config: The limits.

    Returns:
        The server.
    """
    comptime if CALLS_DRIVER:
        return present_server_functions()[].open_server(config^)
    else:
        return heap_create(ServerState(config^))


def close_server(server: Server):
    """Removes the paths, closes the sockets and frees a server.

    Args:
        server: The server.
    """
    comptime if CALLS_DRIVER:
        present_server_functions()[].close_server(server)
    else:
        heap_destroy(server)


def bind_addresses(
    addresses: List[SocketAddr],
    var config: ServerConfig,
    tls: Optional[TlsServerConfig],
) raises -> Server:
    """Creates a server that listens on addresses.

    Args:
        addresses: The addresses; at least one.
        config: The limits.
        tls: The TLS configuration, if connections are encrypted.

    Returns:
        The server.

    Raises:
        NetError: If an address is in use or not available.

        An error `http.bad_config` with the name of the field, or
        `http.no_address`, or an error of `TlsContext.for_servers`.
    """
    comptime if CALLS_DRIVER:
        return server_functions()[].bind_addresses(addresses, config^, tls)
    else:
        check_config(config)
        if len(addresses) == 0:
            raise Error("http.no_address to listen on")
        var server = open_server(config^)
        try:
            for address in addresses:
                listen(server, address, tls.copy())
        except e:
            close_server(server)
            raise e^
        return server


def bind_text(
    text: TextView,
    var config: ServerConfig,
    mode: Int,
    var tls: Optional[TlsServerConfig],
) raises -> Server:
    """Creates a server that listens on the address of a text.

    Args:
        text: The address, TCP or Unix.
        config: The limits.
        mode: The permissions of a path.
        tls: The TLS configuration, if connections are encrypted.

    Returns:
        The server.

    Raises:
        NetError: If the address is malformed, in use or not available.

        An error `http.bad_config` with the name of the field, or an error of
        `TlsContext.for_servers`.
    """
    comptime if CALLS_DRIVER:
        return server_functions()[].bind_text(text, config^, mode, tls^)
    else:
        check_config(config)
        # Errors of the files show before any client can connect.
        var state = _tls_state(tls^)
        var listener = Listener.bind(
            text, mode=mode, backlog=config.listen_backlog
        )
        var server = open_server(config^)
        add_listener(server, listener^, state^)
        return server


def listen(
    server: Server, address: SocketAddr, var tls: Optional[TlsServerConfig]
) raises:
    """Opens one more listening socket.

    Args:
        server: The server, which does not run.
        address: The address.
        tls: The TLS configuration, if connections are encrypted.

    Raises:
        NetError: If the address is in use or not available.

        An error of `TlsContext.for_servers`.
    """
    comptime if CALLS_DRIVER:
        server_functions()[].listen(server, address, tls^)
    else:
        # Errors of the files show before any client can connect.
        var state = _tls_state(tls^)
        var backlog = server[].config.listen_backlog
        add_listener(server, Listener.bind(address, backlog=backlog), state^)


def add(
    server: Server, var listener: Listener, var tls: Optional[TlsServerConfig]
) raises:
    """Adds a listening socket.

    Args:
        server: The server, which does not run.
        listener: The socket.
        tls: The TLS configuration, if connections are encrypted.

    Raises:
        An error of `TlsContext.for_servers`.
    """
    comptime if CALLS_DRIVER:
        server_functions()[].add(server, listener^, tls^)
    else:
        var state = _tls_state(tls^, listener.protocols())
        add_listener(server, listener^, state^)


def local_address(server: Server) raises -> SocketAddr:
    """Returns the first address of a server.

    Args:
        server: The server.

    Returns:
        The address, with the port that the kernel chose.

    Raises:
        Error: `net.unsupported address` if it is a Unix socket.
    """
    comptime if CALLS_DRIVER:
        return server_functions()[].local_address(server)
    else:
        return server[].registry.listening.addresses()[0].socket_address()


def serve_endpoint(
    server: Server,
    config: ServerConfig,
    var endpoint: Endpoint,
    options: WorkerOptions,
) raises:
    """Serves requests with a handler until the server is stopped.

    Args:
        server: The server.
        config: The limits.
        endpoint: The handler; each worker has its own copy.
        options: How the workers run.

    Raises:
        The errors of `HttpServer.serve`.
    """
    comptime if CALLS_DRIVER:
        server_functions()[].serve(server, config, endpoint^, options)
    else:
        serve_handler(server, config, ErasedHandler(endpoint^), options)


def serve_handler[
    H: Handler
](
    server: Server,
    config: ServerConfig,
    var handler: H,
    options: WorkerOptions,
) raises:
    """Serves requests with a handler whose type the compiler knows.

    Parameters:
        H: The type of the handler.

    Args:
        server: The server.
        config: The limits.
        handler: The handler; each worker has its own copy.
        options: How the workers run.

    Raises:
        The errors of `HttpServer.serve`.
    """
    var plan = make_plan(server, config, options)
    plan.run = run_handler[H]
    var handlers = List[PointerTo[H]]()
    for _ in range(options.count - 1):
        handlers.append(heap_create(handler.copy()))
    handlers.append(heap_create(handler^))
    for own in handlers:
        plan.handlers.append(own.unsafe_bitcast[NoneType]())
    try:
        run_plan(server, plan^)
    finally:
        for own in handlers:
            heap_destroy(own)


def check_config(config: ServerConfig) raises:
    """Checks a configuration.

    Args:
        config: The configuration.

    Raises:
        An error `http.bad_config` with the name of the field.
    """
    var problem = config.first_problem()
    if problem:
        raise Error("http.bad_config ", problem.value())


def check_tls_driver() raises:
    """Checks that a server with TLS has its driver library, if it calls one.

    Raises:
        An error `tls.no_driver` if the library is missing. `tools/ship.py`
        finds its text in programs that need OpenSSL.
    """
    comptime if CALLS_DRIVER:
        if not driver_tables():
            raise Error("tls.no_driver ", missing_driver())
    else:
        pass


def _tls_state(
    var tls: Optional[TlsServerConfig],
    protocols: HttpProtocols = HttpProtocols.ALL,
) raises -> Optional[TlsListenerState]:
    if not tls:
        return None
    return TlsListenerState(tls.take(), protocols)

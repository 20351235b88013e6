"""Declares the functions of servers in the driver library: `serving` has them.
"""

from flare.core import PointerTo
from flare.http.endpoint import Endpoint
from flare.net import SocketAddr
from flare.sys.driver import (
    TextView,
    driver_tables,
    missing_driver,
    present_driver_tables,
)
from flare.tls import TlsServerConfig

from .config import ServerConfig
from .listening.listener import Listener
from .process.server_state import ServerState, WorkerOptions

comptime Server = PointerTo[ServerState]
"""A server."""


@fieldwise_init
struct ServerFunctions(Movable):
    """The functions of servers in the driver library."""

    var open_server: def(var ServerConfig) thin -> Server
    """Creates a server that does not listen yet."""
    var close_server: def(Server) thin -> None
    """Closes the sockets and frees a server."""
    var bind_addresses: def(
        List[SocketAddr], var ServerConfig, Optional[TlsServerConfig]
    ) raises thin -> Server
    """Creates a server that listens on addresses."""
    var bind_text: def(
        TextView, var ServerConfig, Int, var Optional[TlsServerConfig]
    ) raises thin -> Server
    """Creates a server that listens on the address of a text."""
    var listen: def(
        Server, SocketAddr, var Optional[TlsServerConfig]
    ) raises thin -> None
    """Opens one more listening socket."""
    var add: def(
        Server, var Listener, var Optional[TlsServerConfig]
    ) raises thin -> None
    """Adds a listening socket."""
    var local_address: def(Server) raises thin -> SocketAddr
    """Returns the first address."""
    var serve: def(
        Server, ServerConfig, var Endpoint, WorkerOptions
    ) raises thin -> None
    """Serves requests with a handler until the server is stopped."""


def server_functions() raises -> PointerTo[ServerFunctions]:
    """Finds the functions of servers in the driver library.

    Returns:
        The functions.

    Raises:
        An error `http.no_driver` if the library is missing.
    """
    var tables = driver_tables()
    if not tables:
        raise Error("http.no_driver ", missing_driver())
    return tables.value()[].server.unsafe_bitcast[ServerFunctions]()


def present_server_functions() -> PointerTo[ServerFunctions]:
    """Finds the functions of servers for callers that cannot raise.

    Returns:
        The functions; if the library is missing, the process ends.
    """
    return present_driver_tables()[].server.unsafe_bitcast[ServerFunctions]()

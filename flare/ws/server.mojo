"""Defines a server for WebSockets only."""

from flare.http.server.config import ServerConfig
from flare.http.server.process.handle import ServerHandle
from flare.http.server.server import HttpServer
from flare.net import SocketAddr

from .connection import WsConnection
from .handler import WebSocket, WsFunction
from .options import WsOptions, check_config


struct WsServer(Movable):
    """A server that answers every path with a WebSocket.

    It is an `HttpServer` with one handler, and has its limits. For routes, or
    for HTTP on the same port, give a `WebSocket` to a `Router`.
    """

    var _server: HttpServer
    var _options: WsOptions

    def __init__(
        out self, var server: HttpServer, var options: WsOptions
    ) raises:
        """Creates a server from one that listens already, for example with TLS.

        Args:
            server: The server.
            options: The limits and choices of the WebSockets.

        Raises:
            An error `ws.bad_config` with the field of the options that is out
            of its bounds.
        """
        check_config(options.first_problem())
        self._server = server^
        self._options = options^

    @staticmethod
    def bind(
        address: SocketAddr,
        var options: WsOptions = WsOptions(),
        *,
        var config: ServerConfig = ServerConfig(),
    ) raises -> Self:
        """Opens a listening socket.

        Args:
            address: The address; port 0 lets the kernel choose.
            options: The limits and choices of the WebSockets.
            config: The limits of the HTTP server.

        Returns:
            The server; clients wait until `serve`.

        Raises:
            NetError: If the address cannot be bound. An error `ws.bad_config`
                with the field of the options that is out of its bounds.
        """
        return Self(HttpServer.bind(address, config=config^), options^)

    def local_addr(self) raises -> SocketAddr:
        """Returns the address on which the server listens.

        Returns:
            The address, with the port that the kernel chose.

        Raises:
            An error `net.…` if the server does not listen on an IP address.
        """
        return self._server.local_address()

    def serve(
        self,
        on_connect: def(WsConnection) raises thin -> None,
        *,
        num_workers: Int = 1,
    ) raises:
        """Serves WebSockets until the server is stopped.

        Args:
            on_connect: Called for each connection, on a fiber of its own. When
                it returns, the connection is closed.
            num_workers: The number of threads, 1 to 256; the calling thread is
                the first.

        Raises:
            The errors of `HttpServer.serve`.
        """
        self._server.serve(
            WebSocket(on_connect, self._options.copy()),
            num_workers=num_workers,
        )

    def serve(self, on_connect: WsFunction, *, num_workers: Int = 1) raises:
        """Serves WebSockets until the server is stopped.

        Args:
            on_connect: Called for each connection, with the request that opened
                it.
            num_workers: The number of threads, 1 to 256; the calling thread is
                the first.

        Raises:
            The errors of `HttpServer.serve`.
        """
        self._server.serve(
            WebSocket(on_connect, self._options.copy()),
            num_workers=num_workers,
        )

    def handle(self) -> ServerHandle:
        """Returns a handle with which any thread can watch and stop the server.

        Returns:
            The handle; it may outlive the server.
        """
        return self._server.handle()

    def close(self):
        """Stops the server, from any thread: each connection gets a Close with
        1001, and `serve` returns.
        """
        self._server.handle().shutdown()

"""Watches a server and stops it, from any thread."""

from flare.http.stream_address import StreamAddr
from flare.net import SocketAddr
from flare.tls import TlsServerConfig

from ..listening.successor import SuccessorChannel, check_command
from ..records.statistics import WorkerStatistics
from .registry import ServerRegistry

comptime HAND_OVER_MS = 10_000
"""The default limit for a new program to start serving."""


struct ServerHandle(Copyable, Movable):
    """Watches and stops a server, from any thread, even before it serves."""

    var _registry: ServerRegistry

    def __init__(out self, registry: ServerRegistry):
        """Creates a handle to a server.

        Args:
            registry: The registry of the server.
        """
        self._registry = registry.copy()

    def local_address(self) raises -> SocketAddr:
        """Returns the first address of the server.

        Returns:
            The address, with the port that the kernel chose.

        Raises:
            Error: `net.unsupported address` if it is a Unix socket; see
                `local_addresses`.
        """
        return self.local_addresses()[0].socket_address()

    def local_addresses(self) -> List[StreamAddr]:
        """Returns all addresses of the server.

        Returns:
            The addresses, in the order in which they were added.
        """
        return self._registry.listening.addresses()

    def hand_over(
        self, command: List[String], *, timeout_ms: Int = HAND_OVER_MS
    ) raises -> Int:
        """Starts a program that takes over the listening sockets, and stops
        this server once the program serves.

        The program gets the sockets by `Listener.from_systemd`. No client is
        refused: both servers accept for a moment, and this one finishes its
        accepted connections. If the program ends before it serves, or takes too
        long, this server continues as before.

        The call blocks its thread until the program serves. In a handler, use
        `blocking`.

        Args:
            command: The path of the program, and its arguments.
            timeout_ms: How long the program may take until it serves.

        Returns:
            The id of the new process.

        Raises:
            An error `http.not_serving` if this server is not serving or is
            stopping, or `http.bad_command` if the command has no path or
            contains a NUL.

            An error `http.successor` if the program does not start to serve.
        """
        check_command(command)
        var channel = SuccessorChannel.open()
        var process = self._registry.listening.start_successor(
            channel, command, self._registry.service.socket().variables()
        )
        channel.await_ready(process, timeout_ms)
        if not self._registry.leave_to_another():
            channel.give_up(process)
            raise Error("http.not_serving it was stopped meanwhile")
        # When this process ends, systemd watches the new one.
        self._registry.service.say_who_goes_on(process)
        return process

    def reload_tls(self) raises:
        """Reads certificates and keys again from their files.

        New handshakes use them; existing connections keep theirs. If one of the
        files cannot be used, the old configuration stays. Supervised workers
        read the files themselves, shortly afterwards.

        Raises:
            Error: `tls.bad_file configure`, `tls.wrong_key configure` and
                others; `http.no_tls` if no address speaks TLS.
        """
        self._registry.read_tls_again()
        self._registry.order_tls_again()

    def reload_tls(
        self, var config: TlsServerConfig, *, listener: Int = 0
    ) raises:
        """Replaces the TLS configuration for new handshakes.

        Existing connections keep theirs. If a part of the new configuration
        cannot be used, the old one stays.

        Args:
            config: The new configuration.
            listener: The index among the addresses that speak TLS, in the
                order in which they were opened.

        Raises:
            Error: As `TlsContext.for_servers` does; `http.no_tls` if there is
                no such address; `http.supervised` if workers are processes of
                their own: these can only read files again.
        """
        self._registry.replace_tls(config^, listener)

    def shutdown(self):
        """Stops the server after finishing the requests in flight.

        The call returns at once. `serve` returns when the last connection has
        ended or the shutdown timeout is over. Further calls have no effect.
        """
        self._registry.shutdown()

    def shutdown_now(self):
        """Stops the server without waiting for requests in flight.

        Their handlers are cancelled and their connections closed.
        """
        self._registry.shutdown_now()

    def statistics(self) -> List[WorkerStatistics]:
        """Returns the counters of all workers.

        Returns:
            One snapshot for each worker, in the order of their numbers; empty
            before `serve`.
        """
        return self._registry.statistics()

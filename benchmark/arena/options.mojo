"""Reads what the command line says, with the defaults of the contract."""

from std.os import getenv
from std.sys import argv

from flare.net import IpAddr, SocketAddr
from flare.postgres import DatabaseOptions
from flare.runtime import BackendKind, default_worker_count


@fieldwise_init
struct Options(Copyable):
    """Holds what the program was told."""

    var host: String
    var port: Int
    var tls_port: Int
    var tls_check_port: Int
    var h2_port: Int
    var h2c_port: Int
    var data: String
    var certificates: String
    var tls_check_certificates: String
    var workers: Int
    var backend: BackendKind
    # The benchmark names the database by the environment.
    var database: String
    var database_connections: Int

    @staticmethod
    def of_arguments() raises -> Self:
        """Reads the arguments of this process."""
        var options = Self(
            host="0.0.0.0",
            port=8080,
            tls_port=8081,
            tls_check_port=9000,
            h2_port=8443,
            h2c_port=8082,
            data="/data",
            certificates="/certs",
            tls_check_certificates="/certs-tls",
            workers=default_worker_count(),
            backend=BackendKind.AUTOMATIC,
            database=getenv("DATABASE_URL"),
            database_connections=Int(getenv("DATABASE_MAX_CONN", "32")),
        )
        var arguments = argv()
        if len(arguments) % 2 == 0:
            raise Error("no value for ", arguments[len(arguments) - 1])
        for i in range(1, len(arguments), 2):
            options._set(arguments[i], String(arguments[i + 1]))
        return options^

    def _set(mut self, name: StringSlice, var value: String) raises:
        if name == "--host":
            self.host = value^
        elif name == "--port":
            self.port = _port(value)
        elif name == "--tls-port":
            self.tls_port = _port(value)
        elif name == "--tls-check-port":
            self.tls_check_port = _port(value)
        elif name == "--h2-port":
            self.h2_port = _port(value)
        elif name == "--h2c-port":
            self.h2c_port = _port(value)
        elif name == "--data":
            self.data = value^
        elif name == "--certificates":
            self.certificates = value^
        elif name == "--tls-check-certificates":
            self.tls_check_certificates = value^
        elif name == "--workers":
            self.workers = Int(value)
        elif name == "--backend":
            self.backend = _backend(value)
        elif name == "--database":
            self.database = value^
        elif name == "--database-connections":
            self.database_connections = Int(value)
        else:
            raise Error("unknown option ", name)

    def address(self, port: Int) raises -> SocketAddr:
        """Returns where to listen.

        Args:
            port: The port.
        """
        return SocketAddr(IpAddr.parse(self.host), UInt16(port))

    def database_options(self) -> DatabaseOptions:
        """Returns the bounds of the database."""
        return DatabaseOptions(max_connections=self.database_connections)


def _port(text: StringSlice) raises -> Int:
    var port = Int(text)
    if port < 0 or port > 65_535:
        raise Error("not a port: ", port)
    return port


def _backend(name: StringSlice) raises -> BackendKind:
    for kind in [BackendKind.IO_URING, BackendKind.EPOLL]:
        if String(kind) == name:
            return kind
    raise Error("the backend is io_uring or epoll")

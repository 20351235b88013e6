"""Reads what the server of the loopback tests is told to be."""

from std.sys import argv

from flare.http import HttpProtocols, HttpServer, Listener, ServerConfig
from flare.net import IpNetwork, SocketAddr
from flare.runtime import BackendKind
from flare.tls import Pem, TlsIdentity, TlsServerConfig


struct SubjectOptions(Movable):
    """Holds the options of the command line."""

    var config: ServerConfig
    var at: String
    var workers: Int
    var serves: Int
    var supervise: Bool
    var is_mixed: Bool
    var asks_clients: Bool
    var handshake_timeout_ms: Optional[Int]
    var certificates: Optional[String]
    var protocols: HttpProtocols

    def __init__(out self):
        self.config = ServerConfig()
        self.at = "127.0.0.1:0"
        self.workers = 1
        self.serves = 1
        self.supervise = False
        self.is_mixed = False
        self.asks_clients = False
        self.handshake_timeout_ms = None
        self.certificates = None
        self.protocols = HttpProtocols.ALL

    @staticmethod
    def read() raises -> Self:
        """Reads the options of this process."""
        var options = argv()
        var read = Self()
        # The other limits are set one by one on top.
        for each in options:
            if each == "--small-limits":
                read.config = _small_limits()
                read.handshake_timeout_ms = 400
        var i = 1
        while i < len(options):
            if read._set_switch(options[i]):
                i += 1
                continue
            if i + 1 == len(options):
                raise Error("no value for ", options[i])
            if not read._set_limit(options[i], options[i + 1]):
                read._set_value(options[i], options[i + 1])
            i += 2
        return read^

    def bind(self) raises -> HttpServer:
        """Opens the listeners."""
        if self.protocols != HttpProtocols.ALL and not self.certificates:
            var listeners = List[Listener]()
            listeners.append(Listener.bind(self.at, protocols=self.protocols))
            return HttpServer.with_listeners(listeners^, self.config.copy())
        if not self.certificates:
            return HttpServer.bind(self.at, self.config.copy())
        ref folder = self.certificates.value()
        var tls = TlsServerConfig(identity(folder, "server"))
        tls.identities.append(identity(folder, "other"))
        if self.handshake_timeout_ms:
            tls.handshake_timeout_ms = self.handshake_timeout_ms.value()
        if self.protocols == HttpProtocols.HTTP1:
            tls.application_protocols = ["http/1.1"]
        elif self.protocols == HttpProtocols.HTTP2:
            tls.application_protocols = ["h2"]
        if self.asks_clients:
            tls.client_authorities.append(Pem(path=String(folder, "/ca.pem")))
            tls.client_certificate_is_optional = True
        if not self.is_mixed:
            return HttpServer.bind_tls(self.at, tls^, self.config.copy())
        var server = HttpServer.bind(self.at, self.config.copy())
        server.listen_tls(SocketAddr.localhost(0), tls^)
        return server^

    def _set_switch(mut self, name: StringSlice) -> Bool:
        if name == "--small-limits":
            pass
        elif name == "--half-close":
            self.config.half_close_allowed = True
        elif name == "--http1":
            self.protocols = HttpProtocols.HTTP1
        elif name == "--http2":
            self.protocols = HttpProtocols.HTTP2
        elif name == "--mixed":
            self.is_mixed = True
        elif name == "--supervise":
            self.supervise = True
        elif name == "--ask-clients":
            self.asks_clients = True
        else:
            return False
        return True

    def _set_limit(
        mut self, name: StringSlice, value: StringSlice
    ) raises -> Bool:
        if name == "--connections":
            self.config.max_connections = Int(value)
        elif name == "--stream-count":
            self.config.http2.max_requests = Int(value)
        elif name == "--receive-buffers":
            self.config.max_receive_buffers = Int(value)
        elif name == "--overload-timeout":
            self.config.overload_timeout_ms = Int(value)
        elif name == "--proxies" and value == "unix":
            self.config.trusts_unix_proxies = True
        elif name == "--proxies":
            self.config.trusted_proxies.append(IpNetwork.parse(value))
        else:
            return False
        return True

    def _set_value(mut self, name: StringSlice, value: StringSlice) raises:
        if name == "--port":
            self.at = String("127.0.0.1:", value)
        elif name == "--at":
            self.at = String(value)
        elif name == "--tls":
            self.certificates = String(value)
        elif name == "--serves":
            self.serves = Int(value)
        elif name == "--workers":
            self.workers = Int(value)
        elif name == "--backend":
            self.config.backend = _backend(value)
        else:
            raise Error("unknown option ", name)


def identity(folder: String, name: StringSlice) -> TlsIdentity:
    return TlsIdentity.files(
        String(folder, "/", name, ".pem"), String(folder, "/", name, ".key")
    )


def _small_limits() -> ServerConfig:
    return ServerConfig(
        max_body_size=1 << 20,
        max_requests_in_flight=4,
        max_keepalive_requests=50,
        idle_timeout_ms=400,
        head_timeout_ms=400,
        body_timeout_ms=400,
        write_timeout_ms=400,
        handler_timeout_ms=1500,
        linger_timeout_ms=400,
        shutdown_timeout_ms=1000,
    )


def _backend(name: StringSlice) raises -> BackendKind:
    if name == "io_uring":
        return BackendKind.IO_URING
    if name == "epoll":
        return BackendKind.EPOLL
    raise Error("the backend is io_uring or epoll")

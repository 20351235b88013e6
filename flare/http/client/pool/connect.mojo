"""Opens the connections of a client."""

from flare.core import PointerTo
from flare.runtime.wait import deadline_in
from flare.sys.clock import monotonic_ns
from flare.tcp import TcpStream
from flare.tls import TlsContext, TlsMachine, TlsSession, TlsStream
from flare.unix import UnixStream

from ...alpn import AlpnName
from ...client_error import ClientError, Phase, raised
from ..config.client_config import ClientConfig
from ..credentials.secrets import proxy_authorization
from ..exchange.client_exchange import ClientExchange
from ..transport.liveness import Liveness
from ..shared.shared_connection import SharedConnection
from ..transport.client_connection import ClientConnection
from ..transport.clock import Clock, now
from .origin import Origin, Route
from .tunnel import tunnelled


def open_connection(
    config: PointerTo[ClientConfig],
    tls: Optional[TlsContext],
    origin: Origin,
    exchange: ClientExchange,
) raises -> Int:
    """Opens a connection to an origin for an exchange.

    Args:
        config: The configuration of the client.
        tls: The TLS context, if TLS is used.
        origin: The origin.
        exchange: The exchange; its clock bounds all of it.

    Returns:
        The microseconds that the proxy exchange and the TLS handshake took.

    Raises:
        ClientError: `client.refused connect`, `client.resolve connect`,
            `client.timeout connect`, `client.tls handshake` and others.
    """
    var connection = ClientConnection.create(config[].limits)
    var handshake_us: Int
    try:
        handshake_us = _connect(
            connection, config, tls, origin, exchange.state[].clock
        )
    except e:
        connection.destroy()
        raise e^
    connection.state[].made_ms = now()
    if origin[].may_share and _speaks_http2(connection):
        var http2 = config[].http2.value()
        SharedConnection.begin(
            connection,
            http2.machine_limits(config[].limits),
            config[].timeouts.write_ms,
            Liveness(http2.ping_after_ms, http2.ping_timeout_ms, now()),
        )
    exchange.state[].connection = connection
    return handshake_us


def _speaks_http2(connection: ClientConnection) -> Bool:
    ref transport = connection.state[].transport
    if not transport.tls:
        # By prior knowledge (RFC 9113 section 3.3).
        return True
    var chosen = transport.tls.value().application_protocol()
    return chosen.or_else(String()) == AlpnName.HTTP_2


def _connect(
    connection: ClientConnection,
    config: PointerTo[ClientConfig],
    tls: Optional[TlsContext],
    origin: Origin,
    clock: Clock,
) raises -> Int:
    # Tells how long all but the connect took.
    var left_ms = clock.left(config[].timeouts.connect_ms)
    var end_ms = now() + left_ms
    if config[].unix_socket:
        if origin[].is_secure:
            raise raised(
                ClientError.BAD_CONFIG,
                Phase.CONNECT,
                "TLS is not spoken over a Unix socket",
            )
        try:
            connection.carry_over(
                UnixStream.connect(
                    config[].unix_socket.value(), timeout_ms=left_ms
                )
            )
        except e:
            raise Error(ClientError.because(Phase.CONNECT, e))
        return 0
    var proxy = config[].proxies.proxy_for(
        origin[].is_secure, origin[].host, origin[].port
    )
    var host = origin[].host
    var port = UInt16(origin[].port)
    if proxy:
        host = proxy.value().host
        port = proxy.value().port
    var tcp: TcpStream
    try:
        tcp = TcpStream.connect(host, port, timeout_ms=left_ms)
    except e:
        raise Error(ClientError.because(Phase.CONNECT, e))
    var began_ns = monotonic_ns()
    var handshake_us = 0
    if proxy and origin[].route != Route.FORWARDED:
        try:
            with deadline_in(max(end_ms - now(), 1)):
                tcp = tunnelled(
                    tcp^,
                    proxy.value(),
                    proxy_authorization(config[], proxy.value()),
                    origin,
                    config[].limits,
                )
        except e:
            raise Error(ClientError.because(Phase.HANDSHAKE, e))
        handshake_us = _us_since(began_ns)
    if not origin[].is_secure:
        connection.carry_over(tcp^)
        return handshake_us
    try:
        with deadline_in(max(end_ms - now(), 1)):
            connection.carry_over(_secured(tcp^, tls.value(), origin))
    except e:
        raise Error(ClientError.because(Phase.HANDSHAKE, e))
    return _us_since(began_ns)


def _us_since(began_ns: Int) -> Int:
    return (monotonic_ns() - began_ns) // 1000


def _secured(
    var tcp: TcpStream, context: TlsContext, origin: Origin
) raises -> TlsStream:
    # A session is used once: used twice, it would let who listens link the
    # two connections.
    var session = Optional[TlsSession](None)
    swap(session, origin[].session)
    var machine: TlsMachine
    if session:
        machine = TlsMachine.client(
            context,
            origin[].host,
            Pointer(to=session.value()).unsafe_origin_cast[
                MutUntrackedOrigin
            ](),
        )
    else:
        machine = TlsMachine.client(context, origin[].host)
    _ = session^
    var stream = TlsStream(tcp^, machine^)
    stream.handshake()
    return stream^

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
from ..config.proxy import Proxy
from ..credentials.secrets import proxy_authorization
from ..exchange.client_exchange import ClientExchange
from ..transport.liveness import Liveness
from ..shared.shared_connection import SharedConnection
from ..transport.client_connection import ClientConnection
from ..transport.clock import Clock, now
from .origin import Origin, Route
from .tunnel import ask_for_tunnel, ask_socks


@fieldwise_init
struct TlsContexts(ImplicitlyCopyable):
    """The contexts of TLS for one connection."""

    var origin: Optional[TlsContext]
    """For the origin, if TLS is spoken to it."""
    var proxy: Optional[TlsContext]
    """For its proxy, if TLS is spoken to one."""


def open_connection(
    config: PointerTo[ClientConfig],
    tls: TlsContexts,
    origin: Origin,
    exchange: ClientExchange,
) raises -> Int:
    """Opens a connection to an origin for an exchange.

    Args:
        config: The configuration of the client.
        tls: The contexts of TLS.
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
    tls: TlsContexts,
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
    else:
        for rule in config[].connect_to:
            if rule.means(origin[].host, origin[].port):
                host = rule.address
                if rule.address_port != 0:
                    port = UInt16(rule.address_port)
                break
    try:
        connection.carry_over(TcpStream.connect(host, port, timeout_ms=left_ms))
    except e:
        raise Error(ClientError.because(Phase.CONNECT, e))
    if not proxy and not origin[].is_secure:
        return 0
    var began_ns = monotonic_ns()
    try:
        with deadline_in(max(end_ms - now(), 1)):
            if proxy:
                _pass_proxy(
                    connection, config, proxy.value(), tls.proxy, origin
                )
            if origin[].is_secure:
                _secure(connection, tls.origin.value(), origin[].host, origin)
    except e:
        raise Error(ClientError.because(Phase.HANDSHAKE, e))
    return _us_since(began_ns)


def _pass_proxy(
    connection: ClientConnection,
    config: PointerTo[ClientConfig],
    proxy: Proxy,
    proxy_tls: Optional[TlsContext],
    origin: Origin,
) raises:
    if proxy.kind == Proxy.HTTPS:
        _secure(connection, proxy_tls.value(), proxy.host, None)
    if origin[].route == Route.FORWARDED:
        return
    if proxy.kind == Proxy.SOCKS5:
        ask_socks(
            connection.state[].transport.tcp.value(),
            proxy,
            origin[].host,
            origin[].port,
        )
        return
    # The exchange with the proxy leaves no trace in that with the origin.
    var asking = ClientConnection.create(config[].limits)
    swap(asking.state[].transport, connection.state[].transport)
    try:
        ask_for_tunnel(asking, proxy_authorization(config[], proxy), origin)
    finally:
        swap(asking.state[].transport, connection.state[].transport)
        asking.destroy()


def _us_since(began_ns: Int) -> Int:
    return (monotonic_ns() - began_ns) // 1000


def _secure(
    connection: ClientConnection,
    context: TlsContext,
    host: StringSlice,
    origin: Optional[Origin],
) raises:
    # A session is used once: used twice, it would let who listens link the
    # two connections.
    var session = Optional[TlsSession](None)
    if origin:
        swap(session, origin.value()[].session)
    var machine: TlsMachine
    if session:
        machine = TlsMachine.client(
            context,
            host,
            Pointer(to=session.value()).unsafe_origin_cast[
                MutUntrackedOrigin
            ](),
        )
    else:
        machine = TlsMachine.client(context, host)
    _ = session^
    ref transport = connection.state[].transport
    if transport.tls:
        transport.tls.value().begin_inside(machine^)
    else:
        connection.carry_over(TlsStream(transport.tcp.take(), machine^))
    transport.tls.value().handshake()

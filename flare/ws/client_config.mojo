"""Defines the limits and choices of a client's WebSocket."""

from flare.http.client.config.client_config import ClientConfig
from flare.message import HeaderMap
from flare.tls import TlsConfig

from .compression import WsCompression
from .options import WsLimits, problem_of_protocols

comptime _HANDSHAKE_TIMEOUT_MS = 10_000
comptime _PONG_TIMEOUT_MS = 20_000
comptime _CLOSE_TIMEOUT_MS = 5_000
comptime _MESSAGE_TIMEOUT_MS = 30_000
comptime _OCTETS_PER_SECOND_MIN = 240


struct WsClientConfig(Copyable, Movable):
    """The limits and choices of a client's WebSocket."""

    var headers: HeaderMap
    """Further fields of the request, such as Origin or Authorization."""
    var protocols: List[String]
    """The subprotocols that the client offers, the preferred one first."""
    var limits: WsLimits
    """The limits of the connection."""
    var compression: WsCompression
    """How messages are compressed."""
    var handshake_timeout_ms: Int
    """The limit until the server has accepted."""
    var http: ClientConfig
    """The configuration of the HTTP client that asks the server."""

    def __init__(
        out self,
        *,
        var headers: HeaderMap = HeaderMap(),
        var protocols: List[String] = [],
        max_message_size: Int = 16 * 1024 * 1024,
        ping_interval_ms: Optional[Int] = 30_000,
        pong_timeout_ms: Int = _PONG_TIMEOUT_MS,
        close_timeout_ms: Int = _CLOSE_TIMEOUT_MS,
        message_timeout_ms: Int = _MESSAGE_TIMEOUT_MS,
        handshake_timeout_ms: Int = _HANDSHAKE_TIMEOUT_MS,
        compression: WsCompression = WsCompression.OFF,
        var http: ClientConfig = ClientConfig(),
    ):
        """Creates a configuration. Each field can be changed afterwards.

        Args:
            headers: Further fields of the request.
            protocols: The subprotocols that the client offers, the preferred
                one first; each a token.
            max_message_size: The most octets of a received message. A larger
                one closes the connection with 1009.
            ping_interval_ms: After which silence of the server a ping is sent
                while a fiber receives; `None` for never.
            pong_timeout_ms: How long the server may still be silent after a
                ping, before the connection is closed with 1011.
            close_timeout_ms: How long the client waits for the server's Close
                after it has sent its own, and for the end of the connection.
            message_timeout_ms: How long the server may take between two octets
                of an unfinished message, at 240 octets a second on average.
            handshake_timeout_ms: The limit until the server has accepted, with
                connecting and redirects; 10 s by default.
            compression: How messages are compressed if the server accepts it;
                by default not at all.
            http: The configuration of the HTTP client: TLS, proxies,
                redirects, cookies. `WsClient.over` does not use it.
        """
        self.headers = headers^
        self.protocols = protocols^
        self.limits = WsLimits(
            max_message_size,
            ping_interval_ms.or_else(Int.MAX),
            pong_timeout_ms,
            close_timeout_ms,
            message_timeout_ms,
            _OCTETS_PER_SECOND_MIN,
            0,
        )
        self.compression = compression
        self.handshake_timeout_ms = handshake_timeout_ms
        self.http = http^

    def __init__(out self, *, var tls: TlsConfig):
        """Creates a configuration with a choice for TLS.

        Args:
            tls: The configuration of TLS.
        """
        self = Self(http=ClientConfig(tls=tls^))

    def first_problem(self) -> Optional[StaticString]:
        """Returns the first field that is out of its bounds. `HttpClient`
        checks those of `http`.

        Returns:
            The problem, or `None`.
        """
        var problem = self.limits.first_problem()
        if not problem:
            problem = problem_of_protocols(self.protocols)
        if not problem and not (1 <= self.handshake_timeout_ms <= 1 << 40):
            problem = StaticString("handshake_timeout_ms not in 1..2^40")
        return problem

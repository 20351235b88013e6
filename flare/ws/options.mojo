"""Defines the limits and choices of a server's WebSockets."""

from flare.core import is_token
from flare.proto.ws import WsOrigins, WsServerPolicy

from .compression import WsCompression
from .error import WsError
from .hub import WsHub

comptime _PONG_TIMEOUT_MS = 20_000
comptime _CLOSE_TIMEOUT_MS = 5_000
comptime _MESSAGE_TIMEOUT_MS = 30_000
comptime _HELD_OCTETS_MAX = 256 * 1024
# As for the content of requests.
comptime _OCTETS_PER_SECOND_MIN = 240
comptime _TIMEOUT_MS_MAX = 1 << 40
comptime _OCTETS_MAX = 1 << 40


@fieldwise_init
struct WsLimits(TrivialRegisterPassable):
    """The limits of one connection."""

    var max_message_size: Int
    """The most octets of a received message."""
    var ping_interval_ms: Int
    """After which silence of the peer a ping is sent."""
    var pong_timeout_ms: Int
    """How long after the ping the peer may still be silent."""
    var close_timeout_ms: Int
    """How long an endpoint that has sent its Close waits for that of the peer.
    """
    var message_timeout_ms: Int
    """How long a peer may take between two octets of a message."""
    var octets_per_second_min: Int
    """The lowest rate of an unfinished message."""
    var held_octets_max: Int
    """The most octets of topics that wait for a slow subscriber."""

    def first_problem(self) -> Optional[StaticString]:
        """Returns the first field that is out of its bounds.

        Returns:
            The problem, or `None`.
        """
        if self.max_message_size < 1 or self.max_message_size > _OCTETS_MAX:
            return StaticString("max_message_size not in 1..2^40")
        if self.ping_interval_ms != Int.MAX and not _is_timeout(
            self.ping_interval_ms
        ):
            return StaticString("ping_interval_ms not in 1..2^40")
        if not _is_timeout(self.pong_timeout_ms):
            return StaticString("pong_timeout_ms not in 1..2^40")
        if not _is_timeout(self.close_timeout_ms):
            return StaticString("close_timeout_ms not in 1..2^40")
        if not _is_timeout(self.message_timeout_ms):
            return StaticString("message_timeout_ms not in 1..2^40")
        if self.held_octets_max < 0 or self.held_octets_max > _OCTETS_MAX:
            return StaticString("held_octets_max not in 0..2^40")
        return None


def _is_timeout(timeout_ms: Int) -> Bool:
    return 1 <= timeout_ms and timeout_ms <= _TIMEOUT_MS_MAX


def problem_of_protocols(protocols: List[String]) -> Optional[StaticString]:
    """Returns the problem of a list of subprotocols (RFC 6455 section 4.1).

    Args:
        protocols: The subprotocols.

    Returns:
        The problem, or `None`.
    """
    for i in range(len(protocols)):
        if not is_token(protocols[i].as_bytes()):
            return StaticString("a name in protocols is no token")
        for j in range(i):
            if protocols[i] == protocols[j]:
                return StaticString("a name is twice in protocols")
    return None


def check_config(problem: Optional[StaticString]) raises:
    """Raises an error if a configuration has a problem.

    Args:
        problem: The result of `first_problem`.

    Raises:
        An error `ws.bad_config` with the problem.
    """
    if problem:
        raise Error(WsError(WsError.BAD_CONFIG, String(problem.value())))


struct WsOptions(Copyable, Movable):
    """The limits and choices of a server's WebSockets."""

    var policy: WsServerPolicy
    """The handshakes that the server accepts."""
    var limits: WsLimits
    """The limits of each connection."""
    var compression: WsCompression
    """How messages are compressed."""
    var hub: WsHub
    """The topics and statistics of the connections."""

    def __init__(
        out self,
        *,
        var protocols: List[String] = [],
        var origins: WsOrigins = WsOrigins(),
        max_message_size: Int = 1024 * 1024,
        ping_interval_ms: Optional[Int] = 30_000,
        pong_timeout_ms: Int = _PONG_TIMEOUT_MS,
        close_timeout_ms: Int = _CLOSE_TIMEOUT_MS,
        message_timeout_ms: Int = _MESSAGE_TIMEOUT_MS,
        compression: WsCompression = WsCompression.OFF,
        held_octets_max: Int = _HELD_OCTETS_MAX,
        var hub: WsHub = WsHub(),
    ):
        """Creates options.

        Args:
            protocols: The subprotocols that the server speaks, the preferred
                one first; each a token.
            origins: The pages whose scripts may connect; by default those of
                the host that the request is for. Clients that are no browsers
                send no Origin, and are accepted.
            max_message_size: The most octets of a received message. A larger
                one closes the connection with 1009.
            ping_interval_ms: After which silence of the peer a ping is sent;
                `None` for never.
            pong_timeout_ms: How long the peer may still be silent after a ping,
                before the connection is closed with 1011.
            close_timeout_ms: How long the server waits for the peer's Close
                after it has sent its own.
            message_timeout_ms: How long a peer may take between two octets of
                an unfinished message, at 240 octets a second on average.
            compression: How messages are compressed if the client offers it;
                by default not at all.
            held_octets_max: The most octets of topics that wait for a slow
                subscriber, beside the 64 KiB of its output.
            hub: The topics and statistics; give several routes the same one.
        """
        self.policy = WsServerPolicy(origins=origins^, protocols=protocols^)
        self.compression = compression
        self.limits = WsLimits(
            max_message_size,
            ping_interval_ms.or_else(Int.MAX),
            pong_timeout_ms,
            close_timeout_ms,
            message_timeout_ms,
            _OCTETS_PER_SECOND_MIN,
            held_octets_max,
        )
        self.hub = hub^

    def first_problem(self) -> Optional[StaticString]:
        """Returns the first field that is out of its bounds.

        Returns:
            The problem, or `None`.
        """
        var problem = self.limits.first_problem()
        if not problem:
            problem = problem_of_protocols(self.policy.protocols)
        return problem

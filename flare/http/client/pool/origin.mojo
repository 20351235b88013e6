"""Defines the state that a client keeps of one origin (RFC 9110 section
4.3.1).
"""

from flare.core import PointerTo
from flare.message import HeaderMap
from flare.tls import TlsSession

from ..credentials.digest import DigestSession
from ..transport.client_connection import ClientConnection
from .wait_queue import WaitQueue, WaitQueueState


struct Route:
    """The ways of requests to an origin."""

    comptime USUAL: UInt8 = 0
    """Without a proxy, or through the tunnel that its scheme needs."""
    comptime FORWARDED: UInt8 = 1
    """To a proxy, which is asked for the origin and carries them over."""
    comptime TUNNEL: UInt8 = 2
    """Through the tunnel of a proxy that would also carry them over, but no
    upgrade.
    """


struct OriginProtocol:
    """The protocols of an origin, as far as they are known."""

    comptime HTTP1: UInt8 = 0
    """Each connection carries one exchange at a time."""
    comptime UNKNOWN: UInt8 = 1
    """The first connection shows whether the origin chooses HTTP/2."""
    comptime HTTP2: UInt8 = 2
    """Exchanges share a connection."""
    comptime LEFT: UInt8 = 3
    """The origin chose HTTP/2, and then required HTTP/1.1. Further requests use an
    origin of the same name to which HTTP/2 is not offered."""


struct OriginConnections(Movable):
    """The connections of one origin."""

    var idle: List[ClientConnection]
    """Those that are kept for later, the one used last at the end."""
    var shared: List[ClientConnection]
    """Those of HTTP/2 that exchanges are using."""
    var open: Int
    """How many exist or are being opened."""
    var openings: Int
    """How many are being opened, of an origin that may choose HTTP/2."""
    var protocol: UInt8
    """The protocol that its last connection has chosen, one of
    `OriginProtocol`."""

    def __init__(out self):
        """Creates the state of an origin without connections."""
        self.idle = List[ClientConnection]()
        self.shared = List[ClientConnection]()
        self.open = 0
        self.openings = 0
        self.protocol = OriginProtocol.HTTP1


struct OriginState(Movable):
    """The state of one origin: its name, its connections, and the fibers that
    wait for one.
    """

    var is_secure: Bool
    """Whether TLS is spoken."""
    var host: String
    """The host to connect to, an IPv6 address without brackets."""
    var port: Int
    """The port to connect to."""
    var authority: String
    """Host and port as the Host field has them."""
    var route: UInt8
    """The way of the requests to it, one of `Route`."""
    var may_see_secrets: Bool
    """Whether the client sends its secrets to this origin."""
    var fields: HeaderMap
    """The fields of every request to it, without secrets: Host first."""
    var own_fields: HeaderMap
    """The same with the secrets, if it may see them."""
    var digest: Optional[DigestSession]
    """The session that answers its challenges, if credentials may be sent
    there.
    """
    var connections: OriginConnections
    """Its connections."""
    var users: Int
    """Exchanges that refer to it."""
    var waiting: WaitQueueState
    """The fibers that wait for a connection."""
    var session: Optional[TlsSession]
    """A TLS session, which shortens the next handshake."""
    var used_ms: Int
    """When it was last used."""
    var may_share: Bool
    """Whether HTTP/2 is offered to it."""

    def __init__(
        out self,
        is_secure: Bool,
        var host: String,
        port: Int,
        var authority: String,
    ):
        """Creates an origin without connections.

        Args:
            is_secure: Whether TLS is spoken.
            host: The host.
            port: The port.
            authority: Host and port as the Host field has them.
        """
        self.is_secure = is_secure
        self.host = host^
        self.port = port
        self.authority = authority^
        self.route = Route.USUAL
        self.may_see_secrets = False
        self.fields = HeaderMap()
        self.own_fields = HeaderMap()
        self.digest = None
        self.connections = OriginConnections()
        self.users = 0
        self.waiting = WaitQueueState()
        self.session = None
        self.used_ms = 0
        self.may_share = False

    @always_inline
    def has_left_http2(self) -> Bool:
        """Returns whether the origin has required HTTP/1.1 (RFC 9113 section 7).

        Returns:
            True if an origin to which HTTP/2 is not offered takes its place.
        """
        return self.connections.protocol == OriginProtocol.LEFT

    def is_at(
        self,
        is_secure: Bool,
        authority: StringSlice,
        has_tunnel: Bool,
        may_share: Bool,
    ) -> Bool:
        """Returns whether this is the origin of a URL.

        Args:
            is_secure: Whether the scheme is https.
            authority: Host and port in normal form.
            has_tunnel: Whether its route must be `Route.TUNNEL`.
            may_share: Whether HTTP/2 must be offered to it.

        Returns:
            True if scheme, host and port, route and protocols are the same.
        """
        return (
            self.is_secure == is_secure
            and self.may_share == may_share
            and has_tunnel == (self.route == Route.TUNNEL)
            and self.authority == authority
        )


comptime Origin = PointerTo[OriginState]
"""A handle to an origin of a pool."""


@always_inline
def queue_of(origin: Origin) -> WaitQueue:
    """Returns the queue of the fibers that wait for a connection to an origin.

    Args:
        origin: The origin.

    Returns:
        A handle, while the origin is known.
    """
    return WaitQueue(
        Pointer(to=origin[].waiting).unsafe_origin_cast[MutUntrackedOrigin]()
    )

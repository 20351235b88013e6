"""Defines the state that a client keeps between calls."""

from flare.core import PointerTo, heap_create, heap_destroy
from flare.message import Cookie, HeaderMap, Url
from flare.runtime.wait import waiting_fiber
from flare.tls import TlsContext

from ...alpn import AlpnName
from ...client_error import ClientError, Phase, raised
from ...encoding import accept_encoding_of, decodable_codings
from ..client_statistics import ClientStatistics
from ..config.client_config import ClientConfig
from ..config.proxy import Proxy
from ..credentials.credentials import Credentials
from ..credentials.digest import DigestSession
from ..credentials.secrets import (
    drop_secrets,
    may_see_secrets,
    proxy_authorization,
)
from ..pool.origin import Origin, OriginProtocol, OriginState, Route
from ..pool.pool import Pool, PoolState
from ..transport.clock import Clock
from .call import Call, CallState

comptime _KEPT_CALLS_MAX = 256


struct ClientTls(Copyable, Movable):
    """The contexts of TLS, once they were needed."""

    var sharing: Optional[TlsContext]
    """For requests, to which HTTP/2 is offered."""
    var alone: Optional[TlsContext]
    """For requests that need HTTP/1.1, as an upgrade does."""
    var proxy: Optional[TlsContext]
    """For connections to proxies."""

    def __init__(out self):
        """Creates no context."""
        self.sharing = None
        self.alone = None
        self.proxy = None


struct ClientState(Movable):
    """The state of one client. It lives as long as its owner or one of its
    calls.
    """

    var config: ClientConfig
    """The configuration."""
    var base: Optional[Url]
    """The URL to which relative URLs are joined."""
    var credentials: Optional[Credentials]
    """The credentials."""
    var base_origin: Optional[Origin]
    """The origin of the base URL, once it was used."""
    var pool: PoolState
    """The connections."""
    var tls: ClientTls
    """The contexts of TLS."""
    var statistics: ClientStatistics
    """The counters."""
    var free_calls: List[Call]
    """Blocks that no call uses."""
    var users: Int
    """The owner, and each call in progress."""

    def __init__(
        out self,
        var base: Optional[Url],
        var credentials: Optional[Credentials],
        var config: ClientConfig,
    ):
        """Creates the state of a client that has an owner.

        Args:
            base: The URL to which relative URLs are joined.
            credentials: The credentials.
            config: The configuration.
        """
        self.pool = PoolState(config.pool)
        self.config = config^
        self.base = base^
        self.credentials = credentials^
        self.base_origin = None
        self.tls = ClientTls()
        self.statistics = ClientStatistics()
        self.free_calls = List[Call]()
        self.users = 1

    @staticmethod
    def create(
        base_url: StringSlice,
        var credentials: Optional[Credentials],
        var config: ClientConfig,
    ) raises -> PointerTo[Self]:
        """Checks a configuration and creates the state.

        Args:
            base_url: The URL to which relative URLs are joined; none if empty.
            credentials: The credentials.
            config: The configuration.

        Returns:
            The state.

        Raises:
            ClientError: `client.bad_url prepare` or `client.bad_config
                prepare`.
        """
        var problem = config.first_problem()
        if problem:
            raise raised(ClientError.BAD_CONFIG, Phase.PREPARE, problem.value())
        var base = Optional[Url](None)
        if base_url.byte_length() > 0:
            base = http_url(base_url)
            if base.value().query() or base.value().fragment():
                raise raised(
                    ClientError.BAD_URL,
                    Phase.PREPARE,
                    "a base URL has no query and no fragment",
                )
            if credentials and not may_see_secrets(
                base, credentials, base.value()
            ):
                raise raised(
                    ClientError.BAD_CONFIG,
                    Phase.PREPARE,
                    "the login is for another host than the base URL",
                )
        return heap_create(Self(base^, credentials^, config^))

    def another(self) -> PointerTo[Self]:
        """Returns a client with the same configuration and without
        connections.

        Returns:
            Its state, without connections.
        """
        var made = Self(
            self.base.copy(), self.credentials.copy(), self.config.copy()
        )
        # A context may be shared by threads, and is costly to make.
        made.tls = self.tls.copy()
        return heap_create(made^)

    def offers_http2(self, url: Url) -> Bool:
        """Returns whether HTTP/2 may be spoken to the origin of a URL.

        Args:
            url: The URL.

        Returns:
            True by prior knowledge, or if ALPN offers it.
        """
        if not self.config.http2:
            return False
        if not url.is_secure():
            return self.config.http2_prior_knowledge and not self._is_forwarded(
                url
            )
        if len(self.config.tls.application_protocols) == 0:
            return True
        for protocol in self.config.tls.application_protocols:
            if protocol == AlpnName.HTTP_2:
                return True
        return False

    def _is_forwarded(self, url: Url) -> Bool:
        """Returns whether a proxy carries requests to a URL over, unless they ask
        for an upgrade. It speaks HTTP/1.1."""
        if url.is_secure() or self.config.unix_socket:
            return False
        var proxy = self.config.proxies.proxy_for(False, url.host(), url.port())
        return Bool(proxy) and proxy.value().kind != Proxy.SOCKS5

    def counted(self) -> ClientStatistics:
        """Returns the counters.

        Returns:
            The present values of the counters.
        """
        var found = self.statistics
        found.idle = self.pool.idle
        for origin in self.pool.origins:
            found.open += origin[].connections.open
        return found

    def cookies(self) -> List[Cookie]:
        """Returns copies of the cookies in the jar.

        Returns:
            The cookies that have not expired; none without a jar.
        """
        if not self.config.cookies:
            return List[Cookie]()
        return self.config.cookies.value().cookies()

    def set_cookie(mut self, url: Url, var cookie: Cookie) raises:
        """Stores a cookie in the jar as if a server had set it.

        Args:
            url: The URL of the request.
            cookie: The cookie.

        Raises:
            Error: `client.bad_config prepare` if there is no jar, or
                `message.bad_cookie`.
        """
        if not self.config.cookies:
            raise raised(
                ClientError.BAD_CONFIG,
                Phase.PREPARE,
                "the client has no jar for cookies",
            )
        self.config.cookies.value().set(url, cookie^)

    @staticmethod
    def leave(state: PointerTo[Self]):
        """Releases the reference of the owner or of a call.

        Args:
            state: The client.
        """
        state[].users -= 1
        if state[].users > 0:
            return
        Self.pool_of(state).destroy()
        for call in state[].free_calls:
            heap_destroy(call)
        heap_destroy(state)

    @staticmethod
    def pool_of(state: PointerTo[Self]) -> Pool:
        """Returns the connections of a client.

        Args:
            state: The client.

        Returns:
            The pool.
        """
        return Pool(
            Pointer(to=state[].pool).unsafe_origin_cast[MutUntrackedOrigin]()
        )

    @staticmethod
    def begin_call(
        state: PointerTo[Self], method: StringSlice, timeout_ms: Optional[Int]
    ) raises -> Call:
        """Returns a block for a new call.

        Args:
            state: The client.
            method: The method.
            timeout_ms: The limit of the call; by default, the configured one.

        Returns:
            The block; give it to `end_call`.

        Raises:
            ClientError: `client.other prepare` if the caller may not wait, or
                no loop can be created for it.
        """
        # A script gets its loop, and so its clock, here.
        try:
            _ = waiting_fiber("connect")
        except e:
            raise Error(ClientError.because(Phase.PREPARE, e))
        var call: Call
        if len(state[].free_calls) > 0:
            call = state[].free_calls.pop()
        else:
            call = heap_create(CallState())
        state[].users += 1
        var total_ms = state[].config.timeouts.total_ms
        if timeout_ms:
            total_ms = max(timeout_ms.value(), 0)
        call[].begin(method, Clock.starting(total_ms))
        call[].exchange.timeouts = state[].config.timeouts
        return call

    @staticmethod
    def end_call(state: PointerTo[Self], call: Call):
        """Returns the block of a call to the client.

        Args:
            state: The client.
            call: The block.
        """
        if call[].origin and state[].config.call_log:
            state[].config.call_log.value().write(call[].record())
        if call[].origin:
            call[].origin.value()[].users -= 1
        call[].end()
        if len(state[].free_calls) < _KEPT_CALLS_MAX:
            state[].free_calls.append(call)
        else:
            heap_destroy(call)
        Self.leave(state)

    @staticmethod
    @always_inline
    def _common_fields(
        state: PointerTo[Self], url: Url, may_share: Bool
    ) raises -> HeaderMap:
        """Returns the fields of every request to an origin, Host first."""
        ref config = state[].config
        var adds = config.default_fields
        var fields = HeaderMap()
        fields.append("Host", url.authority())
        if adds and "User-Agent" not in config.headers:
            fields.append_constant["User-Agent", "flare"]()
        if adds and "Accept" not in config.headers:
            fields.append_constant["Accept", "*/*"]()
        if config.decoding and "Accept-Encoding" not in config.headers:
            fields.append(
                "Accept-Encoding", accept_encoding_of(decodable_codings())
            )
        fields.append_all(config.headers.view())
        if may_share:
            # In HTTP/2 it would make each request an extended CONNECT. A call
            # that asks for an upgrade names the protocol itself.
            _ = fields.remove("Upgrade")
        return fields^

    @staticmethod
    def origin_of(
        state: PointerTo[Self], url: Url, *, asks_upgrade: Bool
    ) raises -> Origin:
        """Returns the origin of a URL; adds it to the pool if it is new.

        Args:
            state: The client.
            url: The URL, of http or https.
            asks_upgrade: Whether the request asks for an upgrade, which no
                proxy carries over.

        Returns:
            The origin.

        Raises:
            ClientError: `client.queue_full queue` if too many are in use.
        """
        var pool = Self.pool_of(state)
        var has_tunnel = (
            asks_upgrade
            and not url.is_secure()
            and Bool(state[].config.proxies.http)
        )
        var may_share = state[].offers_http2(url) and (
            not asks_upgrade
            or not url.is_secure()
            or pool.may_upgrade_shared(url.authority())
        )
        var known = pool.find(
            url.is_secure(), url.authority(), has_tunnel, may_share
        )
        if known and known.value()[].has_left_http2():
            may_share = False
            known = pool.find(True, url.authority(), has_tunnel, may_share)
        if known:
            return known.value()
        var origin = OriginState(
            url.is_secure(),
            String(url.host()),
            url.port(),
            String(url.authority()),
        )
        if has_tunnel:
            origin.route = Route.TUNNEL
        origin.fields = Self._common_fields(state, url, may_share)
        origin.own_fields = origin.fields.copy()
        drop_secrets(origin.fields, state[].config.secret_headers)
        origin.may_see_secrets = may_see_secrets(
            state[].base, state[].credentials, url
        )
        if not origin.may_see_secrets:
            origin.own_fields = origin.fields.copy()
        elif state[].credentials:
            ref shown = state[].credentials.value()
            if shown.account:
                origin.digest = DigestSession(shown.account.value().copy())
            else:
                origin.own_fields.set("Authorization", shown.value)
        _ = origin.own_fields.remove("Proxy-Authorization")
        var proxy = state[].config.proxies.proxy_for(
            url.is_secure(), url.host(), url.port()
        )
        if not has_tunnel and state[]._is_forwarded(url):
            origin.route = Route.FORWARDED
            var proof = proxy_authorization(state[].config, proxy.value())
            if proof:
                origin.fields.set("Proxy-Authorization", proof.value())
                origin.own_fields.set("Proxy-Authorization", proof.value())
        origin.may_share = may_share
        if may_share:
            origin.connections.protocol = OriginProtocol.UNKNOWN
            if not url.is_secure():
                origin.connections.protocol = OriginProtocol.HTTP2
        return pool.add(origin^)


struct CallOwner(Movable):
    """Ends a call when no code carries it out any more."""

    var state: PointerTo[ClientState]
    """The client."""
    var call: Call
    """The call."""
    var _is_owner: Bool

    def __init__(out self, state: PointerTo[ClientState], call: Call):
        """Takes ownership of a call.

        Args:
            state: The client.
            call: The call.
        """
        self.state = state
        self.call = call
        self._is_owner = True

    def __deinit__(deinit self):
        """Returns the block of the call."""
        if self._is_owner:
            ClientState.end_call(self.state, self.call)

    def handed_over(mut self) -> Self:
        """Returns the owner that ends the call in place of this one.

        Returns:
            The owner.
        """
        self._is_owner = False
        return Self(self.state, self.call)


def http_url(text: StringSlice) raises -> Url:
    """Parses a URL that the client supports.

    Args:
        text: An absolute URL.

    Returns:
        The URL, of http or https.

    Raises:
        ClientError: `client.bad_url prepare`.
    """
    var url: Url
    try:
        url = Url.parse(text)
    except e:
        raise Error(ClientError(ClientError.BAD_URL, Phase.PREPARE, String(e)))
    if not is_http(url):
        raise raised(
            ClientError.BAD_URL, Phase.PREPARE, "the scheme is not http(s)"
        )
    return url^


def is_http(url: Url) -> Bool:
    """Returns whether a URL is of a supported scheme.

    Args:
        url: The URL.

    Returns:
        True for http and https.
    """
    return url.scheme().startswith("http")

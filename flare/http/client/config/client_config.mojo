"""Configures a client. Every limit is on by default."""

from flare.core import is_token
from flare.message import HeaderMap
from flare.proto.h1 import H1Limits
from flare.tls import TlsConfig

from ...cookie_jar import CookieJar
from ...encoding.limits import DecodingLimits
from .call_log import CallLog
from .connect_to import ConnectTo
from .http2 import ClientHttp2Config
from .proxy import ProxyRules
from .retry import RetryPolicy

comptime _MS_MAX = 1 << 40
comptime _IN_MEMORY_OCTETS_MAX = 1 << 40


struct ClientTimeouts(TrivialRegisterPassable):
    """The longest waits of one request, in milliseconds.

    An enclosing `deadline_in` and the deadline of the calling handler apply
    too.
    """

    var connect_ms: Int
    """The limit for look-up, connect, the request to a proxy, and the TLS
    handshake together.
    """
    var first_octet_ms: Int
    """The limit from the last octet sent to the first one of the response."""
    var read_ms: Int
    """The limit of each wait for more of a response. With TLS, for a whole
    record of up to 16 KiB.
    """
    var write_ms: Int
    """The limit of each wait for room to send. With TLS, until up to 64 KiB
    are sent.
    """
    var continue_ms: Int
    """How long content waits for 100 (Continue) before it is sent anyway."""
    var total_ms: Int
    """The limit of the whole request, including redirects and retries. For
    `stream`, it ends with the head; for `open`, `upload` and multipart forms,
    when the connection is made. From then on, each wait has its own limit, and
    `deadline_in` limits them all.
    """

    def __init__(
        out self,
        *,
        connect_ms: Int = 10_000,
        first_octet_ms: Int = 30_000,
        read_ms: Int = 30_000,
        write_ms: Int = 30_000,
        continue_ms: Int = 1_000,
        total_ms: Int = 120_000,
    ):
        """Creates timeouts. Omitted arguments have their defaults.

        Args:
            connect_ms: The limit until the connection is made.
            first_octet_ms: The limit until the response begins.
            read_ms: The limit of each wait for more of the response.
            write_ms: The limit of each wait for room to send.
            continue_ms: How long content waits for 100 (Continue).
            total_ms: The limit of the whole request.
        """
        self.connect_ms = connect_ms
        self.first_octet_ms = first_octet_ms
        self.read_ms = read_ms
        self.write_ms = write_ms
        self.continue_ms = continue_ms
        self.total_ms = total_ms

    def first_problem(self) -> Optional[StaticString]:
        """Returns the first timeout that is out of its bounds.

        Returns:
            The problem, or `None`.
        """
        if not _in(self.connect_ms, 1, _MS_MAX):
            return StaticString("connect_ms not in 1..2^40")
        if not _in(self.first_octet_ms, 1, _MS_MAX):
            return StaticString("first_octet_ms not in 1..2^40")
        if not _in(self.read_ms, 1, _MS_MAX):
            return StaticString("read_ms not in 1..2^40")
        if not _in(self.write_ms, 1, _MS_MAX):
            return StaticString("write_ms not in 1..2^40")
        if not _in(self.continue_ms, 1, _MS_MAX):
            return StaticString("continue_ms not in 1..2^40")
        if not _in(self.total_ms, 1, _MS_MAX):
            return StaticString("total_ms not in 1..2^40")
        return None


struct PoolLimits(TrivialRegisterPassable):
    """The limits of a client's connection pool."""

    var connections_per_origin_max: Int
    """The most connections to one origin. Further requests wait in order."""
    var waiting_per_origin_max: Int
    """The most requests that wait for a connection; one more fails at once."""
    var idle_connections_max: Int
    """The most idle connections of all origins. If there is one more, the one
    that was idle for longest is closed.
    """
    var origins_max: Int
    """The most origins in the pool; those without a connection are dropped
    first.
    """
    var idle_timeout_ms: Int
    """How long an idle connection is kept."""
    var age_max_ms: Int
    """The age from which a connection carries no further request, so that the
    client notices when a name has moved.
    """

    def __init__(
        out self,
        *,
        connections_per_origin_max: Int = 256,
        waiting_per_origin_max: Int = 10_000,
        idle_connections_max: Int = 1_024,
        origins_max: Int = 1_024,
        idle_timeout_ms: Int = 30_000,
        age_max_ms: Int = 600_000,
    ):
        """Creates limits. Omitted arguments have their defaults.

        Args:
            connections_per_origin_max: The most connections to one origin.
            waiting_per_origin_max: The most requests that wait for a
                connection.
            idle_connections_max: The most idle connections.
            origins_max: The most origins in the pool.
            idle_timeout_ms: How long an idle connection is kept.
            age_max_ms: The age from which a connection carries no further
                request.
        """
        self.connections_per_origin_max = connections_per_origin_max
        self.waiting_per_origin_max = waiting_per_origin_max
        self.idle_connections_max = idle_connections_max
        self.origins_max = origins_max
        self.idle_timeout_ms = idle_timeout_ms
        self.age_max_ms = age_max_ms

    def first_problem(self) -> Optional[StaticString]:
        """Returns the first limit that is out of its bounds.

        Returns:
            The problem, or `None`.
        """
        if not _in(self.connections_per_origin_max, 1, 1 << 16):
            return StaticString("connections_per_origin_max not in 1..65536")
        if not _in(self.waiting_per_origin_max, 0, 1 << 24):
            return StaticString("waiting_per_origin_max not in 0..2^24")
        if not _in(self.idle_connections_max, 0, 1 << 16):
            return StaticString("idle_connections_max not in 0..65536")
        if not _in(self.origins_max, 1, 1 << 16):
            return StaticString("origins_max not in 1..65536")
        if not _in(self.idle_timeout_ms, 1, _MS_MAX):
            return StaticString("idle_timeout_ms not in 1..2^40")
        if not _in(self.age_max_ms, 1, _MS_MAX):
            return StaticString("age_max_ms not in 1..2^40")
        return None


struct ClientConfig(Copyable, Movable):
    """Configures a client."""

    var timeouts: ClientTimeouts
    """The longest waits."""
    var pool: PoolLimits
    """The limits of the connection pool."""
    var limits: H1Limits
    """The limits of a response, in either protocol. `body_octets_max` applies to content in
    memory; the reader of a stream limits its content itself.
    """
    var retry: RetryPolicy
    """How often failed requests are retried."""
    var redirects_max: Int
    """The most redirects that a request follows; 0 returns the first redirect.
    """
    var headers: HeaderMap
    """Fields of every request, unless it has its own of that name. Secret
    ones, such as Authorization, are sent to the origin of the base URL only;
    Proxy-Authorization is sent to proxies only.
    """
    var secret_headers: List[String]
    """The names of further secret fields. Fields whose names end in a word
    such as `Authorization`, `Cookie`, `Token` or `Api-Key` are always secret.
    """
    var default_fields: Bool
    """Whether a request without User-Agent gets `flare`, and one without
    Accept accepts anything. Turn it off in a program that forwards requests.
    """
    var tls: TlsConfig
    """The TLS configuration."""
    var proxies: ProxyRules
    """The proxies, by host."""
    var connect_to: List[ConnectTo]
    """The hosts for which the client connects to another address. The first
    rule for a host applies, unless a proxy is asked for it.
    """
    var unix_socket: Optional[String]
    """The path of a Unix socket to which all connections go, for any host;
    https is then refused.
    """
    var decoding: Optional[DecodingLimits]
    """The limits of decoding. The client requests the codings that this
    machine can decode, and decodes them, unless the program sets
    Accept-Encoding or Range. For a streamed content, only `ratio_max` applies.
    `None` turns decoding off.
    """
    var cookies: Optional[CookieJar]
    """The initial cookies of the client's jar; `None` stores and sends no
    cookies. If a request, or `headers`, has a field Cookie, the jar adds none.
    """
    var call_log: Optional[CallLog]
    """The recipient of a record for each call; none by default."""
    var http2: Optional[ClientHttp2Config]
    """The limits of HTTP/2, which is spoken to https servers that choose it.
    `None` for HTTP/1.1 only.
    """
    var http2_prior_knowledge: Bool
    """Whether HTTP/2 is spoken without TLS too, to every server (RFC 9113 section
    3.3). A server that does not expect it breaks the connection.
    """
    var field_source: Optional[def(mut HeaderMap) raises thin -> None]
    """Sets further fields of each request when it is sent. A request that has one
    of them itself gets none. `trace_fields` continues the current trace.
    """

    def __init__(
        out self,
        *,
        timeouts: ClientTimeouts = ClientTimeouts(),
        pool: PoolLimits = PoolLimits(),
        limits: H1Limits = H1Limits(
            field_section_octets_max=256 * 1024,
            field_lines_max=1_000,
            body_octets_max=32 << 20,
        ),
        retry: RetryPolicy = RetryPolicy(),
        redirects_max: Int = 10,
        var headers: HeaderMap = HeaderMap(),
        var secret_headers: List[String] = List[String](),
        default_fields: Bool = True,
        var tls: TlsConfig = TlsConfig(),
        var proxies: ProxyRules = ProxyRules(),
        var connect_to: List[ConnectTo] = List[ConnectTo](),
        var unix_socket: Optional[String] = None,
        decoding: Optional[DecodingLimits] = DecodingLimits(),
        var cookies: Optional[CookieJar] = None,
        call_log: Optional[CallLog] = None,
        http2: Optional[ClientHttp2Config] = ClientHttp2Config(),
        http2_prior_knowledge: Bool = False,
        field_source: Optional[def(mut HeaderMap) raises thin -> None] = None,
    ):
        """Creates a configuration. Each field can be changed afterwards.

        Args:
            timeouts: The longest waits.
            pool: The limits of the connection pool.
            limits: The limits of a response.
            retry: How often failed requests are retried.
            redirects_max: The most redirects that a request follows.
            headers: Fields of every request.
            secret_headers: The names of further secret fields.
            default_fields: Whether to add User-Agent and Accept.
            tls: The TLS configuration.
            proxies: The proxies, by host.
            connect_to: The hosts for which the client connects to another
                address.
            unix_socket: The path of a socket to connect to.
            decoding: The limits of decoding; `None` turns it off.
            cookies: The initial cookies of the client's jar.
            call_log: The recipient of a record for each call.
            http2: The limits of HTTP/2; `None` for HTTP/1.1 only.
            http2_prior_knowledge: Whether HTTP/2 is spoken without TLS too.
            field_source: Sets further fields of each request.
        """
        self.timeouts = timeouts
        self.pool = pool
        self.limits = limits
        self.retry = retry
        self.redirects_max = redirects_max
        self.headers = headers^
        self.secret_headers = secret_headers^
        self.default_fields = default_fields
        self.tls = tls^
        self.proxies = proxies^
        self.connect_to = connect_to^
        self.unix_socket = unix_socket^
        self.decoding = decoding
        self.cookies = cookies^
        self.call_log = call_log
        self.http2 = http2
        self.http2_prior_knowledge = http2_prior_knowledge
        self.field_source = field_source

    def first_problem(self) -> Optional[StaticString]:
        """Returns the first field that is out of its bounds.

        Returns:
            The problem, or `None`.
        """
        var problem = self.timeouts.first_problem()
        if not problem:
            problem = self.pool.first_problem()
        if not problem:
            problem = self.limits.first_problem()
        if not problem:
            problem = self.tls.first_problem()
        if not problem:
            problem = self.retry.first_problem()
        if not problem:
            problem = self.proxies.first_problem()
        if not problem and self.decoding:
            problem = self.decoding.value().first_problem()
        if not problem and self.http2:
            problem = self.http2.value().first_problem()
        if problem:
            return problem
        if self.http2_prior_knowledge and not self.http2:
            return StaticString("http2_prior_knowledge without http2")
        for rule in self.connect_to:
            if not rule.is_valid():
                return StaticString("a rule of connect_to has no such address")
        for name in self.secret_headers:
            if not is_token(name.as_bytes()):
                return StaticString("a name in secret_headers is no field name")
        # A response keeps its fields in a map, whose lines may be longer by a
        # blank and a CR.
        comptime OCTETS_MAX = 1_000_000
        comptime assert (
            OCTETS_MAX + 2 * HeaderMap.LINES_MAX <= HeaderMap.OCTETS_MAX
        ), "fields are dropped"
        if Int(self.limits.field_section_octets_max) > OCTETS_MAX:
            return StaticString("field_section_octets_max over 1000000")
        if Int(self.limits.field_lines_max) > HeaderMap.LINES_MAX:
            return StaticString("field_lines_max over 4096")
        if self.limits.body_octets_max > _IN_MEMORY_OCTETS_MAX:
            return StaticString("body_octets_max over 2^40")
        if not _in(self.redirects_max, 0, 100):
            return StaticString("redirects_max not in 0..100")
        return None


@always_inline
def _in(value: Int, least: Int, most: Int) -> Bool:
    return least <= value and value <= most

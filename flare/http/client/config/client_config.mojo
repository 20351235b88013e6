"""Holds what a program decides about a client. Every bound is on by default."""

from flare.core import is_token
from flare.message import HeaderMap
from flare.proto.h1 import H1Limits
from flare.tls import TlsConfig

from ...cookie_jar import CookieJar
from ...encoding.limits import DecodingLimits
from .call_log import CallLog
from .proxy import ProxyRules
from .retry import RetryPolicy

comptime _MS_MAX = 1 << 40
comptime _IN_MEMORY_OCTETS_MAX = 1 << 40


struct ClientTimeouts(TrivialRegisterPassable):
    """Holds how long the waits of one request may last, in milliseconds.

    A `deadline_in` around a call counts too, and so does the deadline of the
    handler that calls.
    """

    var connect_ms: Int
    """The look-up of the host, the connect, the words with a proxy and the
    handshake of TLS together."""
    var first_octet_ms: Int
    """From the last octet sent to the first one of the response."""
    var read_ms: Int
    """Each wait for more of a response; inside of TLS, for a whole record, which
    has up to 16 KiB."""
    var write_ms: Int
    """Each wait for room to send; inside of TLS, until up to 64 KiB have gone.
    """
    var continue_ms: Int
    """How long content waits for 100 (Continue) before it is sent anyway."""
    var total_ms: Int
    """The whole request, redirections and repetitions included. For `stream` it
    ends with the head; for `open`, `upload` and multipart forms when the
    connection is made. From then on each wait has its own bound, and
    `deadline_in` bounds them all."""

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
        """Sets the bounds.

        Args:
            connect_ms: Until the connection stands.
            first_octet_ms: Until the response begins.
            read_ms: Until more of it comes.
            write_ms: Until there is room to send.
            continue_ms: Until content is sent unasked.
            total_ms: Until all is over.
        """
        self.connect_ms = connect_ms
        self.first_octet_ms = first_octet_ms
        self.read_ms = read_ms
        self.write_ms = write_ms
        self.continue_ms = continue_ms
        self.total_ms = total_ms

    def first_problem(self) -> Optional[StaticString]:
        """Looks for a bound that is none.

        Returns:
            What is wrong, or none.
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
    """Holds how many connections a client keeps, and how long."""

    var connections_per_origin_max: Int
    """The most connections to one origin; who needs one more waits, first come
    first served."""
    var waiting_per_origin_max: Int
    """The most requests that wait so; one more fails at once."""
    var idle_connections_max: Int
    """The most connections that are kept for later, of all origins; the one
    that idles longest is closed."""
    var origins_max: Int
    """The most origins about which anything is known; those without a
    connection are forgotten first."""
    var idle_timeout_ms: Int
    """How long a connection is kept for later."""
    var age_max_ms: Int
    """How old a connection may become before it carries no further request, so
    that the client notices where a name has moved to."""

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
        """Sets the limits.

        Args:
            connections_per_origin_max: The most connections to one origin.
            waiting_per_origin_max: The most requests that wait for one.
            idle_connections_max: The most connections kept for later.
            origins_max: The most origins that are known.
            idle_timeout_ms: How long a connection is kept.
            age_max_ms: How old a connection may become.
        """
        self.connections_per_origin_max = connections_per_origin_max
        self.waiting_per_origin_max = waiting_per_origin_max
        self.idle_connections_max = idle_connections_max
        self.origins_max = origins_max
        self.idle_timeout_ms = idle_timeout_ms
        self.age_max_ms = age_max_ms

    def first_problem(self) -> Optional[StaticString]:
        """Looks for a limit that is out of its bounds.

        Returns:
            What is wrong, or none.
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
    """Holds what a program decides about a client."""

    var timeouts: ClientTimeouts
    """How long waits may last."""
    var pool: PoolLimits
    """How many connections are kept."""
    var limits: H1Limits
    """The most that a response may make the client read. `body_octets_max`
    bounds content in memory; the reader of a stream bounds its content."""
    var retry: RetryPolicy
    """How often a request that failed is sent again."""
    var redirects_max: Int
    """How many redirections a request follows; 0 hands the first one over."""
    var headers: HeaderMap
    """Fields of every request, unless it has its own of that name. Secrets
    among them, such as Authorization, go to the origin of the base URL alone;
    Proxy-Authorization goes to proxies alone."""
    var secret_headers: List[String]
    """Names of further fields that count as secrets. Those whose names end in a
    word such as `Authorization`, `Cookie`, `Token` or `Api-Key` do so by
    themselves."""
    var default_fields: Bool
    """A request that has no User-Agent says `flare`, and one without Accept
    takes anything. A program that hands requests on adds neither."""
    var tls: TlsConfig
    """What is decided about TLS."""
    var proxies: ProxyRules
    """Through whom which host is reached."""
    var unix_socket: Optional[String]
    """The path of a socket that all connections go to, whatever the host; https
    is refused then."""
    var decoding: Optional[DecodingLimits]
    """The bounds of decoding. The client asks for the codings that this machine
    can decode, and decodes them. It does neither if the program has set
    Accept-Encoding or Range. Only `ratio_max` bounds a content that is
    streamed. None leaves contents coded."""
    var cookies: Optional[CookieJar]
    """What the jar of the client holds at first; none keeps and sends no
    cookies. If a request, or `headers`, has a field Cookie, the jar adds
    nothing to it."""
    var call_log: Optional[CallLog]
    """Who is told what became of each call; nobody by default."""

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
        var unix_socket: Optional[String] = None,
        decoding: Optional[DecodingLimits] = DecodingLimits(),
        var cookies: Optional[CookieJar] = None,
        call_log: Optional[CallLog] = None,
    ):
        """Makes a configuration; each field may be changed afterwards.

        Args:
            timeouts: How long waits may last.
            pool: How many connections are kept.
            limits: What a response may make us read.
            retry: How often a request is repeated.
            redirects_max: How many redirections are followed.
            headers: Fields of every request.
            secret_headers: Names of further fields that count as secrets.
            default_fields: Whether User-Agent and Accept are added.
            tls: What is decided about TLS.
            proxies: Through whom which host is reached.
            unix_socket: The path of a socket to connect to.
            decoding: What decoding may make of a response.
            cookies: What the jar of the client holds at first.
            call_log: Who is told what became of each call.
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
        self.unix_socket = unix_socket^
        self.decoding = decoding
        self.cookies = cookies^
        self.call_log = call_log

    def first_problem(self) -> Optional[StaticString]:
        """Looks for a field that is out of its bounds.

        Returns:
            What is wrong, or none.
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
        if problem:
            return problem
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

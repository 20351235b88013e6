"""Configures a server: its limits and timeouts."""

from flare.http.content_state import ContentState, ContentWait
from flare.http.rate_budget import RateBudget
from flare.http.stream_address import StreamAddr
from flare.message import RequestTarget
from flare.net import IpNetwork
from flare.proto.h1 import H1Limits
from flare.proto.h2.h2_limits import H2Limits
from flare.runtime.backend import BackendKind

from .http2_config import Http2Config
from .records.access_log import AccessLog
from .records.log import LogSink
from .records.server_metrics import ServerMetrics

# Far from where sums overflow; in milliseconds 24 days.
comptime _COUNT_MAX = (1 << 31) - 1


@fieldwise_init
struct ConfigProblem(ImplicitlyCopyable, Writable):
    """A configuration value that is out of its bounds."""

    var field: StaticString
    """The name of the field."""
    var reason: StaticString
    """The bound."""

    def write_to(self, mut writer: Some[Writer]):
        """Writes one line of text.

        Args:
            writer: The destination.
        """
        writer.write("ServerConfig.", self.field, " ", self.reason)


@fieldwise_init
struct _Count(ImplicitlyCopyable):
    var value: Int
    var field: StaticString


struct ServerConfig(Copyable, Movable):
    """The limits and timeouts of a server, all on by default.

    Its constructor does not raise, so that a configuration can be a
    compile-time value. `serve_comptime` checks `first_problem` at compile time,
    and `bind` raises it.
    """

    var max_header_size: Int
    """The longest header section, in octets; 8 KiB by default, as in nginx and
    Apache. A longer one is answered 431.
    """
    var max_header_fields: Int
    """The most field lines of a header section; 100 by default. More are
    answered 431.
    """
    var max_target_size: Int
    """The longest request target, in octets; 8 KiB by default. A longer one is
    answered 414.
    """
    var max_body_size: Int
    """The longest content of a request, in octets; 10 MiB by default. A longer
    one is answered 413, unless the handler allows more
    (`req.body.set_octets_max`).
    """
    var max_keepalive_requests: Int
    """The most requests on one connection; 100,000 by default, so that
    connections move to other workers from time to time.
    """
    var max_connections: Int
    """The most connections of one worker; 20,480 by default. At the limit,
    accepting pauses.
    """
    var max_requests_in_flight: Int
    """The most requests that one worker answers at the same time; 8,192 by
    default. Further requests are answered 503. `max_streams` counts open
    streams instead.
    """
    var max_streams: Int
    """The most open streamed responses and upgraded connections of one worker;
    16,384 by default, which leaves a fifth of `max_connections` for other
    requests. Further ones are answered 503.
    """
    var max_receive_buffers: Int
    """The most buffers of 4 KiB for received octets of one worker; 16,384 by
    default: 64 MiB. At the limit, connections wait to be read. The head of
    each request in flight may occupy a buffer. So if this is not more than
    `max_requests_in_flight`, heads can occupy all buffers, and requests wait
    for content until their deadline.
    """
    var max_buffered_octets: Int
    """The most octets that one worker holds for its connections: whole
    contents of requests, fragmented heads, and answers that clients have not
    received yet. At least twice `max_body_size`. 256 MiB by default: 32 KiB
    for each of 8,192 requests in flight, or 25 contents of 10 MiB. Above 75 %,
    content waits. Above 100 %, long answers to GET become 503; above 125 %,
    all new requests do.
    """
    var overload_timeout_ms: Int
    """How long clients wait for a free descriptor or memory before they get
    503; 5 s by default.
    """
    var idle_timeout_ms: Int
    """How long a connection may wait for its next request; 60 s by default."""
    var head_timeout_ms: Int
    """How long a request head may take from its first octet; 10 s by default.
    Then the answer is 408.
    """
    var body_timeout_ms: Int
    """How long a handler waits for more content; 30 s by default. Then the
    answer is 408.
    """
    var body_octets_per_second_min: Int
    """The lowest rate of content while a handler waits for it, after
    `body_timeout_ms` is used up; 240 octets per second by default. So a client
    that sends single octets cannot occupy a handler for hours.
    """
    var write_timeout_ms: Int
    """How long a client may receive no octets; 30 s by default."""
    var write_octets_per_second_min: Int
    """The lowest rate at which a client must receive, after `write_timeout_ms`
    is used up; 240 octets per second by default. The server notices reading
    only when the kernel takes more octets; with a full socket, that may be
    after a megabyte. For slower clients, increase `write_timeout_ms`.
    """
    var handler_timeout_ms: Int
    """How long a handler may wait after the head, plus the time that it waited
    for content; 60 s by default. It no longer applies once the handler has
    returned: a function that writes a stream has a deadline for each write.
    """
    var linger_timeout_ms: Int
    """How long octets of a refused client are received and dropped, so that it
    can read the answer; 2 s by default.
    """
    var shutdown_timeout_ms: Int
    """How long requests in flight may take when the server stops; 10 s by
    default."""
    var half_close_allowed: Bool
    """Whether a client may half-close its connection and still get the answer;
    False by default: such a client counts as gone.
    """
    var handle_signals: Bool
    """Whether the server handles signals while it serves; True by default.
    SIGTERM and SIGINT then stop it, and a fault (SIGSEGV and the like) logs
    the request that ends the process.
    """
    var listen_backlog: Int
    """The most connections that may wait to be accepted; 4,096 by default."""
    var trusted_proxies: List[IpNetwork]
    """The proxies that may report the client of a connection (PROXY protocol,
    version 1 or 2); empty by default. If there is one, each connection must
    start with that header within `head_timeout_ms`, and connections from other
    addresses are closed.
    """
    var trusts_unix_proxies: Bool
    """Whether all clients of Unix sockets are such proxies; False by default.
    If True, all connections must start with the header.
    """
    var backend: BackendKind
    """The kernel interface; io_uring if the kernel allows it, otherwise epoll.
    """
    var log: LogSink
    """The destination of the server's own messages; standard error by default.
    """
    var access_log: Optional[AccessLog]
    """The destination of a record for each request; none by default."""
    var metrics: ServerMetrics
    """The `Metrics` in which the server counts; none by default."""
    var http2: Http2Config
    """The limits on clients of HTTP/2."""

    def __init__(
        out self,
        *,
        max_header_size: Int = 8192,
        max_header_fields: Int = 100,
        max_target_size: Int = 8192,
        max_body_size: Int = 10 * 1024 * 1024,
        max_keepalive_requests: Int = 100_000,
        max_connections: Int = 20_480,
        max_requests_in_flight: Int = 8_192,
        max_streams: Int = 16_384,
        max_receive_buffers: Int = 16_384,
        max_buffered_octets: Int = 256 * 1024 * 1024,
        overload_timeout_ms: Int = 5_000,
        idle_timeout_ms: Int = 60_000,
        head_timeout_ms: Int = 10_000,
        body_timeout_ms: Int = 30_000,
        body_octets_per_second_min: Int = 240,
        write_timeout_ms: Int = 30_000,
        write_octets_per_second_min: Int = 240,
        handler_timeout_ms: Int = 60_000,
        linger_timeout_ms: Int = 2_000,
        shutdown_timeout_ms: Int = 10_000,
        half_close_allowed: Bool = False,
        handle_signals: Bool = True,
        listen_backlog: Int = 4096,
        var trusted_proxies: List[IpNetwork] = List[IpNetwork](),
        trusts_unix_proxies: Bool = False,
        backend: BackendKind = BackendKind.AUTOMATIC,
        log: LogSink = LogSink.standard_error(),
        access_log: Optional[AccessLog] = None,
        metrics: ServerMetrics = ServerMetrics(),
        var http2: Http2Config = Http2Config(),
    ):
        """Creates a configuration. Omitted arguments have their defaults.

        Args:
            max_header_size: The longest header section, in octets.
            max_header_fields: The most field lines of a header section.
            max_target_size: The longest request target, in octets.
            max_body_size: The longest content of a request, in octets.
            max_keepalive_requests: The most requests on one connection.
            max_connections: The most connections of one worker.
            max_requests_in_flight: The most requests in flight of one worker.
            max_streams: The most open streams of one worker.
            max_receive_buffers: The most buffers for received octets of one
                worker.
            max_buffered_octets: The most octets that one worker holds for
                connections.
            overload_timeout_ms: How long clients wait if none can be accepted.
            idle_timeout_ms: How long a connection waits for its next request.
            head_timeout_ms: How long a request head may take.
            body_timeout_ms: How long a handler waits for more content.
            body_octets_per_second_min: The lowest rate of content.
            write_timeout_ms: How long a client may receive no octets.
            write_octets_per_second_min: The lowest rate of receiving.
            handler_timeout_ms: How long the waits of a handler may take in
                total.
            linger_timeout_ms: How long the server drops octets of a refused
                client.
            shutdown_timeout_ms: How long requests may take when the server
                stops.
            half_close_allowed: Whether a client may half-close and get the
                answer.
            handle_signals: Whether SIGTERM and SIGINT stop the server.
            listen_backlog: The most connections that may wait to be accepted.
            trusted_proxies: The proxies that may report the client of a
                connection.
            trusts_unix_proxies: Whether all clients of Unix sockets are such
                proxies.
            backend: The kernel interface.
            log: The destination of the server's own messages.
            access_log: The destination of a record for each request.
            metrics: The `Metrics` in which the server counts.
            http2: The limits on clients of HTTP/2.
        """
        self.max_header_size = max_header_size
        self.max_header_fields = max_header_fields
        self.max_target_size = max_target_size
        self.max_body_size = max_body_size
        self.max_keepalive_requests = max_keepalive_requests
        self.max_connections = max_connections
        self.max_requests_in_flight = max_requests_in_flight
        self.max_streams = max_streams
        self.max_receive_buffers = max_receive_buffers
        self.max_buffered_octets = max_buffered_octets
        self.overload_timeout_ms = overload_timeout_ms
        self.idle_timeout_ms = idle_timeout_ms
        self.head_timeout_ms = head_timeout_ms
        self.body_timeout_ms = body_timeout_ms
        self.body_octets_per_second_min = body_octets_per_second_min
        self.write_timeout_ms = write_timeout_ms
        self.write_octets_per_second_min = write_octets_per_second_min
        self.handler_timeout_ms = handler_timeout_ms
        self.linger_timeout_ms = linger_timeout_ms
        self.shutdown_timeout_ms = shutdown_timeout_ms
        self.half_close_allowed = half_close_allowed
        self.handle_signals = handle_signals
        self.listen_backlog = listen_backlog
        self.trusted_proxies = trusted_proxies^
        self.trusts_unix_proxies = trusts_unix_proxies
        self.backend = backend
        self.log = log
        self.access_log = access_log
        self.metrics = metrics
        self.http2 = http2^

    def first_problem(self) -> Optional[ConfigProblem]:
        """Returns the first value that is invalid or contradicts another.

        Returns:
            The problem, or `None`.
        """
        var counts: List[_Count] = [
            _Count(self.max_header_fields, "max_header_fields"),
            _Count(self.max_keepalive_requests, "max_keepalive_requests"),
            _Count(self.max_connections, "max_connections"),
            _Count(self.max_requests_in_flight, "max_requests_in_flight"),
            _Count(self.max_streams, "max_streams"),
            _Count(self.overload_timeout_ms, "overload_timeout_ms"),
            _Count(self.idle_timeout_ms, "idle_timeout_ms"),
            _Count(self.head_timeout_ms, "head_timeout_ms"),
            _Count(self.body_timeout_ms, "body_timeout_ms"),
            _Count(
                self.body_octets_per_second_min, "body_octets_per_second_min"
            ),
            _Count(self.write_timeout_ms, "write_timeout_ms"),
            _Count(
                self.write_octets_per_second_min, "write_octets_per_second_min"
            ),
            _Count(self.handler_timeout_ms, "handler_timeout_ms"),
            _Count(self.linger_timeout_ms, "linger_timeout_ms"),
            _Count(self.shutdown_timeout_ms, "shutdown_timeout_ms"),
            _Count(self.listen_backlog, "listen_backlog"),
        ]
        for entry in counts:
            if entry.value < 1 or entry.value > _COUNT_MAX:
                return ConfigProblem(entry.field, "must be 1 to 2,147,483,647")
        if self.max_header_size < 256 or self.max_header_size > 1 << 20:
            return ConfigProblem(
                "max_header_size", "must be 256 octets to 1 MiB"
            )
        if (
            self.max_target_size < 64
            or self.max_target_size > RequestTarget.OCTETS_MAX
        ):
            return ConfigProblem(
                "max_target_size", "must be 64 to 65,535 octets"
            )
        if self.max_receive_buffers < 64:
            return ConfigProblem("max_receive_buffers", "must be at least 64")
        if self.max_body_size < self.max_header_size:
            return ConfigProblem(
                "max_body_size", "must be at least max_header_size"
            )
        if self.max_buffered_octets // 2 < self.max_body_size:
            return ConfigProblem(
                "max_buffered_octets", "must be at least twice max_body_size"
            )
        if (
            self.access_log
            and not self.access_log.value().has_valid_target_limit()
        ):
            return ConfigProblem(
                "access_log", "must keep 1 to 8,192 octets of a target"
            )
        var bad_field = self.http2.first_bad_field()
        if bad_field != "":
            return ConfigProblem(bad_field, "is out of its bounds")
        if self.backend == BackendKind.SIMULATED:
            return ConfigProblem(
                "backend", "must be a kernel interface: simulated is for tests"
            )
        return None

    @always_inline
    def expects_proxy_header(self) -> Bool:
        """Returns whether connections start with a PROXY protocol header.

        Returns:
            True if each connection starts with the header.
        """
        return len(self.trusted_proxies) > 0 or self.trusts_unix_proxies

    def trusts_proxy(self, peer: StreamAddr) -> Bool:
        """Returns whether a peer is a trusted proxy.

        Args:
            peer: The peer's address.

        Returns:
            True if it is one of the trusted proxies.
        """
        var address = peer.ip_address()
        if not address:
            return self.trusts_unix_proxies
        for network in self.trusted_proxies:
            if network.contains(address.value()):
                return True
        return False

    @always_inline
    def bound_content(self, mut content: ContentState, mut wait: ContentWait):
        """Sets the bounds of a request's content, before the handler may change
        them.

        Args:
            content: The content.
            wait: The deadline of a wait for it.
        """
        content.octets_max = self.max_body_size
        wait.budget = RateBudget(self.body_timeout_ms)

    def h1_limits(self) -> H1Limits:
        """Returns the limits of the HTTP/1.1 machine.

        Returns:
            Its limits.
        """
        var limits = H1Limits()
        limits.request_target_octets_max = UInt32(self.max_target_size)
        limits.field_section_octets_max = UInt32(self.max_header_size)
        limits.field_lines_max = UInt32(self.max_header_fields)
        # Enforced where content is handed over: a handler may allow more.
        limits.body_octets_max = Int.MAX
        return limits

    def h2_limits(self) -> H2Limits:
        """Returns the limits of the HTTP/2 machine.

        Returns:
            Its limits.
        """
        var limits = self.http2.limits()
        limits.head.section_octets_max = self.max_header_size
        limits.head.lines_max = self.max_header_fields
        return limits

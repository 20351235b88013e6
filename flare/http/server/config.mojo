"""Bounds what a server accepts and how long it waits."""

from flare.http.stream_address import StreamAddr
from flare.message import RequestTarget
from flare.net import IpNetwork
from flare.proto.h1 import H1Limits
from flare.runtime.backend import BackendKind

from .records.log import AccessLog, LogSink

# Far from where sums overflow; in milliseconds 24 days.
comptime _COUNT_MAX = (1 << 31) - 1


@fieldwise_init
struct ConfigProblem(ImplicitlyCopyable, Writable):
    """Says which value of a configuration cannot work."""

    var field: StaticString
    """The name of the field."""
    var reason: StaticString
    """What it must be."""

    def write_to(self, mut writer: Some[Writer]):
        """Writes one line for a person.

        Args:
            writer: The destination.
        """
        writer.write("ServerConfig.", self.field, " ", self.reason)


@fieldwise_init
struct _Count(ImplicitlyCopyable):
    var value: Int
    var field: StaticString


struct ServerConfig(Copyable, Movable):
    """Holds the limits of a server, all of them on by default.

    A constructor does not raise, so that a configuration can be a compile-time
    value; `first_problem` is asserted by `serve_comptime` and raised by `bind`.
    """

    var max_header_size: Int
    """Octets of a header section; 8 KiB by default, as nginx and Apache have.
    More is answered 431."""
    var max_header_fields: Int
    """Field lines of a header section; 100 by default. More is answered 431."""
    var max_target_size: Int
    """Octets of a request target; 8 KiB by default. More is answered 414."""
    var max_body_size: Int
    """Octets of a request's content; 10 MiB by default. More is answered 413,
    unless the handler allows more (`req.body.set_octets_max`)."""
    var max_keepalive_requests: Int
    """Requests on one connection; 100,000 by default, so that connections move
    to other workers now and then."""
    var max_connections: Int
    """Connections of one worker; 16,384 by default. At the limit accepting
    pauses."""
    var max_requests_in_flight: Int
    """Requests of one worker that are being answered; 8,192 by default. Over it
    the answer is 503. Open streams are counted by `max_streams` instead."""
    var max_streams: Int
    """Streamed responses and upgraded connections of one worker that are open;
    12,288 by default, so that a quarter of `max_connections` is left for other
    requests. Over it the answer is 503."""
    var max_receive_buffers: Int
    """Buffers of 4 KiB that received octets of one worker may occupy; 16,384 by
    default: 64 MiB. At the limit connections wait to be read. The head of each
    request in flight may hold one: where there are not more of them than
    `max_requests_in_flight`, requests may wait for content until their deadline
    while heads hold all."""
    var max_buffered_octets: Int
    """Octets that one worker may hold for its connections: contents of requests
    that are kept whole, heads in several pieces, and answers that peers have
    yet to read; at least twice `max_body_size`. 256 MiB by default: 32 KiB for
    each of 8,192 requests in flight, or 25 contents of 10 MiB. Over three
    quarters contents wait; over all of it a long answer to GET becomes a 503,
    and over a quarter more every new request."""
    var overload_timeout_ms: Int
    """How long who wants to connect is left waiting while descriptors or memory
    are used up and no connection ends; 5 s by default. Then the answer is
    503."""
    var idle_timeout_ms: Int
    """How long a connection may wait for its next request; 60 s by default."""
    var head_timeout_ms: Int
    """How long a request head may take from its first octet on; 10 s by
    default. The answer is 408."""
    var body_timeout_ms: Int
    """How long a handler waits for more content; 30 s by default. The answer is
    408."""
    var body_octets_per_second_min: Int
    """What content must come at while a handler waits for it, once the time of
    `body_timeout_ms` is used up; 240 by default, so that an octet now and then
    does not hold a handler for hours."""
    var write_timeout_ms: Int
    """How long a peer may take no octets; 30 s by default."""
    var write_octets_per_second_min: Int
    """What a peer must read at, once the time of `write_timeout_ms` is used up;
    240 by default. Its reading shows only when the kernel takes more to send,
    for a full socket after up to a megabyte: a slower peer needs a longer
    `write_timeout_ms`."""
    var handler_timeout_ms: Int
    """How long after its head a handler may still wait; the time that it waited
    for content is added. 60 s by default. It ends with the handler: a function that
    writes a stream has a deadline for each write."""
    var linger_timeout_ms: Int
    """How long octets of a refused peer are read and dropped, so that it gets
    to read the answer; 2 s by default."""
    var shutdown_timeout_ms: Int
    """How long requests in flight may take when the server stops; 10 s by
    default."""
    var half_close_allowed: Bool
    """False by default: a peer that ends its side while a handler waits counts
    as gone."""
    var handle_signals: Bool
    """True by default: while the server serves, SIGTERM and SIGINT stop it, and
    a fault (SIGSEGV and the like) says which request ends the process. False
    leaves all signals alone."""
    var listen_backlog: Int
    """Connections that may wait to be accepted; 4,096 by default."""
    var trusted_proxies: List[IpNetwork]
    """Who may name the client of a connection (PROXY protocol, version 1 or 2);
    nobody by default. Where there is one, each connection has to begin with
    that header within `head_timeout_ms`, and those from elsewhere are closed.
    """
    var trusts_unix_proxies: Bool
    """Whether all who may connect to a Unix socket are such proxies; False by
    default. Then a header is expected everywhere, too."""
    var backend: BackendKind
    """The kernel interface; io_uring if the kernel allows it, else epoll."""
    var log: LogSink
    """Where the server's own messages go; standard error by default."""
    var access_log: Optional[AccessLog]
    """Where a record of each request goes; nowhere by default."""

    def __init__(
        out self,
        *,
        max_header_size: Int = 8192,
        max_header_fields: Int = 100,
        max_target_size: Int = 8192,
        max_body_size: Int = 10 * 1024 * 1024,
        max_keepalive_requests: Int = 100_000,
        max_connections: Int = 16_384,
        max_requests_in_flight: Int = 8_192,
        max_streams: Int = 12_288,
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
    ):
        """Takes the defaults for what is not given.

        Args:
            max_header_size: Octets of a header section.
            max_header_fields: Field lines of a header section.
            max_target_size: Octets of a request target.
            max_body_size: Octets of a request's content.
            max_keepalive_requests: Requests on one connection.
            max_connections: Connections of one worker.
            max_requests_in_flight: Requests of one worker being answered.
            max_streams: Open streams of one worker.
            max_receive_buffers: Buffers for received octets of one worker.
            max_buffered_octets: Octets that one worker holds for connections.
            overload_timeout_ms: The wait of who cannot be accepted.
            idle_timeout_ms: The wait for a next request.
            head_timeout_ms: The wait for a whole head.
            body_timeout_ms: The wait for more content.
            body_octets_per_second_min: The slowest that content may come.
            write_timeout_ms: The wait for a peer to take octets.
            write_octets_per_second_min: The slowest that a peer may read.
            handler_timeout_ms: The waits of one handler in all.
            linger_timeout_ms: How long a refused peer is listened to.
            shutdown_timeout_ms: How long requests may take at the end.
            half_close_allowed: Whether a peer may end its side and wait.
            handle_signals: Whether SIGTERM and SIGINT stop the server.
            listen_backlog: Connections that may wait to be accepted.
            trusted_proxies: Who may name the client of a connection.
            trusts_unix_proxies: Whether who connects to a Unix socket may.
            backend: The kernel interface.
            log: Where the server's own messages go.
            access_log: Where a record of each request goes.
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

    def first_problem(self) -> Optional[ConfigProblem]:
        """Finds a value that cannot work, or that contradicts another.

        Returns:
            The first problem, or none.
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
        if self.backend == BackendKind.SIMULATED:
            return ConfigProblem(
                "backend", "must be a kernel interface: simulated is for tests"
            )
        return None

    @always_inline
    def expects_proxy_header(self) -> Bool:
        """Tells whether connections come from proxies.

        Returns:
            True if each begins with a header that names the client.
        """
        return len(self.trusted_proxies) > 0 or self.trusts_unix_proxies

    def trusts_proxy(self, peer: StreamAddr) -> Bool:
        """Tells whether a peer may name the client of its connection.

        Args:
            peer: Its address.

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

    def h1_limits(self) -> H1Limits:
        """Gives the limits of the HTTP/1.1 machine.

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

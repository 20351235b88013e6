"""Configures HTTP/2 in a server."""

from flare.proto.h2.h2_limits import H2Limits

comptime _WINDOW_MAX = (1 << 31) - 1
comptime _COUNT_MAX = (1 << 31) - 1
comptime _STREAMS_MAX = 32_767


@fieldwise_init
struct _Bound(ImplicitlyCopyable):
    var value: Int
    var least: Int
    var most: Int
    var field: StaticString


struct Http2Config(Copyable, Movable):
    """The limits on clients of HTTP/2, per connection. The other limits of
    `ServerConfig` apply to each request, whatever its protocol."""

    var max_concurrent_streams: Int
    """The most requests that may be open at the same time, 1 to 32,767; 128 by
    default, as in nginx. A request counts until its handler has ended. Further
    ones are refused, and a client may send them again.
    """
    var max_requests: Int
    """The most requests of one connection; 1,000,000 by default. Then the client
    is told to open another one."""
    var stream_window_octets: Int
    """The most content of a request that a client may send before the handler
    takes some, 1 octet to 2 GiB; 64 KiB by default."""
    var connection_window_octets: Int
    """The same for all requests of a connection together, 64 KiB to 2 GiB; 1 MiB
    by default. So sixteen handlers that take nothing hold no others up.
    """
    var max_unsent_octets: Int
    """The memory of responses that wait for the client to read; 1 MiB by default.
    Beyond it, a handler starts only for a request that is more urgent than all
    others. Sealed content and streamed responses count nothing; a handler
    that streams waits after 32 KiB."""
    var max_cookie_crumbs: Int
    """The most lines of Cookie in a head; 256 by default. A browser divides its
    cookies into lines, which count as one of `max_header_fields`."""
    var max_resets: Int
    """The most requests that a client may cancel at once before their response,
    or lose by its own faults; 256 by default. Beyond, the connection ends with
    ENHANCE_YOUR_CALM."""
    var resets_per_second: Int
    """How many of them are forgiven in a second; 32 by default."""
    var max_glitches: Int
    """The most frames that a client may send at once without a use, such as
    pings; 4,096 by default. Each request makes up for four."""
    var glitches_per_second: Int
    """How many of them are forgiven in a second; 256 by default."""

    def __init__(
        out self,
        *,
        max_concurrent_streams: Int = 128,
        max_requests: Int = 1_000_000,
        stream_window_octets: Int = 64 * 1024,
        connection_window_octets: Int = 1024 * 1024,
        max_unsent_octets: Int = 1024 * 1024,
        max_cookie_crumbs: Int = 256,
        max_resets: Int = 256,
        resets_per_second: Int = 32,
        max_glitches: Int = 4096,
        glitches_per_second: Int = 256,
    ):
        """Creates a configuration. Omitted arguments have their defaults.

        Args:
            max_concurrent_streams: The most open requests.
            max_requests: The most requests of one connection.
            stream_window_octets: The most content of a request that no handler
                has taken.
            connection_window_octets: The same for all requests together.
            max_unsent_octets: The memory of unsent responses beyond which no
                further handler starts.
            max_cookie_crumbs: The most lines of Cookie.
            max_resets: The most requests that are cancelled at once.
            resets_per_second: How many of them are forgiven in a second.
            max_glitches: The most frames at once without a use.
            glitches_per_second: How many of them are forgiven in a second.
        """
        self.max_concurrent_streams = max_concurrent_streams
        self.max_requests = max_requests
        self.stream_window_octets = stream_window_octets
        self.connection_window_octets = connection_window_octets
        self.max_unsent_octets = max_unsent_octets
        self.max_cookie_crumbs = max_cookie_crumbs
        self.max_resets = max_resets
        self.resets_per_second = resets_per_second
        self.max_glitches = max_glitches
        self.glitches_per_second = glitches_per_second

    def first_bad_field(self) -> StaticString:
        """Returns the first field whose value is out of its bounds.

        Returns:
            The name of the field; empty if all values are valid.
        """
        var bounds: List[_Bound] = [
            _Bound(
                self.max_concurrent_streams,
                1,
                _STREAMS_MAX,
                "http2.max_concurrent_streams",
            ),
            _Bound(self.max_requests, 1, _COUNT_MAX, "http2.max_requests"),
            _Bound(
                self.stream_window_octets,
                1,
                _WINDOW_MAX,
                "http2.stream_window_octets",
            ),
            _Bound(
                self.connection_window_octets,
                65_535,
                _WINDOW_MAX,
                "http2.connection_window_octets",
            ),
            _Bound(
                self.max_unsent_octets,
                1,
                _COUNT_MAX,
                "http2.max_unsent_octets",
            ),
            _Bound(
                self.max_cookie_crumbs,
                1,
                _COUNT_MAX,
                "http2.max_cookie_crumbs",
            ),
            _Bound(self.max_resets, 1, _COUNT_MAX, "http2.max_resets"),
            _Bound(
                self.resets_per_second,
                1,
                _COUNT_MAX,
                "http2.resets_per_second",
            ),
            _Bound(self.max_glitches, 1, _COUNT_MAX, "http2.max_glitches"),
            _Bound(
                self.glitches_per_second,
                1,
                _COUNT_MAX,
                "http2.glitches_per_second",
            ),
        ]
        for bound in bounds:
            if bound.value < bound.least or bound.value > bound.most:
                return bound.field
        return ""

    def limits(self) -> H2Limits:
        """Returns the limits of the protocol machine.

        Returns:
            Its limits, but those on heads.
        """
        var limits = H2Limits()
        limits.streams_max = self.max_concurrent_streams
        limits.stream_window_octets = self.stream_window_octets
        limits.connection_window_octets = self.connection_window_octets
        limits.head.crumbs_max = self.max_cookie_crumbs
        limits.resets = self.max_resets
        limits.resets_per_second = self.resets_per_second
        limits.glitches = self.max_glitches
        limits.glitches_per_second = self.glitches_per_second
        return limits

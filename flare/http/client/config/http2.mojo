"""Configures HTTP/2 in a client."""

from flare.proto.h1 import H1Limits
from flare.proto.h2.h2_limits import H2Limits

comptime _WINDOW_MAX = (1 << 31) - 1
comptime _STREAMS_MAX = 32_767
comptime _MS_MAX = 1 << 40
# A server whose streams the client cancels has much under way that is of no use
# any more.
comptime _GLITCHES = 1 << 16
comptime _GLITCHES_PER_SECOND = 1 << 14


struct ClientHttp2Config(ImplicitlyCopyable, Movable):
    """The limits of HTTP/2, per connection. The other limits of `ClientConfig`
    apply to each request, whatever its protocol."""

    var max_concurrent_streams: Int
    """The most requests on a connection at the same time, 1 to 32,767; 128 by
    default. A lower limit of the server takes precedence. Further requests wait
    in order.
    """
    var stream_window_octets: Int
    """The most content of a response that the server may send before the program
    takes some, 64 KiB to 2 GiB. The default is 1 MiB. A fast reader gets more, up
    to 8 MiB.
    """
    var connection_window_octets: Int
    """The same for all responses of a connection together; 16 MiB by default, so
    that sixteen readers that take nothing hold no others up."""
    var ping_after_ms: Int
    """How long the server may be silent while a request waits for it, before it
    is asked for an answer; 15 seconds by default."""
    var ping_timeout_ms: Int
    """How long the server may take to answer; 10 seconds by default. Then the
    connection is given up, with `client.timeout`."""

    def __init__(
        out self,
        *,
        max_concurrent_streams: Int = 128,
        stream_window_octets: Int = 1 << 20,
        connection_window_octets: Int = 16 << 20,
        ping_after_ms: Int = 15_000,
        ping_timeout_ms: Int = 10_000,
    ):
        """Creates a configuration. Omitted arguments have their defaults.

        Args:
            max_concurrent_streams: The most requests at the same time.
            stream_window_octets: The most content of a response that the program
                has not taken.
            connection_window_octets: The same for all responses together.
            ping_after_ms: How long the server may be silent.
            ping_timeout_ms: How long the server may take to answer.
        """
        self.max_concurrent_streams = max_concurrent_streams
        self.stream_window_octets = stream_window_octets
        self.connection_window_octets = connection_window_octets
        self.ping_after_ms = ping_after_ms
        self.ping_timeout_ms = ping_timeout_ms

    def first_problem(self) -> Optional[StaticString]:
        """Returns the first field that is out of its bounds.

        Returns:
            The problem, or `None`.
        """
        if not 1 <= self.max_concurrent_streams <= _STREAMS_MAX:
            return StaticString("http2.max_concurrent_streams not in 1..32767")
        if not 65_536 <= self.stream_window_octets <= _WINDOW_MAX:
            return StaticString(
                "http2.stream_window_octets not in 2^16..2^31-1"
            )
        if not 65_536 <= self.connection_window_octets <= _WINDOW_MAX:
            return StaticString(
                "http2.connection_window_octets not in 2^16..2^31-1"
            )
        if not 1 <= self.ping_after_ms <= _MS_MAX:
            return StaticString("http2.ping_after_ms not in 1..2^40")
        if not 1 <= self.ping_timeout_ms <= _MS_MAX:
            return StaticString("http2.ping_timeout_ms not in 1..2^40")
        return None

    def machine_limits(self, limits: H1Limits) -> H2Limits:
        """Returns the limits of a machine.

        Args:
            limits: The limits of a response.

        Returns:
            The limits.
        """
        var of_machine = H2Limits()
        of_machine.head.section_octets_max = Int(
            limits.field_section_octets_max
        )
        of_machine.head.lines_max = Int(limits.field_lines_max)
        of_machine.streams_max = self.max_concurrent_streams
        of_machine.stream_window_octets = self.stream_window_octets
        of_machine.connection_window_octets = self.connection_window_octets
        of_machine.resets = _GLITCHES
        of_machine.resets_per_second = _GLITCHES_PER_SECOND
        of_machine.glitches = _GLITCHES
        of_machine.glitches_per_second = _GLITCHES_PER_SECOND
        of_machine.continuations_max = 64
        return of_machine

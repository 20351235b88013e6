"""Describes a request for the access log: facts of a fixed size, then texts. A
worker hands them to the thread that writes the log.
"""

from flare.net import IpAddr, SocketAddr

comptime CLIENT_LEFT_STATUS = 499
"""The status in the access log if the client left before an answer began. No
RFC defines it; nginx logs the same number.
"""


@fieldwise_init
struct AccessEnd(Equatable, TrivialRegisterPassable, Writable):
    """How a request ended."""

    comptime COMPLETE = Self(0)
    """The handler's whole answer was passed to the connection."""
    comptime CLIENT_LEFT = Self(1)
    """The connection, or the stream of HTTP/2, ended before that: the client
    left or stopped reading, or the server had to stop at once.
    """
    comptime BROKEN_OFF = Self(2)
    """The server broke the answer off after it had begun: its function failed,
    or the server stopped.
    """
    comptime REFUSED = Self(3)
    """The server refused the request, or its content, itself."""

    var code: UInt8
    """The number of the constant."""

    def name(self) -> StaticString:
        """Returns the name in the lines of the log.

        Returns:
            `complete`, `client_left`, `broken_off` or `refused`.
        """
        if self == Self.COMPLETE:
            return "complete"
        if self == Self.CLIENT_LEFT:
            return "client_left"
        if self == Self.BROKEN_OFF:
            return "broken_off"
        return "refused"

    def write_to(self, mut writer: Some[Writer]):
        """Writes the name.

        Args:
            writer: The destination.
        """
        writer.write(self.name())


@fieldwise_init
struct AccessOutcome(TrivialRegisterPassable):
    """The answer to a request."""

    var status: Int32
    """Its status."""
    var end: AccessEnd
    """How it ended."""
    var is_secure: Bool
    """Whether the request came over TLS."""
    var response_octets: Int
    """The length of its content."""
    var ended_ns: Int
    """When it was written, by the monotonic clock."""


@fieldwise_init
struct AccessTexts(TrivialRegisterPassable):
    """The lengths of the texts that follow the facts, in this order."""

    var target: UInt16
    """The kept part of the request target."""
    var method: UInt16
    """The method, if it is none of those with a number."""
    var route: UInt16
    """The pattern of the route."""
    var user_agent: UInt16
    """The kept part of User-Agent."""
    var referer: UInt16
    """The kept part of Referer."""
    var request_id: UInt16
    """The kept part of X-Request-Id."""
    var trace_id: UInt16
    """The trace id: 32 or 0."""

    def __init__(out self):
        """Creates the lengths of no texts."""
        self = Self(0, 0, 0, 0, 0, 0, 0)

    @always_inline
    def total(self) -> Int:
        """Returns the length of all texts.

        Returns:
            The number of octets.
        """
        return (
            Int(self.target)
            + Int(self.method)
            + Int(self.route)
            + Int(self.user_agent)
            + Int(self.referer)
            + Int(self.request_id)
            + Int(self.trace_id)
        )


@fieldwise_init
struct AccessFacts(TrivialRegisterPassable):
    """All of a request that is no text."""

    var outcome: AccessOutcome
    """The answer."""
    var duration_ns: Int
    """The time from the complete head to the end; 0 if there was no head."""
    var request_octets: Int
    """The received octets of its content."""
    var request_id: Int
    """Its number, counted by the worker; 0 if its head was refused."""
    var worker: Int32
    """The index of the worker."""
    var target_octets: Int32
    """The length of the whole request target."""
    var method: UInt8
    """The number of the method."""
    var version_major: UInt8
    """The major version of HTTP."""
    var version_minor: UInt8
    """The minor version of HTTP."""
    var has_client: Bool
    """Whether `client` is known."""
    var client: SocketAddr
    """The address of the client, which a trusted proxy may have named."""
    var texts: AccessTexts
    """The lengths of the texts."""

    def __init__(out self):
        """Creates the facts of a request of which nothing is known."""
        self = Self(
            AccessOutcome(0, AccessEnd.COMPLETE, False, 0, 0),
            0,
            0,
            0,
            0,
            0,
            0,
            1,
            1,
            False,
            SocketAddr(IpAddr.v4(0, 0, 0, 0), 0),
            AccessTexts(),
        )


@fieldwise_init
struct AccessEvent(TrivialRegisterPassable):
    """The end of a request, as a server reports it to the access log."""

    var outcome: AccessOutcome
    """The answer."""
    var worker: Int32
    """The index of the worker."""
    var is_named: Bool
    """Whether its method and target are known."""
    var has_version: Bool
    """Whether its version is known."""
    var has_client: Bool
    """Whether `client` is known."""
    var client: SocketAddr
    """The address of the client."""
    var request_id: Span[UInt8, ImmUntrackedOrigin]
    """The value of X-Request-Id in the answer; empty if there is none."""


@fieldwise_init
struct AccessFields(TrivialRegisterPassable):
    """The fields of requests that a log wants."""

    comptime USER_AGENT: UInt8 = 1
    """User-Agent."""
    comptime REFERER: UInt8 = 2
    """Referer."""
    comptime REQUEST_ID: UInt8 = 4
    """X-Request-Id."""
    comptime TRACE_ID: UInt8 = 8
    """The trace id of `traceparent`."""
    comptime ROUTE: UInt8 = 16
    """The pattern of the route."""
    comptime NONE: UInt8 = 0
    """None."""
    comptime ALL: UInt8 = 31
    """All."""

    var bits: UInt8
    """The sum of the constants."""

    @always_inline
    def has(self, field: UInt8) -> Bool:
        """Returns whether the log wants a field.

        Args:
            field: One of the constants.

        Returns:
            False if the worker does not copy it.
        """
        return self.bits & field != 0

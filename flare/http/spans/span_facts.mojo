"""Describes the span of a request: facts of a fixed size, then texts."""

from flare.message import Method, TraceContext


@fieldwise_init
struct SpanTexts(TrivialRegisterPassable):
    """The lengths of the texts of a span, in their order."""

    var path: UInt16
    """The path of the request target."""
    var route: UInt16
    """The pattern of the route."""
    var trace_state: UInt16
    """The field `tracestate`."""

    def total(self) -> Int:
        """Returns the length of all texts.

        Returns:
            The number of octets.
        """
        return Int(self.path) + Int(self.route) + Int(self.trace_state)


@fieldwise_init
struct SpanFacts(TrivialRegisterPassable):
    """The facts of a span, without its texts."""

    var context: TraceContext
    """Its identity."""
    var parent_id: UInt64
    """The span that has sent the request; 0 if none is known."""
    var started_ns: Int
    """When it began, by the monotonic clock."""
    var ended_ns: Int
    """When it ended."""
    var method: Method
    """The method of the request."""
    var version_major: UInt8
    """The version of HTTP: the digit before the dot."""
    var version_minor: UInt8
    """The digit after the dot."""
    var status: UInt16
    """The status of the response; 0 without one."""
    var is_secure: Bool
    """Whether the request came over TLS."""
    var was_cancelled: Bool
    """Whether the handler was cancelled: its client left, or the server ended.
    """
    var texts: SpanTexts
    """The lengths of the texts."""

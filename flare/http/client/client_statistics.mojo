"""Counts what a client does."""


@fieldwise_init
struct ClientStatistics(ImplicitlyCopyable):
    """Holds counters of one client."""

    var requests: Int
    """Requests that were begun on a connection."""
    var connects: Int
    """Connections that were opened."""
    var stale: Int
    """Requests that went out again because a kept connection was closed."""
    var retries: Int
    """Requests that were repeated as the policy says."""
    var failures: Int
    """Calls that ended with an error."""
    var open: Int
    """Connections that exist or are being made."""
    var idle: Int
    """Those of them that are kept for later."""

    def __init__(out self):
        """Has counted nothing."""
        self = Self(0, 0, 0, 0, 0, 0, 0)

"""Counts the events of a client."""


@fieldwise_init
struct ClientStatistics(ImplicitlyCopyable):
    """The counters of one client."""

    var requests: Int
    """Requests that were started on a connection."""
    var connects: Int
    """Connections that were opened."""
    var stale: Int
    """Requests that were repeated because a kept connection was closed."""
    var not_processed: Int
    """Requests that were repeated because the server had not processed them."""
    var retries: Int
    """Requests that were retried by the policy."""
    var failures: Int
    """Calls that ended with an error."""
    var open: Int
    """Connections that exist or are being opened."""
    var idle: Int
    """Those that are idle."""

    def __init__(out self):
        """Creates counters at zero."""
        self = Self(0, 0, 0, 0, 0, 0, 0, 0)

"""Configures how many requests clients may send."""

from flare.core import is_token
from flare.http.request import Request
from flare.net import IpAddr

from .rate_keys import RateKeys
from .rate_table import RateTable

comptime RateKeyFunction = def(Request, RateKeys) raises thin -> Optional[
    UInt64
]
"""A function that returns the key by which requests are counted; `None` admits
a request without counting it."""

comptime _REQUESTS_MAX = 1_000_000_000
comptime _WINDOW_SECONDS_MAX = 31 * 86400
comptime _NS = 1_000_000_000


def by_peer(req: Request, keys: RateKeys) raises -> Optional[UInt64]:
    """Returns the key of the client's address.

    Args:
        req: The request.
        keys: The hash.

    Returns:
        The key of the address that `req.peer()` returns: of IPv6, of its first
        64 bits. Peers without an IP address, such as those of a Unix socket,
        share one key.

    Raises:
        Never.
    """
    var address = _address_of(req)
    if not address:
        return keys.of(StaticString("without an address"))
    return keys.of(address.unsafe_value())


def _address_of(req: Request) -> Optional[IpAddr]:
    try:
        return req.peer().ip_address()
    except:
        # The peer has left, or a test has none.
        return None


struct RateLimitConfig(Copyable, Movable):
    """Configures `RateLimit`: every client may send `requests` in
    `window_seconds`, and `burst` of them at once.

    A client regains one request after another, evenly. So directly after a
    burst it may send as many as it has regained.
    """

    var requests: Int
    """The number of requests, from 1 to 1,000,000,000."""
    var window_seconds: Int
    """The time in which a client regains all of them, from 1 second to 31 days;
    60 by default."""
    var burst: Int
    """How many requests a client may send at once, from 1 to `requests`; by
    default `requests`."""
    var key: RateKeyFunction
    """The function that finds the client; `by_peer` by default: its address."""
    var name: String
    """The name of the policy in the fields of responses, a token; `default` by
    default."""
    var entries: Int
    """The number of clients that are remembered, from 64 to 16,777,216, rounded
    up to a power of two. 65,536 by default, which take 1 MiB for each worker.
    If there are more, those that have sent the least are forgotten."""
    var workers: Int
    """The number of workers, from 1 to 256; 1 by default. Each admits its part
    of the requests. A client whose connections all reach one worker has only
    this part."""
    var is_exact: Bool
    """Whether all workers count together, in one table under 64 locks; False by
    default. It excludes `workers`."""
    var reports: Bool
    """Whether each response has the fields RateLimit and RateLimit-Policy, and
    not only 429; False by default, which costs least."""

    def __init__(
        out self,
        *,
        requests: Int,
        window_seconds: Int = 60,
        burst: Optional[Int] = None,
        key: RateKeyFunction = by_peer,
        var name: String = "default",
        entries: Int = 65536,
        workers: Int = 1,
        is_exact: Bool = False,
        reports: Bool = False,
    ):
        """Creates a configuration.

        Args:
            requests: The number of requests.
            window_seconds: The time in which a client regains all of them.
            burst: How many a client may send at once; by default all.
            key: The function that finds the client.
            name: The name of the policy.
            entries: The number of clients that are remembered.
            workers: The number of workers that share the limit.
            is_exact: Whether all workers count together. Supervised ones, which
                are processes, cannot.
            reports: Whether each response states the rest of the quota.
        """
        self.requests = requests
        self.window_seconds = window_seconds
        self.burst = burst.or_else(requests)
        self.key = key
        self.name = name^
        self.entries = entries
        self.workers = workers
        self.is_exact = is_exact
        self.reports = reports

    def first_problem(self) -> Optional[StaticString]:
        """Returns the name of the first invalid field.

        Returns:
            The name, or `None`.
        """
        if self.requests < 1 or self.requests > _REQUESTS_MAX:
            return StaticString("requests")
        if self.window_seconds < 1 or self.window_seconds > _WINDOW_SECONDS_MAX:
            return StaticString("window_seconds")
        if self.burst < 1 or self.burst > self.requests:
            return StaticString("burst")
        if not is_token(self.name.as_bytes()):
            return StaticString("name")
        if (
            self.entries < RateTable.ENTRIES_MIN
            or self.entries > RateTable.ENTRIES_MAX
        ):
            return StaticString("entries")
        if (
            self.workers < 1
            or self.workers > 256
            or (self.is_exact and self.workers > 1)
        ):
            return StaticString("workers")
        return None

    def request_ns(self) -> Int:
        """Returns the time in which a client regains one request of a worker.

        Returns:
            Nanoseconds, at least 1.
        """
        return max(self.window_seconds * _NS * self.workers // self.requests, 1)

    def quota_ns(self) -> Int:
        """Returns the time in which a client regains a burst.

        Returns:
            Nanoseconds, at least those of one request.
        """
        return self.request_ns() * max(self.burst // self.workers, 1)

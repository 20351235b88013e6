"""Decides whether and when a failed request is retried.

Pure functions: the current time and random numbers are arguments.
"""

from flare.message import HttpDate
from flare.sys.random import fill_random

from ...client_error import ClientError, Phase, is_passing_status

comptime _SECONDS_MAX = 1_000_000


struct RetryPolicy(TrivialRegisterPassable):
    """The policy for retries; by default, the client never retries.

    The client retries idempotent requests (RFC 9110 section 9.2.2), and
    requests that failed before any octet was sent.
    """

    var retries_max: Int
    """The most retries of a call; 0 for none."""
    var delay_ms: Int
    """The longest delay before the first retry; it doubles with each further
    one.
    """
    var delay_max_ms: Int
    """The upper limit of the doubled delay."""
    var retry_after_max_ms: Int
    """The longest delay that a server may request with Retry-After. If it
    requests more, its response is returned.
    """

    def __init__(
        out self,
        *,
        retries_max: Int = 0,
        delay_ms: Int = 100,
        delay_max_ms: Int = 10_000,
        retry_after_max_ms: Int = 30_000,
    ):
        """Creates a policy.

        Args:
            retries_max: The most retries of a call.
            delay_ms: The longest delay before the first retry.
            delay_max_ms: The longest delay before any retry.
            retry_after_max_ms: The longest delay that a server may request.
        """
        self.retries_max = retries_max
        self.delay_ms = delay_ms
        self.delay_max_ms = delay_max_ms
        self.retry_after_max_ms = retry_after_max_ms

    def first_problem(self) -> Optional[StaticString]:
        """Returns the first field that is out of its bounds.

        Returns:
            The problem, or `None`.
        """
        if self.retries_max < 0 or self.retries_max > 100:
            return StaticString("retries_max not in 0..100")
        if self.delay_ms < 1 or self.delay_ms > self.delay_max_ms:
            return StaticString("delay_ms not in 1..delay_max_ms")
        if self.delay_max_ms > 1 << 32:
            return StaticString("delay_max_ms over 2^32")
        if self.retry_after_max_ms < 0 or self.retry_after_max_ms > 1 << 32:
            return StaticString("retry_after_max_ms not in 0..2^32")
        return None

    def back_off(self, retries: Int, drawn: UInt64) -> Int:
        """Returns a random delay below a bound that doubles, so that clients
        that failed together do not return together.

        Args:
            retries: The number of earlier retries.
            drawn: A random number.

        Returns:
            The delay in milliseconds, at least 1.
        """
        var bound = self.delay_ms
        for _ in range(min(retries, 40)):
            bound = min(2 * bound, self.delay_max_ms)
        return 1 + Int(drawn % UInt64(bound))


def retry_delay(
    policy: RetryPolicy,
    retries: Int,
    failure: ClientError,
    is_idempotent: Bool,
) -> Optional[Int]:
    """Returns the delay before a retry after a failure.

    Args:
        policy: The policy.
        retries: The number of earlier retries.
        failure: The failure.
        is_idempotent: Whether the method may be repeated.

    Returns:
        The delay in milliseconds; `None` for no retry.
    """
    if retries >= policy.retries_max or not failure.can_retry():
        return None
    var was_sent = (
        failure.phase != Phase.CONNECT
        and failure.phase != Phase.HANDSHAKE
        and failure.kind != ClientError.NOT_PROCESSED
    )
    if was_sent and not is_idempotent:
        return None
    return policy.back_off(retries, random_number())


def status_delay(
    policy: RetryPolicy,
    retries: Int,
    status: Int,
    is_idempotent: Bool,
    retry_after_s: Optional[Int],
) -> Optional[Int]:
    """Returns the delay before a retry after a response.

    Args:
        policy: The policy.
        retries: The number of earlier retries.
        status: The status.
        is_idempotent: Whether the method may be repeated.
        retry_after_s: The delay that the server requests, in seconds.

    Returns:
        The delay in milliseconds; `None` for no retry.
    """
    if retries >= policy.retries_max or not is_idempotent:
        return None
    if not is_passing_status(status):
        return None
    if not retry_after_s:
        return policy.back_off(retries, random_number())
    var delay_ms = retry_after_s.value() * 1000
    if delay_ms > policy.retry_after_max_ms:
        return None
    return max(delay_ms, 1)


def seconds_to_wait(octets: Span[UInt8, _], now_s: Int) -> Optional[Int]:
    """Parses a Retry-After field (RFC 9110 section 10.2.3).

    Args:
        octets: The field's value, seconds or a date; empty without the field.
        now_s: The current time.

    Returns:
        The delay in seconds, not negative; `None` if there is no valid value.
    """
    if len(octets) == 0:
        return None
    if octets[0] - 48 <= 9:
        var number = 0
        for octet in octets:
            if octet - 48 > 9:
                return None
            number = min(number * 10 + Int(octet - 48), _SECONDS_MAX)
        return number
    var date = HttpDate.parse(octets, now_s)
    if not date:
        return None
    return min(max(date.value().seconds - now_s, 0), _SECONDS_MAX)


def random_number() -> UInt64:
    """Returns a random number.

    Returns:
        The number; 0 if the kernel has none.
    """
    var octets = Array[UInt8, 8](fill=0)
    _ = fill_random(Span(octets))
    var number: UInt64 = 0
    for i in range(8):
        number = number << 8 | UInt64(octets[i])
    return number

"""Decides whether a request that failed is sent again, and when.

Pure functions: what time it is, and what was drawn, are arguments.
"""

from flare.message import HttpDate
from flare.sys.random import fill_random

from ..client_error import ClientError, Phase

comptime _SECONDS_MAX = 1_000_000


struct RetryPolicy(TrivialRegisterPassable):
    """Says how often a request is repeated. By default it is not.

    Only what may be repeated is: an idempotent request (RFC 9110 section
    9.2.2), or one that failed before anything of it was sent.
    """

    var retries_max: Int
    """The most repetitions of a call; 0 for none."""
    var delay_ms: Int
    """The longest wait before the first; it doubles with each one."""
    var delay_max_ms: Int
    """What it doubles up to."""
    var retry_after_max_ms: Int
    """The longest wait that a server may ask for with Retry-After; where it
    asks for more, its response is handed over."""

    def __init__(
        out self,
        *,
        retries_max: Int = 0,
        delay_ms: Int = 100,
        delay_max_ms: Int = 10_000,
        retry_after_max_ms: Int = 30_000,
    ):
        """Makes a policy.

        Args:
            retries_max: The most repetitions of a call.
            delay_ms: The longest wait before the first.
            delay_max_ms: The longest wait before any.
            retry_after_max_ms: The longest wait that a server may ask for.
        """
        self.retries_max = retries_max
        self.delay_ms = delay_ms
        self.delay_max_ms = delay_max_ms
        self.retry_after_max_ms = retry_after_max_ms

    def first_problem(self) -> Optional[StaticString]:
        """Looks for a field that is out of its bounds.

        Returns:
            What is wrong, or none.
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
        """Draws how long to wait: between nothing and a bound that doubles, so
        that those who failed together do not come back together.

        Args:
            retries: Repetitions before this one.
            drawn: A random number.

        Returns:
            Milliseconds, at least 1.
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
    """Decides what follows a failure.

    Args:
        policy: What was decided.
        retries: Repetitions so far.
        failure: What the request failed with.
        is_idempotent: Whether the method may be repeated.

    Returns:
        How many milliseconds to wait before it is repeated, or none.
    """
    if retries >= policy.retries_max or not _may_pass(failure):
        return None
    var was_sent = failure.phase != Phase.CONNECT and (
        failure.phase != Phase.HANDSHAKE
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
    """Decides what follows a response.

    Args:
        policy: What was decided.
        retries: Repetitions so far.
        status: The status.
        is_idempotent: Whether the method may be repeated.
        retry_after_s: What the server asks for, in seconds.

    Returns:
        How many milliseconds to wait before it is repeated, or none.
    """
    if retries >= policy.retries_max or not is_idempotent:
        return None
    if status != 429 and status != 502 and status != 503 and status != 504:
        return None
    if not retry_after_s:
        return policy.back_off(retries, random_number())
    var delay_ms = retry_after_s.value() * 1000
    if delay_ms > policy.retry_after_max_ms:
        return None
    return max(delay_ms, 1)


def seconds_to_wait(octets: Span[UInt8, _], now_s: Int) -> Optional[Int]:
    """Reads a Retry-After field (RFC 9110 section 10.2.3).

    Args:
        octets: Its value, seconds or a date; nothing where there is none.
        now_s: The time.

    Returns:
        Seconds, not negative; none if there is no such value.
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
    """Draws a number.

    Returns:
        The number; 0 if the kernel has none.
    """
    var octets = Array[UInt8, 8](fill=0)
    _ = fill_random(Span(octets))
    var number: UInt64 = 0
    for i in range(8):
        number = number << 8 | UInt64(octets[i])
    return number


def _may_pass(failure: ClientError) -> Bool:
    # What a peer decides about a request does not change by asking again.
    return (
        failure.kind == ClientError.REFUSED
        or failure.kind == ClientError.UNREACHABLE
        or failure.kind == ClientError.RESOLVE
        or failure.kind == ClientError.TIMEOUT
        or failure.is_broken_off()
    )

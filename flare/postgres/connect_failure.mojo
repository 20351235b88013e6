"""Decides how to continue after a failed attempt to connect, and how long a
connection lasts.
"""

from flare.sys.random import fill_random

from .error import PostgresError

comptime _BACKOFF_FIRST_MS = 50
comptime _BACKOFF_MAX_MS = 2_000


def is_lasting(e: Error) -> Bool:
    """Returns whether another attempt would fail too.

    Args:
        e: The error of the attempt.

    Returns:
        True for a wrong password, user, database or option.
    """
    var error = PostgresError.of(e)
    if not error:
        return False
    var code = error.value().sqlstate
    return (
        error.value().kind == PostgresError.BAD_OPTIONS
        or code.startswith("28")
        or code == "3D000"
    )


def connect_error_of(e: Error) -> PostgresError:
    """Returns the error for the fibers that wait for a connection.

    Args:
        e: The error of the attempt.

    Returns:
        The error, `postgres.connect` unless it is another one of its own.
    """
    var error = PostgresError.of(e)
    if error:
        return error.take()
    return PostgresError(PostgresError.CONNECT, String(e))


def backoff_ms(failures: Int) -> Int:
    """Returns the time before the next attempt: 50 ms, doubled each time up to
    2 s, of which a random half is left out.

    Args:
        failures: How many attempts have failed in a row.

    Returns:
        The time.
    """
    # Half of it is drawn, so that workers do not connect in step.
    var limit_ms = min(
        _BACKOFF_FIRST_MS << min(failures - 1, 10), _BACKOFF_MAX_MS
    )
    return limit_ms // 2 + _drawn_below(limit_ms // 2)


def lifetime_ms(max_lifetime_ms: Int) -> Int:
    """Returns how long a connection lasts: the given time, up to a tenth more
    or less, so that those opened together do not end together.

    Args:
        max_lifetime_ms: The time.

    Returns:
        The time of one connection.
    """
    var tenth_ms = max_lifetime_ms // 10
    return max_lifetime_ms - tenth_ms + _drawn_below(2 * tenth_ms)


def _drawn_below(limit: Int) -> Int:
    var drawn = List[UInt8](length=2, fill=0)
    _ = fill_random(Span(drawn))
    return limit * (Int(drawn[0]) << 8 | Int(drawn[1])) // 65_536

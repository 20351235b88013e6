"""Defines types of columns that Mojo has no type for, and each database has.

A client conforms them to its own traits, so one struct fits the rows of both.
"""


@fieldwise_init
struct Timestamp(Equatable, ImplicitlyCopyable):
    """A point in time.

    In PostgreSQL, it is a `timestamptz`, or a `timestamp` taken as UTC. A
    parameter is a `timestamptz`, which the server converts to the time zone of
    the session for a `timestamp`: write `$1 AT TIME ZONE 'UTC'` there. In SQLite,
    it is a `TEXT` in UTC, as `2001-02-03 04:05:06.789000`. The fraction is left
    out if it is 0.
    """

    var unix_us: Int
    """Microseconds since 1970-01-01 00:00 UTC."""


@fieldwise_init
struct Date(Equatable, ImplicitlyCopyable):
    """A day of the calendar: a `date` of PostgreSQL, and in SQLite a `TEXT` as
    `2001-02-03`.
    """

    var unix_days: Int
    """Days since 1970-01-01; -25,567 is 1900-01-01."""


def number_name[dtype: DType]() -> StaticString:
    """Returns the name of a type of numbers, for errors.

    Parameters:
        dtype: The type.

    Returns:
        The name in Mojo.
    """
    comptime if dtype == DType.int:
        return "Int"
    elif dtype == DType.int64:
        return "Int64"
    elif dtype == DType.int32:
        return "Int32"
    elif dtype == DType.int16:
        return "Int16"
    elif dtype == DType.float64:
        return "Float64"
    elif dtype == DType.float32:
        return "Float32"
    else:
        return "a number of this width"

"""Defines the types of columns that Mojo has no type for."""

from .big_endian import append_big_endian, read_big_endian
from .column import Column, FromColumn
from .parameter import (
    PgParameters,
    ToParameter,
    add_binary,
    bad_parameter,
)
from .type_ids import TypeId

# From 1970-01-01 to 2000-01-01, where the server counts from.
comptime _EPOCH_DAYS = 10_957
comptime _EPOCH_US = _EPOCH_DAYS * 86_400 * 1_000_000
comptime _TIME_US_MAX = Int.MAX - _EPOCH_US
# The server takes the least and the largest number for infinite.
comptime _DAYS_MAX = 0x7FFFFFFE


@fieldwise_init
struct Timestamp(Equatable, FromColumn, ImplicitlyCopyable, ToParameter):
    """A point in time: `timestamptz`, or `timestamp` taken as UTC.

    A parameter is a `timestamptz`. The server converts it to the time zone of the
    session where a `timestamp` is due: write `$1 AT TIME ZONE 'UTC'` there.
    """

    var unix_us: Int
    """Microseconds since 1970-01-01 00:00 UTC."""

    @staticmethod
    def from_column(column: Column) raises -> Self:
        """Reads a `timestamptz` or `timestamp`.

        Args:
            column: The value.

        Returns:
            The time.

        Raises:
            PostgresError: If the column has another type, or is infinite.
        """
        var octets = column.not_null()
        var id = column.type_id()
        if id != TypeId.TIMESTAMPTZ and id != TypeId.TIMESTAMP:
            raise column.mismatch("Timestamp")
        var value = read_big_endian(octets)
        if value == Int.MAX or value == Int.MIN or value > _TIME_US_MAX:
            raise column.problem("is too large for Timestamp")
        return Self(value + _EPOCH_US)

    @staticmethod
    def parameter_type() -> Int:
        """Returns the type `timestamptz`.

        Returns:
            The object id.
        """
        return TypeId.TIMESTAMPTZ

    def add_to(self, mut parameters: PgParameters) raises:
        """Appends the time.

        Args:
            parameters: The parameters of a statement.

        Raises:
            PostgresError: If the server has no such time.
        """
        if self.unix_us <= Int.MIN + _EPOCH_US:
            raise bad_parameter("the time is too early")
        var octets = List[UInt8](capacity=8)
        append_big_endian(octets, self.unix_us - _EPOCH_US, 8)
        add_binary(parameters, TypeId.TIMESTAMPTZ, Span(octets))


@fieldwise_init
struct Date(Equatable, FromColumn, ImplicitlyCopyable, ToParameter):
    """A day of the calendar: `date`."""

    var unix_days: Int
    """Days since 1970-01-01; -25,567 is 1900-01-01."""

    @staticmethod
    def from_column(column: Column) raises -> Self:
        """Reads a `date`.

        Args:
            column: The value.

        Returns:
            The day.

        Raises:
            PostgresError: If the column has another type, or is infinite.
        """
        var octets = column.not_null()
        if column.type_id() != TypeId.DATE:
            raise column.mismatch("Date")
        var value = read_big_endian(octets)
        if not -_DAYS_MAX <= value <= _DAYS_MAX:
            raise column.problem("is infinite, which Date is not")
        return Self(value + _EPOCH_DAYS)

    @staticmethod
    def parameter_type() -> Int:
        """Returns the type `date`.

        Returns:
            The object id.
        """
        return TypeId.DATE

    def add_to(self, mut parameters: PgParameters) raises:
        """Appends the day.

        Args:
            parameters: The parameters of a statement.

        Raises:
            PostgresError: If the server has no such day.
        """
        var days = self.unix_days - _EPOCH_DAYS
        if not -_DAYS_MAX <= days <= _DAYS_MAX:
            raise bad_parameter("the day does not fit date")
        var octets = List[UInt8](capacity=4)
        append_big_endian(octets, days, 4)
        add_binary(parameters, TypeId.DATE, Span(octets))

"""Decodes the values of columns, each of which has a storage class of its own.
"""

from std.memory import bitcast

from flare.json import Value
from flare.sql.types import Date, Timestamp, number_name
from flare.sys.libsqlite_statement import SqliteType

from .error import SqliteError
from .time_text import read_date, read_time
from .values import Cell, ResultRows

comptime _TYPES: List[StaticString] = [
    "",
    "INTEGER",
    "REAL",
    "TEXT",
    "BLOB",
    "NULL",
]


@fieldwise_init
struct Column(TrivialRegisterPassable):
    """One value of a result. It is valid while its row is decoded."""

    var rows: ResultRows
    """The result."""
    var row: Int
    """The index of the row."""
    var index: Int
    """The index of the column."""
    var field: StaticString
    """The field that receives the value, for errors."""

    def is_null(self) -> Bool:
        """Returns whether the value is NULL.

        Returns:
            True for NULL.
        """
        return self._cell().type == Int32(SqliteType.NULL)

    def type(self) raises -> Int:
        """Returns the storage class of a value that is not NULL.

        Returns:
            One of `SqliteType`.

        Raises:
            SqliteError: `sqlite.decode` if the value is NULL.
        """
        var cell = self._cell()
        if cell.type == Int32(SqliteType.NULL):
            raise self.problem("is NULL: make the field an Optional")
        return Int(cell.type)

    def integer(self) -> Int64:
        """Returns the value of an `INTEGER`.

        Returns:
            The integer.
        """
        return self._cell().value

    def real(self) -> Float64:
        """Returns the value of a `REAL`.

        Returns:
            The number.
        """
        return bitcast[DType.float64](self._cell().value)

    def octets(self) -> Span[mut=False, UInt8, ImmUntrackedOrigin]:
        """Returns the octets of a `TEXT` or `BLOB`.

        Returns:
            The octets.
        """
        return self.rows.octets(self._cell())

    def text(self, type_name: StaticString) raises -> String:
        """Returns the value of a `TEXT`.

        Args:
            type_name: The type of the field, for errors.

        Returns:
            The text.

        Raises:
            SqliteError: If the value is NULL or no text.
        """
        if self.type() != SqliteType.TEXT:
            raise self.mismatch(type_name)
        try:
            return String(StringSlice(from_utf8=self.octets()))
        except:
            raise self.problem("is not UTF-8")

    def mismatch(self, type_name: StringSlice) -> Error:
        """Returns the error for a value of another type.

        Args:
            type_name: The type of the field.

        Returns:
            The error.
        """
        return self.problem(
            String(
                "contains ",
                _type_name(Int(self._cell().type)),
                ", which does not fit ",
                type_name,
            )
        )

    def problem(self, text: StringSlice) -> Error:
        """Returns an error that names column, type and field.

        Args:
            text: The problem, after the name of the column.

        Returns:
            The error.
        """
        var name = self.rows.column_name(self.index)
        var type = self.rows.declared_type(self.index)
        if type == "":
            type = String(_type_name(Int(self._cell().type)))
        var error = SqliteError(
            SqliteError.DECODE,
            String(
                "column ",
                name,
                " of type ",
                type,
                " ",
                text,
                " (field ",
                self.field,
                ")",
            ),
            sent=True,
        )
        error.column = name
        return Error(String(error))

    @always_inline
    def _cell(self) -> Cell:
        return self.rows.cell(self.row, self.index)


trait FromColumn(Deinitable, Movable):
    """A type that is decoded from one column."""

    @staticmethod
    def from_column(column: Column) raises -> Self:
        """Decodes one value.

        Args:
            column: The value.

        Returns:
            The decoded value.

        Raises:
            SqliteError: `sqlite.decode`, by `Column.mismatch` or
                `Column.problem`.
        """
        ...


__extension SIMD(FromColumn):
    @staticmethod
    def from_column(column: Column) raises -> Self:
        """Decodes a number. Integers of any width fit if the value does, and an
        `INTEGER` fits a floating-point field that represents it exactly.

        Args:
            column: The value.

        Returns:
            The number.

        Raises:
            SqliteError: If the value has another type, or is out of range.
        """
        comptime assert Self.length == 1, "a vector is no column"
        var type = column.type()
        comptime if Self.dtype.is_floating_point():
            if type == SqliteType.REAL:
                return Self(column.real())
            if type == SqliteType.INTEGER:
                var integer = column.integer()
                # An Int64 may round up to 2^63, which no Int64 is.
                if abs(Float64(integer)) <= Float64(1 << 62):
                    var value = Self(integer)
                    if Int64(Float64(value[0])) == integer:
                        return value
            raise column.mismatch(number_name[Self.dtype]())
        else:
            if type != SqliteType.INTEGER:
                raise column.mismatch(number_name[Self.dtype]())
            var number = column.integer()
            var value = Self(number)
            comptime if Self.dtype.is_unsigned():
                if number < 0:
                    raise column.problem("is out of range")
            if Int64(value[0]) != number:
                raise column.problem("is out of range")
            return value


__extension Bool(FromColumn):
    @staticmethod
    def from_column(column: Column) raises -> Self:
        """Decodes an `INTEGER` of 0 or 1.

        Args:
            column: The value.

        Returns:
            The boolean.

        Raises:
            SqliteError: If the value has another type, or is out of range.
        """
        if column.type() != SqliteType.INTEGER:
            raise column.mismatch("Bool")
        var number = column.integer()
        if number != 0 and number != 1:
            raise column.problem("is out of range")
        return number == 1


__extension String(FromColumn):
    @staticmethod
    def from_column(column: Column) raises -> Self:
        """Decodes a `TEXT`.

        Args:
            column: The value.

        Returns:
            The text.

        Raises:
            SqliteError: If the value has another type.
        """
        return column.text("String")


__extension Value(FromColumn):
    @staticmethod
    def from_column(column: Column) raises -> Self:
        """Decodes a `TEXT` of JSON.

        Args:
            column: The value.

        Returns:
            The value.

        Raises:
            SqliteError: If the value has another type.

            JsonError: If the text is not JSON.
        """
        if column.type() != SqliteType.TEXT:
            raise column.mismatch("json.Value")
        return Self(column.octets())


__extension Timestamp(FromColumn):
    @staticmethod
    def from_column(column: Column) raises -> Self:
        """Decodes a `TEXT` that is a time in UTC. `T` may stand for the blank,
        and `Z` at the end.

        Args:
            column: The value.

        Returns:
            The time.

        Raises:
            SqliteError: If the value has another type or form.
        """
        if column.type() != SqliteType.TEXT:
            raise column.mismatch("Timestamp")
        var unix_us = read_time(column.octets())
        if not unix_us:
            raise column.problem("is no time as 2001-02-03 04:05:06")
        return Self(unix_us.value())


__extension Date(FromColumn):
    @staticmethod
    def from_column(column: Column) raises -> Self:
        """Decodes a `TEXT` that is a day.

        Args:
            column: The value.

        Returns:
            The day.

        Raises:
            SqliteError: If the value has another type or form.
        """
        if column.type() != SqliteType.TEXT:
            raise column.mismatch("Date")
        var unix_days = read_date(column.octets())
        if not unix_days:
            raise column.problem("is no date as 2001-02-03")
        return Self(unix_days.value())


__extension Optional(FromColumn):
    @staticmethod
    def from_column(column: Column) raises -> Self:
        """Decodes a value, or NULL.

        Args:
            column: The value.

        Returns:
            The value; `None` for NULL.

        Raises:
            SqliteError: As the value does.
        """
        comptime assert conforms_to(
            Self.T, FromColumn
        ), "the value of an optional is not decoded from a column"
        if column.is_null():
            return None
        return Self(Self.T.from_column(column))


__extension List(FromColumn):
    @staticmethod
    def from_column(column: Column) raises -> Self:
        """Decodes a `BLOB` into a list of octets.

        Args:
            column: The value.

        Returns:
            The octets.

        Raises:
            SqliteError: If the value has another type.
        """
        comptime assert (
            reflect[Self.T].name() == reflect[UInt8].name()
        ), "only lists of UInt8 are decoded from a column"
        if column.type() != SqliteType.BLOB:
            raise column.mismatch("List[UInt8]")
        return rebind_var[Self](List[UInt8](column.octets()))


def _type_name(type: Int) -> StaticString:
    comptime for i in range(len(_TYPES)):
        if type == i:
            return comptime (_TYPES[i])
    return ""

"""Decodes the values of columns, which the server sends in binary form."""

from std.memory import bitcast

from flare.json import Value
from flare.sql.types import Date, Timestamp, number_name
from flare.sys.libpq_result import PgResult

from .array import ArrayElement, ArrayReader
from .big_endian import read_big_endian
from .error import PostgresError
from .numeric_text import numeric_text
from .type_ids import TypeId, is_array_id, is_text_id
from .uuid_text import UUID_OCTETS, uuid_of, uuid_text

comptime EPOCH_DAYS = 10_957
"""Days from 1970-01-01 to 2000-01-01, where the server counts from."""
comptime EPOCH_US = EPOCH_DAYS * 86_400 * 1_000_000
"""The same in microseconds."""
comptime DAYS_MAX = 0x7FFFFFFE
"""The last day of the server, which takes the least and the largest number for
infinite."""
comptime _TIME_US_MAX = Int.MAX - EPOCH_US


@fieldwise_init
struct Column(TrivialRegisterPassable):
    """One value of a result, or an element of an array there. It is valid while
    its row is decoded."""

    var result: PgResult
    """The result."""
    var row: Int
    """The index of the row."""
    var index: Int
    """The index of the column."""
    var field: StaticString
    """The field that receives the value, for errors."""
    var element: ArrayElement
    """The element of an array; none for the whole value."""

    def __init__(
        out self, result: PgResult, row: Int, index: Int, field: StaticString
    ):
        """Creates a reference to a whole value.

        Args:
            result: The result.
            row: The index of the row.
            index: The index of the column.
            field: The field that receives the value, for errors.
        """
        self = Self(result, row, index, field, ArrayElement())

    def type_id(self) -> Int:
        """Returns the type of the value.

        Returns:
            The object id, as in `TypeId`.
        """
        if self.element.type_id != 0:
            return self.element.type_id
        return self.result.column_type(self.index)

    def is_null(self) -> Bool:
        """Returns whether the value is NULL.

        Returns:
            True for NULL.
        """
        if self.element.type_id != 0:
            return self.element.is_null
        return self.result.is_null(self.row, self.index)

    def not_null(
        self,
    ) raises -> Span[mut=False, UInt8, ImmUntrackedOrigin]:
        """Returns the octets of the value.

        Returns:
            The octets in the server's binary form.

        Raises:
            PostgresError: `postgres.decode` if the value is NULL.
        """
        if self.is_null():
            if self.element.type_id != 0:
                raise self.problem(
                    "has an element that is NULL: make it a List of Optional"
                )
            raise self.problem("is NULL: make the field an Optional")
        if self.element.type_id != 0:
            return self.element.octets
        return self.result.value(self.row, self.index)

    def mismatch(self, type_name: StringSlice) -> Error:
        """Returns the error for a column of another type.

        Args:
            type_name: The type of the field.

        Returns:
            The error.
        """
        return self.problem(String("does not fit ", type_name))

    def problem(self, text: StringSlice) -> Error:
        """Returns an error that names column, type and field.

        Args:
            text: The problem, after the name of the column.

        Returns:
            The error.
        """
        var name = self.result.column_name(self.index)
        var error = PostgresError(
            PostgresError.DECODE,
            String(
                "column ",
                name,
                " of type ",
                self.type_id(),
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
            PostgresError: `postgres.decode`, by `Column.mismatch` or
                `Column.problem`.
        """
        ...


__extension SIMD(FromColumn):
    @staticmethod
    def from_column(column: Column) raises -> Self:
        """Decodes a number. Integers of any width fit if the value does.

        Args:
            column: The value.

        Returns:
            The number.

        Raises:
            PostgresError: If the column has another type, or the value is out
                of range.
        """
        comptime assert Self.length == 1, "a vector is no column"
        var octets = column.not_null()
        var id = column.type_id()
        comptime if Self.dtype.is_floating_point():
            if id == TypeId.FLOAT4 and len(octets) == 4:
                var bits = Int32(read_big_endian(octets))
                return Self(bitcast[DType.float32](bits))
            comptime if Self.dtype == DType.float64:
                if id == TypeId.FLOAT8 and len(octets) == 8:
                    var bits = Int64(read_big_endian(octets))
                    return Self(bitcast[DType.float64](bits))
            raise column.mismatch(number_name[Self.dtype]())
        else:
            if not (
                (id == TypeId.INT8 and len(octets) == 8)
                or (id == TypeId.INT4 and len(octets) == 4)
                or (id == TypeId.INT2 and len(octets) == 2)
            ):
                raise column.mismatch(number_name[Self.dtype]())
            var number = read_big_endian(octets)
            var value = Self(number)
            comptime if Self.dtype.is_unsigned():
                if number < 0:
                    raise column.problem("is out of range")
            if Int(value) != number:
                raise column.problem("is out of range")
            return value


__extension Bool(FromColumn):
    @staticmethod
    def from_column(column: Column) raises -> Self:
        """Decodes a `boolean`.

        Args:
            column: The value.

        Returns:
            The boolean.

        Raises:
            PostgresError: If the column has another type.
        """
        var octets = column.not_null()
        if column.type_id() != TypeId.BOOL or len(octets) != 1:
            raise column.mismatch("Bool")
        return octets[0] != UInt8(0)


__extension String(FromColumn):
    @staticmethod
    def from_column(column: Column) raises -> Self:
        """Decodes a text, an enum, a `numeric`, a `uuid`, or the text of a
        `json`.

        Args:
            column: The value.

        Returns:
            The text.

        Raises:
            PostgresError: If the column has another type.
        """
        var octets = column.not_null()
        return _text_of(column, octets)


__extension Value(FromColumn):
    @staticmethod
    def from_column(column: Column) raises -> Self:
        """Decodes a `json` or `jsonb`.

        Args:
            column: The value.

        Returns:
            The value.

        Raises:
            PostgresError: If the column has another type.

            JsonError: If the text breaks a limit of `JsonLimits`.
        """
        var octets = column.not_null()
        var id = column.type_id()
        if id != TypeId.JSON and id != TypeId.JSONB:
            raise column.mismatch("json.Value")
        return Self(_json_octets(id, octets))


__extension Timestamp(FromColumn):
    @staticmethod
    def from_column(column: Column) raises -> Self:
        """Decodes a `timestamptz` or `timestamp`.

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
        return Self(value + EPOCH_US)


__extension Date(FromColumn):
    @staticmethod
    def from_column(column: Column) raises -> Self:
        """Decodes a `date`.

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
        if not -DAYS_MAX <= value <= DAYS_MAX:
            raise column.problem("is infinite, which Date is not")
        return Self(value + EPOCH_DAYS)


__extension Optional(FromColumn):
    @staticmethod
    def from_column(column: Column) raises -> Self:
        """Decodes a value, or NULL.

        Args:
            column: The value.

        Returns:
            The value; `None` for NULL.

        Raises:
            PostgresError: As the value does.
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
        """Decodes a `bytea` into a list of octets, or an array of one dimension.

        Args:
            column: The value.

        Returns:
            The octets, or the elements.

        Raises:
            PostgresError: If the column has another type, or as an element does.
        """
        var octets = column.not_null()
        comptime if reflect[Self.T].name() == reflect[UInt8].name():
            if column.type_id() != TypeId.BYTEA:
                raise column.mismatch("List[UInt8]")
            return rebind_var[Self](List[UInt8](octets))
        else:
            comptime assert conforms_to(
                Self.T, FromColumn
            ), "the elements of a list are not decoded from a column"
            return rebind_var[Self](_elements_of[Self.T](column, octets))


def _elements_of[
    T: FromColumn
](
    column: Column, octets: Span[mut=False, UInt8, ImmUntrackedOrigin]
) raises -> List[T]:
    if column.element.type_id != 0 or not is_array_id(column.type_id()):
        raise column.mismatch("List")
    var reader = ArrayReader(octets)
    var elements = List[T](capacity=reader.count)
    for _ in range(reader.count):
        var element = column
        element.element = reader.next()
        if reader.fault != "":
            break
        elements.append(T.from_column(element))
    if reader.fault != "":
        raise column.problem(reader.fault)
    return elements^


def _text_of(column: Column, octets: Span[UInt8, _]) raises -> String:
    var id = column.type_id()
    if id == TypeId.NUMERIC:
        var text = numeric_text(octets)
        if not text:
            raise column.mismatch("String")
        return text.take()
    if id == TypeId.UUID and len(octets) == UUID_OCTETS:
        return uuid_text(uuid_of(octets))
    if not is_text_id(id):
        raise column.problem(
            "does not fit String: convert it in the statement, as column::text"
        )
    var text = _json_octets(id, octets)
    if id >= TypeId.FIRST_OF_USERS:
        # Enums and citext are texts. Composite types are not, and contain NUL;
        # ltree and its like begin with a version.
        var is_binary = len(text) > 0 and text[0] < UInt8(9)
        for octet in text:
            is_binary = is_binary or octet == UInt8(0)
        if is_binary:
            raise column.problem(
                "does not fit String: convert it, as column::text"
            )
    try:
        return String(StringSlice(from_utf8=text))
    except:
        raise column.problem("is not UTF-8")


def _json_octets[
    origin: Origin
](id: Int, octets: Span[UInt8, origin]) -> Span[UInt8, origin]:
    # The binary form of jsonb is the number of a version before the text.
    if id == TypeId.JSONB and len(octets) > 0:
        return octets[1:]
    return octets

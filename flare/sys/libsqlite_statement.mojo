"""Binds, runs and reads a prepared statement of SQLite.

A statement is used by the thread that uses its connection.
"""

from std.ffi import c_int

from flare.core import Erased, OctetPointer, PointerTo

from .dynamic_library import OptionalErased
from .libsqlite_functions import (
    IndexAddress,
    IndexFunction,
    ObjectFunction,
    SqliteLibrary,
    text_of_c,
)

comptime _UTF8: UInt8 = 1
comptime _REPREPARED = c_int(5)


struct SqliteType:
    """The storage classes of values."""

    comptime INTEGER = 1
    """An integer of 64 bits."""
    comptime REAL = 2
    """A floating-point number of 64 bits."""
    comptime TEXT = 3
    """A text in UTF-8."""
    comptime BLOB = 4
    """Octets."""
    comptime NULL = 5
    """No value."""


@fieldwise_init
struct SqliteStatement(Equatable, TrivialRegisterPassable):
    """A handle to a prepared statement."""

    var library: PointerTo[SqliteLibrary]
    """The library."""
    var statement: Erased
    """The `sqlite3_stmt`."""

    def step(self) -> Int:
        """Returns the result of running up to the next row. This blocks.

        Returns:
            The result: `SqliteCode.ROW`, `SqliteCode.DONE`, or an error.
        """
        return self._call["sqlite3_step"]()

    def reset(self) -> Int:
        """Returns the result of the run, and ends it.

        Returns:
            0, or the error of the run.
        """
        return self._call["sqlite3_reset"]()

    def clear_bindings(self):
        """Makes all parameters NULL, so that none refers to freed memory."""
        _ = self._call["sqlite3_clear_bindings"]()

    def finalize(self):
        """Frees the statement."""
        _ = self._call["sqlite3_finalize"]()

    def is_read_only(self) -> Bool:
        """Returns whether the statement changes no content of the database.

        Returns:
            True for queries.
        """
        return self._call["sqlite3_stmt_readonly"]() != 0

    def times_prepared_again(self) -> Int:
        """Returns how often a change of the schema made SQLite prepare it.

        Returns:
            The number.
        """
        return Int(
            self.library[].functions.function[
                "sqlite3_stmt_status",
                def(Erased, c_int, c_int) thin abi("C") -> c_int,
            ]()(self.statement, _REPREPARED, c_int(0))
        )

    def parameters(self) -> Int:
        """Returns the largest index of a parameter.

        Returns:
            The index; 0 without parameters.
        """
        return self._call["sqlite3_bind_parameter_count"]()

    def parameter_name(self, index: Int) -> String:
        """Returns the name of a parameter, as `$1` or `?2`.

        Args:
            index: Its index, from 1.

        Returns:
            The name; empty for `?`, or if there is none with this index.
        """
        return text_of_c(self._address["sqlite3_bind_parameter_name"](index))

    def bind_null(self, index: Int) -> Int:
        """Makes a parameter NULL.

        Args:
            index: Its index, from 1.

        Returns:
            0, or an error.
        """
        return self._column["sqlite3_bind_null"](index)

    def bind_integer(self, index: Int, value: Int64) -> Int:
        """Sets a parameter to an integer.

        Args:
            index: Its index, from 1.
            value: The integer.

        Returns:
            0, or an error.
        """
        return Int(
            self.library[].functions.function[
                "sqlite3_bind_int64",
                def(Erased, c_int, Int64) thin abi("C") -> c_int,
            ]()(self.statement, c_int(index), value)
        )

    def bind_real(self, index: Int, value: Float64) -> Int:
        """Sets a parameter to a floating-point number.

        Args:
            index: Its index, from 1.
            value: The number.

        Returns:
            0, or an error.
        """
        return Int(
            self.library[].functions.function[
                "sqlite3_bind_double",
                def(Erased, c_int, Float64) thin abi("C") -> c_int,
            ]()(self.statement, c_int(index), value)
        )

    def bind_text(self, index: Int, octets: OctetPointer, count: Int) -> Int:
        """Sets a parameter to a text, without a copy.

        Args:
            index: Its index, from 1.
            octets: Its octets. They stay until `clear_bindings`.
            count: Their number.

        Returns:
            0, or an error.
        """
        return Int(
            self.library[].functions.function[
                "sqlite3_bind_text64",
                def(
                    Erased, c_int, OctetPointer, UInt64, OptionalErased, UInt8
                ) thin abi("C") -> c_int,
            ]()(
                self.statement,
                c_int(index),
                octets,
                UInt64(count),
                OptionalErased(None),
                _UTF8,
            )
        )

    def bind_blob(self, index: Int, octets: OctetPointer, count: Int) -> Int:
        """Sets a parameter to octets, without a copy.

        Args:
            index: Its index, from 1.
            octets: The octets. They stay until `clear_bindings`.
            count: Their number.

        Returns:
            0, or an error.
        """
        return Int(
            self.library[].functions.function[
                "sqlite3_bind_blob64",
                def(
                    Erased, c_int, OctetPointer, UInt64, OptionalErased
                ) thin abi("C") -> c_int,
            ]()(
                self.statement,
                c_int(index),
                octets,
                UInt64(count),
                OptionalErased(None),
            )
        )

    def columns(self) -> Int:
        """Returns the number of columns.

        Returns:
            The number; 0 for a command.
        """
        return self._call["sqlite3_column_count"]()

    def column_name(self, column: Int) -> String:
        """Returns the name of a column.

        Args:
            column: Its index, from 0.

        Returns:
            The name.
        """
        return text_of_c(self._address["sqlite3_column_name"](column))

    def declared_type(self, column: Int) -> String:
        """Returns the type that the table declares for a column.

        Args:
            column: Its index, from 0.

        Returns:
            The type; empty for an expression.
        """
        return text_of_c(self._address["sqlite3_column_decltype"](column))

    def type_of(self, column: Int) -> Int:
        """Returns the storage class of a value of the present row.

        Args:
            column: The index of the column.

        Returns:
            One of `SqliteType`.
        """
        return self._column["sqlite3_column_type"](column)

    def integer(self, column: Int) -> Int64:
        """Returns an integer of the present row.

        Args:
            column: The index of the column.

        Returns:
            The integer.
        """
        return self.library[].functions.function[
            "sqlite3_column_int64", def(Erased, c_int) thin abi("C") -> Int64
        ]()(self.statement, c_int(column))

    def real(self, column: Int) -> Float64:
        """Returns a floating-point number of the present row.

        Args:
            column: The index of the column.

        Returns:
            The number.
        """
        return self.library[].functions.function[
            "sqlite3_column_double",
            def(Erased, c_int) thin abi("C") -> Float64,
        ]()(self.statement, c_int(column))

    def octets(
        self, column: Int, type: Int
    ) -> Span[mut=False, UInt8, ImmUntrackedOrigin]:
        """Returns a text or octets of the present row.

        Args:
            column: The index of the column.
            type: Its storage class.

        Returns:
            The octets, valid until the next step.
        """
        var address = self._address["sqlite3_column_text"](
            column
        ) if type == SqliteType.TEXT else self._address["sqlite3_column_blob"](
            column
        )
        if not address:
            return {}
        return Span(
            unsafe_ptr=address.value()
            .unsafe_bitcast[UInt8]()
            .unsafe_mut_cast[False]()
            .unsafe_origin_cast[ImmUntrackedOrigin](),
            length=self._column["sqlite3_column_bytes"](column),
        )

    @always_inline
    def _call[name: StaticString](self) -> Int:
        return Int(
            self.library[].functions.function[name, ObjectFunction]()(
                self.statement
            )
        )

    @always_inline
    def _column[name: StaticString](self, column: Int) -> Int:
        return Int(
            self.library[].functions.function[name, IndexFunction]()(
                self.statement, c_int(column)
            )
        )

    @always_inline
    def _address[name: StaticString](self, column: Int) -> OptionalErased:
        return self.library[].functions.function[name, IndexAddress]()(
            self.statement, c_int(column)
        )

"""Reads the results of libpq."""

from std.ffi import c_int

from flare.core import Erased, PointerTo

from .dynamic_library import OptionalErased
from .libpq_functions import (
    ConnectionAction,
    ConnectionFunction,
    LibpqState,
    TextFunction,
    text_at,
)

comptime _CellFunction = def(Erased, c_int, c_int) thin abi("C") -> c_int


struct PgStatus:
    """The kinds of results."""

    comptime EMPTY = 0
    """The statement was empty."""
    comptime COMMAND = 1
    """A command ended that returns no rows."""
    comptime ROWS = 2
    """The rows of a statement."""
    comptime COPY_IN = 4
    """The server waits for the content of COPY."""
    comptime FAILED = 7
    """An error."""
    comptime SYNC = 10
    """The end of a statement's part of the pipeline."""
    comptime SKIPPED = 11
    """The statement was skipped after an error before it."""


@fieldwise_init
struct PgResult(TrivialRegisterPassable):
    """A handle to a result."""

    var library: PointerTo[LibpqState]
    """The library."""
    var result: Erased
    """The `PGresult`."""

    def status(self) -> Int:
        """Returns the kind of the result.

        Returns:
            One of `PgStatus`.
        """
        return self._call["PQresultStatus"]()

    def rows(self) -> Int:
        """Returns the number of rows.

        Returns:
            The number.
        """
        return self._call["PQntuples"]()

    def columns(self) -> Int:
        """Returns the number of columns.

        Returns:
            The number.
        """
        return self._call["PQnfields"]()

    def column_name(self, column: Int) -> String:
        """Returns the name of a column.

        Args:
            column: The index of the column.

        Returns:
            The name.
        """
        return text_at(
            self.library[].functions.function[
                "PQfname", def(Erased, c_int) thin abi("C") -> OptionalErased
            ]()(self.result, c_int(column))
        )

    def column_type(self, column: Int) -> Int:
        """Returns the type of a column.

        Args:
            column: The index of the column.

        Returns:
            The object id of the type.
        """
        return Int(
            self.library[].functions.function[
                "PQftype", def(Erased, c_int) thin abi("C") -> UInt32
            ]()(self.result, c_int(column))
        )

    def is_null(self, row: Int, column: Int) -> Bool:
        """Returns whether a value is NULL.

        Args:
            row: The index of the row.
            column: The index of the column.

        Returns:
            True for NULL.
        """
        return self._cell["PQgetisnull"](row, column) == 1

    def value(
        self, row: Int, column: Int
    ) -> Span[mut=False, UInt8, ImmUntrackedOrigin]:
        """Returns the octets of a value.

        Args:
            row: The index of the row.
            column: The index of the column.

        Returns:
            The octets, valid until the result is cleared.
        """
        var address = self.library[].functions.function[
            "PQgetvalue",
            def(Erased, c_int, c_int) thin abi("C") -> OptionalErased,
        ]()(self.result, c_int(row), c_int(column))
        if not address:
            return {}
        return Span(
            unsafe_ptr=address.value()
            .unsafe_bitcast[UInt8]()
            .unsafe_mut_cast[False]()
            .unsafe_origin_cast[ImmUntrackedOrigin](),
            length=self._cell["PQgetlength"](row, column),
        )

    def command(self) -> String:
        """Returns which command the server has completed.

        Returns:
            Its tag, such as `COMMIT` or `INSERT 0 1`.
        """
        return text_at(
            self.library[].functions.function["PQcmdStatus", TextFunction]()(
                self.result
            )
        )

    def affected(self) -> String:
        """Returns the number of rows that a command has changed or returned.

        Returns:
            Digits; empty for a command that has no such number.
        """
        return text_at(
            self.library[].functions.function["PQcmdTuples", TextFunction]()(
                self.result
            )
        )

    def error_field(self, code: StringSlice) -> String:
        """Returns a field of an error.

        Args:
            code: The letter of the field in the protocol.

        Returns:
            Octets of the server; empty if the error lacks the field.
        """
        return text_at(
            self.library[].functions.function[
                "PQresultErrorField",
                def(Erased, c_int) thin abi("C") -> OptionalErased,
            ]()(self.result, c_int(Int(code.as_bytes()[0])))
        )

    def error_text(self) -> String:
        """Returns the text of an error.

        Returns:
            Octets of the library or of the server.
        """
        return text_at(
            self.library[].functions.function[
                "PQresultErrorMessage", TextFunction
            ]()(self.result)
        )

    def clear(self):
        """Frees the result."""
        self.library[].functions.function["PQclear", ConnectionAction]()(
            self.result
        )

    @always_inline
    def _call[name: StaticString](self) -> Int:
        return Int(
            self.library[].functions.function[name, ConnectionFunction]()(
                self.result
            )
        )

    @always_inline
    def _cell[name: StaticString](self, row: Int, column: Int) -> Int:
        return Int(
            self.library[].functions.function[name, _CellFunction]()(
                self.result, c_int(row), c_int(column)
            )
        )

"""Owns the result of a statement, and decodes its rows."""

from flare.core import PointerTo, heap_destroy
from flare.sql.result import Executed, RowSource

from .column import Column, FromColumn
from .error import SqliteError
from .values import ResultBlock, ResultRows


struct SqliteAnswer(Movable, RowSource):
    """Owns a result, and frees it."""

    var rows: ResultRows
    """The result."""

    def __init__(out self, block: PointerTo[ResultBlock]):
        """Takes ownership of a result.

        Args:
            block: The result.
        """
        self.rows = ResultRows(block)

    def __deinit__(deinit self):
        """Frees the result."""
        heap_destroy(self.rows.block)

    def executed(self) -> Executed:
        """Returns the outcome of a command.

        Returns:
            The number of rows.
        """
        return Executed(self.rows.block[].affected)

    @always_inline
    def row_count(self) -> Int:
        """Returns the number of rows.

        Returns:
            The number.
        """
        return self.rows.count()

    @always_inline
    def column_count(self) -> Int:
        """Returns the number of columns.

        Returns:
            The number.
        """
        return self.rows.columns()

    def column_name(self, column: Int) -> String:
        """Returns the name of a column.

        Args:
            column: The index of the column.

        Returns:
            The name.
        """
        return self.rows.column_name(column)

    @staticmethod
    def decodes[T: AnyType]() -> Bool:
        """Returns whether a type is decoded from one column.

        Parameters:
            T: The type.

        Returns:
            True if it conforms to `FromColumn`.
        """
        return conforms_to(T, FromColumn)

    @always_inline
    def value[
        T: Deinitable & Movable
    ](self, row: Int, column: Int, field: StaticString) raises -> T:
        """Decodes one value.

        Parameters:
            T: A type that conforms to `FromColumn`.

        Args:
            row: The index of its row.
            column: The index of its column.
            field: The field that receives it, for errors.

        Returns:
            The value.

        Raises:
            SqliteError: `sqlite.decode`.
        """
        comptime assert conforms_to(T, FromColumn)
        return T.from_column(Column(self.rows, row, column, field))

    @staticmethod
    def decode_error(text: StringSlice) -> Error:
        """Returns the error for columns that do not fit the type of a row.

        Args:
            text: The problem.

        Returns:
            `sqlite.decode`.
        """
        return Error(String(SqliteError(SqliteError.DECODE, text, sent=True)))

    @staticmethod
    def no_rows() -> Error:
        """Returns the error for a result that lacks its only row.

        Returns:
            `sqlite.no_rows`.
        """
        return Error(String(SqliteError(SqliteError.NO_ROWS, sent=True)))

    @staticmethod
    def too_many_rows() -> Error:
        """Returns the error for a result of several rows in place of one.

        Returns:
            `sqlite.too_many_rows`.
        """
        return Error(String(SqliteError(SqliteError.TOO_MANY_ROWS, sent=True)))

"""Owns the result of a statement, and decodes its rows."""

from flare.sql.result import Executed, RowSource
from flare.sys.libpq_result import PgResult

from .column import Column, FromColumn
from .error import PostgresError


struct Answer(Movable, RowSource):
    """Owns a result, and frees it."""

    var result: PgResult
    """The result."""

    def __init__(out self, result: PgResult):
        """Takes ownership of a result.

        Args:
            result: The result.
        """
        self.result = result

    def __deinit__(deinit self):
        """Frees the result."""
        self.result.clear()

    def command(self) -> String:
        """Returns the name of the command that has ended.

        Returns:
            As `COMMIT`, or `INSERT 0 1`.
        """
        # The handle alone would not keep the result during the call.
        return self.result.command()

    def executed(self) -> Executed:
        """Returns the outcome of a command.

        Returns:
            The number of rows.
        """
        try:
            return Executed(Int(self.result.affected()))
        except:
            return Executed(0)

    def column_types(self) -> List[Int]:
        """Returns the types of the columns.

        Returns:
            Their object ids.
        """
        var types = List[Int]()
        for i in range(self.result.columns()):
            types.append(self.result.column_type(i))
        return types^

    @always_inline
    def row_count(self) -> Int:
        """Returns the number of rows.

        Returns:
            The number.
        """
        return self.result.rows()

    @always_inline
    def column_count(self) -> Int:
        """Returns the number of columns.

        Returns:
            The number.
        """
        return self.result.columns()

    def column_name(self, column: Int) -> String:
        """Returns the name of a column.

        Args:
            column: The index of the column.

        Returns:
            The name.
        """
        return self.result.column_name(column)

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
            PostgresError: `postgres.decode`.
        """
        comptime assert conforms_to(T, FromColumn)
        return T.from_column(Column(self.result, row, column, field))

    @staticmethod
    def decode_error(text: StringSlice) -> Error:
        """Returns the error for columns that do not fit the type of a row.

        Args:
            text: The problem.

        Returns:
            `postgres.decode`.
        """
        return Error(
            String(PostgresError(PostgresError.DECODE, text, sent=True))
        )

    @staticmethod
    def no_rows() -> Error:
        """Returns the error for a result that lacks its only row.

        Returns:
            `postgres.no_rows`.
        """
        return Error(String(PostgresError(PostgresError.NO_ROWS, sent=True)))

    @staticmethod
    def too_many_rows() -> Error:
        """Returns the error for a result of several rows in place of one.

        Returns:
            `postgres.too_many_rows`.
        """
        return Error(
            String(PostgresError(PostgresError.TOO_MANY_ROWS, sent=True))
        )

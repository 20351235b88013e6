"""Stores many rows by COPY in a transaction of their own."""

from .copy import CopyIn, CopyScope
from .transaction import TransactionScope


struct DatabaseCopyScope[T: AnyType, origin: ImmOrigin](Movable):
    """Begins COPY in a transaction of its own and ends both; see
    `Database.copy_in`.

    Parameters:
        T: The type of a row.
        origin: The origin of the database, which stays open meanwhile.
    """

    var _scope: TransactionScope[Self.origin]
    var _table: String
    var _copy: Optional[CopyScope[Self.T]]

    def __init__(
        out self, var scope: TransactionScope[Self.origin], table: StringSlice
    ):
        """Creates a COPY that has not begun.

        Args:
            scope: The scope of its transaction.
            table: The name of the table.
        """
        self._scope = scope^
        self._table = String(table)
        self._copy = None

    def __enter__(mut self) raises -> CopyIn[Self.T]:
        """Waits for a connection and begins.

        Returns:
            The rows.

        Raises:
            PostgresError: As a command does.
        """
        var transaction = self._scope.__enter__()
        self._copy = CopyScope[Self.T](transaction._state, self._table)
        return self._copy.value().__enter__()

    def __exit__(mut self) raises:
        """Sends the rest, and commits.

        Raises:
            PostgresError: As the end of a transaction does.
        """
        self._copy.value().__exit__()
        self._scope.__exit__()

    def __exit__[E: Deinitable](mut self, e: E) -> Bool:
        """Ends the connection. No row is stored.

        Parameters:
            E: The type of the error.

        Args:
            e: The error that leaves the block.

        Returns:
            False, so that the error leaves the block.
        """
        _ = self._copy.value().__exit__(e)
        return self._scope.__exit__(e)

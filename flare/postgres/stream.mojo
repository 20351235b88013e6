"""Reads the rows of a large result batch by batch.

A stream is a cursor in a transaction, so it owns a connection. The server keeps
the rest of the result, and the client one batch.
"""

from std.memory import ArcPointer

from flare.sql.rows import decode_rows
from flare.sys.pg_parameters import PgParameters

from .error import PostgresError
from .pool import DatabasePool
from .transaction import IsolationLevel, Transaction, TransactionScope

comptime _BATCH_ROWS_MAX = 1_000_000


struct RowCursorState[T: Deinitable & Movable](Movable):
    """The state of a stream. Only `RowCursor` uses it.

    Parameters:
        T: The type of a row.
    """

    var transaction: Transaction
    """The transaction, which ends with the block."""
    var fetch: String
    """The statement that returns the next batch."""
    var batch_rows_max: Int
    """The most rows of a batch."""
    var rows: List[Self.T]
    """The rows of the latest batch that were not returned, the first one last."""
    var is_at_end: Bool
    """Whether the server has no more."""

    def __init__(
        out self,
        transaction: Transaction,
        var fetch: String,
        batch_rows_max: Int,
    ):
        """Creates the state before the first batch.

        Args:
            transaction: The transaction, in which the cursor is open.
            fetch: The statement that returns the next batch.
            batch_rows_max: The most rows of a batch.
        """
        self.transaction = transaction
        self.fetch = fetch^
        self.batch_rows_max = batch_rows_max
        self.rows = List[Self.T]()
        self.is_at_end = False


struct RowCursor[T: Deinitable & Movable](Copyable, Movable):
    """The rows of a stream. After its block, `next` raises `postgres.closed`.

    Parameters:
        T: The type of a row, as for `Database.query`.
    """

    var _state: ArcPointer[RowCursorState[Self.T]]

    def __init__(out self, *, unsafe_state: ArcPointer[RowCursorState[Self.T]]):
        """Creates a reference.

        Args:
            unsafe_state: The state.

        Safety:
            The state is that of a `RowStream`.
        """
        self._state = unsafe_state

    def next(self) raises -> Optional[Self.T]:
        """Returns the next row, and waits for the next batch if it has to.

        Returns:
            The row; `None` after the last one.

        Raises:
            PostgresError: As `Database.query` does; `query_timeout_ms` bounds
                the wait for each batch.
        """
        ref s = self._state[]
        if len(s.rows) == 0:
            if s.is_at_end:
                return None
            var rows = self.next_batch()
            if len(rows) == 0:
                return None
            rows.reverse()
            s.rows = rows^
        return s.rows.pop()

    def next_batch(self) raises -> List[Self.T]:
        """Returns the rest of the present batch, or else the next one.

        Returns:
            The rows; an empty list after the last one.

        Raises:
            PostgresError: As `next` does.
        """
        ref s = self._state[]
        if len(s.rows) > 0:
            var rest = List[Self.T]()
            swap(rest, s.rows)
            rest.reverse()
            return rest^
        if s.is_at_end:
            return List[Self.T]()
        var answer = s.transaction._run_any(s.fetch, PgParameters())
        var rows = decode_rows[Self.T](answer)
        s.is_at_end = len(rows) < s.batch_rows_max
        return rows^


struct RowStream[T: Deinitable & Movable, origin: ImmOrigin](Movable):
    """Opens a stream and ends it; see `Database.stream`.

    Parameters:
        T: The type of a row.
        origin: The origin of the database, which stays open meanwhile.
    """

    var _scope: TransactionScope[Self.origin]
    var _sql: String
    var _parameters: PgParameters
    var _batch_rows_max: Int

    def __init__(
        out self,
        pool: Pointer[DatabasePool, Self.origin],
        sql: StringSlice,
        var parameters: PgParameters,
        batch_rows_max: Int,
    ):
        """Creates a stream that was not opened.

        Args:
            pool: The pool.
            sql: The statement.
            parameters: Its parameters.
            batch_rows_max: The most rows of a batch.
        """
        self._scope = TransactionScope(pool, IsolationLevel.DEFAULT, False)
        self._sql = String(sql)
        self._parameters = parameters^
        self._batch_rows_max = batch_rows_max

    def __enter__(mut self) raises -> RowCursor[Self.T]:
        """Waits for a connection and sends the statement.

        Returns:
            The rows.

        Raises:
            PostgresError: `postgres.bad_parameter` if a batch has no rows or more
                than 1,000,000, and others as `Database.query`.
        """
        if not 1 <= self._batch_rows_max <= _BATCH_ROWS_MAX:
            raise Error(
                String(
                    PostgresError(
                        PostgresError.BAD_PARAMETER,
                        "batch_rows_max is not in 1 to 1000000",
                    )
                )
            )
        var transaction = self._scope.__enter__()
        # The columns of a batch are those of the statement, and the text of FETCH
        # stays prepared. So each statement has a name of its own.
        var name = String("flare_rows_", UInt64(hash(self._sql)))
        var parameters = PgParameters()
        swap(parameters, self._parameters)
        _ = transaction._run(
            String("DECLARE ", name, " NO SCROLL CURSOR FOR ", self._sql),
            parameters^,
        )
        return RowCursor[Self.T](
            unsafe_state=ArcPointer(
                RowCursorState[Self.T](
                    transaction,
                    String("FETCH ", self._batch_rows_max, " FROM ", name),
                    self._batch_rows_max,
                )
            )
        )

    def __exit__(mut self) raises:
        """Ends the transaction, as that of `Database.transaction`.

        Raises:
            PostgresError: As the end of a transaction does.
        """
        self._scope.__exit__()

    def __exit__[E: Deinitable](mut self, e: E) -> Bool:
        """Ends the stream without waiting for the answer.

        Parameters:
            E: The type of the error.

        Args:
            e: The error that leaves the block.

        Returns:
            False, so that the error leaves the block.
        """
        return self._scope.__exit__(e)

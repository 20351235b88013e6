"""Provides transactions and savepoints as `with` blocks.

A transaction owns a connection. After its block, the connection goes back to the
pool when the server has confirmed that no transaction is open. Otherwise it is
closed.
"""

from std.memory import ArcPointer

from flare.runtime.wait import waiting_fiber
from flare.sql.result import Executed
from flare.sql.rows import decode_rows, only_row, optional_row
from flare.sys.pg_parameters import PgParameters

from .answer import Answer
from .copy import CopyScope
from .entry import controls_transaction, create_internal_entry
from .error import PostgresError
from .parameter import encode_parameters
from .pool import DatabasePool
from .transaction_state import TransactionState, run_in_transaction


@fieldwise_init
struct IsolationLevel(Equatable, ImplicitlyCopyable):
    """How far a transaction is isolated from others at the same time."""

    comptime DEFAULT = Self(0)
    """That of the server, which is READ COMMITTED unless configured."""
    comptime READ_COMMITTED = Self(1)
    """Each statement sees the changes committed before it."""
    comptime REPEATABLE_READ = Self(2)
    """All statements see the changes committed before the first one."""
    comptime SERIALIZABLE = Self(3)
    """As if transactions ran one after another; some fail with 40001."""

    var value: UInt8
    """The number of the level."""


struct Transaction(ImplicitlyCopyable):
    """A transaction that is open. After its block, its calls raise
    `postgres.closed`.
    """

    var _state: ArcPointer[TransactionState]

    def __init__(out self, *, unsafe_state: ArcPointer[TransactionState]):
        """Creates a reference.

        Args:
            unsafe_state: The state.

        Safety:
            The state is that of a `TransactionScope`.
        """
        self._state = unsafe_state

    def query[
        T: Deinitable & Movable, *Ps: AnyType
    ](self, sql: StringSlice, *parameters: *Ps) raises -> List[T]:
        """Runs a statement and decodes its rows, as `Database.query`.

        Parameters:
            T: A struct with a field for each column, or the type of the only
                one.
            Ps: The types of the parameters.

        Args:
            sql: One statement, with `$1`, `$2` for the parameters.
            parameters: The parameters.

        Returns:
            The rows.

        Raises:
            PostgresError: As `Database.query` does. After an error of the
                server, the transaction can only be rolled back.
        """
        var encoded = encode_parameters(*parameters)
        var answer = self._run(sql, encoded^)
        return decode_rows[T](answer)

    def query_one[
        T: Deinitable & Movable, *Ps: AnyType
    ](self, sql: StringSlice, *parameters: *Ps) raises -> T:
        """Runs a statement that returns one row.

        Parameters:
            T: As for `query`.
            Ps: The types of the parameters.

        Args:
            sql: As for `query`.
            parameters: As for `query`.

        Returns:
            The row.

        Raises:
            PostgresError: As `Database.query_one` does.
        """
        var encoded = encode_parameters(*parameters)
        var answer = self._run(sql, encoded^)
        return only_row[T](answer)

    def query_optional[
        T: Deinitable & Movable, *Ps: AnyType
    ](self, sql: StringSlice, *parameters: *Ps) raises -> Optional[T]:
        """Runs a statement that returns at most one row.

        Parameters:
            T: As for `query`.
            Ps: The types of the parameters.

        Args:
            sql: As for `query`.
            parameters: As for `query`.

        Returns:
            The row, if there is one.

        Raises:
            PostgresError: As `Database.query_optional` does.
        """
        var encoded = encode_parameters(*parameters)
        var answer = self._run(sql, encoded^)
        return optional_row[T](answer)

    def execute[
        *Ps: AnyType
    ](self, sql: StringSlice, *parameters: *Ps) raises -> Executed:
        """Runs a command.

        Parameters:
            Ps: The types of the parameters.

        Args:
            sql: As for `query`.
            parameters: As for `query`.

        Returns:
            How many rows it has changed.

        Raises:
            PostgresError: As `query` does.
        """
        var encoded = encode_parameters(*parameters)
        return self._run(sql, encoded^).executed()

    def copy_in[T: AnyType](self, table: StringSlice) -> CopyScope[T]:
        """Stores many rows by COPY, in a `with` block.

        The block owns the transaction: no other statement of it may run until
        the block has ended. An error that leaves the block ends the connection,
        and so the transaction.

        Parameters:
            T: A struct with a field for each column to be filled, by name.
                Columns without one get their defaults.

        Args:
            table: The table, as the database names it, with the schema before a
                dot: `items`, `shop.items`.

        Returns:
            The context manager: `with tx.copy_in[Item]("items") as copy: …`,
            where `copy.add(item)` adds a row.
        """
        return CopyScope[T](self._state, table)

    def savepoint(self) -> SavepointScope:
        """Returns a savepoint for a `with` block: an error that leaves the block
        undoes its changes.

        Returns:
            The context manager: `with tx.savepoint(): …`.
        """
        return SavepointScope(self)

    def _run(
        self, sql: StringSlice, var parameters: PgParameters
    ) raises -> Answer:
        if controls_transaction(sql):
            raise Error(
                String(
                    PostgresError(
                        PostgresError.BAD_PARAMETER,
                        "the blocks begin and end transactions",
                    )
                )
            )
        return self._run_any(sql, parameters^)

    def _run_any(
        self, sql: StringSlice, var parameters: PgParameters
    ) raises -> Answer:
        return run_in_transaction(self._state[], sql, parameters^)

    def _end(self):
        # An open transaction is rolled back.
        var connection = self._state[].connection
        self._state[].connection = None
        if connection:
            connection.value().give_back()
            connection.value().release()
            self._state[].pool.release()


struct TransactionScope[origin: ImmOrigin](Movable):
    """Begins a transaction and ends it; see `Database.transaction`.

    Parameters:
        origin: The origin of the database, which stays open meanwhile.
    """

    var _pool: Pointer[DatabasePool, Self.origin]
    var _isolation: IsolationLevel
    var _read_only: Bool
    var _transaction: Optional[Transaction]

    def __init__(
        out self,
        pool: Pointer[DatabasePool, Self.origin],
        isolation: IsolationLevel,
        read_only: Bool,
    ):
        """Creates the scope of a transaction that was not begun.

        Args:
            pool: The pool.
            isolation: The isolation level.
            read_only: Whether the server refuses changes.
        """
        self._pool = pool
        self._isolation = isolation
        self._read_only = read_only
        self._transaction = None

    def __deinit__(deinit self):
        """Rolls back a transaction that is still open."""
        if self._transaction:
            self._transaction.value()._end()

    def __enter__(mut self) raises -> Transaction:
        """Waits for a connection and begins the transaction.

        Returns:
            The transaction.

        Raises:
            PostgresError: `postgres.acquire_timeout` and others.
        """
        var fiber = waiting_fiber("wait")
        var pool = self._pool[]
        var connection = pool.acquire(fiber)
        pool.state[].users += 1
        var transaction = Transaction(
            unsafe_state=ArcPointer(TransactionState(pool, connection))
        )
        self._transaction = transaction
        try:
            _ = transaction._run_any(self._begin_text(), PgParameters())
        except e:
            # BEGIN may have reached the server.
            transaction._end()
            raise e^
        return transaction

    def __exit__(mut self) raises:
        """Commits.

        Raises:
            PostgresError: `postgres.commit_unknown` if the connection ended
                during COMMIT, `postgres.rolled_back` if a statement had failed
                before, and others.
        """
        var transaction = self._transaction.value()
        var connection = transaction._state[].connection
        if not connection:
            return
        if connection.value().is_failed():
            transaction._end()
            raise Error(String(PostgresError(PostgresError.ROLLED_BACK)))
        try:
            var answer = transaction._run_any("COMMIT", PgParameters())
            if answer.command() != "COMMIT":
                # A statement failed after its deadline.
                raise Error(String(PostgresError(PostgresError.ROLLED_BACK)))
        except e:
            transaction._end()
            var error = PostgresError.of(e)
            if error and error.value().sent:
                var kind = error.value().kind
                if (
                    kind == PostgresError.CONNECTION_LOST
                    or kind == PostgresError.TIMEOUT
                ):
                    error.value().kind = PostgresError.COMMIT_UNKNOWN
                    raise Error(String(error.value()))
            raise e^
        transaction._end()

    def __exit__[E: Deinitable](mut self, e: E) -> Bool:
        """Rolls back, without waiting for the answer.

        Parameters:
            E: The type of the error.

        Args:
            e: The error that leaves the block.

        Returns:
            False, so that the error leaves the block.
        """
        self._transaction.value()._end()
        return False

    def _begin_text(self) -> String:
        var text = String("BEGIN")
        if self._isolation == IsolationLevel.READ_COMMITTED:
            text += " ISOLATION LEVEL READ COMMITTED"
        elif self._isolation == IsolationLevel.REPEATABLE_READ:
            text += " ISOLATION LEVEL REPEATABLE READ"
        elif self._isolation == IsolationLevel.SERIALIZABLE:
            text += " ISOLATION LEVEL SERIALIZABLE"
        if self._read_only:
            text += " READ ONLY"
        return text^


struct SavepointScope(Movable):
    """Begins a savepoint and ends it; see `Transaction.savepoint`."""

    var _transaction: Transaction
    var _name: String

    def __init__(out self, transaction: Transaction):
        """Creates the scope of a savepoint that was not begun.

        Args:
            transaction: The transaction.
        """
        self._transaction = transaction
        self._name = String()

    def __enter__(mut self) raises:
        """Begins the savepoint.

        Raises:
            PostgresError: As a command does.
        """
        self._transaction._state[].savepoints += 1
        self._name = String("flare_", self._transaction._state[].savepoints)
        self._run("SAVEPOINT ")

    def __exit__(mut self) raises:
        """Keeps the changes of the block.

        Raises:
            PostgresError: `postgres.rolled_back` if a statement of the block had
                failed. The changes of the block are undone then, and the
                transaction continues. Others as a command.
        """
        var connection = self._transaction._state[].connection
        if connection and connection.value().is_failed():
            self._undo()
            raise Error(String(PostgresError(PostgresError.ROLLED_BACK)))
        self._run("RELEASE SAVEPOINT ")

    def __exit__[E: Deinitable](mut self, e: E) -> Bool:
        """Undoes the changes of the block.

        Parameters:
            E: The type of the error.

        Args:
            e: The error that leaves the block.

        Returns:
            False, so that the error leaves the block.
        """
        self._undo()
        return False

    def _undo(self):
        var connection = self._transaction._state[].connection
        if connection:
            # In order before whatever follows, also if the fiber is cancelled.
            # Without its release, the next one would be nested in it.
            for command in ["ROLLBACK TO SAVEPOINT ", "RELEASE SAVEPOINT "]:
                connection.value().send(
                    create_internal_entry(String(command, self._name))
                )

    def _run(self, command: StringSlice) raises:
        _ = self._transaction._run_any(
            String(command, self._name), PgParameters()
        )

"""Provides transactions and savepoints as `with` blocks.

A transaction owns the writer, or a reader, from its start to its end. That thread
serves the statements of the transaction alone meanwhile.
"""

from std.memory import ArcPointer

from flare.runtime.wait import waiting_fiber
from flare.sql.result import Executed
from flare.sql.rows import decode_rows, only_row, optional_row

from .answer import SqliteAnswer
from .core import DatabaseCore
from .work_item import create_item
from .error import SqliteError
from .parameter import encode_parameters
from .statement import (
    TransactionPlace,
    await_item,
    run_statement,
    take_error,
)
from .statement_kind import StatementKind
from .values import ValueBlock


struct OpenTransaction(Movable):
    """The state of a transaction. Only `Transaction` uses it."""

    var core: DatabaseCore
    """The database."""
    var place: TransactionPlace
    """Where its statements run."""
    var is_open: Bool
    """Whether it was not ended by its block."""
    var savepoints: Int
    """How many savepoints were begun."""

    def __init__(out self, core: DatabaseCore, place: TransactionPlace):
        """Creates the state of a transaction that was begun.

        Args:
            core: The database.
            place: Where its statements run.
        """
        self.core = core
        self.place = place
        self.is_open = True
        self.savepoints = 0


struct Transaction(ImplicitlyCopyable):
    """A transaction that is open. After its block, its calls raise
    `sqlite.closed`.
    """

    var _state: ArcPointer[OpenTransaction]

    def __init__(out self, *, unsafe_state: ArcPointer[OpenTransaction]):
        """Creates a reference.

        Args:
            unsafe_state: The state.

        Safety:
            The state is that of a `TransactionBlock`.
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
            SqliteError: As `Database.query` does. A violated constraint
                undoes the statement alone.
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
            SqliteError: As `Database.query_one` does.
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
            SqliteError: As `Database.query_optional` does.
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
            SqliteError: As `query` does.
        """
        var encoded = encode_parameters(*parameters)
        return self._run(sql, encoded^).executed()

    def savepoint(self) -> SavepointBlock:
        """Returns a savepoint for a `with` block: an error that leaves the
        block undoes its changes.

        Returns:
            The context manager: `with tx.savepoint(): …`.
        """
        return SavepointBlock(self)

    def _run(
        self, sql: StringSlice, var parameters: ValueBlock
    ) raises -> SqliteAnswer:
        self._check_open()
        return run_statement(
            self._state[].core, self._state[].place, sql, parameters^
        )

    def _control(self, sql: StringSlice, kind: UInt8) raises:
        self._check_open()
        var item = create_item(sql, ValueBlock(), kind, waiting_fiber("wait"))
        await_item(self._state[].core, self._state[].place, item)
        var error = take_error(item)
        item.destroy()
        if error:
            raise Error(String(error.take()))

    def _send(self, sql: StringSlice, kind: UInt8):
        # Without waiting, also if the fiber is cancelled. It arrives in order
        # before whatever follows.
        var item = create_item(sql, ValueBlock(), kind, None)
        ref place = self._state[].place
        if self._state[].core.submit_to(place.lane, place.ticket, item):
            # The transaction has ended.
            item.destroy()

    def _end(self, *, roll_back: Bool):
        if not self._state[].is_open:
            return
        self._state[].is_open = False
        if roll_back:
            self._send("ROLLBACK", StatementKind.ROLLBACK)
        self._state[].core.release()

    def _check_open(self) raises:
        if not self._state[].is_open:
            raise Error(String(SqliteError(SqliteError.CLOSED)))


struct TransactionBlock[origin: ImmOrigin](Movable):
    """Begins a transaction and ends it; see `Database.transaction`.

    Parameters:
        origin: The origin of the database, which stays open meanwhile.
    """

    var _core: Pointer[DatabaseCore, Self.origin]
    var _read_only: Bool
    var _transaction: Optional[Transaction]

    def __init__(
        out self, core: Pointer[DatabaseCore, Self.origin], read_only: Bool
    ):
        """Creates the scope of a transaction that was not begun.

        Args:
            core: The database.
            read_only: Whether it only reads.
        """
        self._core = core
        self._read_only = read_only
        self._transaction = None

    def __deinit__(deinit self):
        """Rolls back a transaction that is still open."""
        if self._transaction:
            self._transaction.value()._end(roll_back=True)

    def __enter__(mut self) raises -> Transaction:
        """Waits for a thread and begins the transaction.

        Returns:
            The transaction.

        Raises:
            SqliteError: `sqlite.acquire_timeout` and others.
        """
        var core = self._core[]
        var kind = (
            StatementKind.BEGIN_READING if self._read_only else StatementKind.BEGIN
        )
        var item = create_item("", ValueBlock(), kind, waiting_fiber("wait"))
        await_item(core, TransactionPlace(-1, 0), item)
        var error = take_error(item)
        var place = TransactionPlace(item.state[].lane, item.state[].ticket)
        item.destroy()
        if error:
            raise Error(String(error.take()))
        core.state[].users += 1
        var transaction = Transaction(
            unsafe_state=ArcPointer(OpenTransaction(core, place))
        )
        self._transaction = transaction
        return transaction

    def __exit__(mut self) raises:
        """Commits.

        Raises:
            SqliteError: `sqlite.rolled_back` if an error before has rolled
                back, `sqlite.commit_unknown` if the disk did not answer in
                time, and others.
        """
        var transaction = self._transaction.value()
        if not transaction._state[].is_open:
            return
        try:
            transaction._control("COMMIT", StatementKind.COMMIT)
        except e:
            transaction._end(roll_back=True)
            var error = SqliteError.of(e)
            if error and error.value().sent:
                error.value().kind = SqliteError.COMMIT_UNKNOWN
                raise Error(String(error.value()))
            raise e^
        transaction._end(roll_back=False)

    def __exit__[E: Deinitable](mut self, e: E) -> Bool:
        """Rolls back, without waiting for the answer.

        Parameters:
            E: The type of the error.

        Args:
            e: The error that leaves the block.

        Returns:
            False, so that the error leaves the block.
        """
        self._transaction.value()._end(roll_back=True)
        return False


struct SavepointBlock(Movable):
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
            SqliteError: As a command does.
        """
        self._transaction._state[].savepoints += 1
        self._name = String("flare_", self._transaction._state[].savepoints)
        self._transaction._control(
            String("SAVEPOINT ", self._name), StatementKind.SAVEPOINT
        )

    def __exit__(mut self) raises:
        """Keeps the changes of the block.

        Raises:
            SqliteError: As a command does.
        """
        self._transaction._control(
            String("RELEASE ", self._name), StatementKind.SAVEPOINT
        )

    def __exit__[E: Deinitable](mut self, e: E) -> Bool:
        """Undoes the changes of the block.

        Parameters:
            E: The type of the error.

        Args:
            e: The error that leaves the block.

        Returns:
            False, so that the error leaves the block.
        """
        if self._transaction._state[].is_open:
            self._transaction._send(
                String("ROLLBACK TO ", self._name), StatementKind.SAVEPOINT
            )
            self._transaction._send(
                String("RELEASE ", self._name), StatementKind.SAVEPOINT
            )
        return False

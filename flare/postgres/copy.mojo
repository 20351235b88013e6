"""Stores many rows by COPY, in a `with` block.

The rows are sent in pieces while they are made. The server stores all of them,
or none.
"""

from std.memory import ArcPointer
from std.reflection import reflect

from flare.net import NetError
from flare.runtime.operation import CANCELLED
from flare.runtime.wait import waiting_fiber
from flare.sql.text import has_nul
from flare.sys.pg_parameters import PgParameters

from .copy_content import CopyContent, CopyPhase
from .copy_row import append_copy_end, append_copy_head, append_copy_row
from .error import PostgresError
from .parameter import bad_parameter
from .transaction_state import TransactionState, run_in_transaction

comptime _PIECE_OCTETS = 64 * 1024


struct CopyInState(Movable):
    """The state of a COPY. Only `CopyIn` uses it."""

    var transaction: ArcPointer[TransactionState]
    """The transaction."""
    var content: CopyContent
    """The content on its way."""
    var types: List[Int]
    """The types of the columns, in the order of the fields."""
    var piece: List[UInt8]
    """The piece that is being filled."""
    var scratch: PgParameters
    """Space for one value."""
    var is_ended: Bool
    """Whether no row may be added."""

    def __init__(
        out self,
        transaction: ArcPointer[TransactionState],
        var types: List[Int],
    ):
        """Creates the state before the first row.

        Args:
            transaction: The transaction.
            types: The types of the columns.
        """
        self.transaction = transaction
        self.content = CopyContent.create()
        self.types = types^
        self.piece = List[UInt8](capacity=2 * _PIECE_OCTETS)
        self.scratch = PgParameters()
        self.is_ended = False
        append_copy_head(self.piece)

    def __deinit__(deinit self):
        """Drops the content."""
        self.content.release()


struct CopyIn[T: AnyType](Copyable, Movable):
    """The rows of a COPY. After its block, `add` raises `postgres.closed`.

    Parameters:
        T: A struct with a field for each column to be filled, by name.
    """

    var _state: ArcPointer[CopyInState]

    def __init__(out self, *, unsafe_state: ArcPointer[CopyInState]):
        """Creates a reference.

        Args:
            unsafe_state: The state.

        Safety:
            The state is that of a `CopyScope`.
        """
        self._state = unsafe_state

    def add(self, row: Self.T) raises:
        """Adds a row. It waits only if a piece of 64 KiB is full and the one
        before is still on its way.

        Args:
            row: The row.

        Raises:
            PostgresError: `postgres.bad_parameter` for a value that does not
                fit its column. No row is stored then. `postgres.timeout` if a
                piece is not sent within `query_timeout_ms`.

            NetError: `net.cancelled wait`.
        """
        ref s = self._state[]
        if s.is_ended:
            raise Error(String(PostgresError(PostgresError.CLOSED)))
        try:
            append_copy_row(s.piece, row, s.types, s.scratch)
        except e:
            self._give_up("a row could not be encoded")
            raise e^
        if len(s.piece) >= _PIECE_OCTETS:
            self._send_piece()

    def _begin(self, sql: StringSlice) raises:
        ref s = self._state[]
        var connection = s.transaction[].connection
        if not connection:
            s.is_ended = True
            raise Error(String(PostgresError(PostgresError.CLOSED)))
        if not connection.value().begin_copy(sql, s.content):
            s.is_ended = True
            if connection.value().is_open():
                raise bad_parameter("another statement of the transaction runs")
            raise Error(
                String(
                    PostgresError(
                        PostgresError.CONNECTION_LOST,
                        connection.value().state[].lost_text,
                    )
                )
            )
        while not (
            s.content.state[].phase == CopyPhase.TAKES_CONTENT
            or s.content.state[].phase == CopyPhase.DONE
        ):
            self._wait()
        self._raise_error()

    def _send_piece(self) raises:
        ref s = self._state[]
        ref content = s.content.state[]
        while len(content.piece) > 0 and content.phase != CopyPhase.DONE:
            self._wait()
        self._raise_error()
        swap(content.piece, s.piece)
        self._wake()

    def _end(self) raises:
        ref s = self._state[]
        if s.is_ended:
            return
        append_copy_end(s.piece)
        self._send_piece()
        s.content.state[].phase = CopyPhase.ENDING
        self._wake()
        while s.content.state[].phase != CopyPhase.DONE:
            self._wait()
        self._raise_error()
        s.is_ended = True

    def _wait(self) raises:
        ref s = self._state[]
        var fiber = waiting_fiber("wait")
        var pool = s.transaction[].pool
        s.content.state[].fiber = fiber
        var result = fiber.wait(pool.state[].target.options.query_timeout_ms)
        s.content.state[].fiber = None
        if result >= 0:
            return
        self._give_up("COPY was given up")
        if result == CANCELLED:
            raise Error(NetError.from_errno("wait", CANCELLED))
        raise pool.timeout_error(sent=True)

    def _wake(self):
        var connection = self._state[].transaction[].connection
        if connection:
            connection.value().wake()

    def _raise_error(self) raises:
        ref s = self._state[]
        if s.content.state[].error:
            s.is_ended = True
            raise Error(String(s.content.state[].error.value()))

    def _give_up(self, why: StringSlice):
        # At the end of its connection, the server stores no row.
        ref s = self._state[]
        if s.is_ended:
            return
        s.is_ended = True
        var connection = s.transaction[].connection
        if connection:
            connection.value().close(why)


struct CopyScope[T: AnyType](Movable):
    """Begins COPY and ends it; see `Transaction.copy_in`.

    Parameters:
        T: The type of a row.
    """

    var _transaction: ArcPointer[TransactionState]
    var _table: String
    var _copy: Optional[CopyIn[Self.T]]

    def __init__(
        out self,
        transaction: ArcPointer[TransactionState],
        table: StringSlice,
    ):
        """Creates a COPY that has not begun.

        Args:
            transaction: The transaction.
            table: The name of the table.
        """
        self._transaction = transaction
        self._table = String(table)
        self._copy = None

    def __enter__(mut self) raises -> CopyIn[Self.T]:
        """Asks for the types of the columns and begins.

        Returns:
            The rows.

        Raises:
            PostgresError: As a command does.
        """
        var columns = _columns[Self.T]()
        var place = _quoted(self._table, splits=True)
        var answer = run_in_transaction(
            self._transaction[],
            String("SELECT ", columns, " FROM ", place, " LIMIT 0"),
            PgParameters(),
        )
        var types = answer.column_types()
        var copy = CopyIn[Self.T](
            unsafe_state=ArcPointer(CopyInState(self._transaction, types^))
        )
        self._copy = copy.copy()
        copy._begin(
            String(
                "COPY ",
                place,
                " (",
                columns,
                ") FROM STDIN (FORMAT binary)",
            )
        )
        return copy^

    def __exit__(mut self) raises:
        """Sends the rest, and waits for the server's answer.

        Raises:
            PostgresError: `postgres.server` if the server refuses a row, and
                others as a command.
        """
        self._copy.value()._end()

    def __exit__[E: Deinitable](mut self, e: E) -> Bool:
        """Ends the connection. No row is stored.

        Parameters:
            E: The type of the error.

        Args:
            e: The error that leaves the block.

        Returns:
            False, so that the error leaves the block.
        """
        self._copy.value()._give_up("an error has left the block of COPY")
        return False


def _columns[T: AnyType]() raises -> String:
    comptime names = reflect[T].field_names()
    var text = String()
    comptime for i in range(reflect[T].field_count()):
        if i > 0:
            text += ", "
        text += _quoted(comptime (names[i]), splits=False)
    return text^


def _quoted(name: StringSlice, *, splits: Bool) raises -> String:
    if name == "" or has_nul(name):
        raise bad_parameter("a table has a name without NUL")
    var text = String('"', name.replace('"', '""'), '"')
    if splits:
        # A schema stands before the name of the table.
        return text.replace(".", '"."')
    return text^

"""Runs items on one connection of SQLite.

A connection belongs to one thread, which opens it at the first item. Each call
blocks that thread.
"""

from flare.core import PointerTo, heap_create, heap_destroy
from flare.sys.libsqlite import SqliteCode, SqliteConnection
from flare.sys.libsqlite_control import (
    NO_DEADLINE_NS,
    is_raised,
    is_stopped,
)
from flare.sys.libsqlite_functions import address_of_octets
from flare.sys.libsqlite_statement import SqliteStatement, SqliteType

from std.memory import bitcast

from .work_item import WorkItem, WorkItemState
from .error import SqliteError
from .options import Synchronous
from .prepared_statements import CachedStatement, PreparedStatements, columns_of
from .statement_kind import StatementKind
from .target import Target
from .values import CELL_OCTETS, ResultBlock, ValueBlock

comptime SLOW_SKIPS = 100
"""How often a slow query is passed to the readers before it is tried on the
calling thread again. It may have waited for the disk, or for the processor."""

comptime _WAL: StaticString = "wal"


struct LaneConnectionState(Movable):
    """One connection. Only its thread uses it."""

    var target: Target
    """The state that it shares with the others."""
    var is_reader: Bool
    """Whether it refuses to write."""
    var raw: Optional[SqliteConnection]
    """The open connection."""
    var cache: PreparedStatements
    """The prepared statements of the program."""

    def __init__(out self, target: Target, is_reader: Bool):
        """Creates a connection that is not open.

        Args:
            target: The state that it shares with the others.
            is_reader: Whether it refuses to write.
        """
        self.target = target
        self.is_reader = is_reader
        self.raw = None
        self.cache = PreparedStatements(
            target.state[].options.cached_statements
        )


struct RunOutcome:
    """How the run of an item ended."""

    comptime DONE = 0
    """The item has its result."""
    comptime FAILED = 1
    """The item has an error."""
    comptime WRITES = 2
    """It did not run, because it writes and this connection reads."""
    comptime HALF_DONE = 3
    """The item has an error, though it may have changed something: the
    transaction must not be committed."""


@fieldwise_init
struct LaneConnection(TrivialRegisterPassable):
    """A handle to a connection."""

    var state: PointerTo[LaneConnectionState]
    """The heap state."""

    @staticmethod
    def create(target: Target, *, is_reader: Bool) -> Self:
        """Creates a connection that is not open.

        Args:
            target: The state that it shares with the others.
            is_reader: Whether it refuses to write.

        Returns:
            A handle.
        """
        return Self(heap_create(LaneConnectionState(target, is_reader)))

    def destroy(self):
        """Closes the connection and frees it."""
        if self.state[].raw:
            # The item that was watched is gone, and closing may run statements.
            self.watch(None)
            self.state[].cache.clear()
            self.state[].raw.value().close()
            self.state[].target.count_open(-1)
        heap_destroy(self.state)

    def open(self) -> Optional[SqliteError]:
        """Opens the connection, if it is not open.

        Returns:
            The error, if it cannot be opened.
        """
        if self.state[].raw:
            return None
        var target = self.state[].target
        target.state[].opening.acquire()
        var error = self._open()
        target.state[].opening.release()
        target.set_open_failed(Bool(error))
        return error^

    def watch(
        self, item: Optional[WorkItem], deadline_ns: Int = NO_DEADLINE_NS
    ):
        """Sets the conditions that stop the next statements.

        Args:
            item: The item whose fiber may stop them.
            deadline_ns: When they are stopped, by the monotonic clock.
        """
        ref control = self.state[].raw.value().control[]
        control.stop = None
        if item:
            control.stop = item.value().stop_word()
        control.deadline_ns = deadline_ns

    def command(self, sql: StringSlice) -> Optional[SqliteError]:
        """Runs a short statement of flare. Only a wait for a lock can be stopped.

        Args:
            sql: The statement.

        Returns:
            The error, if it failed.
        """
        var key = List[UInt8](sql.as_bytes())
        key.append(0)
        var raw = self.state[].raw.value()
        var text = String(unsafe_from_utf8=Span(key))
        var place = self.state[].cache.find(text)
        if place < 0:
            var prepared = raw.prepare(key)
            if not prepared[1]:
                return self.last_error()
            place = self.state[].cache.add(
                text^, CachedStatement(prepared[1].value())
            )
        var statement = self.state[].cache.at(place)[].statement
        var code = SqliteCode.ROW
        raw.control[].runs_to_its_end = True
        while code == SqliteCode.ROW:
            code = statement.step()
        raw.control[].runs_to_its_end = False
        var error = Optional[SqliteError](None)
        if code != SqliteCode.DONE:
            error = self.last_error()
        _ = statement.reset()
        return error^

    def is_in_transaction(self) -> Bool:
        """Returns whether a transaction is open.

        Returns:
            True after BEGIN.
        """
        return self.state[].raw.value().is_in_transaction()

    def run(self, item: WorkItem, *, only_reads: Bool = False) -> Int:
        """Runs the statement of an item.

        Args:
            item: The item; it gets the result or an error.
            only_reads: Whether a statement that writes must not run.

        Returns:
            One of `RunOutcome`.
        """
        var place = self._find(item)
        if place < 0:
            return RunOutcome.FAILED
        var cached = self.state[].cache.at(place)
        if only_reads and not cached[].is_read_only:
            return RunOutcome.WRITES
        var statement = cached[].statement
        var error = self._bind(statement, cached[].numbers, item)
        if not error:
            error = self._collect(place, statement, item)
        # Rows that were not read end here.
        _ = statement.reset()
        statement.clear_bindings()
        if not error:
            return RunOutcome.DONE
        var outcome = RunOutcome.FAILED
        if not cached[].is_read_only and _may_be_half_done(error.value()):
            outcome = RunOutcome.HALF_DONE
        item.forget_outcome()
        item.state[].error = error^
        return outcome

    def skips_slow(self, item: WorkItem) -> Bool:
        """Returns whether a statement took too long for the calling thread not
        long ago.

        Args:
            item: The item. Each call counts as one that was skipped.

        Returns:
            False for a statement that is not known.
        """
        var place = self.state[].cache.find(_text_of(item))
        if place < 0 or self.state[].cache.at(place)[].skips == 0:
            return False
        self.state[].cache.at(place)[].skips -= 1
        return True

    def mark_slow(self, item: WorkItem):
        """Remembers that a statement took too long for the calling thread.

        Args:
            item: The item.
        """
        var place = self.state[].cache.find(_text_of(item))
        if place >= 0:
            self.state[].cache.at(place)[].skips = SLOW_SKIPS

    def last_error(self) -> SqliteError:
        """Returns the error of the last call.

        Returns:
            The error: `TIMEOUT` or `CLOSED` if the statement was stopped.
        """
        var raw = self.state[].raw.value()
        var code = raw.error_code()
        var primary = code & 0xFF
        if (
            primary == SqliteCode.INTERRUPTED or primary == SqliteCode.BUSY
        ) and is_stopped(raw.control):
            if is_raised(raw.control[].closing):
                return SqliteError(SqliteError.CLOSED)
            return SqliteError(SqliteError.TIMEOUT, "the statement was stopped")
        return SqliteError.from_code(SqliteError.ENGINE, code, raw.error_text())

    def _open(self) -> Optional[SqliteError]:
        ref target = self.state[].target.state[]
        var opened = target.library.open(
            target.path,
            read_only=target.options.read_only,
            closing=self.state[].target.closing_word(),
            busy_timeout_ms=target.options.busy_timeout_ms,
        )
        if not opened[2]:
            return SqliteError.from_code(
                SqliteError.OPEN,
                opened[0],
                String(opened[1], ": ", self.state[].target.path_text()),
            )
        var raw = opened[2].value()
        self.state[].raw = raw
        var error = self._configure(raw)
        if error:
            # Its statements must not be found by the next attempt.
            self.state[].cache.clear()
            raw.close()
            self.state[].raw = None
            error.value().kind = SqliteError.OPEN
            return error^
        self.state[].target.count_open(1)
        return None

    def _configure(self, raw: SqliteConnection) -> Optional[SqliteError]:
        ref target = self.state[].target.state[]
        # The first look at the file, which finds out whether it is a database.
        var error = self.command("SELECT count(*) FROM sqlite_master")
        if not error and not target.is_memory and not raw.is_read_only():
            error = self._use_wal()
            if not error and target.options.synchronous == Synchronous.FULL:
                error = self.command("PRAGMA synchronous = FULL")
            elif not error:
                error = self.command("PRAGMA synchronous = NORMAL")
        if not error:
            error = self.command("PRAGMA foreign_keys = ON")
        if not error and self.state[].is_reader:
            error = self.command("PRAGMA query_only = ON")
        return error^

    def _use_wal(self) -> Optional[SqliteError]:
        # The answer is the mode that SQLite has chosen.
        var item = _internal("PRAGMA journal_mode = WAL")
        var outcome = self.run(item)
        var error = Optional[SqliteError](None)
        if outcome != RunOutcome.DONE:
            error = item.state[].error
        else:
            ref values = item.state[].result.value()[].values
            var mode = StringSlice(unsafe_from_utf8=Span(values.octets))
            if mode != _WAL:
                error = SqliteError(
                    SqliteError.OPEN,
                    String("no write-ahead log for this file: ", mode),
                )
        item.destroy()
        return error^

    def _find(self, item: WorkItem) -> Int:
        # The place of the statement in the cache, or -1 and an error.
        var text = _text_of(item)
        var place = self.state[].cache.find(text)
        if place < 0:
            var raw = self.state[].raw.value()
            var error = Optional[SqliteError](None)
            var prepared = self._prepare(item, error)
            if prepared:
                var cached = CachedStatement(prepared.value())
                var problem = cached.first_problem()
                if problem == "":
                    place = self.state[].cache.add(text^, cached^)
                else:
                    prepared.value().finalize()
                    error = SqliteError(SqliteError.BAD_PARAMETER, problem)
            if error:
                item.state[].error = error^
                return -1
            raw.control[].refuses_control = False
        var given = len(item.state[].parameters.cells)
        var taken = self.state[].cache.at(place)[].count
        if given != taken:
            item.state[].error = SqliteError(
                SqliteError.BAD_PARAMETER,
                String(
                    "the statement has ",
                    taken,
                    " parameters, and the call passes ",
                    given,
                ),
            )
            return -1
        return place

    def _prepare(
        self, item: WorkItem, mut error: Optional[SqliteError]
    ) -> Optional[SqliteStatement]:
        var raw = self.state[].raw.value()
        ref control = raw.control[]
        # Fibers may not end the transaction that others share.
        control.refuses_control = item.state[].kind <= StatementKind.OTHER
        control.was_refused = False
        ref sql = item.state[].sql
        var first = raw.prepare(sql)
        if first[0] == 0 and first[1]:
            var rest = raw.prepare(sql, first[2])
            if rest[0] != 0 or rest[1]:
                if rest[1]:
                    rest[1].value().finalize()
                first[1].value().finalize()
                error = SqliteError(
                    SqliteError.BAD_PARAMETER, "the text has two statements"
                )
                first = (0, None, 0)
        elif first[0] == 0:
            error = SqliteError(
                SqliteError.BAD_PARAMETER, "the statement is empty"
            )
        elif control.was_refused:
            error = SqliteError(
                SqliteError.BAD_PARAMETER,
                (
                    "the blocks begin and end transactions, and other files"
                    " cannot be attached"
                ),
            )
        else:
            error = self.last_error()
            error.value().position = raw.error_offset() + 1
        control.refuses_control = False
        return first[1]

    def _bind(
        self, statement: SqliteStatement, numbers: List[Int], item: WorkItem
    ) -> Optional[SqliteError]:
        ref parameters = item.state[].parameters
        for i in range(len(numbers)):
            var cell = parameters.cells[numbers[i] - 1]
            var index = i + 1
            var result: Int
            if cell.type == Int32(SqliteType.NULL):
                result = statement.bind_null(index)
            elif cell.type == Int32(SqliteType.INTEGER):
                result = statement.bind_integer(index, cell.value)
            elif cell.type == Int32(SqliteType.REAL):
                result = statement.bind_real(
                    index, bitcast[DType.float64](cell.value)
                )
            else:
                # NULL stands for octets that are missing, so there is always
                # one more.
                if len(parameters.octets) == Int(cell.value):
                    parameters.octets.append(0)
                var octets = address_of_octets(
                    Span(parameters.octets)
                ).unsafe_offset(Int(cell.value))
                if cell.type == Int32(SqliteType.TEXT):
                    result = statement.bind_text(
                        index, octets, Int(cell.length)
                    )
                else:
                    result = statement.bind_blob(
                        index, octets, Int(cell.length)
                    )
            if result != 0:
                return self.last_error()
        return None

    def _collect(
        self, place: Int, statement: SqliteStatement, item: WorkItem
    ) -> Optional[SqliteError]:
        var raw = self.state[].raw.value()
        var code = statement.step()
        # A change of the schema may have changed the columns of `*`.
        var again = statement.times_prepared_again()
        var cached = self.state[].cache.at(place)
        if again != cached[].prepared_again:
            cached[].prepared_again = again
            cached[].columns = columns_of(statement)
        var block = heap_create(ResultBlock(cached[].columns))
        item.state[].result = block
        var room = self.state[].target.state[].options.result_octets_max
        var columns = len(cached[].columns[].names)
        while code == SqliteCode.ROW:
            if not add_row(statement, columns, block[].values, room):
                return SqliteError(
                    SqliteError.TOO_LARGE,
                    "the result exceeds result_octets_max",
                )
            block[].rows += 1
            code = statement.step()
        if code != SqliteCode.DONE:
            return self.last_error()
        block[].affected = block[].rows
        if (
            not cached[].is_read_only
            and item.state[].kind <= StatementKind.CHANGE
        ):
            block[].affected = raw.changes()
        return None


def _may_be_half_done(error: SqliteError) -> Bool:
    # A statement that SQLite itself lets fail has no effect.
    return (
        error.kind == SqliteError.TOO_LARGE
        or error.kind == SqliteError.TIMEOUT
        or error.kind == SqliteError.CLOSED
    )


def add_row(
    statement: SqliteStatement,
    columns: Int,
    mut values: ValueBlock,
    octets_max: Int,
) -> Bool:
    """Copies the present row of a statement.

    Args:
        statement: The statement.
        columns: How many columns it has.
        values: The values before; it gets those of the row.
        octets_max: The most memory of all values.

    Returns:
        False if they would take more memory.
    """
    for column in range(columns):
        var type = statement.type_of(column)
        if values.size() + CELL_OCTETS > octets_max:
            return False
        if type == SqliteType.INTEGER:
            values.add_integer(statement.integer(column))
        elif type == SqliteType.REAL:
            values.add_real(statement.real(column))
        elif type == SqliteType.NULL:
            values.add_null()
        else:
            var octets = statement.octets(column, type)
            if values.size() + CELL_OCTETS + len(octets) > octets_max:
                return False
            values.add_octets(type, octets)
    return True


def _internal(sql: StringSlice) -> WorkItem:
    return WorkItem(
        heap_create(
            WorkItemState(sql, ValueBlock(), StatementKind.SAVEPOINT, None)
        )
    )


def _text_of(item: WorkItem) -> String:
    # The key of the cache. A program must not find flare's own statements, which
    # were prepared without the check; its texts contain no NUL.
    ref sql = item.state[].sql
    if item.state[].kind > StatementKind.OTHER:
        return String(unsafe_from_utf8=Span(sql))
    return String(unsafe_from_utf8=Span(sql)[: len(sql) - 1])

"""Provides the database of one worker: queries, commands, transactions."""

from flare.sql.result import Executed
from flare.sql.rows import decode_rows, only_row, optional_row
from flare.sql.text import has_nul
from flare.sys.libsqlite import sqlite

from .core import DatabaseCore
from .error import SqliteError
from .options import DatabaseOptions, bad_options
from .parameter import encode_parameters
from .statement import TransactionPlace, run_statement
from .statistics import DatabaseStatistics
from .target import Target
from .transaction import TransactionBlock

comptime _NO_TRANSACTION = TransactionPlace(-1, 0)


struct Database(Movable):
    """A database of SQLite, for the fibers of one worker.

    It has threads of its own, which start at the first statement: one that
    writes, and some that read. Create one for each worker, in the function of
    `App.per_worker`. Destroying it closes the file.
    """

    var _core: DatabaseCore

    def __init__(
        out self,
        path: StringSlice,
        options: DatabaseOptions = DatabaseOptions(),
    ) raises:
        """Creates a database. The file is opened at the first statement.

        Args:
            path: The path of the file, which is created if it does not exist.
                `:memory:` is a database of this object alone.
            options: The bounds.

        Raises:
            SqliteError: `sqlite.bad_options` or `sqlite.no_library`.
        """
        var problem = options.first_problem()
        if problem:
            raise bad_options(problem.value())
        if path == "":
            raise bad_options("the path is empty")
        if has_nul(path):
            raise bad_options("the path contains NUL")
        var library = sqlite()
        if not library:
            raise Error(
                String(
                    SqliteError(
                        SqliteError.NO_LIBRARY,
                        (
                            "libsqlite3.so.0 of version 3.20 or later: install"
                            " libsqlite3-0 (Debian) or sqlite-libs (Fedora,"
                            " Alpine)"
                        ),
                    )
                )
            )
        var target = Target.create(library.value(), path, options.copy())
        self._core = DatabaseCore.create(target)

    def __deinit__(deinit self):
        """Closes the database. Fibers that still wait get `sqlite.closed`."""
        self._core.close()
        self._core.release()

    def query[
        T: Deinitable & Movable, *Ps: AnyType
    ](self, sql: StringSlice, *parameters: *Ps) raises -> List[T]:
        """Runs a statement and decodes its rows.

        Parameters:
            T: A struct with a field for each column, by name, or the type of
                the only column.
            Ps: The types of the parameters.

        Args:
            sql: One statement, with `$1`, `$2` for the parameters.
            parameters: The parameters. They are passed apart from the
                statement, so no text in them becomes a part of it.

        Returns:
            The rows.

        Raises:
            SqliteError: `sqlite.engine` with SQLite's error, `sqlite.decode`,
                `sqlite.timeout` and others.

            NetError: `net.cancelled wait`.
        """
        var encoded = encode_parameters(*parameters)
        var answer = run_statement(self._core, _NO_TRANSACTION, sql, encoded^)
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
            SqliteError: `sqlite.no_rows`, `sqlite.too_many_rows`, and others
                as `query`.
        """
        var encoded = encode_parameters(*parameters)
        var answer = run_statement(self._core, _NO_TRANSACTION, sql, encoded^)
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
            SqliteError: `sqlite.too_many_rows`, and others as `query`.
        """
        var encoded = encode_parameters(*parameters)
        var answer = run_statement(self._core, _NO_TRANSACTION, sql, encoded^)
        return optional_row[T](answer)

    def execute[
        *Ps: AnyType
    ](self, sql: StringSlice, *parameters: *Ps) raises -> Executed:
        """Runs a command. Changes of several fibers share a commit.

        Parameters:
            Ps: The types of the parameters.

        Args:
            sql: As for `query`.
            parameters: As for `query`.

        Returns:
            How many rows it has changed, after the commit.

        Raises:
            SqliteError: As `query` does.
        """
        var encoded = encode_parameters(*parameters)
        var answer = run_statement(self._core, _NO_TRANSACTION, sql, encoded^)
        return answer.executed()

    def transaction(
        self, *, read_only: Bool = False
    ) -> TransactionBlock[origin_of(self._core)]:
        """Runs a `with` block in a transaction.

        Without `read_only`, it takes the writer from its start, so it never
        has to be repeated. The end of the block commits. An error that leaves
        the block rolls back.

        Args:
            read_only: Whether it only reads, on a reader. All of its queries
                see the database as it is at the start.

        Returns:
            The context manager: `with db.transaction() as tx: …`.
        """
        return TransactionBlock(Pointer(to=self._core), read_only)

    def close(self):
        """Stops all statements and closes the file. Fibers that wait get
        `sqlite.closed`, and so do later calls.
        """
        self._core.close()

    def is_healthy(self) -> Bool:
        """Returns whether statements can be expected to succeed. If not, it
        begins an attempt to open the file.

        Returns:
            True unless the last attempt to open the file failed.
        """
        return self._core.is_healthy()

    def statistics(self) -> DatabaseStatistics:
        """Returns the counters of this worker.

        Returns:
            A copy.
        """
        return self._core.statistics()

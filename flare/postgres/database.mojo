"""Provides the database of one worker: queries, commands, transactions."""

from flare.runtime.wait import sleep
from flare.sql.result import Executed
from flare.sql.rows import decode_rows, only_row, optional_row
from flare.sys.libpq import libpq

from .connect_failure import backoff_ms
from .database_copy import DatabaseCopyScope
from .error import PostgresError
from .listen import ListenScope
from .location import DatabaseLocation
from .options import DatabaseOptions, bad_options
from .parameter import encode_parameters
from .pool import DatabasePool
from .statement import run_statement
from .statistics import DatabaseStatistics
from .stream import RowStream
from .transaction import IsolationLevel, Transaction, TransactionScope


struct Database(Movable):
    """A PostgreSQL database, for the fibers of one worker.

    Connections are opened when needed. Statements of several fibers share them.
    Create one for each worker, in the function of `App.per_worker`. Destroying
    it closes the connections.
    """

    var _pool: DatabasePool

    def __init__(
        out self,
        url: StringSlice,
        options: DatabaseOptions = DatabaseOptions(),
        *,
        workers: Int = 1,
    ) raises:
        """Creates a database. No connection is opened yet.

        Args:
            url: As `postgres://user:password@host/name`; see the guide.
            options: The bounds.
            workers: How many workers share `options.max_connections`.

        Raises:
            PostgresError: `postgres.bad_options` without the password, or
                `postgres.no_library`.
        """
        var bounds = options.copy()
        var location = DatabaseLocation.parse(url, bounds)
        var problem = bounds.first_problem()
        if problem:
            raise bad_options(problem.value())
        var library = libpq()
        if not library:
            raise Error(
                String(
                    PostgresError(
                        PostgresError.NO_LIBRARY,
                        (
                            "libpq.so.5 of version 14 or later: install libpq5"
                            " (Debian), libpq (Fedora, Alpine, Homebrew)"
                        ),
                    )
                )
            )
        var share = max(bounds.max_connections // max(workers, 1), 1)
        self._pool = DatabasePool.create(
            library.value(), location^, bounds^, share
        )

    def __deinit__(deinit self):
        """Closes the connections. Fibers that still wait get
        `postgres.closed`.
        """
        self._pool.close()
        self._pool.release()

    def close(self):
        """Closes the connections. Fibers that wait for one get
        `postgres.closed`, and so do later calls. Statements in flight get
        `postgres.connection_lost`; the server may run them to their end.
        """
        self._pool.close()

    def query[
        T: Deinitable & Movable, *Ps: AnyType
    ](self, sql: StringSlice, *parameters: *Ps) raises -> List[T]:
        """Runs a statement and decodes its rows.

        The statement may share a connection with those of other fibers, in a
        transaction of its own.

        Parameters:
            T: A struct with a field for each column, by name, or the type of
                the only column.
            Ps: The types of the parameters.

        Args:
            sql: One statement, with `$1`, `$2` for the parameters.
            parameters: The parameters. They are sent apart from the statement,
                so no text in them becomes a part of it.

        Returns:
            The rows.

        Raises:
            PostgresError: `postgres.server` with the server's error,
                `postgres.decode`, `postgres.timeout` and others.

            NetError: `net.cancelled wait`.
        """
        var encoded = encode_parameters(*parameters)
        var answer = run_statement(self._pool, None, sql, encoded^)
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
            PostgresError: `postgres.no_rows`, `postgres.too_many_rows`, and
                others as `query`.
        """
        var encoded = encode_parameters(*parameters)
        var answer = run_statement(self._pool, None, sql, encoded^)
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
            PostgresError: `postgres.too_many_rows`, and others as `query`.
        """
        var encoded = encode_parameters(*parameters)
        var answer = run_statement(self._pool, None, sql, encoded^)
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
        var answer = run_statement(self._pool, None, sql, encoded^)
        return answer.executed()

    def stream[
        T: Deinitable & Movable, *Ps: AnyType
    ](
        self, sql: StringSlice, *parameters: *Ps, batch_rows_max: Int = 512
    ) raises -> RowStream[T, origin_of(self._pool)]:
        """Reads the rows of a large result batch by batch, in a `with` block.

        The stream owns a connection. The server runs the statement as far as
        rows are read, so the memory at both ends is that of a batch.

        Parameters:
            T: As for `query`.
            Ps: The types of the parameters.

        Args:
            sql: A SELECT or VALUES, with `$1`, `$2` for the parameters.
            parameters: The parameters.
            batch_rows_max: The most rows that are asked for at a time, 1 to
                1,000,000; 512 by default, so that a round trip is shared by
                many.

        Returns:
            The context manager: `with db.stream[Row](sql) as rows: …`, where
            `rows.next()` returns a row, or `None` after the last one.

        Raises:
            PostgresError: `postgres.bad_parameter`.
        """
        return RowStream[T, origin_of(self._pool)](
            Pointer(to=self._pool),
            sql,
            encode_parameters(*parameters),
            batch_rows_max,
        )

    def transaction(
        self,
        *,
        isolation: IsolationLevel = IsolationLevel.DEFAULT,
        read_only: Bool = False,
    ) -> TransactionScope[origin_of(self._pool)]:
        """Runs a `with` block in a transaction, on a connection of its own.

        The end of the block commits. An error that leaves the block rolls back.

        Args:
            isolation: The isolation level; that of the server by default.
            read_only: Whether the server refuses changes.

        Returns:
            The context manager: `with db.transaction() as tx: …`.
        """
        return TransactionScope(Pointer(to=self._pool), isolation, read_only)

    def run_transaction[
        T: Deinitable & Movable, //, F: def(Transaction) raises -> T
    ](
        self,
        body: F,
        *,
        isolation: IsolationLevel = IsolationLevel.SERIALIZABLE,
        attempts_max: Int = 3,
    ) raises -> T:
        """Runs a closure in a transaction, and once more if the server has ended
        it for the sake of another one (40001, 40P01).

        Parameters:
            T: The type of the closure's result.
            F: The type of the closure.

        Args:
            body: The closure. It may run several times, and only the last run
                is committed: it must change nothing but the database.
            isolation: The isolation level; SERIALIZABLE by default, at which the
                server ends transactions that meet.
            attempts_max: How often it runs at most; 3 by default.

        Returns:
            The closure's result.

        Raises:
            PostgresError: `postgres.server` of the last attempt, and others as
                `transaction`.

            The error of the closure.
        """
        var attempt = 1
        while True:
            try:
                var result = Optional[T](None)
                with self.transaction(isolation=isolation) as tx:
                    result = body(tx)
                return result.take()
            except e:
                var error = PostgresError.of(e)
                if (
                    attempt >= attempts_max
                    or not error
                    or not error.value().is_serialization_failure()
                ):
                    raise e^
            # Those that have met should not meet again.
            sleep(backoff_ms(attempt))
            attempt += 1

    def copy_in[
        T: AnyType
    ](self, table: StringSlice) -> DatabaseCopyScope[T, origin_of(self._pool)]:
        """Stores many rows by COPY, in a `with` block: all of them, or none.

        It owns a connection. Rows are sent in pieces of 64 KiB while they are
        added, so the memory is that of a few pieces.

        Parameters:
            T: A struct with a field for each column to be filled, by name.
                Columns without one get their defaults.

        Args:
            table: The table, as the database names it, with the schema before a
                dot: `items`, `shop.items`.

        Returns:
            The context manager: `with db.copy_in[Item]("items") as copy: …`,
            where `copy.add(item)` adds a row.
        """
        return DatabaseCopyScope[T, origin_of(self._pool)](
            self.transaction(), table
        )

    def listen(self, *channels: String) -> ListenScope[origin_of(self._pool)]:
        """Receives the notifications of channels, in a `with` block.

        It owns a connection. If that is lost, another one takes its place, and
        the next notification says that some may be missing.

        Args:
            channels: The names of the channels, of 1 to 63 octets each, as in
                `NOTIFY "jobs"`.

        Returns:
            The context manager: `with db.listen("jobs") as notifications: …`,
            where `notifications.next()` parks until one arrives.
        """
        var names = List[String](capacity=len(channels))
        for channel in channels:
            names.append(channel)
        return ListenScope(Pointer(to=self._pool), names^)

    def is_healthy(self) -> Bool:
        """Returns whether statements can be expected to succeed. If not, it
        begins an attempt to connect.

        Returns:
            True if a connection is open, or no attempt has failed.
        """
        return self._pool.is_healthy()

    def statistics(self) -> DatabaseStatistics:
        """Returns the counters of this worker.

        Returns:
            A copy.
        """
        return self._pool.statistics()

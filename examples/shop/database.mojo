"""Runs one program on SQLite and on PostgreSQL.

A program for one of them needs no such module: see examples/accounts. Both
databases have the same methods, but their types differ.
"""

from flare.postgres import Database as PostgresDatabase
from flare.postgres import Transaction as PostgresTransaction
from flare.sqlite import Database as SqliteDatabase
from flare.sqlite import DatabaseOptions, Synchronous
from flare.sqlite import Transaction as SqliteTransaction


@fieldwise_init
struct AnyTransaction(Copyable):
    """A transaction of either database."""

    var _sqlite: Optional[SqliteTransaction]
    var _postgres: Optional[PostgresTransaction]

    def query_optional[
        T: Deinitable & Movable, *Ps: AnyType
    ](self, sql: StringSlice, *parameters: *Ps) raises -> Optional[T]:
        """Returns the row, if there is one."""
        if self._sqlite:
            return self._sqlite.value().query_optional[T](sql, *parameters)
        return self._postgres.value().query_optional[T](sql, *parameters)

    def execute[
        *Ps: AnyType
    ](self, sql: StringSlice, *parameters: *Ps) raises -> Int:
        """Returns how many rows a command has changed."""
        if self._sqlite:
            return self._sqlite.value().execute(sql, *parameters).rows
        return self._postgres.value().execute(sql, *parameters).rows


struct AnyDatabase(Movable):
    """A file of SQLite, or a database of PostgreSQL."""

    var _sqlite: Optional[SqliteDatabase]
    var _postgres: Optional[PostgresDatabase]

    def __init__(out self, location: String, *, workers: Int) raises:
        """Creates a database of PostgreSQL for `postgres://…`, or else of a
        file, for one of so many workers.
        """
        self._sqlite = None
        self._postgres = None
        if location.startswith("postgres://") or location.startswith(
            "postgresql://"
        ):
            self._postgres = PostgresDatabase(location, workers=workers)
        else:
            # A power failure loses no order either.
            self._sqlite = SqliteDatabase(
                location, DatabaseOptions(synchronous=Synchronous.FULL)
            )

    def query[
        T: Deinitable & Movable, *Ps: AnyType
    ](self, sql: StringSlice, *parameters: *Ps) raises -> List[T]:
        """Returns all rows."""
        if self._sqlite:
            return self._sqlite.value().query[T](sql, *parameters)
        return self._postgres.value().query[T](sql, *parameters)

    def query_optional[
        T: Deinitable & Movable, *Ps: AnyType
    ](self, sql: StringSlice, *parameters: *Ps) raises -> Optional[T]:
        """Returns the row, if there is one."""
        if self._sqlite:
            return self._sqlite.value().query_optional[T](sql, *parameters)
        return self._postgres.value().query_optional[T](sql, *parameters)

    def execute[
        *Ps: AnyType
    ](self, sql: StringSlice, *parameters: *Ps) raises -> Int:
        """Returns how many rows a command has changed."""
        if self._sqlite:
            return self._sqlite.value().execute(sql, *parameters).rows
        return self._postgres.value().execute(sql, *parameters).rows

    def transaction[
        F: def(AnyTransaction) raises -> None
    ](self, body: F) raises:
        """Calls a function in a transaction. Its error rolls back."""
        if self._sqlite:
            with self._sqlite.value().transaction() as tx:
                body(AnyTransaction(tx, None))
        else:
            with self._postgres.value().transaction() as tx:
                body(AnyTransaction(None, tx))

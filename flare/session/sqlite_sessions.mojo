"""Keeps sessions in a table of SQLite."""

from flare.core import PointerTo
from flare.http import Request, State
from flare.sqlite import Database
from flare.sys.clock import unix_seconds

from .keeping import SessionStore
from .record import SessionRecord

comptime FindSqlite = def(Request) raises thin -> PointerTo[Database]
"""Finds the database of a worker, from the state of the program."""


struct SqliteSessions(SessionStore):
    """Keeps sessions in the table `flare_sessions` of SQLite.

    The database is that of the program, which an `App` around `Sessions`
    has as its state: `App(state=…, handler=Sessions[T](router^, SqliteSessions()))`.
    """

    var _database: FindSqlite

    def __init__(out self):
        """Creates a store in the database that is the state of the program."""
        self._database = _database_of_state

    def __init__(out self, database: FindSqlite):
        """Creates a store in a database that is a part of the state.

        Args:
            database: Returns it, as
                `Pointer(to=State[Services].of(req)[].database)`.
        """
        self._database = database

    @staticmethod
    def create_table(database: Database) raises:
        """Creates the table and its index, unless they exist.

        Call it before the server starts, and not from several workers at once.

        Args:
            database: The database.

        Raises:
            SqliteError: If it cannot be created.
        """
        _ = database.execute(
            "CREATE TABLE IF NOT EXISTS flare_sessions (key TEXT PRIMARY KEY,"
            " data TEXT NOT NULL, created_at BIGINT NOT NULL, expires_at"
            " BIGINT NOT NULL)"
        )
        _ = database.execute(
            "CREATE INDEX IF NOT EXISTS flare_sessions_expires_at ON"
            " flare_sessions (expires_at)"
        )

    def load(self, req: Request, key: String) raises -> Optional[SessionRecord]:
        """Returns the record under a key.

        Args:
            req: The request.
            key: The key.

        Returns:
            The record; `None` without one.

        Raises:
            SqliteError: If the database cannot be asked.
        """
        return self._database(req)[].query_optional[SessionRecord](
            (
                "SELECT data, created_at, expires_at FROM flare_sessions WHERE"
                " key = $1"
            ),
            key,
        )

    def insert(self, req: Request, key: String, record: SessionRecord) raises:
        """Adds a record, and deletes up to 16 whose time is over.

        Args:
            req: The request.
            key: A new key.
            record: The record to keep.

        Raises:
            SqliteError: If it cannot be kept.
        """
        ref database = self._database(req)[]
        _ = database.execute(
            (
                "INSERT INTO flare_sessions (key, data, created_at, expires_at)"
                " VALUES ($1, $2, $3, $4)"
            ),
            key,
            record.data,
            record.created_at,
            record.expires_at,
        )
        # More than the one that came, so that the table shrinks.
        _ = database.execute(
            (
                "DELETE FROM flare_sessions WHERE key IN (SELECT key FROM"
                " flare_sessions WHERE expires_at <= $1 LIMIT 16)"
            ),
            unix_seconds(),
        )

    def update(
        self,
        req: Request,
        key: String,
        new_key: String,
        record: SessionRecord,
    ) raises -> Bool:
        """Replaces a record, and perhaps its key.

        Args:
            req: The request.
            key: The key.
            new_key: The new key, or the same one.
            record: The record to keep.

        Returns:
            False if there is no such record.

        Raises:
            SqliteError: If it cannot be kept.
        """
        var outcome = self._database(req)[].execute(
            (
                "UPDATE flare_sessions SET key = $2, data = $3, expires_at = $4"
                " WHERE key = $1"
            ),
            key,
            new_key,
            record.data,
            record.expires_at,
        )
        return outcome.rows == 1

    def touch(self, req: Request, key: String, expires_at: Int) raises:
        """Sets the end of a record, if there is one.

        Args:
            req: The request.
            key: The key.
            expires_at: The end, in seconds since 1970.

        Raises:
            SqliteError: If the database cannot be asked.
        """
        _ = self._database(req)[].execute(
            "UPDATE flare_sessions SET expires_at = $2 WHERE key = $1",
            key,
            expires_at,
        )

    def remove(self, req: Request, key: String) raises:
        """Deletes a record, if there is one.

        Args:
            req: The request.
            key: The key.

        Raises:
            SqliteError: If the database cannot be asked.
        """
        _ = self._database(req)[].execute(
            "DELETE FROM flare_sessions WHERE key = $1", key
        )


def _database_of_state(
    req: Request,
) raises -> PointerTo[Database]:
    return Pointer(to=State[Database].of(req)[])

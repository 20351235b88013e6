"""Holds the state of a transaction."""

from flare.sys.pg_parameters import PgParameters

from .answer import Answer
from .connection import DatabaseConnection
from .error import PostgresError
from .pool import DatabasePool
from .statement import run_statement


struct TransactionState(Movable):
    """The state of a transaction. Only this package uses it."""

    var pool: DatabasePool
    """The pool."""
    var connection: Optional[DatabaseConnection]
    """The connection; `None` after the end."""
    var savepoints: Int
    """How many savepoints were begun."""

    def __init__(out self, pool: DatabasePool, connection: DatabaseConnection):
        """Creates the state of a transaction that was begun.

        Args:
            pool: The pool.
            connection: The connection, which it owns.
        """
        self.pool = pool
        self.connection = connection
        self.savepoints = 0


def run_in_transaction(
    state: TransactionState, sql: StringSlice, var parameters: PgParameters
) raises -> Answer:
    """Runs a statement of a transaction.

    Args:
        state: The transaction.
        sql: The statement.
        parameters: Its parameters.

    Returns:
        The answer.

    Raises:
        PostgresError: `postgres.closed` after the end of the transaction, and
            others as a command.
    """
    var connection = state.connection
    if not connection:
        raise Error(String(PostgresError(PostgresError.CLOSED)))
    return run_statement(state.pool, connection, sql, parameters^)

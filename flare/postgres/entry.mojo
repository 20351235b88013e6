"""Describes one statement on its way to the server and back.

An entry lies on the heap. The fiber that waits for it frees it. If that fiber
has stopped waiting (`is_abandoned`), the connection does, after the answer.
"""

from flare.core import PointerTo, heap_create, heap_destroy
from flare.runtime.fiber import Fiber
from flare.sql.text import begins_with_word
from flare.sys.libpq_result import PgResult
from flare.sys.pg_parameters import PgParameters, CStringTable

from .error import PostgresError


struct EntryFlags(ImplicitlyCopyable):
    """The progress of one statement."""

    var is_done: Bool
    """Whether answer or error are there."""
    var is_abandoned: Bool
    """Whether no fiber waits for it."""
    var is_internal: Bool
    """Whether flare sent it for the connection, as ROLLBACK."""
    var is_sent: Bool
    """Whether it is in a pipeline, so that the server may know it."""
    var is_exposed: Bool
    """Whether a cancel that was meant for a statement before it could have
    reached it."""
    var is_repeatable: Bool
    """Whether it has no effect if it fails: no procedure, no transaction."""
    var awaits_prepare: Bool
    """Whether the answer to its preparation comes first."""
    var is_prepared: Bool
    """Whether it is executed by a name of the cache."""
    var is_stale: Bool
    """Whether the server no longer has its plan, so that it did not run."""
    var avoids_cache: Bool
    """Whether it is sent whole. A statement that cannot be prepared would else
    find the name of the next attempt, which fails too."""

    def __init__(out self, *, is_internal: Bool, is_repeatable: Bool):
        """Creates the flags of a statement that was not sent.

        Args:
            is_internal: Whether flare sends it for the connection.
            is_repeatable: Whether it has no effect if it fails.
        """
        self.is_done = False
        self.is_abandoned = is_internal
        self.is_internal = is_internal
        self.is_sent = False
        self.is_exposed = False
        self.is_repeatable = is_repeatable
        self.awaits_prepare = False
        self.is_prepared = False
        self.is_stale = False
        self.avoids_cache = False


struct EntryState(Movable):
    """One statement. Only `Entry` uses it."""

    var fiber: Optional[Fiber]
    """The fiber that waits for the answer."""
    var sql: CStringTable
    """The statement, with NUL."""
    var parameters: PgParameters
    """Its parameters."""
    var result: Optional[PgResult]
    """The answer."""
    var error: Optional[PostgresError]
    """The error in place of an answer."""
    var flags: EntryFlags
    """Its progress."""
    var attempts: Int
    """How often it was sent."""
    var turn: Int
    """Its place among all that wait for a connection."""

    def __init__(
        out self, sql: StringSlice, var parameters: PgParameters, fiber: Fiber
    ):
        """Creates an entry that was not sent.

        Args:
            sql: The statement.
            parameters: Its parameters.
            fiber: The fiber that will wait.
        """
        self.fiber = fiber
        self.sql = CStringTable(sql)
        self.parameters = parameters^
        self.result = None
        self.error = None
        self.flags = EntryFlags(
            is_internal=False, is_repeatable=is_repeatable(sql)
        )
        self.attempts = 0
        self.turn = 0

    def __init__(out self, *, internal: StringSlice):
        """Creates an entry that no fiber waits for.

        Args:
            internal: The statement.
        """
        self.fiber = None
        self.sql = CStringTable(internal)
        self.parameters = PgParameters()
        self.result = None
        self.error = None
        self.flags = EntryFlags(is_internal=True, is_repeatable=True)
        self.attempts = 0
        self.turn = 0


@fieldwise_init
struct Entry(Equatable, TrivialRegisterPassable):
    """A handle to a statement on its way."""

    var state: PointerTo[EntryState]
    """The heap state."""

    def finish(self):
        """Wakes the fiber that waits for the answer, or drops the answer."""
        self.state[].flags.is_done = True
        if self.state[].flags.is_abandoned:
            self.destroy()
        elif self.state[].fiber:
            self.state[].fiber.value().wake()

    def fail(self, var error: PostgresError):
        """Ends the statement with an error.

        Args:
            error: The error. An earlier one of the server stays.
        """
        if not self.state[].error:
            self.state[].error = error^
        self.finish()

    def lose(self, text: StringSlice):
        """Ends the statement, because its connection has ended.

        Args:
            text: The cause, unless the server has told one.
        """
        ref e = self.state[]
        self.clear_result()
        if e.error and e.error.value().kind == PostgresError.SERVER:
            if e.error.value().sqlstate.startswith("57P"):
                e.error.value().kind = PostgresError.CONNECTION_LOST
        if not e.error or e.flags.is_stale:
            e.error = PostgresError(
                PostgresError.CONNECTION_LOST, text, sent=True
            )
        self.finish()

    def set_result(self, result: PgResult):
        """Stores the answer, in place of an earlier one.

        Args:
            result: The answer, which the entry owns.
        """
        self.clear_result()
        self.state[].result = result

    def clear_result(self):
        """Frees the answer, if there is one."""
        if self.state[].result:
            self.state[].result.value().clear()
            self.state[].result = None

    def prepare_again(self):
        """Forgets the outcome, so that the statement may be sent once more."""
        self.clear_result()
        self.state[].error = None
        ref flags = self.state[].flags
        flags.avoids_cache = flags.is_stale
        flags.is_exposed = False
        flags.is_stale = False
        flags.is_sent = False

    def destroy(self):
        """Frees the entry and its answer."""
        self.clear_result()
        heap_destroy(self.state)


def create_entry(
    sql: StringSlice, var parameters: PgParameters, fiber: Fiber
) -> Entry:
    """Creates a statement for which a fiber waits.

    Args:
        sql: The statement.
        parameters: Its parameters.
        fiber: The fiber.

    Returns:
        The entry.
    """
    return Entry(heap_create(EntryState(sql, parameters^, fiber)))


def create_internal_entry(sql: StringSlice) -> Entry:
    """Creates a statement for which no fiber waits.

    Args:
        sql: The statement.

    Returns:
        The entry.
    """
    return Entry(heap_create(EntryState(internal=sql)))


def is_repeatable(sql: StringSlice) -> Bool:
    """Returns whether a statement that failed had no effect.

    Args:
        sql: The statement.

    Returns:
        True for statements that cannot commit on their own.
    """
    comptime WORDS: List[StaticString] = [
        "select",
        "insert",
        "update",
        "delete",
        "with",
        "values",
        "merge",
        "table",
    ]
    return begins_with_word[WORDS, is_postgresql=True](sql)


def controls_transaction(sql: StringSlice) -> Bool:
    """Returns whether a statement begins or ends a transaction.

    Args:
        sql: The statement.

    Returns:
        True for BEGIN, COMMIT and their like.
    """
    comptime WORDS: List[StaticString] = [
        "begin",
        "start",
        "commit",
        "end",
        "rollback",
        "abort",
        "savepoint",
        "release",
        "prepare",
    ]
    return begins_with_word[WORDS, is_postgresql=True](sql)


def needs_own_protocol(sql: StringSlice) -> Bool:
    """Returns whether more than one answer may follow a statement.

    Args:
        sql: The statement.

    Returns:
        True for COPY and LISTEN.
    """
    comptime WORDS: List[StaticString] = ["copy", "listen"]
    return begins_with_word[WORDS, is_postgresql=True](sql)

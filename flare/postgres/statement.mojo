"""Runs one statement for the calling fiber."""

from flare.net import NetError
from flare.runtime.operation import CANCELLED
from flare.runtime.wait import waiting_fiber
from flare.sql.text import has_nul
from flare.sys.pg_parameters import PgParameters

from .answer import Answer
from .connection import DatabaseConnection
from .entry import (
    Entry,
    controls_transaction,
    create_entry,
    needs_own_protocol,
)
from .error import PostgresError
from .pool import DatabasePool


def run_statement(
    pool: DatabasePool,
    connection: Optional[DatabaseConnection],
    sql: StringSlice,
    var parameters: PgParameters,
) raises -> Answer:
    """Sends a statement, and parks until its answer has arrived.

    Args:
        pool: The pool.
        connection: The connection of a transaction; `None` for any.
        sql: The statement.
        parameters: Its parameters.

    Returns:
        The answer.

    Raises:
        PostgresError: See its kinds.

        NetError: `net.cancelled wait`.
    """
    var problem = _problem_of(sql, is_shared=not connection)
    if problem != "":
        raise Error(String(PostgresError(PostgresError.BAD_PARAMETER, problem)))
    return run_unchecked(pool, connection, sql, parameters^)


def run_unchecked(
    pool: DatabasePool,
    connection: Optional[DatabaseConnection],
    sql: StringSlice,
    var parameters: PgParameters,
) raises -> Answer:
    """Sends a statement of this package, and parks until its answer has
    arrived.

    Args:
        pool: The pool.
        connection: The connection of a transaction; `None` for any.
        sql: The statement.
        parameters: Its parameters.

    Returns:
        The answer.

    Raises:
        PostgresError: See its kinds.

        NetError: `net.cancelled wait`.
    """
    ref meter = pool.state[].target.meter
    var begun_ns = meter.begin()
    if begun_ns == 0:
        return _run(pool, connection, sql, parameters^)
    try:
        var answer = _run(pool, connection, sql, parameters^)
        meter.end(begun_ns)
        return answer^
    except e:
        meter.end(begun_ns, _error_type(e))
        raise e^


def _run(
    pool: DatabasePool,
    connection: Optional[DatabaseConnection],
    sql: StringSlice,
    var parameters: PgParameters,
) raises -> Answer:
    var fiber = waiting_fiber("wait")
    if fiber.is_cancelled():
        raise Error(NetError.from_errno("wait", fiber.wait()))
    ref options = pool.state[].target.options
    var reactor = fiber.reactor()
    if reactor.refresh_now_ms() >= fiber.state[].deadline_ms:
        raise pool.timeout_error(sent=False)
    var query_deadline_ms = reactor.deadline_after(options.query_timeout_ms)
    var acquire_deadline_ms = reactor.deadline_after(options.acquire_timeout_ms)
    var entry = create_entry(sql, parameters^, fiber)
    if connection:
        connection.value().send(entry)
    else:
        pool.submit(entry)
    var result = 0
    while not entry.state[].flags.is_done and result >= 0:
        var deadline_ms = query_deadline_ms
        if not entry.state[].flags.is_sent:
            deadline_ms = min(deadline_ms, acquire_deadline_ms)
        result = fiber.wait(deadline_ms - reactor.refresh_now_ms())
        if (
            result < 0
            and result != CANCELLED
            and entry.state[].flags.is_sent
            and reactor.now_ms() < query_deadline_ms
            and reactor.now_ms() < fiber.state[].deadline_ms
        ):
            # It waited for a connection, and got one.
            result = 0
    if entry.state[].flags.is_done:
        return _answer_of(pool, entry)
    if not entry.state[].flags.is_sent:
        _ = pool.withdraw(entry)
        entry.destroy()
        if result == CANCELLED:
            raise Error(NetError.from_errno("wait", CANCELLED))
        raise pool.wait_error(
            acquire_deadline_ms,
            min(query_deadline_ms, fiber.state[].deadline_ms),
        )
    _abandon(pool, connection, entry)
    if result == CANCELLED:
        raise Error(NetError.from_errno("wait", CANCELLED))
    raise pool.timeout_error(sent=True)


@no_inline
def _error_type(error: Error) -> String:
    var known = PostgresError.of(error)
    if not known:
        return "cancelled"
    if known.value().sqlstate:
        return known.value().sqlstate
    return known.value().name()


def _problem_of(sql: StringSlice, *, is_shared: Bool) -> StaticString:
    if has_nul(sql):
        return "the statement contains NUL"
    if needs_own_protocol(sql):
        return "use copy_in for COPY, and Database.listen for LISTEN"
    if is_shared and controls_transaction(sql):
        # Other fibers share the connection.
        return "the statement needs a transaction block"
    return ""


def _abandon(
    pool: DatabasePool, connection: Optional[DatabaseConnection], entry: Entry
):
    if connection:
        connection.value().abandon(entry)
        return
    for other in pool.state[].connections:
        for sent in other.state[].entries:
            if sent == entry:
                other.abandon(entry)
                return


def _answer_of(pool: DatabasePool, entry: Entry) raises -> Answer:
    ref counts = pool.state[].counts
    counts.statements += 1
    var error = Optional[PostgresError](None)
    swap(error, entry.state[].error)
    var found = entry.state[].result
    entry.state[].result = None
    entry.destroy()
    if error:
        if found:
            found.value().clear()
        if error.value().kind == PostgresError.CONNECTION_LOST:
            counts.lost += 1
        else:
            counts.errors += 1
        raise Error(String(error.take()))
    if not found:
        raise Error(
            String(
                PostgresError(
                    PostgresError.CONNECTION_LOST,
                    "the server sent no result",
                    sent=True,
                )
            )
        )
    return Answer(found.value())

"""Runs one statement for the calling fiber."""

from flare.net import NetError
from flare.runtime.deadline import begin_exemption, end_exemption
from flare.runtime.fiber import NO_DEADLINE, Fiber
from flare.runtime.operation import CANCELLED
from flare.runtime.wait import waiting_fiber
from flare.sql.text import has_nul

from .answer import SqliteAnswer
from .core import DatabaseCore
from .work_item import WorkItem, WorkPhase, create_item
from .error import SqliteError
from .statement_kind import StatementKind, kind_of
from .values import ValueBlock

comptime STOP_MS_MAX = 1_000
"""How long a fiber waits for the end of a statement that it has stopped. So it
learns whether the statement had an effect."""


@fieldwise_init
struct TransactionPlace(ImplicitlyCopyable):
    """Where the statements of a transaction run."""

    var lane: Int
    """The index of the reader; -1 for the writer."""
    var ticket: Int
    """The number of the transaction; 0 for a statement outside of one."""


def run_statement(
    core: DatabaseCore,
    place: TransactionPlace,
    sql: StringSlice,
    var parameters: ValueBlock,
) raises -> SqliteAnswer:
    """Runs a statement of the program, and parks until its answer is there.

    Args:
        core: The database.
        place: Its transaction.
        sql: The statement.
        parameters: Its parameters.

    Returns:
        The answer.

    Raises:
        SqliteError: See its kinds.

        NetError: `net.cancelled wait`.
    """
    if has_nul(sql):
        raise Error(
            String(
                SqliteError(
                    SqliteError.BAD_PARAMETER, "the statement contains NUL"
                )
            )
        )
    ref meter = core.state[].meter
    var begun_ns = meter.begin()
    if begun_ns == 0:
        return _run(core, place, sql, parameters^)
    core.show_use()
    try:
        var answer = _run(core, place, sql, parameters^)
        meter.end(begun_ns)
        core.show_use()
        return answer^
    except e:
        meter.end(begun_ns, _error_type(e))
        core.show_use()
        raise e^


def _run(
    core: DatabaseCore,
    place: TransactionPlace,
    sql: StringSlice,
    var parameters: ValueBlock,
) raises -> SqliteAnswer:
    var fiber = waiting_fiber("wait")
    var item = create_item(sql, parameters^, kind_of(sql), fiber)
    if (
        place.ticket == 0
        and item.state[].kind == StatementKind.QUERY
        and core.state[].target.state[].options.inline_reads
        and _may_begin(fiber)
        and core.run_inline(item)
    ):
        return _answer_of(core, item)
    await_item(core, place, item)
    return _answer_of(core, item)


@no_inline
def _error_type(error: Error) -> String:
    var known = SqliteError.of(error)
    if not known:
        return "cancelled"
    if known.value().code != 0:
        return String(known.value().code)
    return known.value().name()


def _may_begin(fiber: Fiber) -> Bool:
    if fiber.is_cancelled():
        return False
    var deadline_ms = fiber.state[].deadline_ms
    return (
        deadline_ms == NO_DEADLINE
        or fiber.reactor().refresh_now_ms() < deadline_ms
    )


def await_item(
    core: DatabaseCore, place: TransactionPlace, item: WorkItem
) raises:
    """Passes an item to its thread, and parks until it is answered.

    Args:
        core: The database.
        place: Its transaction.
        item: The item. If this raises, it must not be used any more.

    Raises:
        SqliteError: If it was not answered.

        NetError: `net.cancelled wait`.
    """
    var fiber = item.state[].fiber.value()
    var reactor = fiber.reactor()
    if not _may_begin(fiber):
        item.destroy()
        if fiber.is_cancelled():
            raise Error(NetError.from_errno("wait", fiber.wait()))
        raise _timeout(core, sent=False)
    var refused: Optional[SqliteError]
    if place.ticket == 0:
        refused = core.submit(item)
    else:
        refused = core.submit_to(place.lane, place.ticket, item)
    if refused:
        item.destroy()
        raise Error(String(refused.take()))
    ref options = core.state[].target.state[].options
    var query_deadline_ms = min(
        reactor.deadline_after(options.query_timeout_ms),
        fiber.state[].deadline_ms,
    )
    var acquire_deadline_ms = reactor.deadline_after(options.acquire_timeout_ms)
    var result = 0
    while not item.state[].is_delivered and result >= 0:
        var deadline_ms = query_deadline_ms
        if item.phase() == WorkPhase.WAITING:
            deadline_ms = min(deadline_ms, acquire_deadline_ms)
        result = fiber.wait(deadline_ms - reactor.refresh_now_ms())
        if (
            result < 0
            and result != CANCELLED
            and item.phase() != WorkPhase.WAITING
            and reactor.now_ms() < query_deadline_ms
        ):
            # It waited for a thread, and got one.
            result = 0
    if item.state[].is_delivered:
        return
    if core.withdraw(item, place.lane, place.ticket):
        item.destroy()
        if result == CANCELLED:
            raise Error(NetError.from_errno("wait", CANCELLED))
        raise _wait_error(
            core, is_acquire=acquire_deadline_ms < query_deadline_ms
        )
    _stop(core, fiber, item, is_cancelled=result == CANCELLED)


def _stop(
    core: DatabaseCore, fiber: Fiber, item: WorkItem, *, is_cancelled: Bool
) raises:
    # A thread has the item. It returns if the answer came nevertheless.
    item.request_stop()
    if is_cancelled:
        if item.abandon():
            raise Error(NetError.from_errno("wait", CANCELLED))
    else:
        if item.advance(WorkPhase.WAITING, WorkPhase.ABANDONED):
            # Its group has not come to it.
            raise _wait_error(core, is_acquire=False)
        var reactor = fiber.reactor()
        var until_ms = reactor.deadline_after(STOP_MS_MAX)
        begin_exemption(fiber)
        var result = 0
        while not item.state[].is_delivered and result >= 0:
            result = fiber.wait(until_ms - reactor.refresh_now_ms())
        end_exemption(fiber)
        var may_change = item.state[].kind != StatementKind.QUERY
        if not item.state[].is_delivered and item.abandon():
            raise _timeout(core, sent=may_change)
    # The letter is on its way.
    while not item.state[].is_delivered:
        fiber.suspend()


def _answer_of(core: DatabaseCore, item: WorkItem) raises -> SqliteAnswer:
    ref counts = core.state[].counts
    counts.statements += 1
    var error = take_error(item)
    var block = item.state[].result
    item.state[].result = None
    item.destroy()
    if error:
        if error.value().kind == SqliteError.TIMEOUT:
            counts.timeouts += 1
        else:
            counts.errors += 1
        raise Error(String(error.take()))
    return SqliteAnswer(block.value())


def take_error(item: WorkItem) -> Optional[SqliteError]:
    """Returns the error of an answered item.

    Args:
        item: The item, which no longer has it.

    Returns:
        The error; `None` if it has succeeded.
    """
    var error = Optional[SqliteError](None)
    swap(error, item.state[].error)
    return error^


def _timeout(core: DatabaseCore, *, sent: Bool) -> Error:
    core.state[].counts.timeouts += 1
    return Error(
        String(
            SqliteError(
                SqliteError.TIMEOUT, "the statement took too long", sent=sent
            )
        )
    )


def _wait_error(core: DatabaseCore, *, is_acquire: Bool) -> Error:
    if not is_acquire:
        return _timeout(core, sent=False)
    core.state[].counts.acquire_timeouts += 1
    return Error(
        String(
            SqliteError(
                SqliteError.ACQUIRE_TIMEOUT, "no thread became free in time"
            )
        )
    )

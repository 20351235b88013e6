"""Drives one connection: statements in, answers out, by one fiber.

Statements of several fibers are in flight at a time. Each is followed by its
own Sync, so that its error affects no other one. The connection's fiber sends
what the socket did not take at once, receives, and wakes the fiber at the head.

A cancel request of PostgreSQL names a connection, not a statement. So it is
sent only for the statement at the head, and no statement joins the pipeline
until the request has ended. It may still reach a statement that was behind the
head: such a statement is sent again, because it had no effect.
"""

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.runtime.blocking import blocking
from flare.runtime.current import current_reactor
from flare.runtime.fiber import NO_DEADLINE, Fiber
from flare.runtime.operation import POLL_IN, POLL_OUT, TIMED_OUT
from flare.runtime.reactor import Reactor
from flare.runtime.readiness import poll_descriptor
from flare.sys.libpq import (
    PgCancel,
    PgConnection,
    PgResult,
    PgStatus,
    PgTransaction,
)
from flare.sys.pg_parameters import TextTable

from .entry import Entry, create_internal_entry
from .error import PostgresError
from .statement_cache import StatementCache, statement_name

comptime _CANCEL_GRACE_MS = 50
"""How long an abandoned statement may run at the head before it is cancelled:
most end by themselves."""
comptime _CANCELLED_END_MS = 1_000
"""How long a cancelled statement may take to end."""
comptime _ATTEMPTS_MAX = 4
comptime _NULLS_MAX = 4


struct Outcome:
    """What a connection asks of its pool."""

    comptime HAS_ROOM = 0
    """Further statements may be sent."""
    comptime RETRY = 1
    """The entry should be sent once more."""


comptime ReportFunction = def(
    Erased, Connection, Int, Optional[Entry]
) thin -> None
"""Receives the reports of a connection, one of `Outcome`."""


struct ConnectionState(Movable):
    """The state of one connection. Only `Connection` and the pool use it."""

    var pg: Optional[PgConnection]
    """The connection, once it is open."""
    var cancel: Optional[PgCancel]
    """The handle that cancels."""
    var fiber: Optional[Fiber]
    """The fiber that drives it."""
    var pool: Erased
    """The owner of `report`."""
    var report: ReportFunction
    """Called when the pool should act."""
    var entries: List[Entry]
    """The statements in flight, in the order of the pipeline."""
    var statements: StatementCache
    """The prepared statements."""
    var caches: Bool
    """Whether statements stay prepared."""
    var is_owned: Bool
    """Whether a transaction has it."""
    var is_reserved: Bool
    """Whether a transaction gets it when it is idle."""
    var is_returning: Bool
    """Whether a transaction gave it back, and it must first be idle."""
    var is_closing: Bool
    """Whether it ends as soon as its fiber runs."""
    var is_cancelling: Bool
    """Whether a cancel request is on its way, or its statement has not ended.
    """
    var cancel_is_running: Bool
    """Whether a helper thread still uses `cancel`."""
    var head_since_ms: Int
    """When the statement at the head came there."""
    var cancelled_at_ms: Int
    """When the cancel request was begun."""
    var opened_ms: Int
    """When it was opened."""
    var users: Int
    """How many fibers use this state: its own one, and one that cancels."""
    var lost_text: String
    """Why it broke."""

    def __init__(out self, pool: Erased, report: ReportFunction, caches: Bool):
        """Creates a connection that is not open.

        Args:
            pool: The argument of `report`.
            report: Called when the pool should act.
            caches: Whether statements stay prepared.
        """
        self.pg = None
        self.cancel = None
        self.fiber = None
        self.pool = pool
        self.report = report
        self.entries = List[Entry]()
        self.statements = StatementCache()
        self.caches = caches
        self.is_owned = False
        self.is_reserved = False
        self.is_returning = False
        self.is_closing = False
        self.is_cancelling = False
        self.cancel_is_running = False
        self.head_since_ms = 0
        self.cancelled_at_ms = 0
        self.opened_ms = 0
        self.users = 1
        self.lost_text = String()


@fieldwise_init
struct Connection(Equatable, TrivialRegisterPassable):
    """A handle to a connection of a pool."""

    var state: PointerTo[ConnectionState]
    """The heap state."""

    @staticmethod
    def create(pool: Erased, report: ReportFunction, caches: Bool) -> Self:
        """Creates a connection that is not open.

        Args:
            pool: The argument of `report`.
            report: Called when the pool should act.
            caches: Whether statements stay prepared.

        Returns:
            The connection.
        """
        return Self(heap_create(ConnectionState(pool, report, caches)))

    def is_open(self) -> Bool:
        """Returns whether statements may be sent.

        Returns:
            False before it is open and after it has broken.
        """
        return Bool(self.state[].pg) and not self.state[].is_closing

    def is_idle(self) -> Bool:
        """Returns whether a transaction may have it now.

        Returns:
            True if it is open, and neither busy nor taken.
        """
        ref s = self.state[]
        return (
            self.is_open()
            and len(s.entries) == 0
            and not s.is_owned
            and not s.is_returning
            and not s.is_cancelling
            and not s.cancel_is_running
        )

    def is_failed(self) -> Bool:
        """Returns whether the transaction can only be rolled back.

        Returns:
            True after an error of a statement in a transaction.
        """
        return (
            self.is_open()
            and self.state[].pg.value().transaction() == PgTransaction.FAILED
        )

    def can_share(self, depth: Int, slow_after_ms: Int, now_ms: Int) -> Bool:
        """Returns whether a statement of any fiber may be sent.

        Args:
            depth: The most statements in flight.
            slow_after_ms: After how long the head blocks the pipeline.
            now_ms: The time.

        Returns:
            True if it is shared and has room.
        """
        ref s = self.state[]
        if (
            not self.is_open()
            or s.is_owned
            or s.is_reserved
            or s.is_returning
            or s.is_cancelling
            or s.cancel_is_running
            or len(s.entries) >= depth
        ):
            return False
        return len(s.entries) == 0 or now_ms - s.head_since_ms <= slow_after_ms

    def send(self, entry: Entry):
        """Sends a statement, or fails it.

        Args:
            entry: The statement.
        """
        ref s = self.state[]
        entry.state[].attempts += 1
        if not self.is_open() or not self._append(entry):
            var text = s.lost_text
            if self.is_open():
                text = String(s.pg.value().error_text().strip())
            # A part of it may be in the library's buffer.
            self.close(text)
            self._refuse(entry, text)
            return
        if len(s.entries) == 0:
            s.head_since_ms = self._now_ms()
        s.entries.append(entry)
        if s.pg.value().flush() != 0:
            # The socket is full, or broken.
            self.wake()

    def abandon(self, entry: Entry):
        """Lets a statement end without its fiber.

        Args:
            entry: A statement in flight.
        """
        entry.state[].is_abandoned = True
        entry.state[].fiber = None
        self.wake()

    def give_back(self):
        """Ends the ownership of a transaction. If its transaction is open, it
        is rolled back.
        """
        ref s = self.state[]
        s.is_owned = False
        if not self.is_open():
            return
        if (
            len(s.entries) > 0
            or s.pg.value().transaction() != PgTransaction.IDLE
        ):
            s.is_returning = True
            self.send(create_internal_entry("ROLLBACK"))
        else:
            s.report(s.pool, self, Outcome.HAS_ROOM, None)

    def close(self, why: StringSlice):
        """Ends the connection, as soon as its fiber runs.

        Args:
            why: The cause, for the statements in flight.
        """
        ref s = self.state[]
        if s.lost_text == "":
            s.lost_text = String(why)
        s.is_closing = True
        self.wake()

    def wake(self):
        """Lets the fiber of the connection look at its state."""
        if self.state[].pg and self.state[].fiber:
            self.state[].fiber.value().end_wait()

    def serve(self):
        """Sends and receives until the connection breaks or is closed. Call it
        on the fiber of the connection, once it is open.
        """
        ref s = self.state[]
        var fiber = s.fiber.value()
        var pg = s.pg.value()
        s.report(s.pool, self, Outcome.HAS_ROOM, None)
        while not s.is_closing and not fiber.is_cancelled():
            var left = pg.flush()
            if left < 0:
                s.lost_text = String(pg.error_text().strip())
                break
            var limit_ms = self._limit_ms()
            if limit_ms <= 0:
                if not self._cancel_head():
                    s.lost_text = "a cancelled statement did not end"
                    break
                continue
            var events = poll_descriptor(
                fiber,
                Int32(pg.descriptor()),
                POLL_IN | POLL_OUT if left == 1 else POLL_IN,
                limit_ms,
            )
            if events <= 0:
                # The end of the limit, or a wake.
                continue
            # Octets that are not received would stop the server from sending,
            # and then from receiving.
            var is_whole = pg.consume()
            self._read_results()
            if not is_whole:
                s.lost_text = String(pg.error_text().strip())
                break
        s.is_closing = True
        self._fail_all()

    def finish(self):
        """Closes the socket, if there is one."""
        ref s = self.state[]
        s.is_closing = True
        if s.pg:
            s.pg.value().finish()
            s.pg = None

    def release(self):
        """Drops the use of one fiber. The last one frees the state."""
        ref s = self.state[]
        s.users -= 1
        if s.users > 0:
            return
        if s.cancel:
            s.cancel.value().free()
        heap_destroy(self.state)

    def _refuse(self, entry: Entry, text: StringSlice):
        ref s = self.state[]
        ref e = entry.state[]
        if (
            e.is_sent
            or e.is_abandoned
            or s.is_owned
            or e.attempts >= _ATTEMPTS_MAX
        ):
            entry.fail(
                PostgresError(
                    PostgresError.CONNECTION_LOST, text, sent=e.is_sent
                )
            )
        else:
            s.report(s.pool, self, Outcome.RETRY, entry)

    def _append(self, entry: Entry) -> Bool:
        ref s = self.state[]
        ref e = entry.state[]
        var pg = s.pg.value()
        if not s.caches or e.is_internal:
            e.awaits_prepare = False
            e.is_prepared = False
            e.is_sent = pg.send_unnamed(e.sql, e.parameters)
            return e.is_sent and pg.send_sync()
        var number = s.statements.find(e.sql, e.parameters)
        e.is_prepared = True
        e.awaits_prepare = not number
        if not number:
            var evicted = s.statements.evict()
            if evicted and not self._deallocate(evicted.value()):
                return False
            number = s.statements.add(e.sql, e.parameters)
            if not pg.send_prepare(
                TextTable(statement_name(number.value())), e.sql, e.parameters
            ):
                return False
            e.is_sent = True
        if not pg.send_prepared(
            TextTable(statement_name(number.value())), e.parameters
        ):
            return False
        e.is_sent = True
        return pg.send_sync()

    def _deallocate(self, number: Int) -> Bool:
        # It may still be in flight; the server works in order.
        var entry = create_internal_entry(
            String("DEALLOCATE ", statement_name(number))
        )
        if not self._append(entry):
            entry.destroy()
            return False
        self.state[].entries.append(entry)
        return True

    def _read_results(self):
        ref s = self.state[]
        var pg = s.pg.value()
        var nulls = 0
        # After the start of a COPY, the library reports nothing else.
        while len(s.entries) > 0 and not s.is_closing and not pg.is_busy():
            var result = pg.take_result()
            if not result:
                # After each command there is one, and one before the next.
                nulls += 1
                if nulls > _NULLS_MAX:
                    break
                continue
            nulls = 0
            self._handle(result.value())

    def _handle(self, result: PgResult):
        ref s = self.state[]
        var entry = s.entries[0]
        ref e = entry.state[]
        var status = result.status()
        if status == PgStatus.SYNC:
            result.clear()
            self._end_head()
        elif status == PgStatus.SKIPPED:
            result.clear()
        elif (
            status == PgStatus.ROWS
            or status == PgStatus.COMMAND
            or status == PgStatus.EMPTY
        ):
            if e.awaits_prepare:
                e.awaits_prepare = False
                result.clear()
            else:
                entry.set_result(result)
        elif status == PgStatus.FAILED:
            if e.awaits_prepare:
                e.awaits_prepare = False
                s.statements.remove(e.sql, e.parameters)
            if not e.error:
                e.error = PostgresError.from_result(result)
                if _is_stale(e.error.value(), result) and e.is_prepared:
                    s.statements.remove(e.sql, e.parameters)
                    e.is_stale = True
            result.clear()
        else:
            result.clear()
            e.error = PostgresError(
                PostgresError.BAD_PARAMETER,
                "COPY needs a connection of its own",
            )
            self.close("COPY on a shared connection")

    def _end_head(self):
        ref s = self.state[]
        var entry = s.entries.pop(0)
        s.head_since_ms = self._now_ms()
        s.is_cancelling = False
        var transaction = self._transaction()
        if (
            transaction != PgTransaction.IDLE
            and transaction != PgTransaction.ACTIVE
            and not s.is_owned
            and not s.is_returning
        ):
            # It would contain the statements of other fibers.
            if not entry.state[].error:
                entry.state[].error = PostgresError(
                    PostgresError.BAD_PARAMETER,
                    "a statement left a transaction open: use transaction()",
                )
            self.close("a statement left a transaction open")
        if self._should_repeat(entry):
            entry.prepare_again()
            if s.is_owned:
                self.send(entry)
            else:
                s.report(s.pool, self, Outcome.RETRY, entry)
        else:
            entry.finish()
        if len(s.entries) == 0 and s.is_returning:
            s.is_returning = False
            if transaction != PgTransaction.IDLE:
                self.close("a transaction could not be rolled back")
        if self.is_open():
            s.report(s.pool, self, Outcome.HAS_ROOM, None)

    def _transaction(self) -> Int:
        # The library reports it after the end of the last statement was taken.
        var pg = self.state[].pg.value()
        if len(self.state[].entries) == 0 and not pg.is_busy():
            var result = pg.take_result()
            if result:
                result.value().clear()
        return pg.transaction()

    def _should_repeat(self, entry: Entry) -> Bool:
        ref s = self.state[]
        ref e = entry.state[]
        if (
            not e.error
            or e.is_abandoned
            or s.is_closing
            or e.attempts >= _ATTEMPTS_MAX
        ):
            return False
        ref error = e.error.value()
        if e.is_stale:
            # In a transaction that has failed, it would fail again.
            return not s.is_owned
        return e.is_exposed and e.is_repeatable and error.sqlstate == "57014"

    def _limit_ms(self) -> Int:
        ref s = self.state[]
        if s.is_cancelling:
            return max(
                s.cancelled_at_ms + _CANCELLED_END_MS - self._now_ms(), 0
            )
        if len(s.entries) == 0 or not s.entries[0].state[].is_abandoned:
            return NO_DEADLINE
        if s.entries[0].state[].is_internal:
            return max(s.head_since_ms + _CANCELLED_END_MS - self._now_ms(), 0)
        for i in range(1, len(s.entries)):
            if not s.entries[i].state[].is_repeatable:
                # The cancel could reach it.
                return NO_DEADLINE
        return max(s.head_since_ms + _CANCEL_GRACE_MS - self._now_ms(), 0)

    def _cancel_head(self) -> Bool:
        ref s = self.state[]
        if s.is_cancelling or not s.cancel or s.cancel_is_running:
            return False
        for i in range(1, len(s.entries)):
            s.entries[i].state[].is_exposed = True
        s.is_cancelling = True
        s.cancel_is_running = True
        s.cancelled_at_ms = self._now_ms()
        s.users += 1
        var reactor = s.fiber.value().reactor()
        var started = reactor.state[].fibers.start(
            reactor,
            _run_cancel,
            self.state.unsafe_bitcast[NoneType](),
            _end_cancel,
            NO_DEADLINE,
            _end_cancel,
        )
        if not started:
            s.users -= 1
            s.cancel_is_running = False
            return False
        reactor.state[].fibers.append_ready(started.value())
        return True

    def _fail_all(self):
        ref s = self.state[]
        while len(s.entries) > 0:
            var entry = s.entries.pop(0)
            ref e = entry.state[]
            entry.clear_result()
            if e.error and e.error.value().kind == PostgresError.SERVER:
                # The server ended the connection with the error.
                if e.error.value().sqlstate.startswith("57P"):
                    e.error.value().kind = PostgresError.CONNECTION_LOST
            if not e.error or e.is_stale:
                e.error = PostgresError(
                    PostgresError.CONNECTION_LOST, s.lost_text, sent=True
                )
            entry.finish()

    def _now_ms(self) -> Int:
        return self.state[].fiber.value().reactor().refresh_now_ms()


def _run_cancel(argument: Erased):
    var connection = Connection(argument.unsafe_bitcast[ConnectionState]())
    var cancel = connection.state[].cancel.value()

    def run() raises {var cancel} -> Bool:
        return cancel.run()

    try:
        _ = blocking(run)
    except:
        # The statement ends late, or the connection is closed.
        pass


def _end_cancel(argument: Erased):
    var connection = Connection(argument.unsafe_bitcast[ConnectionState]())
    ref s = connection.state[]
    s.cancel_is_running = False
    if connection.is_open():
        connection.wake()
        s.report(s.pool, connection, Outcome.HAS_ROOM, None)
    connection.release()


def _is_stale(error: PostgresError, result: PgResult) -> Bool:
    if error.sqlstate == "26000":
        return True
    # "cached plan must not change result type": its text is translated.
    return (
        error.sqlstate == "0A000"
        and result.error_field("R") == "RevalidateCachedQuery"
    )

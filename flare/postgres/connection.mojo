"""Drives one connection: statements in, answers out, by one fiber.

Statements of several fibers are in flight at a time. Each is followed by its
own Sync, so that its error affects no other one. The connection's fiber sends
the octets for which the socket had no room, receives, and wakes the fiber at
the head.

A cancel request of PostgreSQL names a connection, not a statement. So it is
sent only for the statement at the head, and no statement of another fiber joins
the pipeline until the request has ended. It may still reach a statement that
followed the head. That one is sent again, because it had no effect.
"""

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.runtime.fiber import NO_DEADLINE
from flare.runtime.operation import CANCELLED, POLL_IN, POLL_OUT, TIMED_OUT
from flare.runtime.readiness import poll_descriptor
from flare.sys.libpq_connection import PgTransaction
from flare.sys.libpq_result import PgResult, PgStatus
from flare.sys.pg_parameters import CStringTable, PgParameters

from .cancel import CANCELLED_END_MS, send_cancel
from .connection_state import ConnectionOwner, DatabaseConnectionState
from .copy_content import CopyContent, CopyStep
from .entry import Entry, create_internal_entry
from .error import PostgresError, is_stale
from .notification import take_notifications
from .report import Report
from .statement_cache import statement_name

comptime _CANCEL_GRACE_MS = 50
"""How long an abandoned statement may run at the head before it is cancelled:
most end by themselves."""
comptime _BLOCKING_CANCELS_MAX = 4
"""Half of the helper threads."""
comptime _CANCEL_PAUSE_MS = 20
comptime _ATTEMPTS_MAX = 4
comptime _NULLS_MAX = 4


@fieldwise_init
struct DatabaseConnection(Equatable, TrivialRegisterPassable):
    """A handle to a connection of a pool."""

    var state: PointerTo[DatabaseConnectionState]
    """The heap state."""

    @staticmethod
    def create(owner: ConnectionOwner, caches: Bool) -> Self:
        """Creates a connection that is not open.

        Args:
            owner: The pool.
            caches: Whether statements stay prepared.

        Returns:
            The connection.
        """
        return Self(heap_create(DatabaseConnectionState(owner, caches)))

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
            and not s.flags.is_owned
            and not s.flags.is_returning
            and not s.cancelling.is_wanted
            and not s.cancelling.is_running
        )

    def is_expired(self, now_ms: Int) -> Bool:
        """Returns whether its lifetime is over.

        Args:
            now_ms: The time.

        Returns:
            True if it should end once it is idle.
        """
        return now_ms >= self.state[].times.expires_ms

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
            or s.flags.is_owned
            or s.flags.is_reserved
            or s.flags.is_returning
            or s.cancelling.is_wanted
            or s.cancelling.is_running
            or len(s.entries) >= depth
            or self.is_expired(now_ms)
        ):
            return False
        return (
            len(s.entries) == 0
            or now_ms - s.times.head_since_ms <= slow_after_ms
        )

    def send(self, entry: Entry):
        """Sends a statement, or fails it.

        Args:
            entry: The statement.
        """
        ref s = self.state[]
        if s.owner.copying and self.is_open():
            entry.fail(
                PostgresError(PostgresError.BAD_PARAMETER, "COPY is not ended")
            )
            return
        entry.state[].attempts += 1
        var was_empty = len(s.entries) == 0
        if not self.is_open() or not self._append(entry):
            var text = s.lost_text
            if self.is_open():
                text = String(s.pg.value().error_text().strip())
            # A part of it may be in the library's buffer.
            self.close(text)
            self._refuse(entry, text)
            return
        if was_empty:
            s.times.head_since_ms = self._now_ms()
        s.entries.append(entry)
        var left = s.pg.value().flush()
        if left < 0:
            # The library forgets the socket, and reports no further error.
            self.close(s.pg.value().error_text().strip())
        elif left > 0:
            self.wake()

    def abandon(self, entry: Entry):
        """Stops waiting for a statement, which ends without its fiber.

        Args:
            entry: A statement in flight.
        """
        entry.state[].flags.is_abandoned = True
        entry.state[].fiber = None
        self.wake()

    def give_back(self):
        """Ends the ownership of a transaction. If its transaction is open, it
        is rolled back.
        """
        ref s = self.state[]
        s.flags.is_owned = False
        if s.owner.copying:
            self.close("COPY was not ended")
        if not self.is_open():
            return
        if (
            len(s.entries) > 0
            or s.pg.value().transaction() != PgTransaction.IDLE
        ):
            s.flags.is_returning = True
            self.send(create_internal_entry("ROLLBACK"))
        else:
            # Its lifetime counts again.
            self.wake()
            s.owner.report(s.owner.pool, Report.HAS_ROOM, None)

    def begin_copy(self, sql: StringSlice, content: CopyContent) -> Bool:
        """Sends COPY FROM STDIN, for the fiber that owns the connection.

        Args:
            sql: The statement.
            content: Its content, of which the connection takes a use.

        Returns:
            False if it cannot be sent.
        """
        ref s = self.state[]
        if (
            not self.is_open()
            or len(s.entries) > 0
            or not s.pg.value().end_pipeline()
        ):
            return False
        if not s.pg.value().send_unnamed(CStringTable(sql), PgParameters()):
            self.close(s.pg.value().error_text().strip())
            return False
        content.state[].users += 1
        s.owner.copying = content
        self.wake()
        return True

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
        """Wakes the fiber of the connection."""
        if self.state[].pg and self.state[].fiber:
            self.state[].fiber.value().end_wait()

    def serve(self):
        """Sends and receives until the connection breaks or is closed. Call it
        on the fiber of the connection, once it is open.
        """
        ref s = self.state[]
        var fiber = s.fiber.value()
        var pg = s.pg.value()
        s.owner.report(s.owner.pool, Report.HAS_ROOM, None)
        while not s.is_closing and not fiber.is_cancelled():
            var left = pg.flush()
            if left < 0:
                s.lost_text = String(pg.error_text().strip())
                break
            # To make room, the library may have received answers too.
            if self._read_results():
                continue
            if s.owner.copying:
                var step = s.owner.copying.value().advance(
                    pg, has_room=left == 0
                )
                if step == CopyStep.FAILED:
                    s.lost_text = String(pg.error_text().strip())
                    break
                if step == CopyStep.ENDED:
                    s.owner.copying.value().release()
                    s.owner.copying = None
                if step != CopyStep.WAITS:
                    continue
            var limit_ms = self._limit_ms()
            if limit_ms <= 0 and self.is_idle():
                s.lost_text = "its lifetime is over"
                break
            if limit_ms <= 0:
                if not self._cancel_head():
                    s.lost_text = String(
                        "a cancelled statement did not end", s.cancelling.error
                    )
                    break
                continue
            var events = poll_descriptor(
                fiber,
                Int32(pg.descriptor()),
                POLL_IN | POLL_OUT if left == 1 else POLL_IN,
                limit_ms,
            )
            if events == TIMED_OUT or events == CANCELLED:
                continue
            if events < 0:
                s.lost_text = "its socket cannot be waited for"
                break
            # Octets that are not received would stop the server from sending,
            # and then from receiving.
            var is_whole = pg.consume()
            _ = self._read_results()
            take_notifications(pg, s.owner.listening)
            if not is_whole:
                s.lost_text = String(pg.error_text().strip())
                break
        s.is_closing = True
        if s.owner.copying:
            s.owner.copying.value().fail(s.lost_text)
            s.owner.copying.value().release()
            s.owner.copying = None
        self._fail_all()
        if s.owner.listening:
            s.owner.listening.value()[].end()

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
        if s.cancelling.handle:
            s.cancelling.handle.value().free()
        heap_destroy(self.state)

    def _refuse(self, entry: Entry, text: StringSlice):
        ref s = self.state[]
        ref e = entry.state[]
        if (
            e.flags.is_sent
            or e.flags.is_abandoned
            or s.flags.is_owned
            or s.flags.is_returning
            or e.attempts >= _ATTEMPTS_MAX
        ):
            entry.fail(
                PostgresError(
                    PostgresError.CONNECTION_LOST, text, sent=e.flags.is_sent
                )
            )
        else:
            s.owner.report(s.owner.pool, Report.RETRY, entry)

    def _append(self, entry: Entry) -> Bool:
        ref s = self.state[]
        ref e = entry.state[]
        var pg = s.pg.value()
        if not s.caches or e.flags.is_internal or e.flags.avoids_cache:
            e.flags.awaits_prepare = False
            e.flags.is_prepared = False
            e.flags.is_sent = pg.send_unnamed(e.sql, e.parameters)
            return e.flags.is_sent and pg.send_sync()
        var number = s.statements.find(e.sql, e.parameters)
        e.flags.is_prepared = True
        e.flags.awaits_prepare = not number
        if not number:
            var evicted = s.statements.evict()
            if evicted and not self._deallocate(evicted.value()):
                return False
            number = s.statements.add(e.sql, e.parameters)
            if not pg.send_prepare(
                CStringTable(statement_name(number.value())),
                e.sql,
                e.parameters,
            ):
                return False
            e.flags.is_sent = True
        if not pg.send_prepared(
            CStringTable(statement_name(number.value())), e.parameters
        ):
            return False
        e.flags.is_sent = True
        return pg.send_sync()

    def _deallocate(self, number: Int) -> Bool:
        var entry = create_internal_entry(
            String("DEALLOCATE ", statement_name(number))
        )
        if not self._append(entry):
            entry.destroy()
            return False
        self.state[].entries.append(entry)
        return True

    def _read_results(self) -> Bool:
        """Returns whether there was one."""
        ref s = self.state[]
        var pg = s.pg.value()
        var nulls = 0
        var has_read = False
        # After the start of a COPY, the library reports nothing else.
        while len(s.entries) > 0 and not s.is_closing and not pg.is_busy():
            var result = pg.take_result()
            if not result:
                nulls += 1
                if nulls > _NULLS_MAX:
                    break
                continue
            nulls = 0
            has_read = True
            self._handle(result.value())
        return has_read

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
            if e.flags.awaits_prepare:
                e.flags.awaits_prepare = False
                result.clear()
            else:
                entry.set_result(result)
        elif status == PgStatus.FAILED:
            if e.flags.awaits_prepare:
                e.flags.awaits_prepare = False
                s.statements.remove(e.sql, e.parameters)
            if not e.error:
                e.error = PostgresError.from_result(result)
                if is_stale(e.error.value(), result) and e.flags.is_prepared:
                    s.statements.remove(e.sql, e.parameters)
                    e.flags.is_stale = True
            result.clear()
        else:
            result.clear()
            e.error = PostgresError(
                PostgresError.BAD_PARAMETER,
                "COPY needs a connection of its own",
                sent=True,
            )
            self.close("COPY on a shared connection")

    def _end_head(self):
        ref s = self.state[]
        var entry = s.entries.pop(0)
        s.times.head_since_ms = self._now_ms()
        s.cancelling.is_wanted = False
        s.cancelling.error = String()
        var transaction = self._transaction()
        if (
            (
                transaction == PgTransaction.OPEN
                or transaction == PgTransaction.FAILED
            )
            and not s.flags.is_owned
            and not s.flags.is_returning
        ):
            if not entry.state[].error:
                entry.state[].error = PostgresError(
                    PostgresError.BAD_PARAMETER,
                    "a statement left a transaction open: use transaction()",
                    sent=True,
                )
            self.close("a statement left a transaction open")
        if self._should_repeat(entry):
            s.owner.report(s.owner.pool, Report.RETRY, entry)
        else:
            entry.finish()
        if len(s.entries) == 0 and s.flags.is_returning:
            s.flags.is_returning = False
            if transaction != PgTransaction.IDLE:
                self.close("a transaction could not be rolled back")
        if self.is_open():
            s.owner.report(s.owner.pool, Report.HAS_ROOM, None)

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
            or e.flags.is_abandoned
            or s.is_closing
            # It would fail again, or run outside of its transaction.
            or s.flags.is_owned
            or s.flags.is_returning
            or e.attempts >= _ATTEMPTS_MAX
        ):
            return False
        return e.flags.is_stale or (
            e.flags.is_exposed
            and e.flags.is_repeatable
            and e.error.value().sqlstate == "57014"
        )

    def _limit_ms(self) -> Int:
        ref s = self.state[]
        var is_abandoned = (
            len(s.entries) > 0 and s.entries[0].state[].flags.is_abandoned
        )
        if s.cancelling.is_wanted or (is_abandoned and s.cancelling.is_running):
            return max(
                s.cancelling.begun_ms + CANCELLED_END_MS - self._now_ms(), 0
            )
        if not is_abandoned:
            if s.times.expires_ms == Int.MAX or not self.is_idle():
                return NO_DEADLINE
            return max(s.times.expires_ms - self._now_ms(), 0)
        for i in range(1, len(s.entries)):
            ref flags = s.entries[i].state[].flags
            if not flags.is_repeatable and not flags.is_abandoned:
                # The cancel could reach it.
                return NO_DEADLINE
        var grace_ms = _CANCEL_GRACE_MS
        if s.entries[0].state[].flags.is_internal:
            grace_ms = CANCELLED_END_MS
        var due_ms = max(
            s.times.head_since_ms + grace_ms, s.cancelling.not_before_ms
        )
        return max(due_ms - self._now_ms(), 0)

    def _cancel_head(self) -> Bool:
        ref s = self.state[]
        if (
            s.cancelling.is_wanted
            or not s.cancelling.handle
            or s.cancelling.is_running
        ):
            return False
        if s.owner.blocking_cancels[] >= _BLOCKING_CANCELS_MAX:
            # Requests that never end must not occupy all helper threads.
            s.cancelling.not_before_ms = self._now_ms() + _CANCEL_PAUSE_MS
            return self._now_ms() < s.times.head_since_ms + 2 * CANCELLED_END_MS
        for i in range(1, len(s.entries)):
            s.entries[i].state[].flags.is_exposed = True
        s.cancelling.is_wanted = True
        s.cancelling.is_running = True
        s.cancelling.begun_ms = self._now_ms()
        s.users += 1
        s.owner.report(s.owner.pool, Report.BEGINS_CANCEL, None)
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
            s.owner.report(s.owner.pool, Report.ENDS_CANCEL, None)
            s.users -= 1
            s.cancelling.is_running = False
            return False
        reactor.state[].fibers.append_ready(started.value())
        return True

    def _fail_all(self):
        ref s = self.state[]
        while len(s.entries) > 0:
            s.entries.pop(0).lose(s.lost_text)

    def _now_ms(self) -> Int:
        return self.state[].fiber.value().reactor().refresh_now_ms()


def _run_cancel(argument: Erased):
    var connection = DatabaseConnection(
        argument.unsafe_bitcast[DatabaseConnectionState]()
    )
    ref s = connection.state[]
    if not s.pg:
        return
    var pg = s.pg.value()
    try:
        send_cancel(pg, s.cancelling.handle.value(), s.owner.blocking_cancels)
    except e:
        # The statement ends late, or the connection is closed.
        s.cancelling.error = String(": no cancel request could be sent: ", e)


def _end_cancel(argument: Erased):
    var connection = DatabaseConnection(
        argument.unsafe_bitcast[DatabaseConnectionState]()
    )
    ref s = connection.state[]
    s.cancelling.is_running = False
    if connection.is_open():
        connection.wake()
        s.owner.report(s.owner.pool, Report.HAS_ROOM, None)
    var owner = s.owner
    connection.release()
    owner.report(owner.pool, Report.ENDS_CANCEL, None)

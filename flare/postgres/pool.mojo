"""Shares the connections of one worker among its fibers.

A statement goes to an idle connection. If none is idle and the pool may grow,
it waits for one: the statement before it in a pipeline may be slow. Otherwise it goes to the connection with the fewest statements in
flight. If none has room, it waits. Those that wait are served in their order. A transaction waits with them for
a connection of its own. When its turn comes, one is reserved, which takes no
more statements until it is idle.
"""

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.metrics.database_meter import DatabaseMeter, DatabaseUse
from flare.net import NetError
from flare.runtime.current import current_reactor
from flare.runtime.fiber import NO_DEADLINE, Fiber
from flare.runtime.operation import CANCELLED
from flare.runtime.wait import sleep
from flare.sys.libpq import Libpq
from flare.sys.process import process_id

from .connect import open_connection
from .connect_failure import (
    backoff_ms,
    connect_error_of,
    is_lasting,
    lifetime_ms,
)
from .connection import DatabaseConnection
from .connection_state import (
    ConnectionOwner,
    DatabaseConnectionState,
)
from .entry import Entry
from .error import PostgresError
from .location import DatabaseLocation
from .options import DatabaseOptions
from .pool_parts import (
    ConnectTarget,
    DatabasePoolState,
    Grant,
    PoolFunctions,
)
from .report import Report
from .statistics import DatabaseStatistics

comptime _CONNECTING_MAX = 4
"""Half of the helper threads: files are read by the others."""


@fieldwise_init
struct DatabasePool(TrivialRegisterPassable):
    """A handle to the connections of one worker."""

    var state: PointerTo[DatabasePoolState]
    """The heap state."""

    @staticmethod
    def create(
        library: Libpq,
        var location: DatabaseLocation,
        var options: DatabaseOptions,
        connections_max: Int,
    ) -> Self:
        """Creates a pool without connections.

        Args:
            library: The library.
            location: The database.
            options: The bounds.
            connections_max: The most connections of this pool.

        Returns:
            The pool.
        """
        return Self(
            heap_create(
                DatabasePoolState(
                    PoolFunctions(_run, _end, _on_report),
                    ConnectTarget(
                        library,
                        location^,
                        options^,
                        DatabaseMeter.create("postgresql"),
                    ),
                    connections_max,
                )
            )
        )

    def submit(self, entry: Entry):
        """Sends a statement, or lets it wait.

        Args:
            entry: The statement.
        """
        var problem = self.state[].problem()
        if problem:
            entry.fail(problem.take())
            return
        if not self._send_at_once(entry):
            ref s = self.state[]
            s.turns += 1
            entry.state[].turn = s.turns
            s.entries.append(entry)
            self._grow()
        self.show_use()

    def submit_again(self, entry: Entry):
        """Sends a statement that had no effect once more, before others.

        Args:
            entry: The statement.
        """
        ref s = self.state[]
        entry.prepare_again()
        s.counts.repeated += 1
        if s.is_closing:
            entry.fail(PostgresError(PostgresError.CLOSED))
            return
        entry.state[].turn = 0
        s.entries.insert(0, entry)
        self.advance()
        self._grow()

    def withdraw(self, entry: Entry) -> Bool:
        """Removes a statement from the queue.

        Args:
            entry: The statement.

        Returns:
            False if it was sent.
        """
        ref entries = self.state[].entries
        for i in range(len(entries)):
            if entries[i] == entry:
                _ = entries.pop(i)
                return True
        return False

    def acquire(self, fiber: Fiber) raises -> DatabaseConnection:
        """Parks until a connection is free, and takes it.

        Args:
            fiber: The calling fiber.

        Returns:
            The connection. Call `give_back` of it.

        Raises:
            PostgresError: `postgres.acquire_timeout`, `postgres.connect`,
                `postgres.closed`.

            NetError: `net.cancelled`.
        """
        ref s = self.state[]
        var problem = s.problem()
        if problem:
            raise Error(String(problem.take()))
        s.turns += 1
        var grant = heap_create(Grant(fiber, s.turns))
        s.grants.append(grant)
        self.advance()
        self._grow()
        var deadline_ms = fiber.reactor().deadline_after(
            s.target.options.acquire_timeout_ms
        )
        var result = 0
        while not grant[].connection and not grant[].error and result >= 0:
            result = fiber.wait(deadline_ms - fiber.reactor().refresh_now_ms())
        var connection = grant[].connection
        var error = Optional[PostgresError](None)
        swap(error, grant[].error)
        if not connection and not error:
            self._withdraw(grant)
        heap_destroy(grant)
        if connection:
            return connection.value()
        if error:
            raise Error(String(error.take()))
        if result == CANCELLED:
            raise Error(NetError.from_errno("wait", CANCELLED))
        raise self.wait_error(deadline_ms, fiber.state[].deadline_ms)

    def wait_error(self, acquire_deadline_ms: Int, own_ms: Int) -> Error:
        """Returns the error of a fiber that has waited too long for a
        connection, and counts it.

        Args:
            acquire_deadline_ms: When the bound of the pool was reached.
            own_ms: The deadline of the statement or the fiber.

        Returns:
            The error of the earlier one: `postgres.acquire_timeout`, with the
            cause if no connection can be opened, or `postgres.timeout`.
        """
        ref s = self.state[]
        if own_ms < acquire_deadline_ms:
            return self.timeout_error(sent=False)
        s.counts.acquire_timeouts += 1
        var text = String(
            "no connection was free in ",
            s.target.options.acquire_timeout_ms,
            " ms",
        )
        var error = PostgresError(PostgresError.ACQUIRE_TIMEOUT)
        if s.attempts.last_error:
            ref cause = s.attempts.last_error.value()
            text += String(": ", cause)
            error.sqlstate = cause.sqlstate
        error.message = text^
        return Error(String(error))

    def timeout_error(self, *, sent: Bool) -> Error:
        """Returns the error of a fiber whose deadline passed, and counts it.

        Args:
            sent: Whether the statement was sent.

        Returns:
            `postgres.timeout`.
        """
        self.state[].counts.timeouts += 1
        return Error(
            String(
                PostgresError(
                    PostgresError.TIMEOUT,
                    "the deadline of the statement passed",
                    sent=sent,
                )
            )
        )

    def advance(self):
        """Serves those that wait, as far as connections have room."""
        while self._serve_one():
            pass
        self.show_use()

    def close(self):
        """Ends all connections and the queue."""
        ref s = self.state[]
        if s.is_closing:
            return
        var is_forked = s.is_forked()
        s.is_closing = True
        if is_forked:
            # The connections and their fibers are those of another process.
            return
        self._fail_waiting(PostgresError(PostgresError.CLOSED))
        for connection in s.connections:
            if connection.state[].fiber:
                connection.state[].lost_text = "the database was closed"
                connection.state[].is_closing = True
                connection.state[].fiber.value().cancel()

    def release(self):
        """Drops the use of the owner or of a connection."""
        self.state[].users -= 1
        if self.state[].users == 0:
            heap_destroy(self.state[].blocking_cancels)
            self.state[].target.meter.destroy()
            heap_destroy(self.state)

    def is_healthy(self) -> Bool:
        """Returns whether statements can be expected to succeed. If not, it
        begins an attempt to connect.

        Returns:
            True if a connection is open, or if the last attempt succeeded.
        """
        ref s = self.state[]
        if not self._has_no_open() or (
            s.attempts.failures == 0 and s.counts.connects > 0
        ):
            return True
        # Without traffic, no other fiber would.
        self._grow()
        return False

    def statistics(self) -> DatabaseStatistics:
        """Returns the counters.

        Returns:
            A copy.
        """
        ref s = self.state[]
        var counts = s.counts
        counts.open_connections = 0
        counts.busy_connections = 0
        for connection in s.connections:
            ref c = connection.state[]
            if connection.is_open():
                counts.open_connections += 1
                if c.flags.is_owned or len(c.entries) > 0:
                    counts.busy_connections += 1
        counts.waiting = self._waiting()
        return counts

    def show_use(self):
        """Reports the use of connections to the metrics of the worker."""
        ref meter = self.state[].target.meter
        if not meter.counts():
            return
        var counts = self.statistics()
        meter.show(
            DatabaseUse(
                counts.busy_connections,
                counts.open_connections - counts.busy_connections,
                counts.waiting,
            )
        )

    def _send_at_once(self, entry: Entry) -> Bool:
        if len(self.state[].entries) > 0:
            return False
        var connection = self._pick()
        if not connection:
            return False
        connection.value().send(entry)
        return True

    def _serve_one(self) -> Bool:
        ref s = self.state[]
        var has_entry = len(s.entries) > 0
        var has_grant = len(s.grants) > 0
        if has_entry and has_grant:
            if s.entries[0].state[].turn < s.grants[0][].turn:
                return self._send_one() or self._grant_one()
            return self._grant_one() or self._send_one()
        if has_entry:
            return self._send_one()
        return has_grant and self._grant_one()

    def _send_one(self) -> Bool:
        ref s = self.state[]
        var connection = self._pick()
        if not connection:
            return False
        connection.value().send(s.entries.pop(0))
        return True

    def _grant_one(self) -> Bool:
        ref s = self.state[]
        var idle = self._reserve()
        if not idle:
            return False
        var grant = s.grants.pop(0)
        idle.value().state[].flags.is_owned = True
        # It may break before the fiber runs, and during the transaction.
        idle.value().state[].users += 1
        grant[].connection = idle
        grant[].fiber.wake()
        return True

    def _withdraw(self, grant: PointerTo[Grant]):
        ref grants = self.state[].grants
        for i in range(len(grants)):
            if grants[i] == grant:
                _ = grants.pop(i)
                break
        self._unreserve()
        self.advance()

    def _pick(self) -> Optional[DatabaseConnection]:
        ref s = self.state[]
        if len(s.connections) == 0:
            return None
        var now_ms = current_reactor().value().refresh_now_ms()
        var depth = (
            s.target.options.pipeline_depth if s.target.options.pipelining else 1
        )
        var best = Optional[DatabaseConnection](None)
        var fewest = Int.MAX
        for connection in s.connections:
            var count = len(connection.state[].entries)
            if count < fewest and connection.can_share(
                depth, s.target.options.slow_after_ms, now_ms
            ):
                best = connection
                fewest = count
                if count == 0:
                    return best
        return None if self._may_grow() else best

    def _may_grow(self) -> Bool:
        ref s = self.state[]
        return s.attempts.failures == 0 and (
            s.attempts.running > 0 or len(s.connections) < s.connections_max
        )

    def _reserve(self) -> Optional[DatabaseConnection]:
        ref s = self.state[]
        # Once for all connections: it reads the clock.
        var now_ms = current_reactor().value().refresh_now_ms()
        for connection in s.connections:
            if connection.is_idle() and not connection.is_expired(now_ms):
                self._unreserve()
                return connection
        var fewest = Int.MAX
        var reserved = Optional[DatabaseConnection](None)
        for connection in s.connections:
            ref c = connection.state[]
            if connection.is_open() and c.flags.is_reserved:
                return None
            if (
                connection.is_open()
                and not c.flags.is_owned
                and not connection.is_expired(now_ms)
                and len(c.entries) < fewest
            ):
                fewest = len(c.entries)
                reserved = connection
        if reserved and (
            len(s.connections) == s.connections_max or s.attempts.failures > 0
        ):
            reserved.value().state[].flags.is_reserved = True
        return None

    def _unreserve(self):
        for connection in self.state[].connections:
            connection.state[].flags.is_reserved = False

    def _grow(self):
        ref s = self.state[]
        if (
            s.is_closing
            or len(s.connections) >= s.connections_max
            or s.attempts.running
            >= (1 if s.attempts.failures > 0 else _CONNECTING_MAX)
            or len(s.connections) >= max(self._demand(), 1)
        ):
            return
        s.attempts.process = process_id()
        var reactor = current_reactor().value()
        var connection = DatabaseConnection.create(
            ConnectionOwner(
                self.state.unsafe_bitcast[NoneType](),
                s.functions.report,
                s.blocking_cancels,
                None,
                None,
            ),
            s.target.options.cache_statements,
        )
        var started = reactor.state[].fibers.start(
            reactor,
            s.functions.run,
            connection.state.unsafe_bitcast[NoneType](),
            s.functions.end,
            NO_DEADLINE,
            s.functions.end,
        )
        if not started:
            connection.release()
            return
        connection.state[].fiber = started.value()
        s.connections.append(connection)
        s.attempts.running += 1
        s.users += 1
        reactor.state[].fibers.append_ready(started.value())

    def _connect(self, connection: DatabaseConnection) -> Bool:
        # The fiber stays the one that connects until it has succeeded, or
        # until no fiber waits any more.
        ref s = self.state[]
        var reactor = connection.state[].fiber.value().reactor()
        while not s.is_closing:
            try:
                if s.attempts.failures > 0:
                    sleep(
                        max(
                            s.attempts.retry_at_ms - reactor.refresh_now_ms(), 0
                        )
                    )
            except:
                return False
            try:
                var pg = open_connection(
                    s.target.library, s.target.location, s.target.options
                )
                connection.state[].pg = pg
                connection.state[].times.expires_ms = reactor.deadline_after(
                    lifetime_ms(s.target.options.max_lifetime_ms)
                )
                connection.state[].cancelling.handle = pg.cancel_handle()
                s.attempts.failures = 0
                s.attempts.last_error = None
                s.counts.connects += 1
                return True
            except e:
                s.attempts.failures += 1
                s.attempts.last_error = connect_error_of(e)
                s.attempts.retry_at_ms = reactor.deadline_after(
                    backoff_ms(s.attempts.failures)
                )
                s.counts.connect_failures += 1
                if is_lasting(e) and self._has_no_open():
                    self._fail_waiting(connect_error_of(e))
                # Those that waited for this connection share the others.
                self.advance()
            if self._waiting() == 0:
                return False
        return False

    def _has_no_open(self) -> Bool:
        for connection in self.state[].connections:
            if connection.is_open():
                return False
        return True

    def _fail_waiting(self, error: PostgresError):
        ref s = self.state[]
        while len(s.entries) > 0:
            s.entries.pop(0).fail(error.copy())
        while len(s.grants) > 0:
            var grant = s.grants.pop(0)
            grant[].error = error.copy()
            grant[].fiber.wake()

    def _waiting(self) -> Int:
        return len(self.state[].entries) + len(self.state[].grants)

    def _demand(self) -> Int:
        # With more connections than this, one would have nothing to do.
        var demand = self._waiting()
        for connection in self.state[].connections:
            ref c = connection.state[]
            if c.flags.is_owned or c.cancelling.is_running:
                # No other statement may use it.
                demand += 1
            else:
                demand += len(c.entries)
        return demand


def _run(argument: Erased):
    var connection = DatabaseConnection(
        argument.unsafe_bitcast[DatabaseConnectionState]()
    )
    var pool = DatabasePool(
        connection.state[].owner.pool.unsafe_bitcast[DatabasePoolState]()
    )
    var is_open = pool._connect(connection)
    pool.state[].attempts.running -= 1
    if is_open and not pool.state[].is_closing:
        # Others may connect too, now that it works.
        pool._grow()
        connection.serve()


def _end(argument: Erased):
    var connection = DatabaseConnection(
        argument.unsafe_bitcast[DatabaseConnectionState]()
    )
    var pool = DatabasePool(
        connection.state[].owner.pool.unsafe_bitcast[DatabasePoolState]()
    )
    ref connections = pool.state[].connections
    for i in range(len(connections)):
        if connections[i] == connection:
            _ = connections.pop(i)
            break
    connection.finish()
    connection.state[].fiber = None
    connection.release()
    pool.show_use()
    if not pool.state[].is_closing:
        # The reservation may have ended with it.
        pool.advance()
        if pool._waiting() > 0:
            pool._grow()
    pool.release()


def _on_report(
    argument: Erased,
    report: Int,
    entry: Optional[Entry],
):
    var pool = DatabasePool(argument.unsafe_bitcast[DatabasePoolState]())
    if report == Report.RETRY:
        pool.submit_again(entry.value())
    elif report == Report.BEGINS_CANCEL:
        pool.state[].users += 1
    elif report == Report.ENDS_CANCEL:
        pool.release()
    else:
        pool.advance()

"""Runs the items of a database on one thread with one connection.

The writer runs changes in groups. A reader runs queries, and passes statements
that write to the writer. Both serve one transaction at a time.
"""

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.sys.clock import monotonic_ms
from flare.sys.thread import join_thread_within, start_thread

from .connection import LaneConnection, RunOutcome
from .work_item import WorkItem
from .error import SqliteError
from .group import run_changes
from .statement_kind import StatementKind
from .target import Target
from .work_queue import WorkQueue

comptime _NS_PER_MS = 1_000_000
comptime _END_MS_MAX = 5_000
# An owner's statements have no bound but its fibers.
comptime _OWN_MAX = Int.MAX


struct LaneState(Movable):
    """One thread of a database. Only `Lane` uses it."""

    var target: Target
    """The state that it shares with the others."""
    var queue: WorkQueue
    """The items that it shares with the others of its kind."""
    var own: WorkQueue
    """The items of its transaction."""
    var writer: Optional[WorkQueue]
    """For a reader, where items that write go."""
    var connection: LaneConnection
    """Its connection. Only its thread uses it."""
    var index: Int
    """Its place among the readers; -1 for the writer."""
    var thread: UInt64
    """The id of the thread."""

    def __init__(
        out self,
        target: Target,
        queue: WorkQueue,
        writer: Optional[WorkQueue],
        index: Int,
    ):
        """Creates a lane whose thread was not started.

        Args:
            target: The state that it shares with the others.
            queue: The items that it shares with the others of its kind.
            writer: For a reader, where items that write go.
            index: Its place among the readers; -1 for the writer.
        """
        self.target = target
        self.queue = queue
        self.own = WorkQueue.create(_OWN_MAX)
        self.writer = writer
        self.connection = LaneConnection.create(target, is_reader=Bool(writer))
        self.index = index
        self.thread = 0


@fieldwise_init
struct Lane(TrivialRegisterPassable):
    """A handle to one thread of a database."""

    var state: PointerTo[LaneState]
    """The heap state."""

    @staticmethod
    def create(
        target: Target,
        queue: WorkQueue,
        writer: Optional[WorkQueue],
        index: Int,
    ) -> Self:
        """Creates a lane whose thread was not started.

        Args:
            target: The state that it shares with the others.
            queue: The items that it shares with the others of its kind.
            writer: For a reader, where items that write go.
            index: Its place among the readers; -1 for the writer.

        Returns:
            A handle.
        """
        return Self(heap_create(LaneState(target, queue, writer, index)))

    def start(self) -> Int:
        """Starts the thread.

        Returns:
            0, or a negated errno.
        """
        var started = start_thread(
            _run_thread, self.state.unsafe_bitcast[NoneType]()
        )
        self.state[].thread = started[1]
        return started[0]

    def end(self) -> Bool:
        """Waits for the thread, whose queues have ended, and frees the lane.

        Returns:
            False if the thread does not end, because the disk does not answer.
            Its memory must not be freed then.
        """
        if self.state[].thread != 0 and not join_thread_within(
            self.state[].thread, _END_MS_MAX
        ):
            return False
        if self.state[].thread == 0:
            # No thread has used it.
            self.state[].connection.destroy()
        self.state[].own.destroy()
        heap_destroy(self.state)
        return True

    def _serve(self):
        # The loop of the thread.
        var connection = self.state[].connection
        while True:
            var group = self.state[].queue.take_group()
            if len(group) == 0:
                break
            self.state[].target.count_busy(1)
            var error = connection.open()
            if error:
                for item in group:
                    if item.begin_run():
                        item.fail(error.value())
            elif group[0].state[].kind == StatementKind.CHANGE:
                run_changes(connection, group)
            else:
                self._run_one(group[0])
            self.state[].target.count_busy(-1)
        connection.destroy()

    def _run_one(self, item: WorkItem):
        var connection = self.state[].connection
        if not item.begin_run():
            return
        var kind = item.state[].kind
        if kind == StatementKind.PROBE:
            # The connection of this thread is open.
            self.state[].target.set_open_failed(False)
            _ = item.finish()
            return
        connection.watch(item)
        if kind == StatementKind.BEGIN or kind == StatementKind.BEGIN_READING:
            self._begin(item)
            return
        var outcome = connection.run(
            item, only_reads=kind == StatementKind.QUERY
        )
        if outcome != RunOutcome.WRITES:
            _ = item.finish()
            return
        item.state[].kind = StatementKind.CHANGE
        if not self.state[].writer:
            run_changes(connection, [item])
            return
        var refused = self.state[].writer.value().push(item)
        if refused:
            item.fail(refused.take())

    def _begin(self, item: WorkItem):
        var connection = self.state[].connection
        var reads = item.state[].kind == StatementKind.BEGIN_READING
        var error = connection.command("BEGIN" if reads else "BEGIN IMMEDIATE")
        if not error and reads:
            # The transaction sees the database as it is at its first read.
            error = connection.command("SELECT count(*) FROM sqlite_master")
        if error:
            self._roll_back()
            item.fail(error.take())
            return
        var own = self.state[].own
        var deadline_ms = (
            monotonic_ms()
            + self.state[].target.state[].options.transaction_timeout_ms
        )
        item.state[].ticket = own.open_ticket()
        item.state[].lane = self.state[].index
        if not item.finish():
            # Its fiber has given up.
            self._roll_back()
            own.close_ticket(SqliteError.CLOSED)
            return
        own.close_ticket(self._serve_transaction(reads, deadline_ms))

    def _serve_transaction(self, reads: Bool, deadline_ms: Int) -> Int:
        # Returns the kind of the error for items after the end.
        var connection = self.state[].connection
        while True:
            var taken = self.state[].own.take(deadline_ms)
            if not taken:
                self._roll_back()
                if self.state[].own.is_ending():
                    return SqliteError.CLOSED
                return SqliteError.TIMEOUT
            var item = taken.value()
            if not item.begin_run():
                continue
            var kind = item.state[].kind
            if kind == StatementKind.ROLLBACK:
                self._roll_back()
                _ = item.finish()
                return SqliteError.CLOSED
            connection.watch(item, deadline_ms * _NS_PER_MS)
            if kind == StatementKind.COMMIT:
                var error = connection.command("COMMIT")
                if error:
                    self._roll_back()
                    item.fail(error.take())
                else:
                    _ = item.finish()
                return SqliteError.CLOSED
            var outcome = connection.run(item, only_reads=reads)
            if outcome == RunOutcome.HALF_DONE:
                self._roll_back()
            elif outcome == RunOutcome.WRITES:
                item.state[].error = SqliteError.from_code(
                    SqliteError.ENGINE, 8, "the transaction only reads"
                )
            var is_open = connection.is_in_transaction()
            _ = item.finish()
            if not is_open:
                return SqliteError.ROLLED_BACK

    def _roll_back(self):
        var connection = self.state[].connection
        connection.watch(None)
        if connection.is_in_transaction():
            _ = connection.command("ROLLBACK")


def _run_thread(argument: Erased) abi("C") -> Optional[Erased]:
    Lane(argument.unsafe_bitcast[LaneState]())._serve()
    return None

"""Owns the threads of a database, and passes items to them.

The threads start at the first statement, so a `Database` may be created before
its process forks. Afterwards it belongs to the process that has used it: SQLite's
connections do not survive a fork.
"""

from std.atomic import Atomic, Ordering

from flare.core import PointerTo, heap_create, heap_destroy
from flare.metrics.database_meter import DatabaseMeter, DatabaseUse
from flare.sys.process import process_id

from .work_item import WorkItem, create_item
from .error import SqliteError
from .inline import InlineReader
from .lane import Lane
from .statement_kind import StatementKind
from .statistics import DatabaseStatistics
from .target import Target
from .values import ValueBlock
from .work_queue import WorkQueue


struct CoreState(Movable):
    """The state of a database. Only the thread of its fibers uses it."""

    var target: Target
    """The state that its threads share."""
    var writes: WorkQueue
    """The items of the writer."""
    var reads: WorkQueue
    """The items of the readers."""
    var writer: Optional[Lane]
    """The writer, after the first statement."""
    var readers: List[Lane]
    """The readers."""
    var inline: Optional[InlineReader]
    """The reader on the calling thread, after its first query."""
    var process: Int
    """The process whose threads they are; 0 before the first statement."""
    var is_closed: Bool
    """Whether the program has closed it."""
    var is_leaked: Bool
    """Whether a thread did not end, or is that of another process."""
    var users: Int
    """How many owners it has: the `Database`, and each transaction."""
    var counts: DatabaseStatistics
    """The counters of the fibers' thread."""
    var meter: DatabaseMeter
    """Counts in the metrics of the worker."""

    def __init__(out self, target: Target):
        """Creates the state of a database without threads.

        Args:
            target: The file.
        """
        self.target = target
        self.writes = WorkQueue.create(target.state[].options.waiting_max)
        self.reads = WorkQueue.create(target.state[].options.waiting_max)
        self.writer = None
        self.readers = List[Lane]()
        self.inline = None
        self.process = 0
        self.is_closed = False
        self.is_leaked = False
        self.users = 1
        self.counts = DatabaseStatistics()
        self.meter = DatabaseMeter.create("sqlite")


@fieldwise_init
struct DatabaseCore(TrivialRegisterPassable):
    """A handle to the state of a database."""

    var state: PointerTo[CoreState]
    """The heap state."""

    @staticmethod
    def create(target: Target) -> Self:
        """Creates a database without threads.

        Args:
            target: The file.

        Returns:
            A handle.
        """
        return Self(heap_create(CoreState(target)))

    def submit(self, item: WorkItem) -> Optional[SqliteError]:
        """Passes an item to a thread.

        Args:
            item: The item.

        Returns:
            `None`, or why no thread takes it.
        """
        var error = self.prepare()
        if error:
            return error^
        return self._queue_of(item).push(item)

    def submit_to(
        self, lane_index: Int, ticket: Int, item: WorkItem
    ) -> Optional[SqliteError]:
        """Passes an item to the thread of its transaction.

        Args:
            lane_index: The index of the reader; -1 for the writer.
            ticket: The number of the transaction.
            item: The item.

        Returns:
            `None`, or why the thread does not take it.
        """
        var error = self.prepare()
        if error:
            return error^
        return self._lane(lane_index).state[].own.push(item, ticket)

    def withdraw(self, item: WorkItem, lane_index: Int, ticket: Int) -> Bool:
        """Removes an item from its queue.

        Args:
            item: The item.
            lane_index: The index of the reader; -1 for the writer.
            ticket: The number of its transaction; 0 for none.

        Returns:
            False if a thread has taken it.
        """
        if self.state[].is_closed:
            # It was answered.
            return False
        if ticket != 0:
            return self._lane(lane_index).state[].own.remove(item)
        # A reader may have passed it to the writer.
        return self.state[].reads.remove(item) or self.state[].writes.remove(
            item
        )

    def prepare(self) -> Optional[SqliteError]:
        """Starts the threads, if they do not run.

        Returns:
            `None`, or why statements cannot run.
        """
        if self.state[].is_closed:
            return SqliteError(SqliteError.CLOSED)
        if self.state[].process == process_id():
            return None
        if self.state[].process != 0:
            return SqliteError(
                SqliteError.CLOSED, "the database was used before a fork"
            )
        return self._start()

    def run_inline(self, item: WorkItem) -> Bool:
        """Runs a query on the calling thread, if that takes little time.

        Args:
            item: The query.

        Returns:
            Whether the item has its result. If not, a reader should run it.
        """
        if self.state[].target.state[].is_memory or self.prepare():
            return False
        if not self.state[].inline:
            self.state[].inline = InlineReader.create(self.state[].target)
        if not self.state[].inline:
            return False
        if not self.state[].inline.value().run(item):
            return False
        self.state[].counts.inline_reads += 1
        return True

    def is_healthy(self) -> Bool:
        """Returns whether statements can be expected to succeed. If not, makes
        the writer try to open its connection.

        Returns:
            True unless the last attempt to open a connection failed.
        """
        var failed = Atomic[UInt32].load[ordering=Ordering.ACQUIRE](
            Pointer(to=self.state[].target.state[].open_failed)
        )
        if self.state[].is_closed:
            return False
        if failed != 0:
            var probe = create_item("", ValueBlock(), StatementKind.PROBE, None)
            if self.submit(probe):
                probe.destroy()
        return failed == 0

    def statistics(self) -> DatabaseStatistics:
        """Returns the counters.

        Returns:
            A copy.
        """
        ref target = self.state[].target.state[]
        var counts = self.state[].counts
        counts.open_connections = Int(
            Atomic[UInt32].load(Pointer(to=target.open_connections))
        )
        counts.busy_connections = Int(
            Atomic[UInt32].load(Pointer(to=target.busy))
        )
        counts.commits = Int(Atomic[UInt64].load(Pointer(to=target.commits)))
        counts.grouped = Int(Atomic[UInt64].load(Pointer(to=target.grouped)))
        counts.waiting = (
            self.state[].writes.count() + self.state[].reads.count()
        )
        return counts

    def show_use(self):
        """Reports the use of connections to the metrics of the worker."""
        ref meter = self.state[].meter
        if not meter.counts():
            return
        # A thread may still have to note that it is idle again.
        var counts = self.statistics()
        var busy = max(meter.running() - counts.waiting, 0)
        meter.show(
            DatabaseUse(
                busy, max(counts.open_connections - busy, 0), counts.waiting
            )
        )

    def close(self):
        """Stops all statements, and ends the threads. Waiting fibers get
        `sqlite.closed`. Later calls have no effect.
        """
        if self.state[].is_closed:
            return
        self.state[].is_closed = True
        if self.state[].process != 0 and self.state[].process != process_id():
            # The threads and connections are those of another process.
            self.state[].is_leaked = True
            return
        Atomic[UInt32].store[ordering=Ordering.RELEASE](
            self.state[].target.closing_word(), 1
        )
        self._end_lanes()
        if self.state[].inline:
            self.state[].inline.value().destroy()
            self.state[].inline = None

    def release(self):
        """Removes one owner. The last one frees the state."""
        self.state[].users -= 1
        if self.state[].users == 0:
            self.close()
            if not self.state[].is_leaked:
                self.state[].writes.destroy()
                self.state[].reads.destroy()
                self.state[].target.destroy()
            self.state[].meter.destroy()
            heap_destroy(self.state)

    def _start(self) -> Optional[SqliteError]:
        var s = self.state
        var writer = Lane.create(s[].target, s[].writes, None, -1)
        s[].writer = writer
        s[].process = process_id()
        var result = writer.start()
        var readers = s[].target.state[].options.reader_threads
        if s[].target.state[].is_memory:
            # Another connection would not see its tables.
            readers = 0
        for index in range(readers):
            if result == 0:
                var reader = Lane.create(
                    s[].target, s[].reads, s[].writes, index
                )
                s[].readers.append(reader)
                result = reader.start()
        if result == 0:
            return None
        # The next statement tries again.
        self._end_lanes()
        s[].is_closed = s[].is_leaked
        if not s[].is_leaked:
            s[].process = 0
            s[].writes.destroy()
            s[].reads.destroy()
            var waiting_max = s[].target.state[].options.waiting_max
            s[].writes = WorkQueue.create(waiting_max)
            s[].reads = WorkQueue.create(waiting_max)
        return SqliteError(SqliteError.OPEN, "no thread can be started")

    def _end_lanes(self):
        var s = self.state
        s[].writes.end()
        s[].reads.end()
        if s[].writer:
            s[].writer.value().state[].own.end()
        for reader in s[].readers:
            reader.state[].own.end()
        if s[].writer and not s[].writer.value().end():
            s[].is_leaked = True
        for reader in s[].readers:
            if not reader.end():
                s[].is_leaked = True
        s[].writer = None
        s[].readers.clear()

    def _queue_of(self, item: WorkItem) -> WorkQueue:
        var kind = item.state[].kind
        if len(self.state[].readers) > 0 and (
            kind == StatementKind.QUERY or kind == StatementKind.BEGIN_READING
        ):
            return self.state[].reads
        return self.state[].writes

    def _lane(self, index: Int) -> Lane:
        if index < 0:
            return self.state[].writer.value()
        return self.state[].readers[index]

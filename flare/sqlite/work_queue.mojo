"""Passes items from fibers to the threads of a database.

There is one queue for the writer, one for all readers, and one for the
transaction of each thread. The last kind accepts items only for the ticket of
the transaction that is open.
"""

from flare.core import PointerTo, heap_create, heap_destroy
from flare.sys.clock import monotonic_ms
from flare.sys.thread import Lock

from .work_item import WorkItem
from .error import SqliteError
from .statement_kind import StatementKind

comptime GROUP_MAX = 256
"""The most changes that share a commit."""

comptime NO_TIME_LIMIT = Int.MAX
"""The deadline of a wait that has none."""


struct WorkQueueState(Movable):
    """The items of a queue. Only `WorkQueue` uses it; the lock guards it."""

    var lock: Lock
    """Guards the other fields."""
    var first: Optional[WorkItem]
    """The item that waits longest."""
    var last: Optional[WorkItem]
    """The item that waits shortest."""
    var count: Int
    """How many items wait."""
    var count_max: Int
    """How many may wait."""
    var sleeping: Int
    """How many threads wait for an item."""
    var is_ending: Bool
    """Whether the database closes."""
    var ticket: Int
    """The number of the open transaction; 0 for none."""
    var tickets: Int
    """How many transactions were begun."""
    var end_kind: Int
    """The kind of the error for items of the last transaction."""

    def __init__(out self, count_max: Int):
        """Creates an empty queue.

        Args:
            count_max: How many items may wait.
        """
        self.lock = Lock.create()
        self.first = None
        self.last = None
        self.count = 0
        self.count_max = count_max
        self.sleeping = 0
        self.is_ending = False
        self.ticket = 0
        self.tickets = 0
        self.end_kind = SqliteError.CLOSED

    def append(mut self, item: WorkItem):
        """Appends an item.

        Args:
            item: The item.
        """
        item.state[].next = None
        if self.last:
            self.last.value().state[].next = item
        else:
            self.first = item
        self.last = item
        self.count += 1

    def pop(mut self) -> Optional[WorkItem]:
        """Removes the first item.

        Returns:
            The item; `None` if there is none.
        """
        if not self.first:
            return None
        var item = self.first.value()
        self.first = item.state[].next
        if not self.first:
            self.last = None
        self.count -= 1
        return item

    def unlink(mut self, item: WorkItem) -> Bool:
        """Removes an item.

        Args:
            item: The item.

        Returns:
            False if it is not in the queue.
        """
        var before = Optional[WorkItem](None)
        var at = self.first
        while at:
            if at.value() != item:
                before = at
                at = at.value().state[].next
                continue
            if before:
                before.value().state[].next = item.state[].next
            else:
                self.first = item.state[].next
            if not item.state[].next:
                self.last = before
            self.count -= 1
            return True
        return False


@fieldwise_init
struct WorkQueue(TrivialRegisterPassable):
    """A queue of items. Each method is callable on any thread."""

    var state: PointerTo[WorkQueueState]
    """The heap state."""

    @staticmethod
    def create(count_max: Int) -> Self:
        """Creates an empty queue.

        Args:
            count_max: How many items may wait.

        Returns:
            A handle.
        """
        return Self(heap_create(WorkQueueState(count_max)))

    def push(self, item: WorkItem, ticket: Int = 0) -> Optional[SqliteError]:
        """Appends an item.

        Args:
            item: The item.
            ticket: The transaction that must be open; 0 for none. Its items
                have no bound, because its fibers wait for them.

        Returns:
            `None`, or why the queue does not take it.
        """
        var refused = Optional[SqliteError](None)
        self.state[].lock.acquire()
        if self.state[].is_ending:
            refused = SqliteError(SqliteError.CLOSED)
        elif self.state[].ticket != ticket:
            refused = _ended(self.state[].end_kind)
        elif ticket == 0 and self.state[].count >= self.state[].count_max:
            refused = SqliteError(
                SqliteError.QUEUE_FULL,
                String(self.state[].count_max, " statements wait already"),
            )
        else:
            self.state[].append(item)
            if self.state[].sleeping > 0:
                self.state[].lock.wake_one()
        self.state[].lock.release()
        return refused^

    def take(self, deadline_ms: Int = NO_TIME_LIMIT) -> Optional[WorkItem]:
        """Waits for an item and removes it.

        Args:
            deadline_ms: When the wait is over, by the monotonic clock.

        Returns:
            The item; `None` if the time is over or the database closes.
        """
        self.state[].lock.acquire()
        self._sleep(deadline_ms)
        var item = Optional[WorkItem](None)
        if not self.state[].is_ending and (
            deadline_ms == NO_TIME_LIMIT or monotonic_ms() < deadline_ms
        ):
            item = self.state[].pop()
        self.state[].lock.release()
        return item

    def take_group(self) -> List[WorkItem]:
        """Waits for an item and removes it. If it is a change, removes the changes
        after it too.

        Returns:
            One item, or up to `GROUP_MAX` changes; none if the database
            closes.
        """
        var group = List[WorkItem]()
        self.state[].lock.acquire()
        self._sleep(NO_TIME_LIMIT)
        while not self.state[].is_ending and self.state[].first:
            var is_change = (
                self.state[].first.value().state[].kind == StatementKind.CHANGE
            )
            if len(group) > 0 and (not is_change or len(group) == GROUP_MAX):
                break
            group.append(self.state[].pop().value())
            if not is_change:
                break
        self.state[].lock.release()
        return group^

    def remove(self, item: WorkItem) -> Bool:
        """Removes an item whose fiber gives up.

        Args:
            item: The item.

        Returns:
            False if a thread has taken it.
        """
        self.state[].lock.acquire()
        var found = self.state[].unlink(item)
        self.state[].lock.release()
        return found

    def open_ticket(self) -> Int:
        """Begins to accept the items of a transaction.

        Returns:
            Its number.
        """
        self.state[].lock.acquire()
        self.state[].tickets += 1
        self.state[].ticket = self.state[].tickets
        self.state[].end_kind = SqliteError.CLOSED
        var ticket = self.state[].ticket
        self.state[].lock.release()
        return ticket

    def close_ticket(self, end_kind: Int):
        """Ends a transaction: refuses its later items, and answers those
        that wait.

        Args:
            end_kind: The kind of their error.
        """
        self.state[].lock.acquire()
        self.state[].ticket = -1
        self.state[].end_kind = end_kind
        var item = self.state[].pop()
        while item:
            # The letters take other locks.
            item.value().fail(_ended(end_kind))
            item = self.state[].pop()
        self.state[].lock.release()

    def is_ending(self) -> Bool:
        """Returns whether the database closes.

        Returns:
            True after `end`.
        """
        self.state[].lock.acquire()
        var ending = self.state[].is_ending
        self.state[].lock.release()
        return ending

    def count(self) -> Int:
        """Returns how many items wait.

        Returns:
            The number.
        """
        self.state[].lock.acquire()
        var count = self.state[].count
        self.state[].lock.release()
        return count

    def end(self):
        """Answers all items with `sqlite.closed`, and wakes all threads."""
        self.state[].lock.acquire()
        self.state[].is_ending = True
        var item = self.state[].pop()
        while item:
            item.value().fail(SqliteError(SqliteError.CLOSED))
            item = self.state[].pop()
        self.state[].lock.wake_all()
        self.state[].lock.release()

    def destroy(self):
        """Frees the queue, which no thread uses any more."""
        self.state[].lock.destroy()
        heap_destroy(self.state)

    def _sleep(self, deadline_ms: Int):
        while not self.state[].first and not self.state[].is_ending:
            self.state[].sleeping += 1
            if deadline_ms == NO_TIME_LIMIT:
                self.state[].lock.wait()
            else:
                var left_ms = deadline_ms - monotonic_ms()
                if left_ms > 0:
                    self.state[].lock.wait_for(left_ms)
            self.state[].sleeping -= 1
            if deadline_ms != NO_TIME_LIMIT and monotonic_ms() >= deadline_ms:
                return


def _ended(kind: Int) -> SqliteError:
    if kind == SqliteError.TIMEOUT:
        return SqliteError(
            kind,
            (
                "the transaction was open for longer than"
                " transaction_timeout_ms, and was rolled back"
            ),
        )
    return SqliteError(kind)

"""Describes one statement on its way to a thread of the database and back.

An item lies on the heap. `phase` decides who frees it. The thread sets `DONE`
and posts a letter to the fiber's loop; the fiber frees the item after that
letter. If the fiber has set `ABANDONED` before, the thread frees the item.
"""

from std.atomic import Atomic, Ordering

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.runtime.fiber import Fiber

from .error import SqliteError
from .values import ResultBlock, ValueBlock


struct WorkPhase:
    """The progress of an item."""

    comptime WAITING: UInt32 = 0
    """It is in a queue, or its group has not reached it."""
    comptime RUNNING: UInt32 = 1
    """A thread runs it, or has run it and will answer."""
    comptime DONE: UInt32 = 2
    """It is answered."""
    comptime ABANDONED: UInt32 = 3
    """No fiber waits for it."""


struct WorkItemState(Movable):
    """One statement. Only `WorkItem` uses it."""

    var fiber: Optional[Fiber]
    """The fiber that waits for the answer."""
    var sql: List[UInt8]
    """The statement, with NUL."""
    var parameters: ValueBlock
    """Its parameters."""
    var kind: UInt8
    """One of `StatementKind`."""
    var result: Optional[PointerTo[ResultBlock]]
    """The answer."""
    var error: Optional[SqliteError]
    """The error in place of an answer."""
    var phase: UInt32
    """Its progress, one of `WorkPhase`; atomic."""
    var stop: UInt32
    """1 to stop its run; atomic."""
    var is_delivered: Bool
    """Whether the letter has arrived. Only the fiber's thread uses it."""
    var ticket: Int
    """The transaction that it belongs to, or that was begun."""
    var lane: Int
    """The index of the lane that began a transaction; -1 for the writer."""
    var next: Optional[WorkItem]
    """The next item of a queue or of a letter."""

    def __init__(
        out self,
        sql: StringSlice,
        var parameters: ValueBlock,
        kind: UInt8,
        fiber: Optional[Fiber],
    ):
        """Creates an item that waits.

        Args:
            sql: The statement.
            parameters: Its parameters.
            kind: One of `StatementKind`.
            fiber: The fiber that will wait; `None` for none.
        """
        self.fiber = fiber
        self.sql = List[UInt8](capacity=sql.byte_length() + 1)
        self.sql.extend(sql.as_bytes())
        self.sql.append(0)
        self.parameters = parameters^
        self.kind = kind
        self.result = None
        self.error = None
        self.phase = WorkPhase.WAITING if fiber else WorkPhase.ABANDONED
        self.stop = 0
        self.is_delivered = False
        self.ticket = 0
        self.lane = -1
        self.next = None


@fieldwise_init
struct WorkItem(Equatable, TrivialRegisterPassable):
    """A handle to a statement on its way."""

    var state: PointerTo[WorkItemState]
    """The heap state."""

    def stop_word(self) -> PointerTo[UInt32]:
        """Returns the word that stops its run.

        Returns:
            Its address.
        """
        return Pointer(to=self.state[].stop).unsafe_origin_cast[
            MutUntrackedOrigin
        ]()

    def phase(self) -> UInt32:
        """Returns its progress. Callable on any thread.

        Returns:
            One of `WorkPhase`.
        """
        return Atomic[UInt32].load[ordering=Ordering.ACQUIRE](
            Pointer(to=self.state[].phase)
        )

    def advance(self, before: UInt32, after: UInt32) -> Bool:
        """Changes its progress.

        Args:
            before: The phase that it should have.
            after: The phase that it gets.

        Returns:
            False if it has another phase.
        """
        var expected = before
        return Atomic.compare_exchange(
            Pointer(to=self.state[].phase), expected, after
        )

    def request_stop(self):
        """Makes the thread stop the run soon. Callable on any thread."""
        Atomic[UInt32].store[ordering=Ordering.RELEASE](self.stop_word(), 1)

    def is_internal(self) -> Bool:
        """Returns whether no fiber has ever waited for it.

        Returns:
            True for a statement that flare sent.
        """
        return not self.state[].fiber

    def begin_run(self) -> Bool:
        """Marks the item as running. If its fiber has given up, frees it.

        Returns:
            Whether the thread should run it.
        """
        if self.is_internal() or self.advance(
            WorkPhase.WAITING, WorkPhase.RUNNING
        ):
            return True
        if self.phase() == WorkPhase.ABANDONED:
            self.destroy()
            return False
        return True

    def abandon(self) -> Bool:
        """Leaves the item to the thread that has it.

        Returns:
            False if the answer is on its way, for which the fiber must wait.
        """
        return self.advance(
            WorkPhase.WAITING, WorkPhase.ABANDONED
        ) or self.advance(WorkPhase.RUNNING, WorkPhase.ABANDONED)

    def set_done(self) -> Bool:
        """Marks the item as answered. If its fiber has given up, frees it.

        Returns:
            Whether the caller must send the letter.
        """
        if self.advance(WorkPhase.RUNNING, WorkPhase.DONE) or self.advance(
            WorkPhase.WAITING, WorkPhase.DONE
        ):
            return True
        self.destroy()
        return False

    def finish(self) -> Bool:
        """Answers the item, on the thread that has it.

        Returns:
            Whether the fiber gets the answer.
        """
        if not self.set_done():
            return False
        self.state[].next = None
        post_answers(self)
        return True

    def fail(self, var error: SqliteError):
        """Answers the item with an error.

        Args:
            error: The error.
        """
        self.state[].error = error^
        _ = self.finish()

    def forget_outcome(self):
        """Makes the item ready for another run."""
        self.state[].error = None
        if self.state[].result:
            heap_destroy(self.state[].result.value())
            self.state[].result = None

    def destroy(self):
        """Frees the item and its answer."""
        self.forget_outcome()
        heap_destroy(self.state)


def create_item(
    sql: StringSlice,
    var parameters: ValueBlock,
    kind: UInt8,
    fiber: Optional[Fiber],
) -> WorkItem:
    """Creates an item.

    Args:
        sql: The statement.
        parameters: Its parameters.
        kind: One of `StatementKind`.
        fiber: The fiber that will wait; `None` for none.

    Returns:
        The item.
    """
    return WorkItem(heap_create(WorkItemState(sql, parameters^, kind, fiber)))


def post_answers(first: WorkItem):
    """Sends one letter for answered items of one loop.

    Args:
        first: The first item; `next` leads to the others.
    """
    var reactor = first.state[].fiber.value().reactor()
    reactor.post(_deliver, first.state.unsafe_bitcast[NoneType]())


def _deliver(argument: Erased):
    var next = Optional[WorkItem](
        WorkItem(argument.unsafe_bitcast[WorkItemState]())
    )
    while next:
        var item = next.value()
        # The fiber may free the item when it runs, not before.
        next = item.state[].next
        item.state[].is_delivered = True
        item.state[].fiber.value().wake()

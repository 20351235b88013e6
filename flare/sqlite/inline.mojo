"""Runs short queries on the calling thread.

A query that finds its pages in memory takes less time than two changes of the
thread. If it takes longer than expected, it is stopped, and a reader runs it.

SQLite may use more stack than a fiber has. It recurses to the depth of a JSON
text, and once for each `%` of a pattern. So these queries run on a stack of
their own, as large as that of a thread.
"""

from flare.core import PointerTo, heap_create, heap_destroy
from flare.sys.clock import monotonic_ns
from flare.sys.fiber_switch import (
    StackContext,
    arrive_on_stack,
    emit_switch,
    prepare_stack,
    resume_stack,
    suspend_stack,
)
from flare.sys.memory import map_stack, unmap

from .connection import LaneConnection, RunOutcome
from .target import Target
from .work_item import WorkItem

comptime INLINE_NS_MAX = 2_000_000
"""The longest time that a query may hold the calling thread."""
comptime STACK_OCTETS = 8 * 1024 * 1024
"""The length of the stack: that of a thread. Only pages that were touched take
memory."""

comptime _GUARD_OCTETS = 64 * 1024


struct InlineReaderState(Movable):
    """The stack and the connection. Only `InlineReader` uses it."""

    var context: StackContext
    """The stack."""
    var connection: LaneConnection
    """The connection."""
    var item: Optional[WorkItem]
    """The query that runs next."""
    var outcome: Int
    """One of `RunOutcome`."""

    def __init__(out self, base: Int, connection: LaneConnection):
        """Creates the state before the first query.

        Args:
            base: The lowest address of the stack.
            connection: The connection, which is not open.
        """
        self.context = StackContext(base, STACK_OCTETS, _GUARD_OCTETS)
        self.connection = connection
        self.item = None
        self.outcome = RunOutcome.FAILED


@fieldwise_init
struct InlineReader(TrivialRegisterPassable):
    """A handle to the stack and the connection for queries of one thread."""

    var state: PointerTo[InlineReaderState]
    """The heap state."""

    @staticmethod
    def create(target: Target) -> Optional[Self]:
        """Maps a stack.

        Args:
            target: The database.

        Returns:
            A handle; `None` without memory.
        """
        var base = map_stack(STACK_OCTETS, _GUARD_OCTETS)
        if base <= 0:
            return None
        var connection = LaneConnection.create(target, is_reader=True)
        var state = heap_create(InlineReaderState(base, connection))
        var reader = Self(state)
        prepare_stack(reader._context(), _serve, Int(state))
        return reader

    def run(self, item: WorkItem) -> Bool:
        """Runs a query on the calling thread, if that takes little time.

        Args:
            item: The query.

        Returns:
            Whether the item has its result. If not, it has no error either, and
            a reader should run it.
        """
        emit_switch()
        self.state[].item = item
        resume_stack(self._context())
        if self.state[].outcome == RunOutcome.DONE:
            return True
        # A reader reports the error, which may be another one there.
        item.forget_outcome()
        return False

    def destroy(self):
        """Closes the connection and unmaps the stack."""
        self.state[].connection.destroy()
        _ = unmap(self.state[].context.base, STACK_OCTETS)
        heap_destroy(self.state)

    def _context(self) -> PointerTo[StackContext]:
        return Pointer(to=self.state[].context).unsafe_origin_cast[
            MutUntrackedOrigin
        ]()


def _serve(context_address: Int) abi("C"):
    # The stack holds no value that must be destroyed while it is suspended.
    var context = PointerTo[StackContext](unsafe_from_address=context_address)
    var state = PointerTo[InlineReaderState](
        unsafe_from_address=context[].argument
    )
    emit_switch()
    arrive_on_stack(context)
    while True:
        state[].outcome = _run(state[].connection, state[].item.value())
        suspend_stack(context)


@no_inline
def _run(connection: LaneConnection, item: WorkItem) -> Int:
    if connection.open() or connection.skips_slow(item):
        return RunOutcome.FAILED
    var end_ns = monotonic_ns() + INLINE_NS_MAX
    connection.watch(None, end_ns)
    var outcome = connection.run(item, only_reads=True)
    # One step of a program may take long, and no handler can stop it.
    if monotonic_ns() > end_ns:
        connection.mark_slow(item)
    return outcome

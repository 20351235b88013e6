"""Queues the fibers that wait for a connection to one origin, in order."""

from flare.core import PointerTo, heap_create, heap_destroy
from flare.runtime.fiber import Fiber

from ..transport.client_connection import ClientConnection


struct WaiterState(Movable):
    """The place of one fiber in a queue. Only `WaitQueue` and the pool use it.
    """

    var fiber: Fiber
    """The fiber that waits."""
    var next: Optional[PointerTo[WaiterState]]
    """The next place in the queue."""
    var connection: Optional[ClientConnection]
    """The connection that was handed to the fiber."""
    var may_open: Bool
    """Whether the fiber got room for a new connection instead."""
    var has_left: Bool
    """Whether the fiber no longer waits: its place is void."""

    def __init__(out self, fiber: Fiber):
        """Creates the place of a fiber.

        Args:
            fiber: The fiber that waits.
        """
        self.fiber = fiber
        self.next = None
        self.connection = None
        self.may_open = False
        self.has_left = False


struct WaitQueueState(Movable):
    """The state of a queue. Only `WaitQueue` uses it."""

    var first: Optional[PointerTo[WaiterState]]
    """The place of the fiber that gets the next connection."""
    var last: Optional[PointerTo[WaiterState]]
    """The place of the fiber that came last."""
    var length: Int
    """How many fibers wait."""

    def __init__(out self):
        """Creates an empty queue."""
        self.first = None
        self.last = None
        self.length = 0


@fieldwise_init
struct WaitQueue(TrivialRegisterPassable):
    """A handle to a queue, which other fibers change while one waits."""

    var state: PointerTo[WaitQueueState]
    """The queue."""

    @always_inline
    def is_empty(self) -> Bool:
        """Returns whether the queue has no place.

        Returns:
            True if no fiber waits, and none has left a place.
        """
        return not self.state[].first

    def join(self, fiber: Fiber) -> PointerTo[WaiterState]:
        """Adds a fiber at the end.

        Args:
            fiber: The fiber.

        Returns:
            Its place; `take_first` or `leave` ends it.
        """
        var waiter = heap_create(WaiterState(fiber))
        if self.state[].last:
            self.state[].last.value()[].next = waiter
        else:
            self.state[].first = waiter
        self.state[].last = waiter
        self.state[].length += 1
        return waiter

    def leave(self, waiter: PointerTo[WaiterState]):
        """Marks the place of a fiber that no longer waits.

        Args:
            waiter: The place. The queue frees it when it reaches the front.
        """
        waiter[].has_left = True
        self.state[].length -= 1
        self._drop_leavers()

    def take_first(self) -> Optional[PointerTo[WaiterState]]:
        """Removes the first waiting fiber.

        Returns:
            Its place, which the caller frees; none if no fiber waits.
        """
        self._drop_leavers()
        var first = self.state[].first
        if first:
            self.state[].length -= 1
            self._unlink_first()
        return first

    def _drop_leavers(self):
        while self.state[].first and self.state[].first.value()[].has_left:
            var left = self.state[].first.value()
            self._unlink_first()
            heap_destroy(left)

    def _unlink_first(self):
        self.state[].first = self.state[].first.value()[].next
        if not self.state[].first:
            self.state[].last = None

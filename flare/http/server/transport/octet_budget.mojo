"""Counts the buffered octets of one worker's connections, and queues
connections that wait for room.
"""

from flare.core import SlotHandle
from flare.runtime.timer_task import TIMER_OF_TASK, TimerTask
from flare.runtime.timer_wheel import TimerEntry


struct OctetBudget(Movable):
    """The sum of the buffered octets of all connections. `buffered.mojo` and
    `content_room.mojo` change it.

    Contents may fill three quarters of it. The last quarter is for heads and
    answers, so that uploads alone never make a request a 503.
    """

    var octets_max: Int
    """The most octets that may be buffered."""
    var overfull_octets: Int
    """How many short answers may use; beyond, no request is taken."""
    var charged: Int
    """The memory of connections besides the output buffers of the usual size.
    """
    var grown_octets: Int
    """By how much the windows of HTTP/2 have grown."""
    var waiting: List[SlotHandle]
    """Connections that wait for room, the longest waiting first. One that has
    continued or ended meanwhile may still be in the list.
    """
    var favoured: SlotHandle
    """The connection whose content continues although there is no room."""
    var favoured_request: Int
    """The number of its request, or 0."""
    var stuck_since_ms: Int
    """The time since which all in `waiting` have waited."""
    var shed_ms: Int
    """When connections were looked at last because the budget was used up."""
    var shedding_since_ms: Int
    """Since when they have been looked at again and again."""
    var timer: TimerEntry
    """Armed while a connection waits."""
    var task: TimerTask
    """The function that the timer calls."""

    def __init__(out self, octets_max: Int):
        """Creates a budget of which no octet is in use.

        Args:
            octets_max: The most octets that may be buffered.
        """
        self.octets_max = octets_max
        self.overfull_octets = octets_max + octets_max // 4
        self.charged = 0
        self.grown_octets = 0
        self.waiting = List[SlotHandle]()
        self.favoured = SlotHandle(0, 0)
        self.favoured_request = 0
        self.stuck_since_ms = 0
        self.shed_ms = 0
        self.shedding_since_ms = 0
        self.timer = TimerEntry(None, TIMER_OF_TASK)
        self.task = TimerTask()

    @always_inline
    def contents_max(self) -> Int:
        """Returns how many octets may be buffered before contents wait.

        Returns:
            The number of octets.
        """
        return self.octets_max // 4 * 3

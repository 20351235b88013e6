"""Keeps the notifications of a connection until the program takes them."""

from flare.core import PointerTo
from flare.runtime.fiber import Fiber
from flare.sys.libpq_connection import PgConnection

comptime WAITING_MAX = 4_096
"""The most notifications that wait for the program."""
# Those that were taken lie at the front until so many have been.
comptime _TAKEN_MAX = 256


@fieldwise_init
struct Notification(Copyable, Movable):
    """A message of NOTIFY, or the word that some may have been lost."""

    var channel: String
    """The name of the channel; empty after a gap."""
    var payload: String
    """The text of the sender; empty if there is none."""
    var process_id: Int
    """The process of the server that serves the sender."""
    var is_gap: Bool
    """Whether notifications may be missing here, because the connection was
    lost, or more than 4,096 waited. Look at the tables again.
    """


struct NotificationQueue(Movable):
    """The notifications that a program has not taken. It lies on the heap."""

    var fiber: Optional[Fiber]
    """The fiber that waits for the next one."""
    var is_lost: Bool
    """Whether the connection has ended."""
    var has_gap: Bool
    """Whether some may be missing before the first that waits."""
    var _waiting: List[Notification]
    var _taken: Int

    def __init__(out self):
        """Creates an empty queue."""
        self.fiber = None
        self.is_lost = False
        self.has_gap = False
        self._waiting = []
        self._taken = 0

    def take(mut self) -> Optional[Notification]:
        """Takes the next one.

        Returns:
            The notification, or the word about a gap; `None` if none waits.
        """
        if self.has_gap:
            self.has_gap = False
            return Notification(String(), String(), 0, True)
        if self._taken == len(self._waiting):
            return None
        var found = self._waiting[self._taken].copy()
        self._taken += 1
        if self._taken == len(self._waiting):
            self._waiting.clear()
            self._taken = 0
        elif self._taken == _TAKEN_MAX:
            self._compact()
        return found^

    def add(mut self, var notification: Notification):
        """Adds one at the end. If too many wait, all are dropped: their reader
        has to look at the tables in any case.

        Args:
            notification: The notification.
        """
        if len(self._waiting) - self._taken >= WAITING_MAX:
            self.clear()
            self.has_gap = True
        self._waiting.append(notification^)
        self._wake()

    def clear(mut self):
        """Drops those that wait."""
        self._waiting.clear()
        self._taken = 0

    def end(mut self):
        """Takes note of the end of the connection."""
        self.is_lost = True
        self._wake()

    def _compact(mut self):
        var rest = List[Notification](capacity=len(self._waiting) - self._taken)
        for i in range(self._taken, len(self._waiting)):
            rest.append(self._waiting[i].copy())
        self._waiting = rest^
        self._taken = 0

    def _wake(self):
        if self.fiber:
            self.fiber.value().wake()


def take_notifications(
    pg: PgConnection, queue: Optional[PointerTo[NotificationQueue]]
):
    """Takes all notifications that have arrived from a connection.

    Args:
        pg: The connection.
        queue: The queue of the program that listens; without one, they are
            dropped.
    """
    while True:
        var found = pg.take_notification()
        if not found:
            return
        if queue:
            ref parts = found.value()
            queue.value()[].add(
                Notification(
                    parts.channel, parts.payload, parts.process_id, False
                )
            )

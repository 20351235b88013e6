"""Decides when a supervisor asks its workers whether they turn their loops.

Time is an argument: the supervisor asks, waits and ends workers.
"""

from .notify_socket import WATCHDOG_PARTS


struct WorkerQuestions(Movable):
    """The questions to workers that are not answered yet, and their times."""

    var due_ms: Int
    """When to ask next; `Int.MAX` before `begin`."""
    # 0 if systemd wants no signs of life.
    var _period_ms: Int
    # By worker; 0 while it owes no answer.
    var _asked_ms: List[Int]

    def __init__(out self, watchdog_ms: Optional[Int], workers: Int):
        """Creates the memory of a supervisor that has not asked yet.

        Args:
            watchdog_ms: The watchdog timeout of systemd, if it has set one.
            workers: The number of workers.
        """
        self.due_ms = Int.MAX
        self._period_ms = 0
        if watchdog_ms:
            self._period_ms = max(watchdog_ms.value() // WATCHDOG_PARTS, 1)
        self._asked_ms = List[Int](length=workers, fill=0)

    def begin(mut self, now_ms: Int):
        """Makes the first question due, if systemd has set a watchdog timeout.

        Args:
            now_ms: The current time.
        """
        if self._period_ms > 0:
            self.due_ms = now_ms

    def go_on(mut self, now_ms: Int):
        """Makes the next question due one period from now.

        Args:
            now_ms: The current time.
        """
        self.due_ms = now_ms + self._period_ms

    def ask(mut self, worker: Int, now_ms: Int) -> Bool:
        """Returns whether to ask a worker; from then on it owes an answer.

        Args:
            worker: Its number.
            now_ms: The current time.

        Returns:
            False if the worker already owes an answer.
        """
        if self._asked_ms[worker] != 0:
            return False
        self._asked_ms[worker] = now_ms
        return True

    def forget(mut self, worker: Int):
        """Records that no answer of a worker is due: it has answered or ended.

        Args:
            worker: Its number.
        """
        self._asked_ms[worker] = 0

    def silence_ms(self, worker: Int, now_ms: Int) -> Optional[Int]:
        """Returns how long a worker has been silent, if that is too long.

        Args:
            worker: Its number.
            now_ms: The current time.

        Returns:
            The milliseconds, if they are at least half of the watchdog timeout.
        """
        if self._asked_ms[worker] == 0:
            return None
        var silent_ms = now_ms - self._asked_ms[worker]
        if silent_ms < (WATCHDOG_PARTS // 2) * self._period_ms:
            return None
        return silent_ms

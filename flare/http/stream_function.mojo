"""Erases the type of a function that writes a response piece by piece.

The function, often a closure, lies on the heap. Its caller passes the
exchange, which gives access to everything else.
"""

from flare.core import Erased, PointerTo, heap_create, heap_destroy

from .exchange import Exchange


trait ExchangeTask(Deinitable, Movable):
    """A task that works on an exchange, on the fiber of its handler."""

    @staticmethod
    def run(task: PointerTo[Self], exchange: Exchange) raises capturing:
        """Runs the task.

        Args:
            task: The task.
            exchange: The exchange.

        Raises:
            Any error; flare then resets the connection.
        """
        ...

    @staticmethod
    def held_octets(task: PointerTo[Self]) -> Int:
        """Returns how much memory the task retains until it ends.

        Args:
            task: The task.

        Returns:
            The number of octets; 0 by default.
        """
        return 0


struct StreamFunction(Movable):
    """An `ExchangeTask` of any type."""

    var _task: Erased
    var _run: def(Erased, Exchange) raises thin -> None
    # Tells what the task holds, and destroys it if asked to: a word less in
    # each response than two functions.
    var _end: def(Erased, Bool) thin -> Int

    def __init__[T: ExchangeTask](out self, var task: T):
        """Takes ownership of a task.

        Parameters:
            T: The type of the task.

        Args:
            task: The task.
        """
        self._task = heap_create(task^).unsafe_bitcast[NoneType]()
        self._run = _run[T]
        self._end = _end[T]

    def __deinit__(deinit self):
        """Destroys the task."""
        _ = self._end(self._task, True)

    def held_octets(self) -> Int:
        """Returns how much memory the task retains until it ends.

        Returns:
            The number of octets.
        """
        return self._end(self._task, False)

    def run(self, exchange: Exchange) raises:
        """Runs the task, which may wait.

        Args:
            exchange: The exchange.

        Raises:
            The error of the task.
        """
        self._run(self._task, exchange)


def _run[T: ExchangeTask](task: Erased, exchange: Exchange) raises:
    T.run(task.unsafe_bitcast[T](), exchange)


def _end[T: ExchangeTask](task: Erased, destroys: Bool) -> Int:
    if not destroys:
        return T.held_octets(task.unsafe_bitcast[T]())
    heap_destroy(task.unsafe_bitcast[T]())
    return 0

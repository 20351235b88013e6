"""Erases the type of a function that writes a response bit by bit.

The function, a closure perhaps, lies on the heap. Whoever runs it hands it the
exchange, in which the rest of the world is found.
"""

from flare.core import Erased, PointerTo, heap_create, heap_destroy

from .exchange import Exchange


trait ExchangeTask(Deinitable, Movable):
    """Does something with an exchange, on the fiber of its handler."""

    @staticmethod
    def run(task: PointerTo[Self], exchange: Exchange) raises capturing:
        """Does it.

        Args:
            task: What to do.
            exchange: The exchange.

        Raises:
            Anything: the response breaks off.
        """
        ...

    @staticmethod
    def held_octets(task: PointerTo[Self]) -> Int:
        """Returns how much the worker counts for the task until it ends.

        Args:
            task: What to do.

        Returns:
            Octets; 0 unless a type says otherwise.
        """
        return 0


struct StreamFunction(Movable):
    """Owns an `ExchangeTask` whose type nobody needs to know."""

    var _task: Erased
    var _run: def(Erased, Exchange) raises thin -> None
    # Tells what the task holds, and destroys it if asked to: a word less in
    # each response than two functions.
    var _end: def(Erased, Bool) thin -> Int

    def __init__[T: ExchangeTask](out self, var task: T):
        """Takes a task over.

        Parameters:
            T: The type of the task.

        Args:
            task: What to do.
        """
        self._task = heap_create(task^).unsafe_bitcast[NoneType]()
        self._run = _run[T]
        self._end = _end[T]

    def __deinit__(deinit self):
        """Destroys the task."""
        _ = self._end(self._task, True)

    def held_octets(self) -> Int:
        """Returns how much the task keeps until it ends.

        Returns:
            Octets.
        """
        return self._end(self._task, False)

    def run(self, exchange: Exchange) raises:
        """Runs the task; it may wait.

        Args:
            exchange: The exchange.

        Raises:
            What the task raises.
        """
        self._run(self._task, exchange)


def _run[T: ExchangeTask](task: Erased, exchange: Exchange) raises:
    T.run(task.unsafe_bitcast[T](), exchange)


def _end[T: ExchangeTask](task: Erased, destroys: Bool) -> Int:
    if not destroys:
        return T.held_octets(task.unsafe_bitcast[T]())
    heap_destroy(task.unsafe_bitcast[T]())
    return 0

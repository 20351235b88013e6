"""Erases the closure of a program that is told how a download proceeds."""

from flare.core import Erased, PointerTo


@fieldwise_init
struct Progress(TrivialRegisterPassable):
    """A view of a closure, for one call of a function."""

    var closure: Erased
    """The closure, on the heap."""
    var call: def(Erased, Int, Optional[Int]) raises thin -> None
    """Calls it with the number of octets that the file has, and the number that
    it will have, if that is known.
    """


trait _Callable(Deinitable, Movable):
    @staticmethod
    def run(
        closure: PointerTo[Self], octets: Int, size: Optional[Int]
    ) raises capturing:
        ...


struct HeldProgress[F: def(Int, Optional[Int]) raises -> None](_Callable):
    """Holds a closure on the heap.

    Parameters:
        F: The type of the closure.
    """

    var _body: Self.F

    def __init__(out self, var body: Self.F):
        """Creates a holder.

        Args:
            body: The closure.
        """
        self._body = body^

    @staticmethod
    def run(
        closure: PointerTo[Self], octets: Int, size: Optional[Int]
    ) raises capturing:
        """Calls a closure.

        Args:
            closure: The closure.
            octets: How many octets the file has.
            size: How many it will have, if that is known.

        Raises:
            The error of the closure.
        """
        closure[]._body(octets, size)


def progress_of[C: _Callable](closure: PointerTo[C]) -> Progress:
    """Returns a view of a closure.

    Parameters:
        C: The type that holds it.

    Args:
        closure: The closure, which its owner keeps.

    Returns:
        The view.
    """
    return Progress(closure.unsafe_bitcast[NoneType](), _run[C])


def _run[
    C: _Callable
](closure: Erased, octets: Int, size: Optional[Int]) raises:
    C.run(closure.unsafe_bitcast[C](), octets, size)

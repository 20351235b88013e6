"""Records the places of route parameters in a path."""

from .pattern import PARAMETERS_MAX


@fieldwise_init
struct Capture(TrivialRegisterPassable):
    """The place of one route parameter in the path."""

    var start: UInt32
    """The offset of its first octet from the start of the path."""
    var octets: UInt32
    """Its length; escapes are not decoded."""


struct Captures(Movable, Sized):
    """The captures of one match. The memory is reused.

    It lies in the heap block of a request, and `RouteTable.find` fills it.
    """

    var _count: Int
    # The methods that routers allow whose pattern matched the path, but not
    # the method.
    var _allowed: UInt64
    var _places: Array[Capture, PARAMETERS_MAX]

    def __init__(out self):
        """Creates an empty set."""
        self._count = 0
        self._allowed = 0
        self._places = Array[Capture, PARAMETERS_MAX](fill=Capture(0, 0))

    def __len__(self) -> Int:
        """Returns the number of parameters of the matched route.

        Returns:
            The number; 0 if no route matched.
        """
        return self._count

    def __getitem__(self, index: Int) -> Capture:
        """Returns one capture, in the order of the pattern.

        Args:
            index: The index, from 0; less than the number of captures.

        Returns:
            The place in the path.
        """
        debug_assert(0 <= index and index < self._count, "capture ", index)
        return self._places[index]

"""Says where the parameters of a matched route lie in the path."""

from .pattern import PARAMETERS_MAX


@fieldwise_init
struct Capture(TrivialRegisterPassable):
    """Says where one parameter lies in the path."""

    var start: UInt32
    """The offset of its first octet from the start of the path."""
    var octets: UInt32
    """Its length; the octets are as received, escapes and all."""


struct Captures(Movable, Sized):
    """Holds the captures of one match; reused, it needs no allocation.

    It lives in the heap block of a request, and `RouteTable.find` fills it.
    """

    var _count: Int
    # What the tables that matched the path, but not the method, allow.
    var _allowed: UInt64
    var _places: Array[Capture, PARAMETERS_MAX]

    def __init__(out self):
        """Makes an empty set."""
        self._count = 0
        self._allowed = 0
        self._places = Array[Capture, PARAMETERS_MAX](fill=Capture(0, 0))

    def __len__(self) -> Int:
        """Counts the parameters of the route that was found.

        Returns:
            The count; 0 if no route was found.
        """
        return self._count

    def __getitem__(self, index: Int) -> Capture:
        """Gives one capture, in the order of the pattern.

        Args:
            index: From 0; below the count.

        Returns:
            Where it lies.
        """
        debug_assert(0 <= index and index < self._count, "capture ", index)
        return self._places[index]

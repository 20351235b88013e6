"""Remembers the streams that this end has reset.

Their peer may have sent frames before it learned of that, which is no violation
(RFC 9113 section 5.1).
"""

comptime _KEPT = 32


struct RecentResets(Movable):
    """The numbers of the latest streams that this end has reset."""

    var _ids: Array[UInt32, _KEPT]
    var _next: Int
    # The highest number that had to make room for another one.
    var _forgotten_max: UInt32

    def __init__(out self):
        """Creates an empty list."""
        self._ids = Array[UInt32, _KEPT](fill=0)
        self._next = 0
        self._forgotten_max = 0

    def note(mut self, id: Int):
        """Adds a stream.

        Args:
            id: The number of the stream.
        """
        self._forgotten_max = max(self._forgotten_max, self._ids[self._next])
        self._ids[self._next] = UInt32(id)
        self._next = (self._next + 1) % _KEPT

    def may_contain(self, id: Int) -> Bool:
        """Returns whether this end may have reset a stream.

        Args:
            id: The number of a stream that has ended.

        Returns:
            False if it certainly has not. A number that is not above one that
            had to be forgotten may be any.
        """
        if UInt32(id) <= self._forgotten_max:
            return True
        for i in range(_KEPT):
            if self._ids[i] == UInt32(id):
                return True
        return False

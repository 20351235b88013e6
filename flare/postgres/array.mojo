"""Divides the binary form of an array into its elements."""

from .big_endian import read_big_endian

# Dimensions, flags, type of the elements; then length and lower bound of each
# dimension.
comptime _HEADER_OCTETS = 12
comptime _DIMENSION_OCTETS = 8
comptime _LENGTH_OCTETS = 4
comptime _MALFORMED: StaticString = "is no array in binary form"


@fieldwise_init
struct ArrayElement(TrivialRegisterPassable):
    """One element of an array, or none."""

    var type_id: Int
    """The object id of its type; 0 if this is none."""
    var octets: Span[mut=False, UInt8, ImmUntrackedOrigin]
    """Its value; it belongs to the result."""
    var is_null: Bool
    """Whether it is NULL."""

    def __init__(out self):
        """Creates no element."""
        self = Self(0, Span[mut=False, UInt8, ImmUntrackedOrigin](), True)


struct ArrayReader(Movable):
    """Reads the elements of an array of one dimension, one after another."""

    var count: Int
    """The number of elements."""
    var fault: StaticString
    """The reason why it cannot be read; empty if it can."""
    var _octets: Span[mut=False, UInt8, ImmUntrackedOrigin]
    var _at: Int
    var _type_id: Int

    def __init__(out self, octets: Span[mut=False, UInt8, ImmUntrackedOrigin]):
        """Creates a reader, and reads the header.

        Args:
            octets: The binary form, which outlives this value.
        """
        self.count = 0
        self.fault = ""
        self._octets = octets
        self._at = _HEADER_OCTETS
        self._type_id = 0
        if len(octets) < _HEADER_OCTETS:
            self.fault = _MALFORMED
            return
        var dimensions = read_big_endian(octets[:4])
        self._type_id = read_big_endian(octets[8:12]) & 0xFFFF_FFFF
        if dimensions == 0:
            if len(octets) > _HEADER_OCTETS:
                self.fault = _MALFORMED
            return
        if dimensions != 1:
            self.fault = "has more than one dimension"
            return
        self._at += _DIMENSION_OCTETS
        if len(octets) < self._at:
            self.fault = _MALFORMED
            return
        self.count = read_big_endian(octets[12:16])
        # Each element has a length at least.
        if not 0 <= self.count <= (len(octets) - self._at) // _LENGTH_OCTETS:
            self.count = 0
            self.fault = _MALFORMED

    def next(mut self) -> ArrayElement:
        """Reads the next element. Call it `count` times, unless there is a fault.

        Returns:
            The element.
        """
        var element = ArrayElement(self._type_id, self._octets[:0], True)
        var start = self._at + _LENGTH_OCTETS
        if start > len(self._octets):
            self.fault = _MALFORMED
            return element
        var length = read_big_endian(self._octets[self._at : start])
        self._at = start
        if length == -1:
            return element
        if not 0 <= length <= len(self._octets) - start:
            self.fault = _MALFORMED
            return element
        self._at += length
        element.octets = self._octets[start : self._at]
        element.is_null = False
        return element

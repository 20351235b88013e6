"""Reads Content-Range, the range that a server sends (RFC 9110 section 14.4)."""

from flare.core import equals_lower, find_octet
from flare.message.list_grammar import trim_blanks
from flare.proto.h1.grammar import decimal_value

comptime _UNIT: StaticString = "bytes "
comptime _MINUS: UInt8 = 45
comptime _SLASH: UInt8 = 47
comptime _ASTERISK: UInt8 = 42


@fieldwise_init
struct ContentRange(TrivialRegisterPassable):
    """A range of a representation whose length is known."""

    var start: Int
    """The first octet, from 0."""
    var end: Int
    """The position after the last octet. It equals `start` if the server sends
    nothing, because the representation has no more than `start` octets.
    """
    var size: Int
    """The length of the representation."""

    @staticmethod
    def parse(value: Span[UInt8, _]) -> Optional[Self]:
        """Parses a value of Content-Range.

        Args:
            value: The value, unchecked.

        Returns:
            The range: `bytes 2-4/9`, or an empty one at the end for
            `bytes */9`. `None` if the value is malformed, has another unit, or
            does not say how long the representation is.
        """
        var count = _UNIT.byte_length()
        if len(value) < count or not equals_lower(
            value[:count], _UNIT.as_bytes()
        ):
            return None
        var range = trim_blanks(value[count:])
        var slash = find_octet(range, _SLASH)
        if slash == len(range):
            return None
        var size = decimal_value(range[slash + 1 :])
        if size < 0:
            return None
        if slash == 1 and range[0] == _ASTERISK:
            return Self(size, size, size)
        var minus = find_octet(range[:slash], _MINUS)
        if minus == slash:
            return None
        var first = decimal_value(range[:minus])
        var last = decimal_value(range[minus + 1 : slash])
        if not 0 <= first <= last < size:
            return None
        return Self(first, last + 1, size)

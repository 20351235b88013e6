"""Reads Content-Range, the range that a server sends (RFC 9110 section 14.4)."""

from flare.core import equals_lower, find_octet
from flare.message.list_grammar import trim_blanks

comptime _UNIT: StaticString = "bytes "
comptime _MINUS: UInt8 = 45
comptime _SLASH: UInt8 = 47
comptime _ASTERISK: UInt8 = 42
comptime _ZERO: UInt8 = 48
comptime _DIGITS_MAX = 18


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
        var size = number_of(range[slash + 1 :])
        if not size:
            return None
        if slash == 1 and range[0] == _ASTERISK:
            return Self(size.value(), size.value(), size.value())
        var minus = find_octet(range[:slash], _MINUS)
        if minus == slash:
            return None
        var first = number_of(range[:minus])
        var last = number_of(range[minus + 1 : slash])
        if (
            not first
            or not last
            or not first.value() <= last.value() < size.value()
        ):
            return None
        return Self(first.value(), last.value() + 1, size.value())


def number_of(digits: Span[UInt8, _]) -> Optional[Int]:
    """Parses a number of octets.

    Args:
        digits: The digits, unchecked.

    Returns:
        The number; `None` if the octets are no digits, or more than 18.
    """
    if len(digits) == 0 or len(digits) > _DIGITS_MAX:
        return None
    var number = 0
    for octet in digits:
        var digit = Int(octet - _ZERO)
        if digit > 9:
            return None
        number = number * 10 + digit
    return number

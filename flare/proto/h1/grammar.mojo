"""Parses the field values that affect framing and persistence."""

from flare.core import equals_lower, find_octet, is_token
from flare.message.list_grammar import COMMA, trim_blanks

from .error import H1Error


struct ConnectionOption:
    """The connection options with a meaning (RFC 9110 section 7.6.1)."""

    comptime CLOSE: UInt8 = 1
    """`close`: no further exchange on this connection."""
    comptime KEEP_ALIVE: UInt8 = 2
    """`keep-alive`: an HTTP/1.0 peer asks for persistence."""
    comptime UPGRADE: UInt8 = 4
    """`upgrade`: the Upgrade field is for this recipient."""


@always_inline
def decimal_value(value: Span[UInt8, _]) -> Int:
    """Returns the value of decimal digits.

    Args:
        value: Any octets.

    Returns:
        The number, or -1 if they are not one to eighteen digits.
    """
    if len(value) == 0 or len(value) > 18:
        return -1
    var number = 0
    for i in range(len(value)):
        var digit = value.unsafe_get(i) - 48
        if digit > 9:
            return -1
        number = number * 10 + Int(digit)
    return number


def parse_content_length(value: Span[UInt8, _]) raises H1Error -> Int:
    """Parses the value of Content-Length (RFC 9110 section 8.6).

    Args:
        value: The field value.

    Returns:
        The number.

    Raises:
        H1Error: If it is not one to nineteen digits or does not fit an Int.
    """
    if len(value) == 0 or len(value) > 19:
        raise H1Error.broken["Content-Length is empty or too long"]()
    var number: UInt64 = 0
    for i in range(len(value)):
        var digit = value.unsafe_get(i) - 48
        if digit > 9:
            raise H1Error.broken["Content-Length is not a number"]()
        number = number * 10 + UInt64(digit)
    # Nineteen nines fit 64 bits unsigned, not signed.
    if number > UInt64(Int.MAX):
        raise H1Error.broken["Content-Length is out of range"]()
    return Int(number)


def parse_connection(value: Span[UInt8, _]) raises H1Error -> UInt8:
    """Parses the value of Connection (RFC 9110 section 7.6.1).

    Empty list members are skipped (RFC 9110 section 5.6.1.2).

    Args:
        value: The field value.

    Returns:
        Bits of `ConnectionOption`; other options are ignored.

    Raises:
        H1Error: If a member is not a token.
    """
    # The values that browsers send are recognized at once.
    if equals_lower(value, StaticString("keep-alive").as_bytes()):
        return ConnectionOption.KEEP_ALIVE
    var options: UInt8 = 0
    var start = 0
    while True:
        var end = find_octet(value, COMMA, start)
        var option = trim_blanks(value[start:end])
        if equals_lower(option, StaticString("keep-alive").as_bytes()):
            options |= ConnectionOption.KEEP_ALIVE
        elif equals_lower(option, StaticString("close").as_bytes()):
            options |= ConnectionOption.CLOSE
        elif equals_lower(option, StaticString("upgrade").as_bytes()):
            options |= ConnectionOption.UPGRADE
        elif len(option) > 0 and not is_token(option):
            raise H1Error.broken["Connection is not a list of tokens"]()
        if end == len(value):
            return options
        start = end + 1

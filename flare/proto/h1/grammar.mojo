"""Parses the field values that affect framing and persistence."""

from flare.core import (
    SPACE,
    TAB,
    equals_ignoring_case,
    equals_lower,
    find_octet,
    is_token,
)

from .error import H1Error

comptime COMMA: UInt8 = 44
"""The octet between list members (RFC 9110 section 5.6.1)."""


struct ConnectionOption:
    """The connection options with a meaning (RFC 9110 section 7.6.1)."""

    comptime CLOSE: UInt8 = 1
    """`close`: no further exchange on this connection."""
    comptime KEEP_ALIVE: UInt8 = 2
    """`keep-alive`: an HTTP/1.0 peer asks for persistence."""
    comptime UPGRADE: UInt8 = 4
    """`upgrade`: the Upgrade field is for this recipient."""


@always_inline
def is_blank(octet: UInt8) -> Bool:
    """Returns whether an octet is optional white space.

    Args:
        octet: Any octet.

    Returns:
        True for a space and a tab (RFC 9110 section 5.6.3).
    """
    return octet == SPACE or octet == TAB


@always_inline
def trim_blanks[
    origin: Origin
](octets: Span[UInt8, origin]) -> Span[UInt8, origin]:
    """Returns octets without optional white space at both ends.

    Parameters:
        origin: The origin of the octets.

    Args:
        octets: Any octets.

    Returns:
        The octets in between.
    """
    var start = 0
    var end = len(octets)
    while start < end and is_blank(octets.unsafe_get(start)):
        start += 1
    while end > start and is_blank(octets.unsafe_get(end - 1)):
        end -= 1
    return octets[start:end]


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
        raise H1Error.broken["Content-Length is empty or too long"](400)
    var number: UInt64 = 0
    for i in range(len(value)):
        var digit = value.unsafe_get(i) - 48
        if digit > 9:
            raise H1Error.broken["Content-Length is not a number"](400)
        number = number * 10 + UInt64(digit)
    # Nineteen nines fit 64 bits unsigned, not signed.
    if number > UInt64(Int.MAX):
        raise H1Error.broken["Content-Length is out of range"](400)
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
            raise H1Error.broken["Connection is not a list of tokens"](400)
        if end == len(value):
            return options
        start = end + 1


def lists_member(value: Span[UInt8, _], member: Span[UInt8, _]) -> Bool:
    """Returns whether a comma-separated list has a member (RFC 9110 section
    5.6.1).

    Args:
        value: The field value, unchecked.
        member: The member, in any case; not empty (RFC 9110 section 5.6.1.2)
            and without a comma.

    Returns:
        True if the list contains the member.
    """
    if len(member) == 0:
        return False
    var start = 0
    while start < len(value):
        var end = find_octet(value, COMMA, start)
        if equals_ignoring_case(trim_blanks(value[start:end]), member):
            return True
        start = end + 1
    return False

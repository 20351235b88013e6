"""Reads field values that are lists (RFC 9110 section 5.6)."""

from flare.core import SPACE, TAB, equals_ignoring_case, find_octet

comptime COMMA: UInt8 = 44
"""The octet between list members (RFC 9110 section 5.6.1)."""
comptime WEIGHT_MAX = 1000
"""The greatest weight, in thousandths (RFC 9110 section 12.4.2)."""


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


def read_weight(octets: Span[UInt8, _]) -> Int:
    """Parses the weight of a list member (RFC 9110 section 12.4.2).

    Args:
        octets: The parameter, without blanks around it: `q=`, 0 or 1, and at
            most three digits.

    Returns:
        The weight in thousandths; -1 if the octets are not a weight.
    """
    var count = len(octets)
    if (
        count < 3
        or count > 7
        or not equals_ignoring_case(octets[:2], "q=".as_bytes())
    ):
        return -1
    var whole = octets[2] - 48
    if whole > 1:
        return -1
    if count == 3:
        return Int(whole) * WEIGHT_MAX
    if octets[3] != UInt8(ord(".")):
        return -1
    var weight = 0
    for i in range(4, 7):
        var digit = octets[i] - 48 if i < count else 0
        if digit > 9 or (whole == 1 and digit != 0):
            return -1
        weight = weight * 10 + Int(digit)
    return WEIGHT_MAX if whole == 1 else weight

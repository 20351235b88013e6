"""Reads priorities (RFC 9218 section 4)."""

from flare.core import equals, find_octet
from flare.message.list_grammar import trim_blanks

comptime _COMMA: UInt8 = 44


@fieldwise_init
struct H2Priority(Equatable, TrivialRegisterPassable):
    """The priority of a response."""

    var urgency: UInt8
    """0 to 7; a lower number comes first."""
    var is_incremental: Bool
    """Whether parts of the response are of use."""

    def __init__(out self):
        """Creates the priority of a response without one."""
        self.urgency = 3
        self.is_incremental = False


def parse_priority(
    value: Span[UInt8, _], before: H2Priority = H2Priority()
) -> H2Priority:
    """Reads the value of a Priority field.

    Args:
        value: The value. Members that are unknown or malformed have no effect
            (section 4).
        before: The priority for parameters that the value lacks.

    Returns:
        The priority.
    """
    var priority = before
    var start = 0
    while start < len(value):
        var end = find_octet(value, _COMMA, start)
        _take(value[start:end], priority)
        start = end + 1
    return priority


def _take(member: Span[UInt8, _], mut priority: H2Priority):
    var text = trim_blanks(member)
    if equals(text, "i".as_bytes()) or equals(text, "i=?1".as_bytes()):
        priority.is_incremental = True
    elif equals(text, "i=?0".as_bytes()):
        priority.is_incremental = False
    elif len(text) == 3 and equals(text[:2], "u=".as_bytes()):
        var urgency = text.unsafe_get(2) - 48
        if urgency <= 7:
            priority.urgency = urgency

"""Reads priorities (RFC 9218 section 4)."""

from flare.core import SPACE, TAB

comptime _COMMA: UInt8 = 44
comptime _EQUALS: UInt8 = 61
comptime _QUESTION: UInt8 = 63


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
    for at in range(len(value) + 1):
        if at == len(value) or value.unsafe_get(at) == _COMMA:
            _take(value[start:at], priority)
            start = at + 1
    return priority


def _take(member: Span[UInt8, _], mut priority: H2Priority):
    var text = _trimmed(member)
    if len(text) == 3 and text[0] == 117 and text[1] == _EQUALS:
        if text[2] >= 48 and text[2] <= 55:
            priority.urgency = text[2] - 48
    elif len(text) == 1 and text[0] == 105:
        priority.is_incremental = True
    elif (
        len(text) == 4
        and text[0] == 105
        and text[1] == _EQUALS
        and text[2] == _QUESTION
        and (text[3] == 48 or text[3] == 49)
    ):
        priority.is_incremental = text[3] == 49


def _trimmed[
    origin: ImmOrigin
](text: Span[UInt8, origin]) -> Span[UInt8, origin]:
    var first = 0
    var end = len(text)
    while first < end and (text[first] == SPACE or text[first] == TAB):
        first += 1
    while end > first and (text[end - 1] == SPACE or text[end - 1] == TAB):
        end -= 1
    return text[first:end]

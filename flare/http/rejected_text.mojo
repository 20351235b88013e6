"""Explains to a client's author which part of a request is refused, and why.

Texts of the client are escaped and shortened, so that they are safe in logs,
terminals and pages.
"""

from flare.core import write_escaped

comptime REJECTED: StaticString = "http.rejected "
"""The start of a `Rejection`'s text; a status follows."""
comptime _SHOWN_OCTETS_MAX = 64


@no_inline
def refused_text(octets: Span[UInt8, _], problem: StringSlice) -> String:
    """Returns why a value of a client is refused.

    Args:
        octets: The value; escaped and shortened in the text.
        problem: The reason: a fixed phrase.

    Returns:
        A text such as `expected a number, got 'abc'`.
    """
    var text = String(problem, ", got ")
    _write_shown(octets, text)
    return text^


@no_inline
def expected_type[
    origin: ImmOrigin
](wanted: StringSlice, sent: Optional[StringSlice[origin]]) -> String:
    """Returns a sentence about content of another type than a handler reads.

    Parameters:
        origin: The origin of the received type.

    Args:
        wanted: The type that the handler reads.
        sent: The client's Content-Type; escaped and shortened in the text.

    Returns:
        The sentence, for the author of the client.
    """
    var text = String("expected content of type ", wanted)
    if not sent:
        text += ", but the request has no Content-Type"
        return text^
    text += ", got "
    _write_shown(sent.value().as_bytes(), text)
    return text^


def _write_shown(octets: Span[UInt8, _], mut text: String):
    var shown = min(len(octets), _SHOWN_OCTETS_MAX)
    text += "'"
    write_escaped(octets[:shown], text)
    text += "'" if shown == len(octets) else "...'"

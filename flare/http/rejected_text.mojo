"""Explains to a client's author which part of a request is refused, and why.

Texts of the client are escaped and shortened, so that they are safe in logs,
terminals and pages.
"""

from flare.core import write_escaped
from flare.message import Status

comptime REJECTED: StaticString = "http.rejected "
"""The start of a `Rejection`'s text; a status follows."""
comptime _SHOWN_OCTETS_MAX = 64


@no_inline
def rejected_value(
    name: StringSlice, octets: Span[UInt8, _], problem: StringSlice
) -> Error:
    """Returns the error that refuses a value of a client.

    Args:
        name: The parameter or field; escaped in the text.
        octets: The value; escaped and shortened in the text.
        problem: The reason: a fixed phrase.

    Returns:
        An error that is answered 400, such as
        `id: expected a number, got 'abc'`.
    """
    var text = String(REJECTED, Status.BAD_REQUEST, " ")
    write_escaped(name.as_bytes(), text)
    text.write(": ", problem, ", got ")
    _write_shown(octets, text)
    return Error(text^)


@no_inline
def rejected_field(name: StringSlice, problem: StringSlice) -> Error:
    """Returns the error that refuses a field without showing its value.

    Args:
        name: The field; escaped in the text.
        problem: The reason: a fixed phrase.

    Returns:
        An error that is answered 400, such as `age: the field is missing`.
    """
    var text = String(REJECTED, Status.BAD_REQUEST, " ")
    write_escaped(name.as_bytes(), text)
    text.write(": ", problem)
    return Error(text^)


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

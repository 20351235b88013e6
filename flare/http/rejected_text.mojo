"""Says to the author of a client which part of a request is refused, and why.

What a client has sent is shown escaped and cut, so that neither a log nor a
terminal nor a page is changed by it.
"""

from flare.core import write_escaped
from flare.message import Status

comptime REJECTED: StaticString = "http.rejected "
"""The start of the error that a `Rejection` is; a status follows."""
comptime _SHOWN_OCTETS_MAX = 64


@no_inline
def rejected_value(
    name: StringSlice, octets: Span[UInt8, _], problem: StringSlice
) -> Error:
    """Makes the rejection of a value that a client sent.

    Args:
        name: The parameter or field that has the value; shown escaped.
        octets: The value; shown escaped, and cut if it is long.
        problem: What is wrong with it: a fixed phrase.

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
    """Makes the rejection of a field whose value is not to be shown.

    Args:
        name: The field; shown escaped.
        problem: What is wrong with it: a fixed phrase.

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
    """Says that content is of another type than a handler reads.

    Parameters:
        origin: What keeps the received type alive.

    Args:
        wanted: The type that the handler reads.
        sent: What the client says in Content-Type; shown escaped, and cut if it
            is long.

    Returns:
        A sentence for the author of the client.
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

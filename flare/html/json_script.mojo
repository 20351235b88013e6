"""Hands data to the scripts of a page."""

from flare.core import OctetSet, find_member, find_octet
from flare.core.text_buffer import TextBuffer
from flare.json import dumps

from .escaping import append_escaped
from .markup import Markup

# Only strings contain them.
comptime _SPECIAL = OctetSet.of("<>&")
# The first octet of U+2028 and U+2029, which were ends of lines in JavaScript.
comptime _SEPARATOR_START: UInt8 = 0xE2


def json_script[T: AnyType, //](id: StringSlice, value: T) raises -> Markup:
    """Returns an element with data for the scripts of a page.

    A script reads it with `JSON.parse(document.getElementById(id).textContent)`.

    Parameters:
        T: A type that conforms to `ToJson`.

    Args:
        id: The identifier of the element.
        value: The data.

    Returns:
        A `<script type="application/json">`, which no browser runs.

    Raises:
        The text of a `JsonError` if a number is NaN or infinite, or the error
        of a `to_json` of the program.
    """
    var json = dumps(value)
    var buffer = TextBuffer()
    buffer.append('<script type="application/json" id="')
    append_escaped(buffer, id.as_bytes())
    buffer.append('">')
    _append_json(buffer, json.as_bytes())
    buffer.append("</script>")
    return Markup(unsafe_text=buffer.take())


def _append_json(mut buffer: TextBuffer, json: Span[UInt8, _]):
    var at = 0
    # Each is looked for once more after it has been written.
    var special = find_member[_SPECIAL](json)
    var separator = find_octet(json, _SEPARATOR_START)
    while True:
        var end = min(special, separator)
        buffer.append(json.unsafe_subspan(offset=at, length=end - at))
        if end == len(json):
            return
        if end == special:
            buffer.append(_escape_of(json[end]))
            at = end + 1
            special = find_member[_SPECIAL](json, at)
            continue
        at = end + (3 if _is_separator(json, end) else 1)
        if at == end + 3:
            buffer.append("\\u202")
            # 0xA8 and 0xA9 become 8 and 9.
            buffer.append_octet(json[end + 2] - 0xA8 + 56)
        else:
            buffer.append_octet(_SEPARATOR_START)
        separator = find_octet(json, _SEPARATOR_START, at)


def _escape_of(octet: UInt8) -> StaticString:
    if octet == UInt8(ord("<")):
        return "\\u003c"
    return "\\u003e" if octet == UInt8(ord(">")) else "\\u0026"


def _is_separator(json: Span[UInt8, _], at: Int) -> Bool:
    return (
        at + 2 < len(json)
        and json[at + 1] == 0x80
        and (json[at + 2] == 0xA8 or json[at + 2] == 0xA9)
    )

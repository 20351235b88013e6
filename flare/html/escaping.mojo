"""Writes text so that no octet of it is read as markup."""

from flare.core import OctetSet, find_member
from flare.core.text_buffer import TextBuffer

comptime _SPECIAL = OctetSet.of("&<>\"'\0")


def append_escaped(mut buffer: TextBuffer, text: Span[UInt8, _]):
    """Writes a text with references in place of `&`, `<`, `>` and quotes, and
    U+FFFD in place of NUL, which no document may have.

    That is enough between two tags and in a quoted value (WHATWG HTML sections
    13.2.5.1, 13.2.5.36 and 13.2.5.37).

    Args:
        buffer: The destination.
        text: Any octets.
    """
    var at = 0
    while True:
        var end = find_member[_SPECIAL](text, at)
        buffer.append(text.unsafe_subspan(offset=at, length=end - at))
        if end == len(text):
            return
        buffer.append(_reference(text.unsafe_get(end)))
        at = end + 1


@no_inline
def _reference(octet: UInt8) -> StaticString:
    if octet == UInt8(ord("&")):
        return "&amp;"
    if octet == UInt8(ord("<")):
        return "&lt;"
    if octet == UInt8(ord(">")):
        return "&gt;"
    if octet == 0:
        return "\uFFFD"
    # In decimal: `&apos;` is no name of HTML 4.
    return "&quot;" if octet == UInt8(ord('"')) else "&#39;"

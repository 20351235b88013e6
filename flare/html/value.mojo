"""Writes a value in the form of its place."""

from flare.core.text_buffer import TextBuffer

from .escaping import append_escaped
from .template_reader import HoleKind
from .url import (
    append_address,
    append_path,
    append_query,
    separate_slashes,
    url,
)


def append_value(mut buffer: TextBuffer, kind: UInt8, text: StringSlice):
    """Writes the text of a value.

    Args:
        buffer: The destination.
        kind: The place, one of `HoleKind`.
        text: The text; in a URL before `?`, the whole of it.
    """
    if kind == HoleKind.URL:
        append_escaped(buffer, url(text).as_bytes())
    elif kind == HoleKind.PATH:
        append_path(buffer, text.as_bytes())
    elif kind == HoleKind.ADDRESS:
        append_address(buffer, text.as_bytes())
    elif kind == HoleKind.QUERY:
        append_query(buffer, text.as_bytes())
    else:
        append_escaped(buffer, text.as_bytes())


def append_constant(mut buffer: TextBuffer, after: UInt8, text: Span[UInt8, _]):
    """Writes constant text after a value.

    Args:
        buffer: The destination.
        after: The place of the value, one of `HoleKind`.
        text: The text.
    """
    if after == HoleKind.URL or after == HoleKind.PATH:
        separate_slashes(buffer, text)
    buffer.append(text)

"""Markup: text of a document that is not escaped again."""

# A view of no octets inside of this text goes before markup. No other value can write
# it, and other writers write nothing for it.
comptime _MARK: StaticString = "flare.html: markup follows"


struct Markup(Copyable, Movable, Sized, Writable):
    """A piece of a document, whose tags are whole.

    `html` makes it. In another template, it is not escaped.
    """

    var _text: String

    def __init__(out self):
        """Creates an empty piece."""
        self._text = String()

    def __init__(out self, *, var unsafe_text: String):
        """Creates markup from a text.

        Args:
            unsafe_text: The text.

        Safety:
            No part of it comes from a client, unless it was escaped.
        """
        self._text = unsafe_text^

    def __len__(self) -> Int:
        """Returns the length.

        Returns:
            The number of octets.
        """
        return self._text.byte_length()

    def text(self) -> StringSlice[origin_of(self._text)]:
        """Returns the text.

        Returns:
            A view of it.
        """
        return StringSlice(self._text)

    def into_string(deinit self) -> String:
        """Returns the text without a copy.

        Returns:
            The text, for a response.
        """
        return self._text^

    def write_to(self, mut writer: Some[Writer]):
        """Writes the text.

        Args:
            writer: The destination.
        """
        writer.write_string(_mark())
        writer.write_string(StringSlice(self._text))


def raw(var text: String) -> Markup:
    """Returns a text as markup, without escaping it.

    Args:
        text: The text.

    Returns:
        The markup.

    Safety:
        No part of the text comes from a client: it could be a script.
    """
    return Markup(unsafe_text=text^)


@always_inline
def is_mark(text: StringSlice) -> Bool:
    """Returns whether markup follows a piece of text.

    Args:
        text: The piece that a value has written.

    Returns:
        True before the text of `Markup`.
    """
    return text.byte_length() == 0 and Int(text.unsafe_ptr()) == Int(
        StaticString(_MARK).unsafe_ptr().unsafe_offset(1)
    )


def _mark() -> StaticString:
    return StaticString(
        unsafe_from_utf8=StaticString(_MARK)
        .as_bytes()
        .unsafe_subspan(offset=1, length=0)
    )

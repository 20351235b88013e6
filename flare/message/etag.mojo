"""Defines entity tags, and finds them in lists (RFC 9110 section 8.8.3).

A tag is compared in the form in which it is sent. So a comparison is one of
octets, and copies nothing.
"""

from flare.core import equals, find_octet

from .list_grammar import COMMA, is_blank

comptime _QUOTE: UInt8 = 34
comptime _DELETE: UInt8 = 127
comptime _WEAK: StaticString = "W/"


struct ETag(Copyable, Movable, Writable):
    """An entity tag: a text that changes whenever the representation does.

    A strong tag changes with every octet. A weak one may stay the same while
    the meaning does, so it suits no ranges and no If-Match.
    """

    # As it is sent: with its quotation marks, and `W/` if it is weak.
    var _wire: String

    def __init__(out self, *, unsafe_wire: Span[UInt8, _]):
        """Creates a tag from the form in which it is sent.

        Args:
            unsafe_wire: The form.

        Safety:
            `parse` would accept the octets.
        """
        # `String(unsafe_from_utf8=…)` would assert UTF-8, which the octets of a
        # peer need not be.
        self._wire = String(StringSlice(unsafe_from_utf8=unsafe_wire))

    @staticmethod
    def strong(text: StringSlice) raises -> Self:
        """Creates a strong tag.

        Args:
            text: A version, a digest, or any other text without blanks,
                control characters and quotation marks.

        Returns:
            The tag.

        Raises:
            An error `message.bad_etag` if the text has such a character.
        """
        return Self._of(String('"', text, '"'))

    @staticmethod
    def strong(version: Int) -> Self:
        """Creates a strong tag from a number.

        Args:
            version: The version of the representation.

        Returns:
            The tag.
        """
        return Self(unsafe_wire=String('"', version, '"').as_bytes())

    @staticmethod
    def weak(text: StringSlice) raises -> Self:
        """Creates a weak tag.

        Args:
            text: As for `strong`.

        Returns:
            The tag.

        Raises:
            An error `message.bad_etag` if the text has a character that no tag
            can contain.
        """
        return Self._of(String(_WEAK, '"', text, '"'))

    @staticmethod
    def weak(version: Int) -> Self:
        """Creates a weak tag from a number.

        Args:
            version: The version of the representation.

        Returns:
            The tag.
        """
        return Self(unsafe_wire=String(_WEAK, '"', version, '"').as_bytes())

    @staticmethod
    def parse(octets: Span[UInt8, _]) -> Optional[Self]:
        """Parses the value of an ETag field.

        Args:
            octets: The whole value.

        Returns:
            The tag; `None` if the octets are not one tag.
        """
        if not _is_etag(octets):
            return None
        return Self(unsafe_wire=octets)

    def is_weak(self) -> Bool:
        """Returns whether the tag is weak.

        Returns:
            True if it begins with `W/`.
        """
        return not is_strong_etag(self._wire.as_bytes())

    def text(self) -> StringSlice[origin_of(self)]:
        """Returns the tag as it is sent.

        Returns:
            A view with the quotation marks: `"a"` or `W/"a"`.
        """
        return rebind[StringSlice[origin_of(self)]](StringSlice(self._wire))

    def octets(self) -> Span[UInt8, origin_of(self)]:
        """Returns the tag as it is sent.

        Returns:
            A view of the octets of `text`.
        """
        return self.text().as_bytes()

    def matches_strongly(self, other: Self) -> Bool:
        """Returns whether two tags are equal by the strong comparison.

        Args:
            other: The other tag.

        Returns:
            True if they are equal and neither is weak.
        """
        return etags_match[strong=True](self.octets(), other.octets())

    def matches_weakly(self, other: Self) -> Bool:
        """Returns whether two tags are equal by the weak comparison.

        Args:
            other: The other tag.

        Returns:
            True if they are equal, weak or not.
        """
        return etags_match[strong=False](self.octets(), other.octets())

    def write_to(self, mut writer: Some[Writer]):
        """Writes the tag as it is sent.

        Args:
            writer: The destination.
        """
        writer.write(self._wire)

    @staticmethod
    @no_inline
    def _of(wire: String) raises -> Self:
        if not _is_etag(wire.as_bytes()):
            raise Error("message.bad_etag a character that no tag can contain")
        return Self(unsafe_wire=wire.as_bytes())


def is_strong_etag(octets: Span[UInt8, _]) -> Bool:
    """Returns whether a tag is strong.

    Args:
        octets: A tag as it is sent.

    Returns:
        True if it begins with its quotation mark.
    """
    return len(octets) > 0 and octets.unsafe_get(0) == _QUOTE


def etags_match[*, strong: Bool](a: Span[UInt8, _], b: Span[UInt8, _]) -> Bool:
    """Returns whether two tags are equal (RFC 9110 section 8.8.3.2).

    Parameters:
        strong: Whether a weak tag matches no other tag.

    Args:
        a: A tag as it is sent.
        b: Another one.

    Returns:
        True if they match.
    """
    comptime if strong:
        return is_strong_etag(a) and equals(a, b)
    else:
        return equals(_opaque(a), _opaque(b))


def lists_etag[
    *, strong: Bool
](value: Span[UInt8, _], tag: Span[UInt8, _]) -> Bool:
    """Returns whether a list of tags has one that matches.

    Members after a malformed one do not count, because its end is uncertain.

    Parameters:
        strong: Whether the comparison is the strong one.

    Args:
        value: The value of an If-Match or If-None-Match field, unchecked.
        tag: A tag as it is sent.

    Returns:
        True if one matches.
    """
    var count = len(value)
    var at = 0
    while True:
        # A list may have empty members (RFC 9110 section 5.6.1.2).
        while at < count and _divides(value.unsafe_get(at)):
            at += 1
        var end = _end_of_etag(value, at)
        if end < 0:
            return False
        var next = end
        while next < count and is_blank(value.unsafe_get(next)):
            next += 1
        if next < count and value.unsafe_get(next) != COMMA:
            return False
        if etags_match[strong=strong](value[at:end], tag):
            return True
        at = next


@always_inline
def _divides(octet: UInt8) -> Bool:
    return octet == COMMA or is_blank(octet)


def _end_of_etag(octets: Span[UInt8, _], start: Int) -> Int:
    # Returns the octet after the tag, or -1. The octets between the quotation
    # marks are not checked: a tag that is compared with has only allowed ones.
    var at = start
    if len(octets) - at >= 2 and equals(octets[at : at + 2], _WEAK.as_bytes()):
        at += 2
    if at >= len(octets) or octets.unsafe_get(at) != _QUOTE:
        return -1
    var end = find_octet(octets, _QUOTE, at + 1)
    return end + 1 if end < len(octets) else -1


def _is_etag(octets: Span[UInt8, _]) -> Bool:
    if _end_of_etag(octets, 0) != len(octets):
        return False
    var opaque = _opaque(octets)
    # RFC 9110 section 8.8.3: visible octets, and those over 127.
    for octet in opaque:
        if octet <= 32 or octet == _DELETE:
            return False
    return True


@always_inline
def _opaque[origin: Origin](octets: Span[UInt8, origin]) -> Span[UInt8, origin]:
    # A tag without its mark of weakness.
    return octets if is_strong_etag(octets) else octets[min(2, len(octets)) :]

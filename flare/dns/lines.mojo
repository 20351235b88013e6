"""Cuts the text files of the system into lines, and lines into fields."""

from flare.core import find_octet

comptime LINE_OCTETS_MAX = 4096
"""The longest line; a longer one is passed over."""

comptime _LF: UInt8 = 10


@fieldwise_init
struct Piece(TrivialRegisterPassable):
    """Says where a line or a field stands in its file."""

    var start: Int
    """Its first octet."""
    var end: Int
    """The octet behind it."""


@fieldwise_init
struct Lines(ImplicitlyCopyable):
    """Goes through the lines of a file."""

    var at: Int
    """Where the next line begins."""

    def next(mut self, octets: Span[UInt8, _]) -> Optional[Piece]:
        """Goes to the next line that is not too long.

        Args:
            octets: The file.

        Returns:
            The line without its end, or none behind the last.
        """
        while self.at < len(octets):
            var start = self.at
            var end = find_octet(octets, _LF, start)
            self.at = end + 1
            if end - start <= LINE_OCTETS_MAX:
                return Piece(start, end)
        return None


@fieldwise_init
struct Fields(ImplicitlyCopyable):
    """Goes through the fields of a line; white space divides them."""

    var line: Piece
    """What is left of the line."""
    var comment: UInt8
    """The octet that ends the line wherever it stands; a line feed for none."""

    def next(mut self, octets: Span[UInt8, _]) -> Optional[Piece]:
        """Goes to the next field.

        Args:
            octets: The file.

        Returns:
            The field, or none behind the last.
        """
        var at = self.line.start
        var end = self.line.end
        while at < end and _is_blank(octets[at]):
            at += 1
        var start = at
        while (
            at < end
            and not _is_blank(octets[at])
            and octets[at] != self.comment
        ):
            at += 1
        if at < end and octets[at] == self.comment:
            self.line.end = at
        self.line.start = at
        if at == start:
            return None
        return Piece(start, at)


def _is_blank(octet: UInt8) -> Bool:
    # Space, tab, vertical tab, form feed, carriage return: what C calls space.
    return octet == 32 or (octet >= 9 and octet <= 13)

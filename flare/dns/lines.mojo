"""Splits the system's text files into lines, and lines into fields."""

from flare.core import find_octet

comptime LINE_OCTETS_MAX = 4096
"""The longest line; longer ones are ignored."""

comptime _LF: UInt8 = 10


@fieldwise_init
struct Piece(TrivialRegisterPassable):
    """The place of a line or a field in its file."""

    var start: Int
    """Its first octet."""
    var end: Int
    """The octet after it."""


@fieldwise_init
struct Lines(ImplicitlyCopyable):
    """Iterates over the lines of a file."""

    var at: Int
    """The start of the next line."""

    def next(mut self, octets: Span[UInt8, _]) -> Optional[Piece]:
        """Returns the next line that is not too long.

        Args:
            octets: The file.

        Returns:
            The line without its end; `None` after the last one.
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
    """Iterates over the fields of a line, which white space separates."""

    var line: Piece
    """The rest of the line."""
    var comment: UInt8
    """The octet that starts a comment anywhere; a line feed for none."""

    def next(mut self, octets: Span[UInt8, _]) -> Optional[Piece]:
        """Returns the next field.

        Args:
            octets: The file.

        Returns:
            The field; `None` after the last one.
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
    # Space, tab, vertical tab, form feed, carriage return: white space in C.
    return octet == 32 or (octet >= 9 and octet <= 13)

"""Chooses between a file and its compressed siblings.

A sibling is the same content, compressed ahead of time: `a.css.br` beside
`a.css`.
"""

from flare.http.encoding.accept_encoding import AcceptEncoding
from flare.http.encoding.coding import ContentCoding


@fieldwise_init
struct Siblings(TrivialRegisterPassable):
    """The set of codings for which a file has a compressed sibling."""

    comptime NONE = Self(0)
    """No sibling."""
    comptime COUNT = 3
    """The number of codings that a sibling may have."""
    comptime CODINGS: Array[ContentCoding, Self.COUNT] = [
        ContentCoding.BROTLI,
        ContentCoding.ZSTD,
        ContentCoding.GZIP,
    ]
    """The codings that a sibling may have; the first one of those that a client
    likes equally is sent.
    """

    var _bits: UInt8

    @staticmethod
    def coding_at(index: Int) -> ContentCoding:
        """Returns one of `CODINGS`.

        Args:
            index: Its place.

        Returns:
            The coding.
        """
        comptime for i in range(Self.COUNT):
            comptime coding = Self.CODINGS[i]
            if i == index:
                return coding
        return ContentCoding.IDENTITY

    @staticmethod
    def suffix(coding: ContentCoding) -> StaticString:
        """Returns the end of the name of a sibling.

        Args:
            coding: One of `CODINGS`.

        Returns:
            `.br`, `.zst` or `.gz`; empty for another coding.
        """
        if coding == ContentCoding.BROTLI:
            return ".br"
        if coding == ContentCoding.ZSTD:
            return ".zst"
        return ".gz" if coding == ContentCoding.GZIP else ""

    def with_coding(self, coding: ContentCoding) -> Self:
        """Returns the set with one more coding.

        Args:
            coding: One of `CODINGS`.

        Returns:
            The larger set.
        """
        return Self(self._bits | UInt8(1) << UInt8(coding.number))

    def without(self, coding: ContentCoding) -> Self:
        """Returns the set without a coding.

        Args:
            coding: One of `CODINGS`.

        Returns:
            The smaller set.
        """
        return Self(self._bits & ~(UInt8(1) << UInt8(coding.number)))

    def has(self, coding: ContentCoding) -> Bool:
        """Returns whether there is a sibling of a coding.

        Args:
            coding: The coding.

        Returns:
            True if the set has the coding.
        """
        return (self._bits >> UInt8(coding.number)) & 1 == 1

    def choose(self, accepted: AcceptEncoding) -> ContentCoding:
        """Returns the coding of the representation to send.

        Args:
            accepted: The preferences of the client.

        Returns:
            The coding of the sibling that the client likes best; `IDENTITY`,
            the file itself, if the client likes none of them better. Also if it
            refuses the file too: no answer is 406 (RFC 9110 section 12.5.3).
        """
        var offered = Array[ContentCoding, Self.COUNT](
            fill=ContentCoding.IDENTITY
        )
        var count = 0
        comptime for i in range(Self.COUNT):
            comptime coding = Self.CODINGS[i]
            if self.has(coding):
                offered[count] = coding
                count += 1
        return accepted.best(Span(offered)[:count]).or_else(
            ContentCoding.IDENTITY
        )

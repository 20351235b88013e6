"""Chooses a content coding that the peer accepts (RFC 9110 section 12.5.3)."""

from flare.core import find_octet
from flare.message import FieldSection
from flare.message.list_grammar import (
    WEIGHT_MAX,
    read_weight,
    trim_blanks,
)
from flare.sys.brotli import brotli_decoder
from flare.sys.zlib import zlib
from flare.sys.zstd import zstd

from .coding import ContentCoding

comptime _COMMA: UInt8 = 44
comptime _SEMICOLON: UInt8 = 59
comptime _UNLISTED = -1


struct AcceptEncoding(Copyable, Movable):
    """The codings that a peer accepts, with their weights.

    - Without the field, every coding is accepted and none is preferred.
    - `identity` is accepted unless it has the weight 0, by its name or by `*`.
    - If a coding is listed twice, the smaller weight counts.
    - A malformed list member is ignored.
    """

    var is_present: Bool
    """Whether the request has the field."""
    var _weights: Array[Int, ContentCoding.COUNT]
    var _others: Int

    def __init__(out self):
        """Creates the preferences of a request without Accept-Encoding."""
        self.is_present = False
        self._weights = Array[Int, ContentCoding.COUNT](fill=_UNLISTED)
        self._others = _UNLISTED

    @staticmethod
    def of(fields: FieldSection) -> Self:
        """Parses all Accept-Encoding lines of a request.

        Args:
            fields: The header section.

        Returns:
            The preferences.
        """
        var accepted = Self()
        for value in fields.values("Accept-Encoding"):
            accepted.add(value.as_bytes())
        return accepted^

    @staticmethod
    def parse(value: StringSlice) -> Self:
        """Parses the value of one Accept-Encoding line.

        Args:
            value: The value; it may be empty.

        Returns:
            The preferences.
        """
        var accepted = Self()
        accepted.add(value.as_bytes())
        return accepted^

    def add(mut self, value: Span[UInt8, _]):
        """Adds another Accept-Encoding line.

        Args:
            value: The line's value, unchecked.
        """
        self.is_present = True
        var start = 0
        while start < len(value):
            var end = find_octet(value, _COMMA, start)
            self._add_member(trim_blanks(value[start:end]))
            start = end + 1

    def weight(self, coding: ContentCoding) -> Int:
        """Returns the weight of a coding.

        Args:
            coding: The coding.

        Returns:
            The weight, from 0 (refused) to 1,000.
        """
        if not self.is_present:
            return WEIGHT_MAX
        var own = self._weights[coding.number]
        if own != _UNLISTED:
            return own
        if self._others != _UNLISTED:
            return self._others
        # It needs no listing, but whatever is listed is wanted more.
        return 1 if coding == ContentCoding.IDENTITY else 0

    def accepts(self, coding: ContentCoding) -> Bool:
        """Returns whether a coding is accepted.

        Args:
            coding: The coding.

        Returns:
            True if its weight is over 0.
        """
        return self.weight(coding) > 0

    def best(self, offered: List[ContentCoding]) -> Optional[ContentCoding]:
        """Returns the coding to use.

        Args:
            offered: The codings of the sender, the preferred ones first;
                `IDENTITY` may be omitted.

        Returns:
            The coding of the greatest weight. If several are equal, the first
            one, but `IDENTITY` last. `None` if the peer accepts none of them.
            Without the field, `IDENTITY`, because the peer may not implement
            any coding.
        """
        return self.best(Span(offered))

    def best(self, offered: Span[ContentCoding, _]) -> Optional[ContentCoding]:
        """Returns the coding to use.

        Args:
            offered: A view of the codings of the sender, the preferred ones
                first; `IDENTITY` may be omitted.

        Returns:
            As for a list.
        """
        if not self.is_present:
            return ContentCoding.IDENTITY
        var best = Optional[ContentCoding](None)
        var best_weight = 0
        for coding in offered:
            if coding == ContentCoding.IDENTITY:
                continue
            if self.weight(coding) > best_weight:
                best = coding
                best_weight = self.weight(coding)
        if self.weight(ContentCoding.IDENTITY) > best_weight:
            return ContentCoding.IDENTITY
        return best

    def _add_member(mut self, member: Span[UInt8, _]):
        var end = find_octet(member, _SEMICOLON, 0)
        var weight = WEIGHT_MAX
        if end < len(member):
            weight = read_weight(trim_blanks(member[end + 1 :]))
            if weight < 0:
                return
        var name = trim_blanks(member[:end])
        if len(name) == 1 and name[0] == UInt8(ord("*")):
            self._others = _least(self._others, weight)
            return
        var coding = ContentCoding.of(StringSlice(unsafe_from_utf8=name))
        if coding:
            var number = coding.value().number
            self._weights[number] = _least(self._weights[number], weight)


def decodable_codings() -> List[ContentCoding]:
    """Returns the codings for which this machine has a decoding library.

    Returns:
        The codings, without `IDENTITY`.
    """
    var codings = List[ContentCoding]()
    if zlib():
        codings.append(ContentCoding.GZIP)
        codings.append(ContentCoding.DEFLATE)
    if brotli_decoder():
        codings.append(ContentCoding.BROTLI)
    if zstd():
        codings.append(ContentCoding.ZSTD)
    return codings^


def accept_encoding_of(codings: List[ContentCoding]) -> String:
    """Returns the value of Accept-Encoding for a request.

    Args:
        codings: The accepted codings.

    Returns:
        The value; `identity` if the list is empty, because a request without
        the field accepts everything.
    """
    var value = String()
    for coding in codings:
        if value.byte_length() > 0:
            value += ", "
        value += coding.name()
    return value if value.byte_length() > 0 else String("identity")


def _least(listed: Int, weight: Int) -> Int:
    return weight if listed == _UNLISTED else min(listed, weight)

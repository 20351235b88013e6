"""Decodes the content of responses, if the client has requested codings.

A client that sets Accept-Encoding itself decodes. If the program sets it, the
program gets the encoded content.
"""

from flare.core import Buffer, OctetBlock, PointerTo
from flare.message import FieldSection, HeaderMap

from ...client_error import ClientError, Phase
from ...encoding import (
    ContentDecoder,
    DecodingLimits,
    EncodingError,
    codings_of,
)

comptime _PARTIAL_CONTENT = 206
comptime _PIECE_OCTETS = 16 * 1024
comptime _STEP_OCTETS = 64 * 1024


def decoder_for(
    status: Int,
    has_content: Bool,
    fields: FieldSection,
    limits: Optional[DecodingLimits],
    octets_max: Int,
) raises -> Optional[ContentDecoder]:
    """Returns the decoder for a content.

    Args:
        status: The status of the response.
        has_content: Whether the response has content.
        fields: Its header section.
        limits: The limits of decoding; `None` if the program decodes.
        octets_max: The longest content.

    Returns:
        The decoder. `None` without content, as in a response to HEAD, or for a
        part of an encoded content, which no decoder can start with. `None` too
        if a coding is unknown, or its library is missing.

    Raises:
        ClientError: `client.encoding head` if there are too many codings.
    """
    if (
        not limits
        or not has_content
        or status == _PARTIAL_CONTENT
        or "Content-Encoding" not in fields
    ):
        return None
    var bounds = limits.value()
    bounds.decoded_octets_max = octets_max
    try:
        var codings = codings_of(fields, bounds.codings_max)
        if len(codings) == 0:
            return None
        return ContentDecoder(codings, bounds)
    except e:
        var error = EncodingError.of(e)
        if error and (
            error.value().kind == EncodingError.UNKNOWN_CODING
            or error.value().kind == EncodingError.NO_LIBRARY
        ):
            return None
        raise Error(ClientError.because(Phase.HEAD, e))


@always_inline
def octets_max_of(limits: Optional[DecodingLimits], octets_max: Int) -> Int:
    """Returns the limit of a content in memory.

    Args:
        limits: The limits of decoding.
        octets_max: The longest content, encoded or not.

    Returns:
        The lower limit.
    """
    if not limits:
        return octets_max
    return min(limits.value().decoded_octets_max, octets_max)


def take_codings_out(mut headers: HeaderMap) -> String:
    """Removes the fields that describe the content before it was decoded.

    Args:
        headers: The fields of the response.

    Returns:
        The codings as Content-Encoding had them.
    """
    var codings = String()
    for value in headers.values("Content-Encoding"):
        if codings.byte_length() > 0:
            codings += ", "
        codings += value
    _ = headers.remove("Content-Encoding")
    _ = headers.remove("Content-Length")
    return codings^


def decode_whole(decoder: ContentDecoder, content: PointerTo[Buffer]) raises:
    """Decodes a content in memory.

    Args:
        decoder: The decoder.
        content: The content; it is replaced.

    Raises:
        ClientError: `client.encoding content` or `client.too_large content`.
    """
    var decoded = Buffer()
    var consumed = 0
    try:
        while True:
            var target = decoded.reserve(_STEP_OCTETS)
            var coded = content[].span()[consumed:]
            var progress = decoder.decode(
                coded, Span(unsafe_ptr=target, length=_STEP_OCTETS)
            )
            consumed += progress.consumed
            decoded.advance(progress.produced)
            if progress.consumed == 0 and progress.produced == 0:
                break
        decoder.end()
    except e:
        raise Error(ClientError.because(Phase.CONTENT, e))
    content[] = decoded^


struct CodedContent(Movable):
    """The received octets of a coded content that are not decoded yet."""

    var decoder: ContentDecoder
    """The decoder."""
    var octets: OctetBlock
    """The memory for received octets."""
    var start: Int
    """The first octet that is not decoded."""
    var end: Int
    """The end of the received octets."""
    var has_ended: Bool
    """Whether no more octets will arrive."""

    def __init__(out self, var decoder: ContentDecoder):
        """Creates the state before the first octet.

        Args:
            decoder: The decoder.
        """
        self.decoder = decoder^
        self.octets = OctetBlock(length=_PIECE_OCTETS)
        self.start = 0
        self.end = 0
        self.has_ended = False


@fieldwise_init
struct CodedPieces(TrivialRegisterPassable):
    """A handle to an encoded content that is decoded piece by piece.

    It is reached through a pointer, because the fiber that receives the next
    piece parks meanwhile.
    """

    var content: PointerTo[CodedContent]
    """The content."""

    def take(self, into: Span[mut=True, UInt8, _]) raises -> Int:
        """Decodes the octets that have arrived.

        Args:
            into: The destination; not empty.

        Returns:
            The number of octets; 0 if the decoder needs the next piece.

        Raises:
            EncodingError: If the octets are malformed, or the content exceeds
                its limit.
        """
        ref c = self.content[]
        var progress = c.decoder.decode(c.octets.span()[c.start : c.end], into)
        c.start += progress.consumed
        return progress.produced

    def room(self) -> Span[mut=True, UInt8, MutUntrackedOrigin]:
        """Returns the memory for the next piece, after the caller has decoded
        all octets.

        Returns:
            The memory, in place as long as the content lives.
        """
        ref octets = self.content[].octets
        return Span(
            unsafe_ptr=octets.span()
            .unsafe_ptr()
            .unsafe_origin_cast[MutUntrackedOrigin](),
            length=len(octets),
        )

    def add(self, count: Int) raises:
        """Records the arrival of a piece.

        Args:
            count: The length of the piece; 0 at the end.

        Raises:
            EncodingError: If the content ends too early.
        """
        ref c = self.content[]
        c.start = 0
        c.end = count
        if count == 0:
            c.has_ended = True
            c.decoder.end()

    def has_ended(self) -> Bool:
        """Returns whether all content has arrived and is decoded.

        Returns:
            True at the end.
        """
        return self.content[].has_ended

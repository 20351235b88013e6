"""Compresses and decompresses complete content."""

from flare.sys.coding_step import CodingFlush

from .coding import ContentCoding
from .content_decoder import ContentDecoder
from .content_encoder import ContentEncoder
from .error import EncodingError
from .limits import DecodingLimits

comptime _ROOM_OCTETS_MIN = 4096
comptime _ROOM_OCTETS_MAX = 1 << 20


def compress(
    octets: Span[UInt8, _],
    coding: ContentCoding = ContentCoding.GZIP,
    level: Optional[Int] = None,
) raises -> List[UInt8]:
    """Compresses octets.

    Args:
        octets: The octets.
        coding: The coding, not `IDENTITY`.
        level: The compression level (`EncodingLevel`); by default that of the
            coding.

    Returns:
        The compressed octets.

    Raises:
        EncodingError: If there is no such coding or level, if a library is
            missing, or if memory runs out.
    """
    var encoder = ContentEncoder(coding, level)
    var coded = List[UInt8](capacity=max(len(octets) // 3, 64))
    encoder.append(octets, coded, CodingFlush.FINISH)
    return coded^


def decompress(
    octets: Span[UInt8, _],
    coding: ContentCoding = ContentCoding.GZIP,
    limits: DecodingLimits = DecodingLimits(),
) raises -> List[UInt8]:
    """Decompresses octets.

    Args:
        octets: The complete compressed octets.
        coding: The coding.
        limits: Bounds on the decoded content.

    Returns:
        The content.

    Raises:
        EncodingError: If the octets are malformed, incomplete, continue after
            the end or exceed a limit, or if a library is missing.
    """
    if len(octets) == 0 and coding != ContentCoding.IDENTITY:
        raise Error(
            EncodingError(EncodingError.TRUNCATED, "decode", coding.name(), 0)
        )
    return decode_all(ContentDecoder([coding], limits), octets)


def decode_content(
    octets: Span[UInt8, _],
    content_encoding: StringSlice,
    limits: DecodingLimits = DecodingLimits(),
) raises -> List[UInt8]:
    """Decodes the content of a message.

    Args:
        octets: The complete content as received; if empty, the result is
            empty.
        content_encoding: The value of Content-Encoding: codings in the order
            in which they were applied; may be empty.
        limits: Bounds on the decoded content.

    Returns:
        The content.

    Raises:
        EncodingError: If a coding is unknown, if there are too many, if the
            octets are malformed or exceed a limit, or if a library is missing.
    """
    return decode_all(
        ContentDecoder(content_encoding=content_encoding, limits=limits), octets
    )


def decode_all(
    decoder: ContentDecoder, octets: Span[UInt8, _]
) raises -> List[UInt8]:
    """Decodes the rest of a content.

    Args:
        decoder: The decoder.
        octets: The rest of the coded octets.

    Returns:
        The content.

    Raises:
        EncodingError: As `ContentDecoder` does.
    """
    var content = List[UInt8]()
    var rest = octets
    while True:
        var start = len(content)
        var room = min(
            max(_ROOM_OCTETS_MIN, start, 3 * len(rest)), _ROOM_OCTETS_MAX
        )
        content.resize(unsafe_uninit_length=start + room)
        var progress = decoder.decode(rest, Span(content)[start:])
        content.resize(unsafe_uninit_length=start + progress.produced)
        rest = rest[progress.consumed :]
        if progress.produced < room:
            decoder.end()
            return content^

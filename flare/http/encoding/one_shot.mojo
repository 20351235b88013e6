"""Compresses and decompresses content that is whole."""

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
        octets: What to compress.
        coding: How, not `IDENTITY`.
        level: How much work to do (`EncodingLevel`); its default if none.

    Returns:
        The compressed octets.

    Raises:
        EncodingError: If the coding is none or has no such level, or if there
            is no library or no memory.
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
        octets: Compressed octets, all of them.
        coding: How they were compressed.
        limits: How much they may become.

    Returns:
        The content.

    Raises:
        EncodingError: If they are not compressed so, end too early, go on
            behind their end or become too large, or if there is no library.
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
        octets: The content as received, all of it; if there is none, none
            comes out.
        content_encoding: The value of Content-Encoding: codings in the order
            in which they were applied, or nothing.
        limits: How much the content may become.

    Returns:
        The content.

    Raises:
        EncodingError: If a coding is not known or not kept to, if they are too
            many, if the content becomes too large, or if there is no library.
    """
    return decode_all(
        ContentDecoder(content_encoding=content_encoding, limits=limits), octets
    )


def decode_all(
    decoder: ContentDecoder, octets: Span[UInt8, _]
) raises -> List[UInt8]:
    """Decodes the rest of a content.

    Args:
        decoder: What decodes it.
        octets: The rest of the coded octets.

    Returns:
        The content.

    Raises:
        EncodingError: What `ContentDecoder` raises.
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

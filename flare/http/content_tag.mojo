"""Computes the entity tag of whole content (RFC 9110 section 8.8.3)."""

from flare.core import Buffer
from flare.core.xxhash import xxh64
from flare.message import ETag

comptime _QUOTE: UInt8 = 34
comptime _HYPHEN: UInt8 = 45


def content_tag(octets: Span[UInt8, _]) -> ETag:
    """Returns a strong tag of a content: its hash and its length.

    Contents that were made to collide can have the same tag.

    Args:
        octets: The content.

    Returns:
        The tag, the same on every machine.
    """
    var text = Buffer()
    text.append_octet(_QUOTE)
    text.append_hexadecimal(Int(xxh64(octets) >> 1))
    text.append_octet(_HYPHEN)
    text.append_hexadecimal(len(octets))
    text.append_octet(_QUOTE)
    return ETag(unsafe_wire=text.span())

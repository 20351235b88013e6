"""Compresses and decompresses field sections (RFC 7541)."""

from .decoder import HpackDecoder, HpackDecoderState, HpackField
from .hpack_error import HpackError
from .huffman import append_huffman, decode_huffman, huffman_octets
from .writing import (
    append_indexed,
    append_literal,
    append_named_literal,
    append_size_update,
)

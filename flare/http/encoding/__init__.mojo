"""Compresses and decompresses content, and negotiates codings."""

from .accept_encoding import (
    AcceptEncoding,
    accept_encoding_of,
    decodable_codings,
)
from .coding import ContentCoding, codings_of
from .compression_config import (
    CompressionConfig,
    available_codings,
    compressible_types,
)
from .content_decoder import CodingProgress, ContentDecoder
from .content_encoder import ContentEncoder, EncodingLevel
from .error import EncodingError
from .limits import DecodingLimits
from .one_shot import compress, decode_content, decompress
from .streams import DecodingReader, EncodingWriter

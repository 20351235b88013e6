"""Configures the compression of responses."""

from flare.core import equals_ignoring_case, find_octet
from flare.message.list_grammar import trim_blanks
from flare.sys.brotli import brotli_encoder
from flare.sys.zlib import zlib
from flare.sys.zstd import zstd

from .coding import ContentCoding
from .content_encoder import EncodingLevel

comptime _EVENTS: StaticString = "text/event-stream"
comptime _SEMICOLON: UInt8 = 59
comptime _STAR: UInt8 = 42


def compressible_types() -> List[String]:
    """Returns the content types that compress well.

    Images, sound, films and archives are compressed already.

    Returns:
        Types: whole ones, `text/*`, or a `*` and the end of a type.
    """
    return [
        "text/*",
        "*+json",
        "*+xml",
        "*+text",
        "application/json",
        "application/javascript",
        "application/ecmascript",
        "application/graphql",
        "application/ndjson",
        "application/rtf",
        "application/sql",
        "application/toml",
        "application/vnd.ms-fontobject",
        "application/wasm",
        "application/x-javascript",
        "application/x-ndjson",
        "application/x-www-form-urlencoded",
        "application/xml",
        "application/yaml",
        "font/otf",
        "font/ttf",
        "image/bmp",
        "image/vnd.microsoft.icon",
        "image/x-icon",
    ]


struct CompressionConfig(Copyable, Movable):
    """Configures `Compress`. Every field has a default."""

    var codings: Optional[List[ContentCoding]]
    """The codings, the preferred ones first. The default is Zstandard, Brotli
    and gzip, if the machine has their libraries.
    """
    var content_types: List[String]
    """The types to compress; `compressible_types()` by default."""
    var content_octets_min: Int
    """The shortest content that is compressed; 1,024 by default. A response
    that fits one packet arrives no earlier if it is smaller.
    """
    var whole_octets_max: Int
    """The longest content that is compressed at once; 128 KiB by default.
    Longer content is compressed in pieces while it is sent, without
    Content-Length, so that other requests need not wait.
    """
    var gzip_level: Int
    """From 1 to 9; 6 by default."""
    var brotli_level: Optional[Int]
    """From 0 to 11, for every content. By default, 3 for content of up to 16
    KiB, and 4 for longer content and for streams.
    """
    var zstd_level: Int
    """From 1 to 19; 3 by default."""

    def __init__(
        out self,
        *,
        var codings: Optional[List[ContentCoding]] = None,
        var content_types: List[String] = compressible_types(),
        content_octets_min: Int = 1024,
        whole_octets_max: Int = 128 * 1024,
        gzip_level: Int = EncodingLevel.GZIP,
        brotli_level: Optional[Int] = None,
        zstd_level: Int = EncodingLevel.ZSTD,
    ):
        """Creates a configuration.

        Args:
            codings: The codings, the preferred ones first.
            content_types: The types to compress.
            content_octets_min: The shortest content that is compressed.
            whole_octets_max: The longest content that is compressed before it
                is sent.
            gzip_level: The level of gzip and deflate.
            brotli_level: The level of Brotli; `None` chooses by the length of
                the content.
            zstd_level: The level of Zstandard.
        """
        self.codings = codings^
        self.content_types = content_types^
        self.content_octets_min = content_octets_min
        self.whole_octets_max = whole_octets_max
        self.gzip_level = gzip_level
        self.brotli_level = brotli_level
        self.zstd_level = zstd_level

    def first_problem(self) -> Optional[StaticString]:
        """Returns the name of the first invalid field.

        Returns:
            The name, or `None`.
        """
        if self.codings and (
            ContentCoding.IDENTITY in self.codings.value()
            or len(self.codings.value()) == 0
        ):
            return StaticString("codings")
        if self.content_octets_min < 0:
            return StaticString("content_octets_min")
        if self.whole_octets_max < 0:
            return StaticString("whole_octets_max")
        if not EncodingLevel.allows(ContentCoding.GZIP, self.gzip_level):
            return StaticString("gzip_level")
        if self.brotli_level and not EncodingLevel.allows(
            ContentCoding.BROTLI, self.brotli_level.value()
        ):
            return StaticString("brotli_level")
        if not EncodingLevel.allows(ContentCoding.ZSTD, self.zstd_level):
            return StaticString("zstd_level")
        return None

    def level_of(
        self, coding: ContentCoding, content_octets: Optional[Int] = None
    ) -> Int:
        """Returns the compression level of a coding.

        Args:
            coding: The coding.
            content_octets: The length of the content; `None` if it is
                compressed while it is sent.

        Returns:
            The level.
        """
        if coding == ContentCoding.BROTLI:
            if self.brotli_level:
                return self.brotli_level.value()
            if (
                content_octets
                and content_octets.value() <= EncodingLevel.SHORT_OCTETS_MAX
            ):
                return EncodingLevel.BROTLI_SHORT
            return EncodingLevel.BROTLI
        if coding == ContentCoding.ZSTD:
            return self.zstd_level
        return self.gzip_level

    def allows_type(self, content_type: StringSlice) -> Bool:
        """Returns whether content of a type is compressed.

        Args:
            content_type: The value of Content-Type.

        Returns:
            True if the configuration includes the type. `text/event-stream`
            must be listed in full: each open stream would keep an encoder of
            up to 4 MiB.
        """
        var octets = content_type.as_bytes()
        var type_octets = trim_blanks(
            octets[: find_octet(octets, _SEMICOLON, 0)]
        )
        var is_endless = equals_ignoring_case(type_octets, _EVENTS.as_bytes())
        for pattern in self.content_types:
            if is_endless and pattern.byte_length() != len(type_octets):
                continue
            if _matches(type_octets, pattern.as_bytes()):
                return True
        return False


def available_codings() -> List[ContentCoding]:
    """Returns the codings that compress well and whose libraries are
    installed.

    Returns:
        Of Zstandard, Brotli and gzip, in this order.
    """
    var codings = List[ContentCoding]()
    if zstd():
        codings.append(ContentCoding.ZSTD)
    if brotli_encoder():
        codings.append(ContentCoding.BROTLI)
    if zlib():
        codings.append(ContentCoding.GZIP)
    return codings^


def _matches(octets: Span[UInt8, _], pattern: Span[UInt8, _]) -> Bool:
    var count = len(pattern)
    if count > 0 and pattern[count - 1] == _STAR:
        return len(octets) >= count - 1 and equals_ignoring_case(
            octets[: count - 1], pattern[: count - 1]
        )
    if count > 0 and pattern[0] == _STAR:
        return len(octets) >= count - 1 and equals_ignoring_case(
            octets[len(octets) - count + 1 :], pattern[1:]
        )
    return equals_ignoring_case(octets, pattern)

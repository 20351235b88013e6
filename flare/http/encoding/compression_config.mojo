"""Says which responses are compressed, and how."""

from flare.core import equals_ignoring_case, find_octet
from flare.proto.h1.grammar import trim_blanks
from flare.sys.brotli import brotli_encoder
from flare.sys.zlib import zlib
from flare.sys.zstd import zstd

from .coding import ContentCoding
from .content_encoder import EncodingLevel

comptime _EVENTS: StaticString = "text/event-stream"
comptime _SEMICOLON: UInt8 = 59
comptime _STAR: UInt8 = 42


def compressible_types() -> List[String]:
    """Names the content types that get much smaller.

    Images, sound, films and archives are compressed in themselves.

    Returns:
        Types: whole ones, `text/*`, or the end of one behind a `*`.
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
    """Holds what `Compress` goes by; every field has a default."""

    var codings: Optional[List[ContentCoding]]
    """The codings, those that are preferred first. By default none are named:
    Zstandard, Brotli and gzip, as far as the machine has their libraries."""
    var content_types: List[String]
    """The types that are compressed: `compressible_types()` by default."""
    var content_octets_min: Int
    """Shorter content is sent as it is; 1,024 by default: what fits a packet
    anyway is not sent faster."""
    var whole_octets_max: Int
    """Longer content is compressed in pieces while it is sent, so that other
    requests need not wait, and without Content-Length; 128 KiB by default."""
    var gzip_level: Int
    """From 1 to 9; 6 by default."""
    var brotli_level: Optional[Int]
    """From 0 to 11, for every content. By default 3 for contents of up to
    16 KiB, and 4 for longer ones and for streams."""
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
        """Sets the fields.

        Args:
            codings: The codings, those that are preferred first.
            content_types: The types that are compressed.
            content_octets_min: Shorter content is sent as it is.
            whole_octets_max: Longer content is compressed while it is sent.
            gzip_level: The level of gzip and deflate.
            brotli_level: The level of Brotli, or none for the one that suits
                the length of the content.
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
        """Finds a value that cannot work.

        Returns:
            The name of the first such field, or none.
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
        """Returns how much work a coding does.

        Args:
            coding: The coding.
            content_octets: The length of the content, or none if it is
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
            True if its type is among those that are. `text/event-stream` only
            is if it is named whole: each open one would keep an encoder of up
            to 4 MiB.
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
    """Lists the codings that compress well and whose libraries are here.

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

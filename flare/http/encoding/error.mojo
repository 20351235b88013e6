"""Defines the error of content codings and its text form.

 encoding.<kind> <operation>[ <coding>][ limit=<number>]: <detail>

Callers receive the text only, as with `NetError`; `EncodingError.of` reads the
fields back. The detail is for people and is not parsed.
"""

from flare.core import equals, index_of_text, text_at, write_escaped

comptime _KINDS: List[StaticString] = [
    "other",
    "no_library",
    "unknown_coding",
    "too_many_codings",
    "bad_data",
    "truncated",
    "trailing_octets",
    "too_large",
    "ratio",
    "no_memory",
    "bad_config",
    "ended",
]

comptime _DETAILS: List[StaticString] = [
    "the library failed",
    "the library is not installed",
    "the coding is not known",
    "there are more codings than are allowed",
    "the octets are not coded so",
    "the octets end too early",
    "octets follow the end",
    "the content is larger than allowed",
    "the content is too large for the octets that it came in",
    "there is no memory",
    "a number is out of its bounds",
    "the content was ended already",
]

comptime _OPERATIONS: List[StaticString] = ["encode", "decode", "configure"]

comptime _CODINGS: List[StaticString] = ["", "gzip", "deflate", "br", "zstd"]

comptime _PACKAGES: List[StaticString] = [
    "",
    (
        "zlib is not installed: the package is zlib1g on Debian, zlib on"
        " Fedora, zlib from Homebrew on macOS"
    ),
    (
        "zlib is not installed: the package is zlib1g on Debian, zlib on"
        " Fedora, zlib from Homebrew on macOS"
    ),
    (
        "Brotli is not installed: the package is libbrotli1 on Debian,"
        " libbrotli on Fedora, brotli from Homebrew on macOS"
    ),
    (
        "Zstandard is not installed: the package is libzstd1 on Debian,"
        " libzstd on Fedora, zstd from Homebrew on macOS"
    ),
]

comptime _PREFIX: StaticString = "encoding."
comptime _LIMIT: StaticString = "limit="
comptime _DIGITS_MAX = 18
comptime _ABOUT_OCTETS_MAX = 64


@fieldwise_init
struct EncodingError(Equatable, ImplicitlyCopyable, Writable):
    """Describes why content could not be encoded or decoded."""

    comptime OTHER = 0
    """An unexpected failure of the library."""
    comptime NO_LIBRARY = 1
    """The machine has no library for the coding."""
    comptime UNKNOWN_CODING = 2
    """Content-Encoding has an unknown coding."""
    comptime TOO_MANY_CODINGS = 3
    """Content-Encoding has more codings than are allowed."""
    comptime BAD_DATA = 4
    """The octets are malformed, or a checksum is wrong."""
    comptime TRUNCATED = 5
    """The octets end before the coded content does."""
    comptime TRAILING_OCTETS = 6
    """Octets follow the end of the coded content."""
    comptime TOO_LARGE = 7
    """The decoded content is larger than allowed."""
    comptime RATIO = 8
    """The ratio of decoded to coded octets is higher than allowed."""
    comptime NO_MEMORY = 9
    """The library could not allocate memory."""
    comptime BAD_CONFIG = 10
    """A level or a limit is out of its bounds."""
    comptime ENDED = 11
    """Content was added after the end."""

    var kind: Int
    """One of the constants above."""
    var operation: StaticString
    """The operation: `"encode"`, `"decode"` or `"configure"`."""
    var coding: StaticString
    """The name of the coding; empty if none is at fault."""
    var limit: Int
    """The limit that was exceeded; 0 if there is none."""

    @staticmethod
    def of(e: Error) -> Optional[Self]:
        """Returns the fields of an error that a function of this package
        raised.

        Args:
            e: Any error.

        Returns:
            The fields; `None` if the error has another origin.
        """
        var text = String(e)
        if not text.startswith(_PREFIX):
            return None
        var end = text.find(": ")
        if end < 0:
            end = text.byte_length()
        var parts = StringSlice(unsafe_from_utf8=text.as_bytes()[0:end]).split(
            " "
        )
        if len(parts) < 2 or len(parts) > 4:
            return None
        var kind = index_of_text[_KINDS](
            parts[0].as_bytes()[_PREFIX.byte_length() :]
        )
        var operation = index_of_text[_OPERATIONS](parts[1].as_bytes())
        if not kind or not operation:
            return None
        var error = Self(
            kind.value(), text_at[_OPERATIONS](operation.value()), "", 0
        )
        var i = 2
        if i < len(parts):
            var coding = index_of_text[_CODINGS](parts[i].as_bytes())
            if coding and coding.value() > 0:
                error.coding = text_at[_CODINGS](coding.value())
                i += 1
        if i < len(parts):
            error.limit = _limit_in(parts[i].as_bytes())
            i += 1 if error.limit > 0 else 0
        if i < len(parts):
            return None
        return error

    def status(self) -> Int:
        """Returns the status that answers a request whose content caused the
        error.

        Returns:
            The status: 415, 413 or 400; 500 if the sender is not at fault.
        """
        if (
            self.kind == Self.UNKNOWN_CODING
            or self.kind == Self.TOO_MANY_CODINGS
        ):
            return 415
        if self.kind == Self.TOO_LARGE or self.kind == Self.RATIO:
            return 413
        if Self.BAD_DATA <= self.kind <= Self.TRAILING_OCTETS:
            return 400
        return 500

    def write_to(self, mut writer: Some[Writer]):
        """Writes the text that `of` reads, with an explanation.

        Args:
            writer: The destination.
        """
        writer.write(_PREFIX, text_at[_KINDS](self.kind), " ", self.operation)
        if self.coding.byte_length() > 0:
            writer.write(" ", self.coding)
        if self.limit > 0:
            writer.write(" ", _LIMIT, self.limit)
        var coding = index_of_text[_CODINGS](self.coding.as_bytes())
        if self.kind == Self.NO_LIBRARY and coding and coding.value() > 0:
            writer.write(": ", text_at[_PACKAGES](coding.value()))
        else:
            writer.write(": ", text_at[_DETAILS](self.kind))

    def about(self, octets: Span[UInt8, _]) -> Error:
        """Returns the error with the name that caused it.

        Args:
            octets: A name, escaped and cut in the text.

        Returns:
            The error.
        """
        var text = String(self, ": ")
        write_escaped(octets[0 : min(len(octets), _ABOUT_OCTETS_MAX)], text)
        return Error(text)


def _limit_in(octets: Span[UInt8, _]) -> Int:
    comptime START = _LIMIT.byte_length()
    var digits = len(octets) - START
    if digits < 1 or digits > _DIGITS_MAX:
        return 0
    if not equals(octets[0:START], _LIMIT.as_bytes()) or octets[START] == 48:
        return 0
    var number = 0
    for octet in octets[START : len(octets)]:
        if octet - 48 > 9:
            return 0
        number = number * 10 + Int(octet - 48)
    return number

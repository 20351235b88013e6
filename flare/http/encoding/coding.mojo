"""Defines the content codings (RFC 9110 section 8.4.1), and parses lists of
them.
"""

from flare.core import equals_ignoring_case, find_octet
from flare.message import FieldSection
from flare.message.list_grammar import trim_blanks

from .error import EncodingError

comptime _COMMA: UInt8 = 44
comptime _NAMES: List[StaticString] = [
    "identity",
    "gzip",
    "deflate",
    "br",
    "zstd",
]


@fieldwise_init
struct ContentCoding(Equatable, ImplicitlyCopyable, Writable):
    """A content coding."""

    comptime IDENTITY = Self(0)
    """No coding."""
    comptime GZIP = Self(1)
    """RFC 1952."""
    comptime DEFLATE = Self(2)
    """The zlib format, RFC 1950."""
    comptime BROTLI = Self(3)
    """RFC 7932, called `br`."""
    comptime ZSTD = Self(4)
    """RFC 8878, with windows of at most 8 MiB (RFC 9659)."""
    comptime COUNT = 5
    """The number of codings."""

    var number: Int
    """The coding's number, below `COUNT`."""

    @staticmethod
    def of(token: StringSlice) -> Optional[Self]:
        """Returns the coding of a name.

        Args:
            token: The name, in any case; `x-gzip` is `gzip` (RFC 9110 section
                8.4.1.3).

        Returns:
            The coding; `None` if it is unknown.
        """
        var octets = token.as_bytes()
        comptime for i in range(Self.COUNT):
            comptime name = _NAMES[i]
            if equals_ignoring_case(octets, name.as_bytes()):
                return Self(i)
        if equals_ignoring_case(octets, "x-gzip".as_bytes()):
            return Self.GZIP
        return None

    def name(self) -> StaticString:
        """Returns the name in Content-Encoding and Accept-Encoding.

        Returns:
            A token.
        """
        comptime for i in range(Self.COUNT):
            if self.number == i:
                return comptime (_NAMES[i])
        return comptime (_NAMES[0])

    def write_to(self, mut writer: Some[Writer]):
        """Writes the name.

        Args:
            writer: The destination.
        """
        writer.write(self.name())


def codings_of(
    fields: FieldSection, codings_max: Int
) raises -> List[ContentCoding]:
    """Parses all lines of Content-Encoding of a message.

    Args:
        fields: The header section.
        codings_max: The maximum number of codings.

    Returns:
        The codings in the order in which they were applied, without
        `identity`, which a sender should not list.

    Raises:
        EncodingError: If a coding is unknown, or if there are too many.
    """
    var codings = List[ContentCoding]()
    var members = 0
    for value in fields.values("Content-Encoding"):
        append_codings(value.as_bytes(), codings, members, codings_max)
    return codings^


def append_codings(
    value: Span[UInt8, _],
    mut codings: List[ContentCoding],
    mut members: Int,
    codings_max: Int,
) raises:
    """Parses one line of Content-Encoding.

    Args:
        value: The value of the field.
        codings: The list to append to.
        members: The number of list members so far, `identity` included.
        codings_max: The maximum number of codings.

    Raises:
        EncodingError: If a coding is unknown, or if there are too many.
    """
    var start = 0
    while start < len(value):
        var end = find_octet(value, _COMMA, start)
        var token = trim_blanks(value[start:end])
        start = end + 1
        # A list may have empty members (RFC 9110 section 5.6.1.2).
        if len(token) == 0:
            continue
        members += 1
        if members > codings_max:
            raise Error(
                EncodingError(
                    EncodingError.TOO_MANY_CODINGS,
                    "decode",
                    "",
                    codings_max,
                )
            )
        var coding = ContentCoding.of(StringSlice(unsafe_from_utf8=token))
        if not coding:
            raise EncodingError(
                EncodingError.UNKNOWN_CODING, "decode", "", 0
            ).about(token)
        if coding.value() != ContentCoding.IDENTITY:
            codings.append(coding.value())

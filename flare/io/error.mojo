"""Defines the error of readers and writers and its text form.

 io.<kind> <operation>[ octets=<number>]

Callers receive the text only, as with `NetError`; `IoError.of` reads the
fields back.
"""

from flare.core import equals, index_of_text, text_at

comptime _KINDS: List[StaticString] = [
    "line_too_long",
    "unexpected_end",
    "too_large",
    "not_utf8",
    "stalled",
    "in_use",
]

comptime _OPERATIONS: List[StaticString] = [
    "copy",
    "fill",
    "read_exactly",
    "read_line",
    "read_until",
    "write_all",
]

comptime _PREFIX: StaticString = "io."
comptime _COUNT: StaticString = "octets="
comptime _DIGITS_MAX = 18


@fieldwise_init
struct IoError(Equatable, ImplicitlyCopyable, Writable):
    """Describes why a reader or writer failed, and in which function."""

    comptime LINE_TOO_LONG = 0
    """No delimiter came within the limit."""
    comptime UNEXPECTED_END = 1
    """The stream ended too early."""
    comptime TOO_LARGE = 2
    """The content exceeds the limit or the room."""
    comptime NOT_UTF8 = 3
    """The octets of a line are not UTF-8 (RFC 3629)."""
    comptime STALLED = 4
    """A writer took no octets although some were given."""
    comptime IN_USE = 5
    """Another fiber waits for the same reader."""

    var kind: Int
    """One of the constants above."""
    var operation: StaticString
    """The function that failed: `"read_line"` and so on."""
    var octets: Int
    """The limit that was exceeded, or the number of missing octets; 0 if
    neither applies.
    """

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
        var parts = text.split(" ")
        if len(parts) < 2 or len(parts) > 3:
            return None
        var kind = index_of_text[_KINDS](
            parts[0].as_bytes()[_PREFIX.byte_length() :]
        )
        var operation = index_of_text[_OPERATIONS](parts[1].as_bytes())
        if not kind or not operation:
            return None
        var octets = 0
        if len(parts) == 3:
            var count = _count_in(parts[2].as_bytes())
            if not count:
                return None
            octets = count.value()
        return Self(
            kind.value(), text_at[_OPERATIONS](operation.value()), octets
        )

    def write_to(self, mut writer: Some[Writer]):
        """Writes the text that `of` reads.

        Args:
            writer: The destination.
        """
        writer.write(_PREFIX, _kind_at(self.kind), " ", self.operation)
        if self.octets != 0:
            writer.write(" ", _COUNT, self.octets)


def _count_in(octets: Span[UInt8, _]) -> Optional[Int]:
    comptime START = _COUNT.byte_length()
    var digits = len(octets) - START
    if digits < 1 or digits > _DIGITS_MAX:
        return None
    if not equals(octets[0:START], _COUNT.as_bytes()) or octets[START] == 48:
        return None
    var number = 0
    for octet in octets[START : len(octets)]:
        if octet - 48 > 9:
            return None
        number = number * 10 + Int(octet - 48)
    return number


def _kind_at(index: Int) -> StaticString:
    comptime for i in range(len(_KINDS)):
        if index == i:
            return comptime (_KINDS[i])
    return "other"

"""Defines the error of reading and writing JSON, and its text form.

 json.<kind> <path>: <reason>[ (line <number>, column <number>)]

The path of the whole text is `$`. Callers receive the text only, because a
`try` catches one error type; `JsonError.of` reads the fields back.
"""

from flare.core import equals

comptime _KINDS: List[StaticString] = [
    "syntax",
    "not_utf8",
    "too_deep",
    "too_large",
    "duplicate_key",
    "wrong_type",
    "out_of_range",
    "missing_field",
    "unknown_field",
    "invalid",
    "not_found",
    "not_finite",
    "misuse",
    "failed",
]
comptime _PREFIX: StaticString = "json."
comptime _ROOT: StaticString = "$"
comptime _LINE: StaticString = " (line "
comptime _COLUMN: StaticString = ", column "


@fieldwise_init
struct JsonError(ImplicitlyCopyable, Writable):
    """Describes an error in a JSON text or value, and its place."""

    comptime SYNTAX = 0
    """The text does not follow RFC 8259."""
    comptime NOT_UTF8 = 1
    """The text is not UTF-8 (RFC 3629)."""
    comptime TOO_DEEP = 2
    """Arrays and objects are nested deeper than `JsonLimits.depth_max`, or
    deeper than the stack allows for types that contain themselves.
    """
    comptime TOO_LARGE = 3
    """The text is longer than `JsonLimits.octets_max`."""
    comptime DUPLICATE_KEY = 4
    """An object has a key twice, and the limits do not allow that."""
    comptime WRONG_TYPE = 5
    """A value has another type than the program expects."""
    comptime OUT_OF_RANGE = 6
    """A number does not fit the type that the program expects."""
    comptime MISSING_FIELD = 7
    """An object lacks a field of the struct."""
    comptime UNKNOWN_FIELD = 8
    """An object has a field that the struct lacks, and the struct conforms to
    `JsonRefusesUnknownFields`.
    """
    comptime INVALID = 9
    """A `from_json` of the program refused the value, with its own reason."""
    comptime NOT_FOUND = 10
    """An array has no element at the index, or an object lacks the key."""
    comptime NOT_FINITE = 11
    """A number to be written is NaN or infinite."""
    comptime MISUSE = 12
    """The program's calls to `JsonWriter` do not form a JSON value."""
    comptime FAILED = 13
    """A `from_json` of the program raised another error. Its text is the
    reason, in ASCII; it may contain parts of the JSON text.
    """

    var kind: Int
    """One of the constants above."""
    var path: String
    """The keys and indexes that lead to the value, such as `items[3].price`;
    empty for the whole text.
    """
    var reason: String
    """The fixed reason, such as the type that was expected. It contains no
    octets of the text, except for `FAILED`.
    """
    var line: Int
    """The line in the text, from 1; 0 if the text is no longer available."""
    var column: Int
    """The column in characters, from 1; 0 if the text is no longer available.
    """

    @staticmethod
    def of(e: Error) -> Optional[Self]:
        """Returns the fields of an error that a function of this package
        raised.

        Args:
            e: Any error.

        Returns:
            The fields; `None` if another package raised the error.
        """
        var text = String(e)
        var code_end = text.find(" ")
        if not text.startswith(_PREFIX) or code_end < 0:
            return None
        var kind = _kind_in(text.as_bytes()[_PREFIX.byte_length() : code_end])
        var path_end = text.find(": ", code_end)
        if not kind or path_end < 0:
            return None
        var path = String(text[byte = code_end + 1 : path_end])
        if path == _ROOT:
            path = String()
        var reason = String(text[byte = path_end + 2 :])
        var line = 0
        var column = 0
        var line_start = reason.rfind(_LINE)
        var column_start = reason.rfind(_COLUMN)
        if line_start >= 0 and column_start > line_start:
            line = _number_in(
                reason.as_bytes()[
                    line_start + _LINE.byte_length() : column_start
                ]
            )
            column = _number_in(
                reason.as_bytes()[
                    column_start
                    + _COLUMN.byte_length() : reason.byte_length()
                    - 1
                ]
            )
            if line > 0 and column > 0:
                var front = String(reason[byte=:line_start])
                reason = front^
        return Self(kind.value(), path^, reason^, line, column)

    def message(self) -> String:
        """Returns the error for the author of the text, without the code.

        Returns:
            Path, reason and place, such as `items[3].price: expected a number,
            got a string (line 1, column 40)`.
        """
        var text = String()
        if self.path:
            text.write(self.path, ": ")
        text.write(self.reason)
        self._write_place(text)
        return text^

    def write_to(self, mut writer: Some[Writer]):
        """Writes the text that `of` reads.

        Args:
            writer: The destination.
        """
        writer.write(_PREFIX, _kind_at(self.kind), " ")
        if self.path:
            writer.write(self.path)
        else:
            writer.write(_ROOT)
        writer.write(": ", self.reason)
        self._write_place(writer)

    def _write_place(self, mut writer: Some[Writer]):
        if self.line > 0:
            writer.write(_LINE, self.line, _COLUMN, self.column, ")")


def _number_in(octets: Span[UInt8, _]) -> Int:
    # 0 if it is none: lines and columns begin at 1.
    if len(octets) < 1 or len(octets) > 18:
        return 0
    var number = 0
    for octet in octets:
        if octet - 48 > 9:
            return 0
        number = number * 10 + Int(octet - 48)
    return number


def _kind_at(index: Int) -> StaticString:
    comptime for i in range(len(_KINDS)):
        if index == i:
            return comptime (_KINDS[i])
    return "other"


def _kind_in(octets: Span[UInt8, _]) -> Optional[Int]:
    comptime for i in range(len(_KINDS)):
        comptime name = _KINDS[i]
        if equals(octets, name.as_bytes()):
            return i
    return None

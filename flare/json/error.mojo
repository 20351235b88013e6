"""Defines the error of reading and writing JSON and its text form.

    json.<kind> <path>: <reason>[ (line <number>, column <number>)]

The path is `$` for the whole text. A user gets the text only, because one `try`
takes one error type; `JsonError.of` reads it back.
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
    """Says what is wrong with a JSON text or value, and where."""

    comptime SYNTAX = 0
    """The text does not follow RFC 8259."""
    comptime NOT_UTF8 = 1
    """The text is not UTF-8 (RFC 3629)."""
    comptime TOO_DEEP = 2
    """Arrays and objects lie deeper than `JsonLimits.depth_max`, or deeper than
    the stack allows what calls itself for each level."""
    comptime TOO_LARGE = 3
    """The text is longer than `JsonLimits.octets_max`."""
    comptime DUPLICATE_KEY = 4
    """A key occurs twice in one object, and the limits refuse that."""
    comptime WRONG_TYPE = 5
    """A value is of another type than the program asks for."""
    comptime OUT_OF_RANGE = 6
    """A number does not fit the type that the program asks for."""
    comptime MISSING_FIELD = 7
    """An object lacks a field of the struct."""
    comptime UNKNOWN_FIELD = 8
    """An object has a field that the struct has not, and it minds."""
    comptime INVALID = 9
    """A `from_json` refused the value with words of its own."""
    comptime NOT_FOUND = 10
    """An array has no such index, or an object no such key."""
    comptime NOT_FINITE = 11
    """NaN and the infinities cannot be written."""
    comptime MISUSE = 12
    """The program wrote no well-formed value."""
    comptime FAILED = 13
    """A `from_json` raised another error, whose text is the reason: it may
    hold what the text holds, in ASCII."""

    var kind: Int
    """One of the constants above."""
    var path: String
    """The keys and indexes that lead to the value, such as `items[3].price`;
    empty for the whole text."""
    var reason: String
    """What was expected, in words that hold no octet of the text."""
    var line: Int
    """The line of the text, from 1; 0 where there is no text any more."""
    var column: Int
    """The character of the line, from 1; 0 where there is no text any more."""

    @staticmethod
    def of(e: Error) -> Optional[Self]:
        """Reads the fields back out of an error that a function raised.

        Args:
            e: Any error.

        Returns:
            The fields, or none if it is not an error of this package.
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
        """Says what is wrong without the code of the kind, for whoever wrote
        the text.

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

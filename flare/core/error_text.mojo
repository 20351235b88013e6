"""Writes and reads the fields of a database's error in its text form.

A field is `name="value"`. Printable ASCII except the quote and the backslash
stands for itself; any other octet is `\\xHH`. So no octet of a peer reaches a
log unescaped, and no value can look like another field.
"""

comptime _QUOTE: UInt8 = 34
comptime _BACKSLASH: UInt8 = 92
comptime _DIGITS: StaticString = "0123456789abcdef"


@fieldwise_init
struct ErrorFields(Movable):
    """The parts of an error's text."""

    var kind: String
    """The word after the prefix."""
    var code: String
    """The code of the database, or empty."""
    var names: List[String]
    """The names of the fields."""
    var values: List[String]
    """The decoded values."""

    def get(self, name: StringSlice) -> String:
        """Returns a field.

        Args:
            name: Its name.

        Returns:
            The decoded value; empty if the text lacks the field.
        """
        for i in range(len(self.names)):
            if self.names[i] == name:
                return self.values[i]
        return String()


def append_field(mut text: String, name: StringSlice, value: StringSlice):
    """Appends a field unless it is empty.

    Args:
        text: The text of the error.
        name: The name; if empty, the value is appended without quotes.
        value: Any octets.
    """
    if value.byte_length() == 0:
        return
    if name.byte_length() > 0:
        text += String(" ", name, '="')
    for octet in value.as_bytes():
        var is_plain = octet >= 32 and octet < 127 and octet != _QUOTE
        if name.byte_length() == 0:
            is_plain = is_plain and octet != 32
        if is_plain and octet != _BACKSLASH:
            text += String(unsafe_from_utf8=[octet])
        else:
            text += "\\x"
            text += _DIGITS[byte=Int(octet >> 4)]
            text += _DIGITS[byte=Int(octet & 15)]
    if name.byte_length() > 0:
        text += '"'


def read_fields(
    octets: Span[UInt8, _], prefix: StaticString
) -> Optional[ErrorFields]:
    """Reads the text of an error.

    Args:
        octets: The whole text.
        prefix: The first octets of the text, such as `postgres.`.

    Returns:
        The parts; `None` if any part deviates from the form.
    """
    for octet in octets:
        if octet < 32 or octet > 126:
            return None
    var text = StringSlice(unsafe_from_utf8=octets)
    if not text.startswith(prefix):
        return None
    var end = _word_end(octets, prefix.byte_length())
    var fields = ErrorFields(
        String(unsafe_from_utf8=octets[prefix.byte_length() : end]),
        String(),
        List[String](),
        List[String](),
    )
    var at = end
    while at < len(octets):
        at += 1
        end = _word_end(octets, at)
        var equals = at
        while equals < end and octets[equals] != UInt8(61):
            equals += 1
        if equals == end:
            # Only the code of the database has no name.
            if end == at or fields.code or fields.names:
                return None
            fields.code = String(unsafe_from_utf8=octets[at:end])
            at = end
            continue
        var value_start = equals + 2
        if value_start > len(octets) or octets[equals + 1] != _QUOTE:
            return None
        var value_end = value_start
        while value_end < len(octets) and octets[value_end] != _QUOTE:
            value_end += 1
        if value_end == len(octets):
            return None
        fields.names.append(String(unsafe_from_utf8=octets[at:equals]))
        fields.values.append(_decoded(octets[value_start:value_end]))
        at = value_end + 1
        if at < len(octets) and octets[at] != UInt8(32):
            return None
    return fields^


def _word_end(octets: Span[UInt8, _], start: Int) -> Int:
    var end = start
    while end < len(octets) and octets[end] != UInt8(32):
        end += 1
    return end


def _decoded(octets: Span[UInt8, _]) -> String:
    var decoded = List[UInt8](capacity=len(octets))
    var i = 0
    while i < len(octets):
        if (
            octets[i] == _BACKSLASH
            and i + 3 < len(octets)
            and octets[i + 1] == UInt8(120)
        ):
            decoded.append(_digit(octets[i + 2]) << 4 | _digit(octets[i + 3]))
            i += 4
        else:
            decoded.append(octets[i])
            i += 1
    return String(from_utf8_lossy=Span(decoded))


def _digit(octet: UInt8) -> UInt8:
    return octet - 48 if octet < 58 else (octet - 87) & 15

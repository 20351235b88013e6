"""Writes octets as text for cookies and URLs: base64url without padding (RFC
4648 section 5).
"""

from std.builtin.globals import global_constant

comptime _LETTERS: StaticString = (
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
)
comptime _NO_LETTER: UInt8 = 255


def write_base64url(octets: Span[UInt8, _]) -> String:
    """Returns octets as text.

    Args:
        octets: The octets.

    Returns:
        Letters, digits, `-` and `_`: four for three octets.
    """
    var letters = _LETTERS.as_bytes()
    var text = List[UInt8](capacity=(len(octets) * 4 + 2) // 3)
    var bits: UInt32 = 0
    var count: UInt32 = 0
    for octet in octets:
        bits = bits << 8 | UInt32(octet)
        count += 8
        while count >= 6:
            count -= 6
            text.append(letters[Int(bits >> count & 63)])
    if count > 0:
        text.append(letters[Int(bits << (6 - count) & 63)])
    return String(unsafe_from_utf8=Span(text))


def read_base64url(text: Span[UInt8, _]) -> Optional[List[UInt8]]:
    """Returns the octets of a text.

    Args:
        text: The text, from anyone.

    Returns:
        The octets; `None` if `write_base64url` returns no such text. So there
        is one text for the same octets.
    """
    ref values = global_constant[_VALUES]()
    var octets = List[UInt8](capacity=len(text) * 3 // 4)
    var bits: UInt32 = 0
    var count: UInt32 = 0
    for letter in text:
        var value = values[Int(letter)]
        if value == _NO_LETTER:
            return None
        bits = bits << 6 | UInt32(value)
        count += 6
        if count >= 8:
            count -= 8
            octets.append(UInt8(bits >> count & 0xFF))
    # The bits left belong to no octet: less than a letter, and zeros (RFC 4648
    # section 3.5).
    if count >= 6 or bits & ((UInt32(1) << count) - 1) != 0:
        return None
    return octets^


def _make_values() -> Array[UInt8, 256]:
    var values = Array[UInt8, 256](fill=_NO_LETTER)
    var letters = _LETTERS.as_bytes()
    for i in range(64):
        values[Int(letters[i])] = UInt8(i)
    return values^


comptime _VALUES = _make_values()

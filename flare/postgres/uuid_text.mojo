"""Reads and writes the text form of UUIDs (RFC 9562 section 4)."""

comptime UUID_OCTETS = 16
"""How many octets an identifier has."""
comptime UuidOctets = SIMD[DType.uint8, UUID_OCTETS]
"""The octets of an identifier, the first one of the text first."""
comptime _TEXT_OCTETS = 36
comptime _HYPHEN = 45
comptime _DIGITS: StaticString = "0123456789abcdef"


def uuid_of(binary: Span[UInt8, _]) -> UuidOctets:
    """Returns the identifier of its binary form.

    Args:
        binary: 16 octets.

    Returns:
        The octets.
    """
    var octets = UuidOctets(0)
    for i in range(UUID_OCTETS):
        octets[i] = binary[i]
    return octets


def uuid_text(octets: UuidOctets) -> String:
    """Returns the text of a `uuid`.

    Args:
        octets: The octets.

    Returns:
        36 characters, in lower case.
    """
    var text = List[UInt8](capacity=_TEXT_OCTETS)
    for i in range(UUID_OCTETS):
        if i == 4 or i == 6 or i == 8 or i == 10:
            text.append(_HYPHEN)
        text.append(_DIGITS.as_bytes()[Int(octets[i] >> 4)])
        text.append(_DIGITS.as_bytes()[Int(octets[i] & 15)])
    return String(unsafe_from_utf8=Span(text))


def uuid_octets(text: Span[UInt8, _]) -> Optional[UuidOctets]:
    """Parses the text of a `uuid`.

    Args:
        text: The text.

    Returns:
        The octets; `None` unless the text has the 36 characters of the form, in
        either case.
    """
    if len(text) != _TEXT_OCTETS:
        return None
    var octets = UuidOctets(0)
    var digits = 0
    for i in range(_TEXT_OCTETS):
        if i == 8 or i == 13 or i == 18 or i == 23:
            if text[i] != _HYPHEN:
                return None
            continue
        var value = _digit(text[i])
        if value < 0:
            return None
        octets[digits // 2] = octets[digits // 2] << 4 | UInt8(value)
        digits += 1
    return octets


def _digit(octet: UInt8) -> Int:
    var value = Int(octet)
    if 48 <= value <= 57:
        return value - 48
    # One bit tells upper from lower case.
    value |= 32
    return value - 87 if 97 <= value <= 102 else -1

"""Reads the binary form of `numeric`."""

from .big_endian import read_big_endian

comptime _NEGATIVE = 0x4000
comptime _NAN = -0x4000
comptime _INFINITY = -0x3000
comptime _MINUS_INFINITY = -0x1000
comptime _HEADER_OCTETS = 8
comptime _BASE = 10_000


def numeric_text(octets: Span[UInt8, _]) -> Optional[String]:
    """Returns the decimal text of a `numeric`, as the server writes it.

    Args:
        octets: The binary form: the number of digits, the weight of the first
            one, the sign, the number of decimals, and digits of base 10,000.

    Returns:
        The text; `None` if the octets are malformed.
    """
    if len(octets) < _HEADER_OCTETS:
        return None
    var count = read_big_endian(octets[0:2])
    var weight = read_big_endian(octets[2:4])
    var sign = read_big_endian(octets[4:6])
    var scale = read_big_endian(octets[6:8])
    if sign == _NAN:
        return String("NaN")
    if sign == _INFINITY:
        return String("Infinity")
    if sign == _MINUS_INFINITY:
        return String("-Infinity")
    if (
        (sign != 0 and sign != _NEGATIVE)
        or count < 0
        or scale < 0
        or len(octets) != _HEADER_OCTETS + 2 * count
    ):
        return None
    for place in range(count):
        if not 0 <= _group(octets, place, count) < _BASE:
            return None
    var text = String("-") if sign == _NEGATIVE else String()
    if weight < 0:
        text += "0"
    for place in range(weight + 1):
        var group = _group(octets, place, count)
        text += String(group) if place == 0 else _padded(group)
    if scale == 0:
        return text^
    text += "."
    var written = 0
    var place = weight + 1
    while written < scale:
        var group = _padded(_group(octets, place, count))
        var kept = min(4, scale - written)
        text += group[byte=:kept]
        written += kept
        place += 1
    return text^


def _group(octets: Span[UInt8, _], place: Int, count: Int) -> Int:
    if not 0 <= place < count:
        return 0
    var start = _HEADER_OCTETS + 2 * place
    return read_big_endian(octets[start : start + 2])


def _padded(group: Int) -> String:
    var text = String(group)
    while text.byte_length() < 4:
        text = String("0", text)
    return text^

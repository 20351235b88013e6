"""Reads and writes the binary form of `numeric`."""

from flare.core.octets import equals_lower, find_octet

from .big_endian import append_big_endian, read_big_endian

comptime _NEGATIVE = 0x4000
comptime _NAN = -0x4000
comptime _INFINITY = -0x3000
comptime _MINUS_INFINITY = -0x1000
comptime _HEADER_OCTETS = 8
comptime _BASE = 10_000
comptime _WHOLE_DIGITS_MAX = 131_072
comptime _DECIMALS_MAX = 16_383
comptime _POINT: UInt8 = 46
comptime _PLUS: UInt8 = 43
comptime _MINUS: UInt8 = 45
comptime _ZERO: UInt8 = 48


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


def numeric_octets(text: Span[UInt8, _]) -> List[UInt8]:
    """Returns the binary form of a decimal text.

    Args:
        text: Digits with a sign and a point or without, `NaN` or `Infinity`.

    Returns:
        The octets, which `numeric_text` describes; none if it is another text.
    """
    var is_negative = len(text) > 0 and text[0] == _MINUS
    var digits = (
        text[1:] if is_negative
        or (len(text) > 0 and text[0] == _PLUS) else text[:]
    )
    comptime NAN: StaticString = "nan"
    comptime INFINITY: StaticString = "infinity"
    if equals_lower(text, NAN.as_bytes()):
        return _with_header(_NAN, 0, List[Int](), 0)
    if equals_lower(digits, INFINITY.as_bytes()):
        return _with_header(
            _MINUS_INFINITY if is_negative else _INFINITY, 0, List[Int](), 0
        )
    var point = find_octet(digits, _POINT)
    var decimals = max(len(digits) - point - 1, 0)
    if (
        point + decimals == 0
        or point > _WHOLE_DIGITS_MAX
        or decimals > _DECIMALS_MAX
    ):
        return List[UInt8]()
    # Whole groups of four digits lie on each side of the point.
    var weight = (point + 3) // 4 - 1
    var place = (4 - point % 4) % 4
    var groups = List[Int]()
    var group = 0
    for i in range(len(digits)):
        if i == point:
            continue
        var digit = Int(digits[i]) - Int(_ZERO)
        if not 0 <= digit <= 9:
            return List[UInt8]()
        group = group * 10 + digit
        place += 1
        if place == 4:
            groups.append(group)
            group = 0
            place = 0
    if place > 0:
        for _ in range(place, 4):
            group *= 10
        groups.append(group)
    return _with_header(
        _NEGATIVE if is_negative else 0, weight, groups, decimals
    )


def _with_header(
    sign: Int, weight: Int, groups: List[Int], decimals: Int
) -> List[UInt8]:
    # The form has no zeros at its ends.
    var first = 0
    var end = len(groups)
    while end > 0 and groups[end - 1] == 0:
        end -= 1
    while first < end and groups[first] == 0:
        first += 1
    var octets = List[UInt8](capacity=_HEADER_OCTETS + 2 * (end - first))
    append_big_endian(octets, end - first, 2)
    append_big_endian(octets, weight - first if first < end else 0, 2)
    append_big_endian(
        octets, 0 if sign == _NEGATIVE and first == end else sign, 2
    )
    append_big_endian(octets, decimals, 2)
    for i in range(first, end):
        append_big_endian(octets, groups[i], 2)
    return octets^


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

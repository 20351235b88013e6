"""Writes and reads the binary forms of PostgreSQL by the letter of its sources.

Every form is read octet by octet with a place that only grows; nothing of
flare is called.
"""


@fieldwise_init
struct ArrayModel(Copyable, Movable):
    """The elements of an array of one dimension."""

    var element_type: Int
    """The object id of their type."""
    var elements: List[Optional[List[UInt8]]]
    """The elements; `None` is NULL."""


def put(mut octets: List[UInt8], value: Int, count: Int):
    """Appends a number, the highest octet first.

    Args:
        octets: The destination.
        value: The number.
        count: The number of octets.
    """
    for place in range(count - 1, -1, -1):
        octets.append(UInt8(value >> (8 * place) & 255))


def get(octets: Span[UInt8, _], start: Int, count: Int) -> Int:
    """Reads a number with a sign.

    Args:
        octets: The source.
        start: The place of the highest octet.
        count: The number of octets.

    Returns:
        The number.
    """
    var value = 0
    for place in range(count):
        value = value * 256 + Int(octets[start + place])
    var limit = 1 << (8 * count)
    return value - limit if value >= limit // 2 else value


def write_array(array: ArrayModel) -> List[UInt8]:
    """Writes an array, as `array_send` does.

    Args:
        array: The elements.

    Returns:
        The octets.
    """
    var octets = List[UInt8]()
    var has_null = False
    for element in array.elements:
        has_null = has_null or not element
    put(octets, 1 if len(array.elements) > 0 else 0, 4)
    put(octets, Int(has_null), 4)
    put(octets, array.element_type, 4)
    if len(array.elements) > 0:
        put(octets, len(array.elements), 4)
        put(octets, 1, 4)
    for element in array.elements:
        if not element:
            put(octets, -1, 4)
            continue
        put(octets, len(element.value()), 4)
        octets.extend(Span(element.value()))
    return octets^


def read_array(octets: Span[UInt8, _]) -> Optional[ArrayModel]:
    """Reads an array of one dimension, or an empty one.

    Args:
        octets: Any octets.

    Returns:
        The elements; `None` if they are not all there, or the array has more
        dimensions. Octets after the last element are not looked at.
    """
    if len(octets) < 12:
        return None
    var array = ArrayModel(
        get(octets, 8, 4) & 0xFFFF_FFFF, List[Optional[List[UInt8]]]()
    )
    var dimensions = get(octets, 0, 4)
    if dimensions == 0:
        if len(octets) > 12:
            return None
        return array^
    if dimensions != 1 or len(octets) < 20:
        return None
    var left = get(octets, 12, 4)
    if left < 0:
        return None
    var at = 20
    while left > 0:
        if len(octets) - at < 4:
            return None
        var length = get(octets, at, 4)
        at += 4
        if length == -1:
            array.elements.append(None)
        elif length < 0 or length > len(octets) - at:
            return None
        else:
            array.elements.append(List[UInt8](octets[at : at + length]))
            at += length
        left -= 1
    return array^


def write_numeric(digits: String, scale: Int, is_negative: Bool) -> List[UInt8]:
    """Writes a decimal number, as `numeric_send` does.

    Args:
        digits: Its digits, with `scale` of them after the point.
        scale: How many digits follow the point.
        is_negative: Whether it is below zero.

    Returns:
        The octets.
    """
    # Groups of four digits, counted from the point.
    var padded = digits
    for _ in range((4 - (digits.byte_length() - scale) % 4) % 4):
        padded = String("0", padded)
    for _ in range((4 - scale % 4) % 4):
        padded += "0"
    var groups = List[Int]()
    for start in range(0, padded.byte_length(), 4):
        var group = 0
        for place in range(4):
            group = group * 10 + Int(padded.as_bytes()[start + place]) - 48
        groups.append(group)
    var weight = (padded.byte_length() - (scale + 3) // 4 * 4) // 4 - 1
    # Groups of zeros at both ends are left out.
    while len(groups) > 0 and groups[0] == 0:
        _ = groups.pop(0)
        weight -= 1
    while len(groups) > 0 and groups[len(groups) - 1] == 0:
        _ = groups.pop()
    if len(groups) == 0:
        weight = 0
    var octets = List[UInt8]()
    put(octets, len(groups), 2)
    put(octets, weight, 2)
    put(octets, 0x4000 if is_negative and len(groups) > 0 else 0, 2)
    put(octets, scale, 2)
    for group in groups:
        put(octets, group, 2)
    return octets^


def is_numeric(octets: Span[UInt8, _]) -> Bool:
    """Returns whether octets are a number that `numeric_send` may write.

    Args:
        octets: Any octets.

    Returns:
        False for counts, signs and groups that it never writes.
    """
    if len(octets) < 8:
        return False
    var sign = get(octets, 4, 2) & 0xFFFF
    if sign == 0xC000 or sign == 0xD000 or sign == 0xF000:
        return True
    if sign != 0 and sign != 0x4000:
        return False
    var count = get(octets, 0, 2)
    if count < 0 or get(octets, 6, 2) < 0 or len(octets) != 8 + 2 * count:
        return False
    for group in range(count):
        var value = get(octets, 8 + 2 * group, 2)
        if value < 0 or value > 9_999:
            return False
    return True

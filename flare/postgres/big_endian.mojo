"""Reads and writes numbers in the order of the network."""


def append_big_endian(mut octets: List[UInt8], value: Int, count: Int):
    """Appends a number, the highest octet first.

    Args:
        octets: The destination.
        value: The number, in two's complement.
        count: The number of octets, 1 to 8.
    """
    for i in range(count):
        octets.append(UInt8((value >> (8 * (count - 1 - i))) & 255))


def read_big_endian(octets: Span[UInt8, _]) -> Int:
    """Reads a number with a sign, the highest octet first.

    Args:
        octets: 1 to 8 octets.

    Returns:
        The number.
    """
    var value = 0
    for octet in octets:
        value = value << 8 | Int(octet)
    var unused = 64 - 8 * len(octets)
    return (value << unused) >> unused if 0 < unused < 64 else value

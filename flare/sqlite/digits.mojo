"""Writes and reads numbers of a fixed number of digits."""


def append_digits(mut text: String, number: Int, count: Int):
    """Appends a number with leading zeros.

    Args:
        text: The text.
        number: The number, at least 0.
        count: How many digits it gets.
    """
    var divisor = 10 ** (count - 1)
    for _ in range(count):
        text += chr(48 + number // divisor % 10)
        divisor //= 10


def read_digits(octets: Span[UInt8, _], start: Int, count: Int) -> Int:
    """Reads a number of a fixed length.

    Args:
        octets: The text.
        start: Where the number begins.
        count: How many digits it has.

    Returns:
        The number; -1 if there are other octets, or too few.
    """
    if start + count > len(octets):
        return -1
    var number = 0
    for i in range(start, start + count):
        var digit = Int(octets[i]) - 48
        if not 0 <= digit <= 9:
            return -1
        number = number * 10 + digit
    return number

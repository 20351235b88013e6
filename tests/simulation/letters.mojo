"""Makes contents up that differ between requests."""


def letters(number: Int, count: Int) -> String:
    """Makes content up.

    Args:
        number: The number of the request.
        count: How many octets.

    Returns:
        Small letters.
    """
    var alphabet = String()
    for i in range(26):
        alphabet += chr(97 + (number + i) % 26)
    var text = alphabet * (count // 26 + 1)
    return String(text[byte=:count])


def raised(text: StringSlice) -> String:
    """Makes capitals of small letters.

    Args:
        text: Small letters.

    Returns:
        As many capitals.
    """
    return text.upper()

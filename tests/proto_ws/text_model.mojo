"""Judges UTF-8 in another way than `flare.proto.ws.text`."""

comptime WHOLE: UInt8 = 0
"""The octets are a text."""
comptime OPEN: UInt8 = 1
"""The octets end within a character."""
comptime BAD: UInt8 = 2
"""No text begins with the octets."""


def judge_text(octets: Span[UInt8, _]) -> UInt8:
    """Judges octets by the numbers that their characters could still be.

    Args:
        octets: The front of a text.

    Returns:
        `WHOLE`, `OPEN` or `BAD`.
    """
    var i = 0
    while i < len(octets):
        var lead = Int(octets[i])
        if lead < 0x80:
            i += 1
            continue
        var count = 1
        var value = lead & 0x1F
        var least = 0x80
        if lead >= 0xF8 or lead < 0xC0:
            return BAD
        if lead >= 0xF0:
            count = 3
            value = lead & 7
            least = 0x10000
        elif lead >= 0xE0:
            count = 2
            value = lead & 15
            least = 0x800
        var low = value
        var high = value
        for k in range(count):
            var tail_low = 0
            var tail_high = 63
            if i + 1 + k < len(octets):
                if octets[i + 1 + k] & 0xC0 != 0x80:
                    return BAD
                tail_low = Int(octets[i + 1 + k] & 63)
                tail_high = tail_low
            low = low << 6 | tail_low
            high = high << 6 | tail_high
        low = max(low, least)
        high = min(high, 0x10FFFF)
        # Surrogates are no characters.
        if low >= 0xD800 and high <= 0xDFFF:
            return BAD
        if low > high:
            return BAD
        i += 1 + count
    return OPEN if i > len(octets) else WHOLE

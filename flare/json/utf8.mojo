"""Finds octets that are not UTF-8 (RFC 3629)."""


def find_malformed(octets: Span[UInt8, _]) -> Int:
    """Returns the place of the first malformed sequence.

    Args:
        octets: Any octets.

    Returns:
        Its index, or the length if all is UTF-8.
    """
    var n = len(octets)
    var i = 0
    while i < n:
        if (
            i + 16 <= n
            and octets.unsafe_ptr()
            .unsafe_load[width=16](i)
            .lt(128)
            .reduce_and()
        ):
            i += 16
            continue
        var lead = octets.unsafe_get(i)
        if lead < 128:
            i += 1
            continue
        var length = sequence_octets(octets, i)
        if length == 0:
            return i
        i += length
    return n


@always_inline
def sequence_octets(octets: Span[UInt8, _], at: Int) -> Int:
    """Returns the length of the sequence at a place (RFC 3629 section 4).

    Args:
        octets: Any octets.
        at: The index of an octet over 127.

    Returns:
        2 to 4; 0 if the sequence is malformed.
    """
    var lead = octets.unsafe_get(at)
    var left = len(octets) - at
    if lead < 0xC2 or lead > 0xF4 or left < 2:
        return 0
    var second = octets.unsafe_get(at + 1)
    if lead < 0xE0:
        return 2 if _continues(second) else 0
    if left < 3 or not _continues(octets.unsafe_get(at + 2)):
        return 0
    if lead < 0xF0:
        # Overlong forms, and the surrogates of UTF-16.
        var low: UInt8 = 0xA0 if lead == 0xE0 else 0x80
        var high: UInt8 = 0x9F if lead == 0xED else 0xBF
        return 3 if second >= low and second <= high else 0
    if left < 4 or not _continues(octets.unsafe_get(at + 3)):
        return 0
    # Overlong forms, and what lies above U+10FFFF.
    var low: UInt8 = 0x90 if lead == 0xF0 else 0x80
    var high: UInt8 = 0x8F if lead == 0xF4 else 0xBF
    return 4 if second >= low and second <= high else 0


@always_inline
def _continues(octet: UInt8) -> Bool:
    return octet & 0xC0 == 0x80

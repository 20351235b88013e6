"""Assigns addresses to the special-purpose blocks of the IANA registries.

Pure functions over numbers. The blocks are those of RFC 6890 as updated by the
documents cited below.
"""


@fieldwise_init
struct _Block(TrivialRegisterPassable):
    var first: UInt32
    var prefix_bits: Int


comptime _PRIVATE_V4: List[_Block] = [
    _Block(0x0A00_0000, 8),
    _Block(0xAC10_0000, 12),
    _Block(0xC0A8_0000, 16),
]

comptime _DOCUMENTATION_V4: List[_Block] = [
    _Block(0xC000_0200, 24),
    _Block(0xC633_6400, 24),
    _Block(0xCB00_7100, 24),
]

# Not private and not documentation, and yet not global.
comptime _LOCAL_V4: List[_Block] = [
    _Block(0x0000_0000, 8),  # "this network", RFC 791
    _Block(0x6440_0000, 10),  # shared by carriers, RFC 6598
    _Block(0x7F00_0000, 8),  # loopback, RFC 1122
    _Block(0xA9FE_0000, 16),  # link-local, RFC 3927
    _Block(0xC000_0000, 24),  # protocol assignments, RFC 6890
    _Block(0xC058_6300, 24),  # 6to4 relays, RFC 7526
    _Block(0xC612_0000, 15),  # benchmarking, RFC 2544
    _Block(0xE000_0000, 3),  # multicast, reserved, broadcast
]


@always_inline
def in_v4_block(address: UInt32, first: UInt32, prefix_bits: Int) -> Bool:
    """Returns whether an IPv4 address lies in a block.

    Args:
        address: The address as a number.
        first: The first address of the block.
        prefix_bits: The length of the block's prefix, 1 to 32.

    Returns:
        True if the prefixes are equal.
    """
    return (address ^ first) >> UInt32(32 - prefix_bits) == 0


def is_private_v4(address: UInt32) -> Bool:
    """Returns whether an IPv4 address is private (RFC 1918).

    Args:
        address: The address as a number.

    Returns:
        True within 10.0.0.0/8, 172.16.0.0/12 and 192.168.0.0/16.
    """
    return _in_any[_PRIVATE_V4](address)


def is_documentation_v4(address: UInt32) -> Bool:
    """Returns whether an IPv4 address is reserved for examples (RFC 5737).

    Args:
        address: The address as a number.

    Returns:
        True within the three blocks.
    """
    return _in_any[_DOCUMENTATION_V4](address)


def is_documentation_v6(high: UInt64) -> Bool:
    """Returns whether an IPv6 address is reserved for examples.

    Args:
        high: The first 64 bits of the address.

    Returns:
        True within `2001:db8::/32` (RFC 3849) and `3fff::/20` (RFC 9637).
    """
    return high >> 32 == 0x2001_0DB8 or high >> 44 == 0x3FFF0


def is_global_v4(address: UInt32) -> Bool:
    """Returns whether an IPv4 address is a globally reachable unicast one.

    Args:
        address: The address as a number.

    Returns:
        False for every block that is private, local, reserved or multicast.
    """
    # Two anycast addresses (RFC 7723, RFC 8155) are global although the block
    # of protocol assignments around them is not.
    if address == 0xC000_0009 or address == 0xC000_000A:
        return True
    return not (
        _in_any[_PRIVATE_V4](address)
        or _in_any[_DOCUMENTATION_V4](address)
        or _in_any[_LOCAL_V4](address)
    )


def is_global_v6(high: UInt64, low: UInt64) -> Bool:
    """Returns whether an IPv6 address is a globally reachable unicast one.

    Args:
        high: The first 64 bits of the address.
        low: The last 64 bits.

    Returns:
        False for every block that is local, reserved, not assigned or
        multicast.
    """
    if high == 0x0064_FF9B_0000_0000 and low >> 32 == 0:
        # RFC 6052: the translator hands it on to the IPv4 address within.
        return is_global_v4(UInt32(low))
    # Only 2000::/3 is assigned for global unicast (RFC 4291 section 2.4).
    if high >> 61 != 1 or is_documentation_v6(high):
        return False
    if high >> 48 == 0x2002:
        # 6to4 (RFC 3056) leads to whatever IPv4 address it embeds.
        return False
    if high >> 41 == 0x2001_0000 >> 9:
        return _is_global_protocol_assignment(high, low)
    return True


def _is_global_protocol_assignment(high: UInt64, low: UInt64) -> Bool:
    # Within 2001::/23 only these are global: the anycast addresses of RFC
    # 7723, 8155 and 9665, AMT (RFC 7450), AS112 (RFC 7535), ORCHIDv2 (RFC
    # 7343) and drone identifiers (RFC 9374).
    if high == 0x2001_0001_0000_0000:
        return low >= 1 and low <= 3
    return (
        high >> 32 == 0x2001_0003
        or high >> 16 == 0x2001_0004_0112
        or high >> 36 == 0x200_1002
        or high >> 36 == 0x200_1003
    )


@always_inline
def _in_any[blocks: List[_Block]](address: UInt32) -> Bool:
    comptime for i in range(len(blocks)):
        comptime block = blocks[i]
        if in_v4_block(address, block.first, block.prefix_bits):
            return True
    return False

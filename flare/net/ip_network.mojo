"""Defines blocks of IP addresses: a first address and a prefix length.

RFC 4632 (IPv4) and RFC 4291 section 2.3 (IPv6).
"""

from .address_syntax import AddressSyntaxError
from .ip_address import IpAddr

comptime _SLASH: UInt8 = 47
comptime _ZERO: UInt8 = 48
comptime _V4_BITS = 32
comptime _V6_BITS = 128
comptime _PREFIX_DIGITS_MAX = 3


struct IpNetwork(Equatable, TrivialRegisterPassable, Writable):
    """A block of IP addresses that share a prefix, such as `10.0.0.0/8`."""

    var first: IpAddr
    """The first address; the bits after the prefix are zero."""
    var prefix_bits: Int
    """How many bits all addresses share: 0 to 32, or to 128 for IPv6."""

    def __init__(out self, address: IpAddr, prefix_bits: Int):
        """Creates the block that contains an address.

        Args:
            address: Any address of the block.
            prefix_bits: The length of the prefix; capped at the length of the
                address.
        """
        var bits_max = _V4_BITS if address.is_v4() else _V6_BITS
        self.prefix_bits = min(max(prefix_bits, 0), bits_max)
        # An IPv4 address is kept in the last 32 of 128 bits.
        var bits = self.prefix_bits + _V6_BITS - bits_max
        self.first = address
        self.first._high &= _mask(bits)
        self.first._low &= _mask(bits - 64)

    @staticmethod
    def parse(text: StringSlice) raises -> Self:
        """Parses `10.0.0.0/8`, `fd00::/8`, or one address alone.

        Args:
            text: The whole text.

        Returns:
            The block.

        Raises:
            Error: `net.bad_address parse`, with the reason and the text.
        """
        try:
            return Self.parse_octets(text.as_bytes())
        except e:
            raise e.about(text.as_bytes())

    @staticmethod
    def parse_octets(octets: Span[UInt8, _]) raises AddressSyntaxError -> Self:
        """Parses the text form of a block, given as octets.

        The bits after the prefix must be zero: the author of `10.1.2.3/8` may
        have meant another block.

        Args:
            octets: The whole text.

        Returns:
            The block.

        Raises:
            AddressSyntaxError: If the text is not a block of addresses.
        """
        var slash = 0
        while slash < len(octets) and octets[slash] != _SLASH:
            slash += 1
        var address = IpAddr.parse_octets(octets[:slash])
        if address.is_v4_mapped():
            raise AddressSyntaxError("a block of IPv4 is written as IPv4")
        var bits_max = _V4_BITS if address.is_v4() else _V6_BITS
        if slash == len(octets):
            return Self(address, bits_max)
        var bits = _parse_bits(octets[slash + 1 :], bits_max)
        var network = Self(address, bits)
        if network.first != address:
            raise AddressSyntaxError("there are bits behind the prefix")
        return network

    def contains(self, address: IpAddr) -> Bool:
        """Returns whether the block contains an address.

        Args:
            address: The address; the IPv6 form of an IPv4 address counts as
                IPv4.

        Returns:
            True if it begins with the prefix.
        """
        var asked = address.unmapped()
        return (
            asked.is_v4() == self.first.is_v4()
            and Self(asked, self.prefix_bits).first == self.first
        )

    def write_to(self, mut writer: Some[Writer]):
        """Writes the text that `parse` reads.

        Args:
            writer: The destination.
        """
        writer.write(self.first, "/", self.prefix_bits)


def _parse_bits(
    octets: Span[UInt8, _], bits_max: Int
) raises AddressSyntaxError -> Int:
    if len(octets) == 0 or len(octets) > _PREFIX_DIGITS_MAX:
        raise AddressSyntaxError("the length of the prefix is no number")
    var bits = 0
    for octet in octets:
        if octet - _ZERO > 9:
            raise AddressSyntaxError("the length of the prefix is no number")
        bits = bits * 10 + Int(octet - _ZERO)
    if bits > bits_max or (octets[0] == _ZERO and len(octets) > 1):
        raise AddressSyntaxError("the prefix is longer than the address")
    return bits


def _mask(bits: Int) -> UInt64:
    if bits <= 0:
        return 0
    return UInt64.MAX << UInt64(max(64 - bits, 0))

"""Defines IP addresses of both versions, and questions about their use."""

from .address_syntax import AddressSyntaxError
from .ip_blocks import (
    in_v4_block,
    is_documentation_v4,
    is_documentation_v6,
    is_global_v4,
    is_global_v6,
    is_private_v4,
)
from .ip_text import (
    IP_TEXT_OCTETS_MAX,
    parse_v4,
    parse_v6,
    write_v4,
    write_v6,
)

comptime _MAPPED_PREFIX: UInt64 = 0xFFFF_0000_0000


@fieldwise_init
struct IpAddr(Equatable, Hashable, TrivialRegisterPassable, Writable):
    """An IPv4 or IPv6 address, without zone and port.

    The `is_…` methods treat an IPv4-mapped IPv6 address (`::ffff:127.0.0.1`)
    as the IPv4 address, because the kernel does so when it connects. A check
    against loopback or private addresses therefore cannot be bypassed that
    way. Only `is_v4`, `is_v6` and `==` treat the mapped form as different.
    """

    var _high: UInt64
    # An IPv4 address is kept in its mapped form.
    var _low: UInt64
    var _is_v4: Bool

    @staticmethod
    def parse(text: StringSlice) raises -> Self:
        """Parses the text form of an address.

        IPv4 is four decimal numbers without leading zeros. IPv6 follows RFC
        4291 section 2.2. Zones, brackets, ports and blanks are refused.

        Args:
            text: The whole text.

        Returns:
            The address.

        Raises:
            Error: `net.bad_address parse`, with the reason and the text.
        """
        try:
            return Self.parse_octets(text.as_bytes())
        except e:
            raise e.about(text.as_bytes())

    @staticmethod
    def parse_octets(octets: Span[UInt8, _]) raises AddressSyntaxError -> Self:
        """Parses the text form of an address, given as octets.

        Args:
            octets: The whole text.

        Returns:
            The address.

        Raises:
            AddressSyntaxError: If the text is not an address.
        """
        if len(octets) == 0:
            raise AddressSyntaxError("the text is empty")
        if len(octets) > IP_TEXT_OCTETS_MAX:
            raise AddressSyntaxError("the text is longer than any address")
        for octet in octets:
            if octet == 58:
                return Self.from_groups(parse_v6(octets))
        return Self.from_v4_number(parse_v4(octets))

    @staticmethod
    def v4(a: UInt8, b: UInt8, c: UInt8, d: UInt8) -> Self:
        """Creates the IPv4 address a.b.c.d.

        Args:
            a: The first octet.
            b: The second octet.
            c: The third octet.
            d: The fourth octet.

        Returns:
            The address.
        """
        return Self.from_v4_number(
            UInt32(a) << 24 | UInt32(b) << 16 | UInt32(c) << 8 | UInt32(d)
        )

    @staticmethod
    def v4(octets: Array[UInt8, 4]) -> Self:
        """Creates an IPv4 address.

        Args:
            octets: The address in network order.

        Returns:
            The address.
        """
        return Self.v4(octets[0], octets[1], octets[2], octets[3])

    @staticmethod
    def v6(octets: Array[UInt8, 16]) -> Self:
        """Creates an IPv6 address.

        Args:
            octets: The address in network order.

        Returns:
            The address; an IPv4-mapped one stays an IPv6 address.
        """
        var high = UInt64(0)
        var low = UInt64(0)
        for i in range(8):
            high = high << 8 | UInt64(octets[i])
            low = low << 8 | UInt64(octets[8 + i])
        return Self(high, low, False)

    @staticmethod
    def from_groups(groups: SIMD[DType.uint16, 8]) -> Self:
        """Creates an IPv6 address from its eight groups of 16 bits.

        Args:
            groups: The groups, the first in lane 0.

        Returns:
            The address.
        """
        var high = UInt64(0)
        var low = UInt64(0)
        for i in range(4):
            high = high << 16 | UInt64(groups[i])
            low = low << 16 | UInt64(groups[4 + i])
        return Self(high, low, False)

    @staticmethod
    def from_v4_number(number: UInt32) -> Self:
        """Creates an IPv4 address from a number.

        Args:
            number: The address, its first octet the most significant one.

        Returns:
            The address.
        """
        return Self(0, _MAPPED_PREFIX | UInt64(number), True)

    @staticmethod
    def localhost_v4() -> Self:
        """Returns the IPv4 loopback address.

        Returns:
            127.0.0.1.
        """
        return Self.v4(127, 0, 0, 1)

    @staticmethod
    def localhost_v6() -> Self:
        """Returns the IPv6 loopback address.

        Returns:
            The address `::1`.
        """
        return Self(0, 1, False)

    @staticmethod
    def unspecified_v4() -> Self:
        """Returns the address that binds to every IPv4 address of the machine.

        Returns:
            0.0.0.0.
        """
        return Self.v4(0, 0, 0, 0)

    @staticmethod
    def unspecified_v6() -> Self:
        """Returns the address that binds to every address of the machine.

        Returns:
            The address `::`.
        """
        return Self(0, 0, False)

    @always_inline
    def is_v4(self) -> Bool:
        """Returns whether this is an IPv4 address.

        Returns:
            True for IPv4; False also for the IPv4-mapped form of IPv6.
        """
        return self._is_v4

    @always_inline
    def is_v6(self) -> Bool:
        """Returns whether this is an IPv6 address.

        Returns:
            True for IPv6, the IPv4-mapped form included.
        """
        return not self._is_v4

    def is_v4_mapped(self) -> Bool:
        """Returns whether this is the IPv6 form of an IPv4 address.

        Returns:
            True within `::ffff:0:0/96` (RFC 4291 section 2.5.5.2).
        """
        return not self._is_v4 and self._holds_v4()

    def is_unspecified(self) -> Bool:
        """Returns whether the address is the unspecified one, which means
        "any".

        Returns:
            True for 0.0.0.0 and `::`.
        """
        if self._holds_v4():
            return self.v4_number() == 0
        return self._high == 0 and self._low == 0

    def is_loopback(self) -> Bool:
        """Returns whether the address refers to this machine.

        Returns:
            True for 127.0.0.0/8 (RFC 1122) and `::1` (RFC 4291).
        """
        if self._holds_v4():
            return in_v4_block(self.v4_number(), 0x7F00_0000, 8)
        return self._high == 0 and self._low == 1

    def is_private(self) -> Bool:
        """Returns whether the address belongs to a private network.

        Returns:
            True for 10.0.0.0/8, 172.16.0.0/12 and 192.168.0.0/16 (RFC 1918)
            and for `fc00::/7` (RFC 4193).
        """
        if self._holds_v4():
            return is_private_v4(self.v4_number())
        return self._high >> 57 == 0xFC >> 1

    def is_link_local(self) -> Bool:
        """Returns whether the address is valid on one link only.

        Returns:
            True for 169.254.0.0/16 (RFC 3927) and `fe80::/10` (RFC 4291).
        """
        if self._holds_v4():
            return in_v4_block(self.v4_number(), 0xA9FE_0000, 16)
        return self._high >> 54 == 0xFE80 >> 6

    def is_multicast(self) -> Bool:
        """Returns whether the address is that of a multicast group.

        Returns:
            True for 224.0.0.0/4 (RFC 5771) and `ff00::/8` (RFC 4291).
        """
        if self._holds_v4():
            return in_v4_block(self.v4_number(), 0xE000_0000, 4)
        return self._high >> 56 == 0xFF

    def is_broadcast(self) -> Bool:
        """Returns whether the address is the broadcast address of the link.

        Returns:
            True for 255.255.255.255 (RFC 919).
        """
        return self._holds_v4() and self.v4_number() == 0xFFFF_FFFF

    def is_documentation(self) -> Bool:
        """Returns whether the address is reserved for documentation.

        Returns:
            True for the three blocks of RFC 5737, `2001:db8::/32` (RFC 3849)
            and `3fff::/20` (RFC 9637).
        """
        if self._holds_v4():
            return is_documentation_v4(self.v4_number())
        return is_documentation_v6(self._high)

    def is_global(self) -> Bool:
        """Returns whether the address is globally reachable and unicast.

        In doubt it returns False. If your program connects to addresses that a
        peer supplies, use it to protect your own network.

        Returns:
            False for every block that the registries of RFC 6890 list as not
            globally reachable, for multicast, and for unassigned parts of IPv6.
            For the translated form `64:ff9b::/96` (RFC 6052), the embedded IPv4
            address decides.
        """
        if self._holds_v4():
            return is_global_v4(self.v4_number())
        return is_global_v6(self._high, self._low)

    def v4_number(self) -> UInt32:
        """Returns an IPv4 address as a number.

        Returns:
            The address, its first octet the most significant one; the last 32
            bits of an IPv6 address.
        """
        return UInt32(self._low & 0xFFFF_FFFF)

    def v4_octets(self) -> Array[UInt8, 4]:
        """Returns the octets of an IPv4 address.

        Returns:
            The address in network order; the last four octets of an IPv6
            address.
        """
        var octets = Array[UInt8, 4](fill=0)
        for i in range(4):
            octets[i] = UInt8((self._low >> UInt64(24 - 8 * i)) & 255)
        return octets^

    def v6_octets(self) -> Array[UInt8, 16]:
        """Returns the octets of an IPv6 address.

        Returns:
            The address in network order; the IPv4-mapped form of an IPv4
            address.
        """
        var octets = Array[UInt8, 16](fill=0)
        for i in range(8):
            var shift = UInt64(56 - 8 * i)
            octets[i] = UInt8((self._high >> shift) & 255)
            octets[8 + i] = UInt8((self._low >> shift) & 255)
        return octets^

    def to_v4_mapped(self) -> Self:
        """Returns the IPv6 form of an IPv4 address.

        Returns:
            The address within `::ffff:0:0/96`; an IPv6 address unchanged.
        """
        return Self(self._high, self._low, False)

    def unmapped(self) -> Self:
        """Returns the IPv4 address within an IPv4-mapped IPv6 address.

        Returns:
            The IPv4 address; any other address unchanged.
        """
        return Self(self._high, self._low, self._holds_v4())

    def write_to(self, mut writer: Some[Writer]):
        """Writes the canonical text: a dotted quad, or RFC 5952.

        Args:
            writer: The destination.
        """
        if self._is_v4:
            write_v4(self.v4_number(), writer)
            return
        var groups = SIMD[DType.uint16, 8](0)
        for i in range(4):
            var shift = UInt64(48 - 16 * i)
            groups[i] = UInt16((self._high >> shift) & 0xFFFF)
            groups[4 + i] = UInt16((self._low >> shift) & 0xFFFF)
        write_v6(groups, writer)

    @always_inline
    def _holds_v4(self) -> Bool:
        return self._high == 0 and self._low >> 32 == _MAPPED_PREFIX >> 32

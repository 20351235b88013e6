"""Defines socket addresses in the kernel's layout.

The layouts are those of Linux (ip(7), ipv6(7), unix(7)). The family is in the
machine's byte order, ports and addresses are in network order (RFC 791, RFC
8200).
"""

comptime AF_UNSPEC = 0
"""The family of an address that is not there."""
comptime AF_UNIX = 1
"""The family of sockets within one machine."""
comptime AF_INET = 2
"""The family of IPv4."""
comptime AF_INET6 = 10
"""The family of IPv6."""

comptime SOCKET_ADDRESS_OCTETS = 128
"""The size of a storage, enough for every family of the kernel."""

comptime UNIX_NAME_OCTETS_MAX = 107
"""The longest path, its final NUL not counted, and the longest abstract name,
its first NUL not counted."""

comptime _V4_OCTETS = 16
comptime _V6_OCTETS = 28
comptime _UNIX_OCTETS_MAX = 110
# After all octets that the kernel reads of a Unix socket's address, whose end
# is given only by its length.
comptime _COUNT_WORD = 15


struct SocketAddressStorage(Copyable, Movable):
    """One socket address of any family in the kernel's layout.

    It has the size and the alignment of C's `sockaddr_storage` and no other
    field, so that its address can be handed to the kernel.
    """

    var words: Array[UInt64, SOCKET_ADDRESS_OCTETS // 8]
    """The octets of the address; zero after its end."""

    def __init__(out self):
        """Creates an address of no family."""
        self.words = Array[UInt64, SOCKET_ADDRESS_OCTETS // 8](fill=0)

    @staticmethod
    def v4(octets: Array[UInt8, 4], port: UInt16) -> Self:
        """Encodes an IPv4 socket address.

        Args:
            octets: The address in network order.
            port: The port.

        Returns:
            The address in the kernel's layout.
        """
        var storage = Self()
        storage._set_family_and_port(AF_INET, port)
        storage._write(4, Span(octets))
        return storage^

    @staticmethod
    def v6(octets: Array[UInt8, 16], port: UInt16) -> Self:
        """Encodes an IPv6 socket address without a scope.

        Args:
            octets: The address in network order.
            port: The port.

        Returns:
            The address in the kernel's layout.
        """
        var storage = Self()
        storage._set_family_and_port(AF_INET6, port)
        storage._write(8, Span(octets))
        return storage^

    @staticmethod
    def unix(name: Span[UInt8, _]) -> Self:
        """Encodes the address of a Unix socket.

        Args:
            name: A path without NUL, or a NUL and an abstract name; at most
                `UNIX_NAME_OCTETS_MAX`, the NUL not counted.

        Returns:
            The address in the kernel's layout.
        """
        var storage = Self()
        storage.words[0] = UInt64(AF_UNIX)
        storage._write(2, name)
        var is_abstract = len(name) > 0 and name[0] == 0
        storage.note_octet_count(2 + len(name) + (0 if is_abstract else 1))
        return storage^

    def unix_name(self) -> List[UInt8]:
        """Decodes the address of a Unix socket.

        Returns:
            A path, or a NUL and an abstract name; empty if the socket has no
            name, or the family is not `AF_UNIX`.
        """
        var name = List[UInt8]()
        if self.family() != AF_UNIX:
            return name^
        for i in range(2, self.octet_count()):
            var octet = self._octet(i)
            if octet == 0 and i > 2 and name[0] != 0:
                break
            name.append(octet)
        return name^

    def note_octet_count(mut self, count: Int):
        """Stores the length that the kernel has reported.

        Args:
            count: The length; it counts for Unix sockets alone.
        """
        if self.family() == AF_UNIX:
            self.words[_COUNT_WORD] = UInt64(
                min(max(count, 2), _UNIX_OCTETS_MAX)
            )

    def family(self) -> Int:
        """Returns the address family.

        Returns:
            `AF_INET`, `AF_INET6`, `AF_UNIX` or `AF_UNSPEC`; other families of
            the kernel have other numbers.
        """
        return Int(self.words[0] & 0xFFFF)

    def octet_count(self) -> Int:
        """Returns how many octets the kernel reads of this address.

        Returns:
            The length for `bind` and `connect`: 16 for IPv4, 28 for IPv6, that
            of the name and 2 for Unix sockets, the whole storage otherwise.
        """
        if self.family() == AF_INET:
            return _V4_OCTETS
        if self.family() == AF_INET6:
            return _V6_OCTETS
        if self.family() == AF_UNIX:
            return max(Int(self.words[_COUNT_WORD]), 2)
        return SOCKET_ADDRESS_OCTETS

    def port(self) -> UInt16:
        """Returns the port of an IP address.

        Returns:
            The port; without meaning for a family that is not IP.
        """
        return UInt16(self._octet(2)) << 8 | UInt16(self._octet(3))

    def v4_octets(self) -> Array[UInt8, 4]:
        """Decodes the address of an IPv4 socket address.

        Returns:
            The address in network order; without meaning unless the family is
            `AF_INET`.
        """
        var octets = Array[UInt8, 4](fill=0)
        for i in range(4):
            octets[i] = self._octet(4 + i)
        return octets^

    def v6_octets(self) -> Array[UInt8, 16]:
        """Decodes the address of an IPv6 socket address.

        Returns:
            The address in network order; without meaning unless the family is
            `AF_INET6`.
        """
        var octets = Array[UInt8, 16](fill=0)
        for i in range(16):
            octets[i] = self._octet(8 + i)
        return octets^

    def _octet(self, index: Int) -> UInt8:
        # Linux runs Mojo on little-endian machines only.
        return UInt8((self.words[index // 8] >> UInt64(index % 8 * 8)) & 0xFF)

    def _write(mut self, start: Int, octets: Span[UInt8, _]):
        for i in range(len(octets)):
            var at = start + i
            self.words[at // 8] |= UInt64(octets[i]) << UInt64(at % 8 * 8)

    def _set_family_and_port(mut self, family: Int, port: UInt16):
        self.words[0] = UInt64(family)
        self.words[0] |= UInt64(port >> 8) << 16
        self.words[0] |= UInt64(port & 0xFF) << 24

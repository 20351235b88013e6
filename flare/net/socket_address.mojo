"""Pairs an IP address with a port."""

from flare.sys.socket_address import AF_INET, AF_INET6, SocketAddressStorage

from .address_syntax import AddressSyntaxError
from .ip_address import IpAddr

comptime _COLON: UInt8 = 58
comptime _OPENING_BRACKET: UInt8 = 91
comptime _CLOSING_BRACKET: UInt8 = 93
comptime _PORT_DIGITS_MAX = 5
comptime _PORT_MAX = 65535


@fieldwise_init
struct SocketAddr(Equatable, Hashable, TrivialRegisterPassable, Writable):
    """An IP address and a port: one end of a connection."""

    var ip: IpAddr
    """The IP address."""
    var port: UInt16
    """The port; 0 lets the kernel choose one when binding."""

    @staticmethod
    def parse(text: StringSlice) raises -> Self:
        """Parses `127.0.0.1:80` or `[::1]:80`.

        The port is one to five digits and at most 65535. Host names and
        service names are refused.

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
        """Parses the text form of a socket address, given as octets.

        Args:
            octets: The whole text.

        Returns:
            The address.

        Raises:
            AddressSyntaxError: If the text is not a socket address.
        """
        if len(octets) == 0:
            raise AddressSyntaxError("the text is empty")
        if octets[0] == _OPENING_BRACKET:
            return _parse_bracketed(octets)
        for i in range(len(octets)):
            if octets[i] == _COLON:
                return _parse_v4_with_port(octets, i)
        raise AddressSyntaxError("the port is missing")

    @staticmethod
    def localhost(port: UInt16) -> Self:
        """Returns the IPv4 loopback address with a port.

        Args:
            port: The port.

        Returns:
            The address 127.0.0.1 with the port.
        """
        return Self(IpAddr.localhost_v4(), port)

    @staticmethod
    def localhost_v6(port: UInt16) -> Self:
        """Returns the IPv6 loopback address with a port.

        Args:
            port: The port.

        Returns:
            The address `[::1]` with the port.
        """
        return Self(IpAddr.localhost_v6(), port)

    @staticmethod
    def any_v4(port: UInt16) -> Self:
        """Returns the address that binds a port on every IPv4 address of the
        machine.

        Args:
            port: The port.

        Returns:
            The address 0.0.0.0 with the port.
        """
        return Self(IpAddr.unspecified_v4(), port)

    @staticmethod
    def any_v6(port: UInt16) -> Self:
        """Returns the address that binds a port on every address of the
        machine.

        IPv4 is included unless the socket is set to IPv6 only.

        Args:
            port: The port.

        Returns:
            The address `[::]` with the port.
        """
        return Self(IpAddr.unspecified_v6(), port)

    @staticmethod
    def from_storage(storage: SocketAddressStorage) -> Optional[Self]:
        """Returns the address in a structure that the kernel wrote.

        Args:
            storage: The kernel's layout.

        Returns:
            The address without its scope; `None` if the family is not IP.
        """
        if storage.family() == AF_INET:
            return Self(IpAddr.v4(storage.v4_octets()), storage.port())
        if storage.family() == AF_INET6:
            return Self(IpAddr.v6(storage.v6_octets()), storage.port())
        return None

    def to_storage(self) -> SocketAddressStorage:
        """Returns the address as a structure for the kernel.

        Returns:
            The kernel's layout.
        """
        if self.ip.is_v4():
            return SocketAddressStorage.v4(self.ip.v4_octets(), self.port)
        return SocketAddressStorage.v6(self.ip.v6_octets(), self.port)

    def write_to(self, mut writer: Some[Writer]):
        """Writes the text that `parse` reads (RFC 3986 section 3.2.2).

        Args:
            writer: The destination.
        """
        if self.ip.is_v4():
            writer.write(self.ip, ":", self.port)
        else:
            writer.write("[", self.ip, "]:", self.port)


def _parse_v4_with_port(
    octets: Span[UInt8, _], colon: Int
) raises AddressSyntaxError -> SocketAddr:
    for i in range(colon + 1, len(octets)):
        if octets[i] == _COLON:
            raise AddressSyntaxError("an IPv6 address stands in brackets")
    var ip = IpAddr.parse_octets(octets[0:colon])
    return SocketAddr(ip, _parse_port(octets[colon + 1 : len(octets)]))


def _parse_bracketed(
    octets: Span[UInt8, _]
) raises AddressSyntaxError -> SocketAddr:
    var end = 1
    while end < len(octets) and octets[end] != _CLOSING_BRACKET:
        end += 1
    if end == len(octets):
        raise AddressSyntaxError("the closing bracket is missing")
    var ip = IpAddr.parse_octets(octets[1:end])
    if ip.is_v4():
        raise AddressSyntaxError("only an IPv6 address stands in brackets")
    if end + 1 == len(octets):
        raise AddressSyntaxError("the port is missing")
    if octets[end + 1] != _COLON:
        raise AddressSyntaxError("a colon follows the closing bracket")
    return SocketAddr(ip, _parse_port(octets[end + 2 : len(octets)]))


def _parse_port(octets: Span[UInt8, _]) raises AddressSyntaxError -> UInt16:
    if len(octets) == 0:
        raise AddressSyntaxError("the port is missing")
    if len(octets) > _PORT_DIGITS_MAX:
        raise AddressSyntaxError("the port is longer than five digits")
    var port = 0
    for octet in octets:
        if octet - 48 > 9:
            raise AddressSyntaxError("the port has an octet that is no digit")
        port = port * 10 + Int(octet - 48)
    if port > _PORT_MAX:
        raise AddressSyntaxError("the port is over 65535")
    return UInt16(port)

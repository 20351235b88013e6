"""Names one end of a stream: an IP address with a port, or a Unix socket."""

from flare.net import IpAddr, NetError, SocketAddr
from flare.sys.socket_address import AF_UNIX, SocketAddressStorage
from flare.unix import UnixAddr

comptime _UNIX: StaticString = "unix:"


struct StreamAddr(Copyable, Equatable, Movable, Writable):
    """Names where a server listens, or who is at the other end of a connection.

    The text is `127.0.0.1:80` or `[::1]:80`, or `unix:` in front of a path or
    of `@` and an abstract name. The peer of a Unix socket mostly has no name:
    its text is `unix:` alone.
    """

    # Without meaning where there is a name.
    var _ip: SocketAddr
    var _name: Optional[UnixAddr]

    @implicit
    def __init__(out self, address: SocketAddr):
        """Names an end of a TCP connection.

        Args:
            address: The IP address and the port.
        """
        self._ip = address
        self._name = None

    @implicit
    def __init__(out self, var name: UnixAddr):
        """Names an end of a connection between Unix sockets.

        Args:
            name: The path or the abstract name.
        """
        self._ip = SocketAddr.any_v4(0)
        self._name = name^

    @staticmethod
    def parse(text: StringSlice) raises -> Self:
        """Parses an address.

        Args:
            text: `127.0.0.1:80`, `[::1]:80`, `unix:/run/app.sock` or
                `unix:@name`.

        Returns:
            The address.

        Raises:
            Error: `net.bad_address parse`, with the reason and the text.
        """
        if text.startswith(_UNIX):
            return Self(UnixAddr.parse(text[byte = _UNIX.byte_length() :]))
        return Self(SocketAddr.parse(text))

    @staticmethod
    def from_storage(storage: SocketAddressStorage) -> Optional[Self]:
        """Decodes an address that the kernel wrote.

        Args:
            storage: The kernel's layout.

        Returns:
            The address, or none if it is neither IP nor of a Unix socket.
        """
        if storage.family() == AF_UNIX:
            return Self(UnixAddr(storage=storage))
        var address = SocketAddr.from_storage(storage)
        if not address:
            return None
        return Self(address.value())

    def is_unix(self) -> Bool:
        """Returns whether it names a Unix socket.

        Returns:
            False for an IP address and a port.
        """
        return Bool(self._name)

    def ip_address(self) -> Optional[IpAddr]:
        """Returns the IP address.

        Returns:
            The address, or none for a Unix socket.
        """
        if self._name:
            return None
        return self._ip.ip

    def socket_address(self) raises -> SocketAddr:
        """Returns the IP address and the port.

        Returns:
            Both.

        Raises:
            Error: `net.unsupported address` for a Unix socket.
        """
        if self._name:
            raise Error(NetError(NetError.UNSUPPORTED, "address"))
        return self._ip

    def unix_address(self) raises -> UnixAddr:
        """Returns the name of a Unix socket.

        Returns:
            The path, the abstract name, or no name.

        Raises:
            Error: `net.unsupported address` for an IP address.
        """
        if not self._name:
            raise Error(NetError(NetError.UNSUPPORTED, "address"))
        return self._name.value().copy()

    def __eq__(self, other: Self) -> Bool:
        """Compares addresses.

        Args:
            other: Another address.

        Returns:
            True for the same address and port, or the same name.
        """
        if Bool(self._name) != Bool(other._name):
            return False
        if self._name:
            return self._name.value() == other._name.value()
        return self._ip == other._ip

    def write_to(self, mut writer: Some[Writer]):
        """Writes the text that `parse` reads, escaped where it must be.

        Args:
            writer: The destination.
        """
        if self._name:
            writer.write(_UNIX, self._name.value())
        else:
            writer.write(self._ip)

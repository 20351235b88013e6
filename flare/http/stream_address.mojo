"""Defines the address of a stream's end: IP address and port, or a Unix
socket.
"""

from flare.net import IpAddr, NetError, SocketAddr
from flare.sys.socket_address import AF_UNIX, SocketAddressStorage
from flare.unix import UnixAddr

comptime _UNIX: StaticString = "unix:"


struct StreamAddr(Copyable, Equatable, Movable, Writable):
    """The address of one end of a stream.

    Its text is `127.0.0.1:80`, `[::1]:80`, or `unix:` followed by a path or by
    `@` and an abstract name. The peer of a Unix socket usually has no name: its
    text is `unix:` alone.
    """

    # Unused if there is a name.
    var _ip: SocketAddr
    var _name: Optional[UnixAddr]

    @implicit
    def __init__(out self, address: SocketAddr):
        """Creates the address of a TCP connection's end.

        Args:
            address: The IP address and the port.
        """
        self._ip = address
        self._name = None

    @implicit
    def __init__(out self, var name: UnixAddr):
        """Creates the address of a Unix socket.

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
        """Returns the address in a structure that the kernel wrote.

        Args:
            storage: The kernel's layout.

        Returns:
            The address; `None` if it is neither IP nor that of a Unix socket.
        """
        if storage.family() == AF_UNIX:
            return Self(UnixAddr(storage=storage))
        var address = SocketAddr.from_storage(storage)
        if not address:
            return None
        return Self(address.value())

    def is_unix(self) -> Bool:
        """Returns whether it is the address of a Unix socket.

        Returns:
            False for an IP address and a port.
        """
        return Bool(self._name)

    def ip_address(self) -> Optional[IpAddr]:
        """Returns the IP address.

        Returns:
            The address; `None` for a Unix socket.
        """
        if self._name:
            return None
        return self._ip.ip

    def socket_address(self) raises -> SocketAddr:
        """Returns the IP address and the port.

        Returns:
            The IP address with its port.

        Raises:
            Error: `net.unsupported address` for a Unix socket.
        """
        if self._name:
            raise Error(NetError(NetError.UNSUPPORTED, "address"))
        return self._ip

    def unix_address(self) raises -> UnixAddr:
        """Returns the address of a Unix socket.

        Returns:
            The path, the abstract name, or no name.

        Raises:
            Error: `net.unsupported address` for an IP address.
        """
        if not self._name:
            raise Error(NetError(NetError.UNSUPPORTED, "address"))
        return self._name.value().copy()

    def __eq__(self, other: Self) -> Bool:
        """Returns whether two addresses are equal.

        Args:
            other: Another address.

        Returns:
            True for the same IP address and port, or the same name.
        """
        if Bool(self._name) != Bool(other._name):
            return False
        if self._name:
            return self._name.value() == other._name.value()
        return self._ip == other._ip

    def write_to(self, mut writer: Some[Writer]):
        """Writes the text that `parse` reads, escaped if needed.

        Args:
            writer: The destination.
        """
        if self._name:
            writer.write(_UNIX, self._name.value())
        else:
            writer.write(self._ip)

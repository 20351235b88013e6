"""Defines the addresses of Unix sockets: paths and abstract names (unix(7))."""

from flare.core import write_escaped
from flare.net.address_syntax import AddressSyntaxError
from flare.sys.socket_address import UNIX_NAME_OCTETS_MAX, SocketAddressStorage

comptime _AT: UInt8 = 64


struct UnixAddr(Copyable, Equatable, Movable, Writable):
    """The address of a Unix socket: a path, an abstract name, or none.

    A text that starts with `@` is an abstract name. It exists in the kernel
    only, and any process in the same network namespace can use it: it has no
    permissions. Any other text is a path. A path that starts with `@` is
    written `./@name`.
    """

    comptime NAME_OCTETS_MAX = UNIX_NAME_OCTETS_MAX
    """The longest path or abstract name, without the `@`."""

    # As the kernel has it: a path, a NUL and an abstract name, or nothing.
    var _name: List[UInt8]

    def __init__(out self, *, storage: SocketAddressStorage):
        """Creates the address from a structure that the kernel wrote.

        Args:
            storage: The kernel's layout, of a Unix socket or of no family.
        """
        self._name = storage.unix_name()

    def __init__(out self, *, var unsafe_name: List[UInt8]):
        """Creates an address from a name in the kernel's form.

        Args:
            unsafe_name: The name.

        Safety:
            The name is no longer than the kernel's structure allows.
        """
        self._name = unsafe_name^

    @staticmethod
    def parse(text: StringSlice) raises -> Self:
        """Parses and checks a path or an abstract name.

        Args:
            text: A path, or `@` and an abstract name.

        Returns:
            The address.

        Raises:
            Error: `net.bad_address parse` if the text is empty, contains a NUL
                or is longer than `NAME_OCTETS_MAX`.
        """
        try:
            return Self._checked(text.as_bytes())
        except e:
            raise e.about(text.as_bytes())

    def is_abstract(self) -> Bool:
        """Returns whether the address is an abstract name.

        Returns:
            True for an abstract name, which has no file.
        """
        return len(self._name) > 0 and self._name[0] == 0

    def is_unnamed(self) -> Bool:
        """Returns whether the socket was never bound and so has no name.

        Returns:
            True if no other socket can send or connect to it.
        """
        return len(self._name) == 0

    def octets(self) -> Span[UInt8, origin_of(self._name)]:
        """Returns a view of the path, or of the abstract name without its `@`.

        Returns:
            The octets, which need not be UTF-8: another process chose them.
        """
        var start = 1 if self.is_abstract() else 0
        return Span(self._name)[start : len(self._name)]

    def to_storage(self) -> SocketAddressStorage:
        """Returns the address as a structure for the kernel.

        Returns:
            The kernel's layout.
        """
        return SocketAddressStorage.unix(Span(self._name))

    def __eq__(self, other: Self) -> Bool:
        """Returns whether two names are equal, octet by octet.

        Args:
            other: Another address.

        Returns:
            True if they are. Different paths may still lead to the same file.
        """
        return self._name == other._name

    def write_to(self, mut writer: Some[Writer]):
        """Writes the text that `parse` reads, escaped if needed.

        Args:
            writer: The destination.
        """
        if self.is_abstract():
            writer.write("@")
        write_escaped(self.octets(), writer)

    @staticmethod
    def _checked(text: Span[UInt8, _]) raises AddressSyntaxError -> Self:
        if len(text) == 0:
            raise AddressSyntaxError("the text is empty")
        var is_abstract = text[0] == _AT
        var octets = text[1 if is_abstract else 0 : len(text)]
        if len(octets) > UNIX_NAME_OCTETS_MAX:
            raise AddressSyntaxError("the path is longer than 107 octets")
        for octet in octets:
            if octet == 0:
                raise AddressSyntaxError("the path holds a NUL")
        var name = List[UInt8](capacity=len(text))
        if is_abstract:
            if len(octets) == 0:
                raise AddressSyntaxError("the abstract name is empty")
            name.append(0)
        name.extend(octets)
        return Self(unsafe_name=name^)


def about(e: Error, address: UnixAddr) -> Error:
    """Adds an address to an error.

    Args:
        e: An error of an operation.
        address: The address that the operation was about.

    Returns:
        The error; `NetError.of` reads the same fields as before.
    """
    return Error(String(e, ": ", address))

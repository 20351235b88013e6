"""Defines the error of socket operations, and its text form.

A public function raises the text only: Mojo's `try` catches one error type,
and programs mix socket calls with `Int(text)`. The text starts with a stable
code, as in `net.refused connect 10.0.0.1:80 errno=111`. `NetError.of` reads
the fields back.
"""

from flare.sys.errno import (
    EACCES,
    EADDRINUSE,
    EADDRNOTAVAIL,
    EAFNOSUPPORT,
    EBADF,
    ECANCELED,
    ECONNABORTED,
    ECONNREFUSED,
    ECONNRESET,
    EHOSTDOWN,
    EHOSTUNREACH,
    EMFILE,
    EMSGSIZE,
    ENETDOWN,
    ENETRESET,
    ENETUNREACH,
    ENFILE,
    ENOBUFS,
    ENOENT,
    ENOMEM,
    ENOPROTOOPT,
    ENOSYS,
    ENOTCONN,
    EOPNOTSUPP,
    EPERM,
    EPIPE,
    EPROTONOSUPPORT,
    EPROTOTYPE,
    ESHUTDOWN,
    ESOCKTNOSUPPORT,
    ETIME,
    ETIMEDOUT,
)

from .error_text import NetErrorText, parse_net_error
from .socket_address import SocketAddr


struct NetError(ImplicitlyCopyable, Writable):
    """Describes a failed socket operation: its kind, the operation, the
    address.
    """

    comptime OTHER = 0
    """A failure without a kind of its own; see `errno`."""
    comptime TIMEOUT = 1
    """The deadline passed, or the peer stopped answering."""
    comptime REFUSED = 2
    """No socket listens at the address."""
    comptime RESET = 3
    """The peer or the kernel reset the connection."""
    comptime CLOSED = 4
    """The socket is closed, or the peer receives no more."""
    comptime UNREACHABLE = 5
    """No route leads to the address."""
    comptime ADDRESS_IN_USE = 6
    """Another socket is bound to the address."""
    comptime ADDRESS_NOT_AVAILABLE = 7
    """The machine does not have the address, or no port is left."""
    comptime PERMISSION = 8
    """The process lacks the permission."""
    comptime BAD_ADDRESS = 9
    """A text is not an address."""
    comptime NO_DESCRIPTORS = 10
    """The process or the system has no descriptor left."""
    comptime NO_MEMORY = 11
    """The kernel has no memory left for sockets."""
    comptime CANCELLED = 12
    """The fiber that waited for the operation was cancelled."""
    comptime TOO_LARGE = 13
    """The datagram is larger than the transport carries."""
    comptime UNSUPPORTED = 14
    """The kernel or the socket does not offer the operation."""
    comptime NOT_FOUND = 15
    """The path does not exist."""

    var kind: Int
    """One of the constants above."""
    var operation: StaticString
    """The operation: `"connect"`, `"read"` and so on."""
    var errno: Int
    """The kernel's error number; 0 if the kernel reported none."""
    var address: Optional[SocketAddr]
    """The address, if the operation has one."""

    def __init__(
        out self,
        kind: Int,
        operation: StaticString,
        *,
        errno: Int = 0,
        address: Optional[SocketAddr] = None,
    ):
        """Creates an error.

        Args:
            kind: One of the constants of this struct.
            operation: The operation, one of `NET_OPERATIONS`.
            errno: The kernel's error number, or 0.
            address: The address, if the operation has one.
        """
        self.kind = kind
        self.operation = operation
        self.errno = errno
        self.address = address

    @staticmethod
    def from_errno(
        operation: StaticString,
        errno: Int,
        address: Optional[SocketAddr] = None,
    ) -> Self:
        """Creates an error from an error number of the kernel.

        Args:
            operation: The operation, one of `NET_OPERATIONS`.
            errno: The error number, or its negation as `flare.sys` returns it.
            address: The address, if the operation has one.

        Returns:
            The error, of the kind for that number.
        """
        var number = abs(errno)
        return Self(_kind_of(number), operation, errno=number, address=address)

    @staticmethod
    def of(e: Error) -> Optional[Self]:
        """Returns the fields of an error that a socket operation raised.

        Args:
            e: Any error.

        Returns:
            The fields; `None` if the error has another origin.
        """
        var parsed = parse_net_error(String(e).as_bytes())
        if not parsed:
            return None
        ref fields = parsed.value()
        return Self(
            fields.kind,
            fields.operation,
            errno=fields.errno,
            address=fields.address,
        )

    def write_to(self, mut writer: Some[Writer]):
        """Writes the text that `of` reads; absent parts are left out.

        Args:
            writer: The destination.
        """
        NetErrorText(
            self.kind, self.operation, self.errno, self.address
        ).write_to(writer)


@always_inline
def checked(
    operation: StaticString,
    result: Int,
    address: Optional[SocketAddr] = None,
) raises -> Int:
    """Returns a result of `flare.sys`, or raises its error if it is negative.

    Args:
        operation: The operation, one of `NET_OPERATIONS`.
        result: The result, or a negated errno.
        address: The address, if the operation has one.

    Returns:
        The result, not negative.

    Raises:
        Error: The text of a `NetError`.
    """
    if result < 0:
        raise NetError.from_errno(operation, result, address)
    return result


def _kind_of(errno: Int) -> Int:
    if errno == ETIMEDOUT or errno == ETIME:
        return NetError.TIMEOUT
    if errno == ECONNREFUSED:
        return NetError.REFUSED
    if errno in (ECONNRESET, ECONNABORTED, ENETRESET):
        return NetError.RESET
    if errno in (EPIPE, ESHUTDOWN, ENOTCONN, EBADF):
        return NetError.CLOSED
    if errno in (ENETUNREACH, EHOSTUNREACH, ENETDOWN, EHOSTDOWN):
        return NetError.UNREACHABLE
    if errno == EADDRINUSE:
        return NetError.ADDRESS_IN_USE
    if errno == EADDRNOTAVAIL:
        return NetError.ADDRESS_NOT_AVAILABLE
    if errno == EACCES or errno == EPERM:
        return NetError.PERMISSION
    if errno == EMFILE or errno == ENFILE:
        return NetError.NO_DESCRIPTORS
    if errno == ENOMEM or errno == ENOBUFS:
        return NetError.NO_MEMORY
    if errno == ECANCELED:
        return NetError.CANCELLED
    if errno == ENOENT:
        return NetError.NOT_FOUND
    if errno == EMSGSIZE:
        return NetError.TOO_LARGE
    if errno in (
        EAFNOSUPPORT,
        EPROTONOSUPPORT,
        ESOCKTNOSUPPORT,
        EPROTOTYPE,
        EOPNOTSUPP,
        ENOPROTOOPT,
        ENOSYS,
    ):
        return NetError.UNSUPPORTED
    return NetError.OTHER

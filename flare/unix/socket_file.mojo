"""Binds sockets to paths: permissions, files left by dead sockets, removal."""

from flare.net.error import checked
from flare.sys.errno import EADDRINUSE, ECONNREFUSED, ENOENT
from flare.sys.file import close_descriptor
from flare.sys.socket import bind_socket, connect_socket, open_socket
from flare.sys.socket_address import AF_UNIX
from flare.sys.socket_constants import SOCK_DGRAM
from flare.sys.socket_file import (
    FileIdentity,
    identify_file,
    identify_open_file,
    open_file_itself,
    remove_file,
    set_descriptor_mode,
    set_mode_of_file_itself,
)

from .address import UnixAddr

comptime MODE_DEFAULT = 0o600
"""The default permissions: only this process's user may connect or send."""

comptime _ATTEMPTS = 3


@fieldwise_init
struct SocketFile(Copyable, Movable):
    """The file of a bound socket, to be removed with it."""

    var path: String
    """The path."""
    var identity: FileIdentity
    """The identity of the file."""

    def is_in_place(self) -> Bool:
        """Returns whether the path still leads to the file.

        Returns:
            False if it was removed or replaced.
        """
        var found = FileIdentity()
        return identify_file(self.path, found) == 0 and found == self.identity

    def remove(self):
        """Removes the file, unless the path now leads to another one."""
        if self.is_in_place():
            _ = remove_file(self.path)


def bind_name(
    descriptor: Int32, address: UnixAddr, mode: Int
) raises -> Optional[SocketFile]:
    """Binds a socket to a path or abstract name.

    A file that a dead socket left is replaced.

    Args:
        descriptor: A socket that is not bound.
        address: The name.
        mode: The permissions of the file; an abstract name has none.

    Returns:
        The file; `None` for an abstract name.

    Raises:
        NetError: `net.address_in_use bind` if the name is in use, or if the
            path leads to a file that is not a socket; `net.permission bind`,
            `net.not_found bind` and others.
    """
    if address.is_abstract():
        _ = checked("bind", bind_socket(descriptor, address.to_storage()))
        return None
    var path = String(StringSlice(unsafe_from_utf8=address.octets()))
    # The file is created with the socket's permissions, so that no other user
    # can connect before they are set.
    _ = checked("bind", set_descriptor_mode(descriptor, mode))
    for attempt in range(_ATTEMPTS):
        var bound = bind_socket(descriptor, address.to_storage())
        if bound == 0:
            break
        if (
            bound != -EADDRINUSE
            or attempt == _ATTEMPTS - 1
            or not _remove_stale(path, address)
        ):
            _ = checked("bind", bound)
    var opened = Int32(checked("bind", open_file_itself(path)))
    try:
        return SocketFile(path, _give_mode(opened, mode))
    finally:
        _ = close_descriptor(opened)


def _give_mode(opened: Int32, mode: Int) raises -> FileIdentity:
    # Permissions that the umask removed are added again: through the
    # descriptor, because others may meanwhile change the path.
    var identity = FileIdentity()
    var present = 0
    _ = checked("bind", identify_open_file(opened, identity, present))
    if not identity.is_socket:
        _ = checked("bind", -EADDRINUSE)
    if present != mode:
        _ = checked("bind", set_mode_of_file_itself(opened, mode))
    return identity


def _remove_stale(path: StringSlice, address: UnixAddr) raises -> Bool:
    var found = FileIdentity()
    var looked = identify_file(path, found)
    if looked == -ENOENT:
        return True
    if looked < 0 or not found.is_socket:
        return False
    # A datagram socket probes the path, because its connect disturbs no
    # listener: a stream socket answers EPROTOTYPE, whether it listens yet or
    # not.
    var opened = checked("bind", open_socket(AF_UNIX, SOCK_DGRAM))
    var answer = connect_socket(Int32(opened), address.to_storage())
    _ = close_descriptor(Int32(opened))
    if answer == -ENOENT:
        return True
    # Anything but a refusal comes from somebody who is there.
    if answer != -ECONNREFUSED:
        return False
    var now = FileIdentity()
    if identify_file(path, now) < 0 or now != found:
        return True
    _ = remove_file(path)
    return True

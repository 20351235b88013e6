"""Looks after the files that stand for Unix sockets.

Each function returns the kernel's result, or the negated errno.
"""

from std.ffi import c_int, c_uint, external_call
from std.sys.info import CompilationTarget

from .file import result_or_errno
from .socket_constants import SOL_SOCKET, SO_PEERCRED

comptime _AT_FDCWD = -100
comptime _AT_SYMLINK_NOFOLLOW = 0x100
comptime _AT_EMPTY_PATH = 0x1000
comptime _O_PATH = 0o10000000
comptime _O_CLOEXEC = 0o2000000
comptime _O_NOFOLLOW = (0o100000 if CompilationTarget.has_neon() else 0o400000)
comptime _STATX_BASIC_STATS = 0x7FF
comptime _TYPE_MASK = 0o170000
comptime _TYPE_SOCKET = 0o140000


@fieldwise_init
struct FileIdentity(Equatable, TrivialRegisterPassable):
    """The identity of a file."""

    var device: UInt64
    """The number of its file system."""
    var inode: UInt64
    """Its number there."""
    var is_socket: Bool
    """Whether it is a socket."""

    def __init__(out self):
        """Creates an identity that matches no file."""
        self = Self(0, 0, False)


@fieldwise_init
struct PeerCredentials(Equatable, TrivialRegisterPassable):
    """The process that created the other end of a connection.

    The kernel records it when the end connects or starts to listen. The
    process may have ended, or passed the socket on, since then.
    """

    var pid: Int
    """The process, by its number here; 0 if it is not to be seen from here."""
    var uid: Int
    """The user that it acted for."""
    var gid: Int
    """The group that it acted for."""


def identify_file(path: StringSlice, mut identity: FileIdentity) -> Int:
    """Identifies a file, without following a symbolic link (statx(2)).

    Args:
        path: The path, without NUL.
        identity: Set to the file's identity.

    Returns:
        0, or a negated errno.
    """
    var mode = 0
    return _look_at(Int32(_AT_FDCWD), path, identity, mode)


def identify_open_file(
    descriptor: Int32, mut identity: FileIdentity, mut mode: Int
) -> Int:
    """Identifies the open file of a descriptor (statx(2)).

    Args:
        descriptor: The descriptor.
        identity: Set to which file it is.
        mode: Set to its permissions, 0 to 0o7777.

    Returns:
        0, or a negated errno.
    """
    return _look_at(descriptor, "", identity, mode)


def _look_at(
    descriptor: Int32,
    path: StringSlice,
    mut identity: FileIdentity,
    mut mode: Int,
) -> Int:
    var name = _terminated(path)
    # `struct statx`: mode at octet 28, inode at 32, device at 136 and 140.
    var found = Array[UInt64, 32](fill=0)
    var result = result_or_errno(
        Int(
            external_call["statx", c_int](
                c_int(descriptor),
                name.unsafe_ptr(),
                c_int(_AT_SYMLINK_NOFOLLOW | _AT_EMPTY_PATH),
                c_uint(_STATX_BASIC_STATS),
                found.unsafe_ptr(),
            )
        )
    )
    _ = name^
    if result == 0:
        var type_and_mode = Int(found[3] >> 32) & 0xFFFF
        mode = type_and_mode & 0o7777
        identity = FileIdentity(
            found[17], found[4], type_and_mode & _TYPE_MASK == _TYPE_SOCKET
        )
    return result


def remove_file(path: StringSlice) -> Int:
    """Removes the name of a file (unlink(2)).

    Args:
        path: The path, without NUL.

    Returns:
        0, or a negated errno.
    """
    var name = _terminated(path)
    var result = result_or_errno(
        Int(external_call["unlink", c_int](name.unsafe_ptr()))
    )
    _ = name^
    return result


def open_file_itself(path: StringSlice) -> Int:
    """Opens a file neither to read nor to write it (open(2), `O_PATH`).

    Args:
        path: The path, without NUL; a symbolic link at its end is not followed.

    Returns:
        A descriptor of the file, even if the path later leads to another one;
        or a negated errno.
    """
    var name = _terminated(path)
    var result = result_or_errno(
        Int(
            external_call["open", c_int, num_fixed_args=2](
                name.unsafe_ptr(), c_int(_O_PATH | _O_NOFOLLOW | _O_CLOEXEC)
            )
        )
    )
    _ = name^
    return result


def set_mode_of_file_itself(descriptor: Int32, mode: Int) -> Int:
    """Sets the permissions of a file (chmod(2)).

    Args:
        descriptor: The result of `open_file_itself`; not a symbolic link.
        mode: The permissions, 0 to 0o777.

    Returns:
        0, or a negated errno; `-ENOENT` if /proc is not mounted.
    """
    # fchmod(2) refuses such a descriptor; its name leads to the same file.
    var name = _terminated(String("/proc/self/fd/", descriptor))
    var result = result_or_errno(
        Int(external_call["chmod", c_int](name.unsafe_ptr(), c_uint(mode)))
    )
    _ = name^
    return result


def set_descriptor_mode(descriptor: Int32, mode: Int) -> Int:
    """Sets the permissions of a descriptor's file (fchmod(2)).

    The file of a Unix socket that is bound later starts with these
    permissions, less the umask.

    Args:
        descriptor: The descriptor.
        mode: The permissions, 0 to 0o777.

    Returns:
        0, or a negated errno.
    """
    return result_or_errno(
        Int(external_call["fchmod", c_int](descriptor, c_uint(mode)))
    )


def peer_credentials(
    descriptor: Int32, mut credentials: PeerCredentials
) -> Int:
    """Reads the process that created the other end of a Unix socket (unix(7)).

    Args:
        descriptor: A connected socket.
        credentials: Set to the process.

    Returns:
        0, or a negated errno.
    """
    # `struct ucred`.
    var found = Array[c_int, 3](fill=0)
    var octet_count = UInt32(12)
    var result = result_or_errno(
        Int(
            external_call["getsockopt", c_int](
                descriptor,
                c_int(SOL_SOCKET),
                c_int(SO_PEERCRED),
                found.unsafe_ptr(),
                Pointer(to=octet_count),
            )
        )
    )
    if result == 0:
        # Users and groups are unsigned.
        credentials = PeerCredentials(
            Int(found[0]),
            Int(found[1]) & 0xFFFF_FFFF,
            Int(found[2]) & 0xFFFF_FFFF,
        )
    return result


def _terminated(path: StringSlice) -> List[UInt8]:
    var name = List[UInt8](capacity=path.byte_length() + 1)
    name.extend(path.as_bytes())
    name.append(0)
    return name^

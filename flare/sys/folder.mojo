"""Opens folders and the files beneath them (openat2(2), statx(2)).

Each function returns the kernel's result, or the negated errno. A path is
given with a NUL at its end, so that no call copies it.
"""

from std.ffi import c_int, c_uint, external_call
from std.sys.info import CompilationTarget

from .errno import EAGAIN, EINTR, EOPNOTSUPP
from .file import result_or_errno

comptime _IS_ARM = CompilationTarget.has_neon()
comptime _O_CLOEXEC = 0o2000000
comptime _O_PATH = 0o10000000
comptime _O_NONBLOCK = 0o4000
comptime _O_NOCTTY = 0o400
comptime _O_DIRECTORY = 0o40000 if _IS_ARM else 0o200000
comptime _O_NOFOLLOW = 0o100000 if _IS_ARM else 0o400000
# Opening a fifo without a writer does not wait.
comptime _TO_READ = _O_CLOEXEC | _O_NONBLOCK | _O_NOCTTY
comptime _SYS_OPENAT2 = 437
comptime _RESOLVE_NO_MAGICLINKS: UInt64 = 0x02
comptime _RESOLVE_BENEATH: UInt64 = 0x08
comptime _AT_FDCWD = -100
comptime _AT_EMPTY_PATH = 0x1000
comptime _STATX_BASIC_STATS = 0x7FF
comptime _TYPE_MASK: UInt32 = 0o170000
comptime _TYPE_FOLDER: UInt32 = 0o040000
comptime _TYPE_REGULAR: UInt32 = 0o100000
comptime _RWF_NOWAIT = 8
comptime _NANOSECONDS = 1_000_000_000
# About the year 2255: beyond it, nanoseconds leave 63 bits.
comptime _SECONDS_MAX = 9_000_000_000


@fieldwise_init
struct FileStatus(Equatable, TrivialRegisterPassable):
    """The properties of a file. Two equal ones are the same file with
    the same content, unless it was changed twice within one tick of the file
    system's clock.
    """

    var device: UInt64
    """The number of its file system."""
    var inode: UInt64
    """Its number there."""
    var octets: Int
    """The length of its content."""
    var modified_ns: Int
    """When its content changed last, in nanoseconds since 1970. Programs can
    set it to any value."""
    var changed_ns: Int
    """When its content or its properties changed last. Only the kernel sets
    it."""
    var type: UInt32
    """The type bits of its mode."""

    def __init__(out self):
        """Creates the status of no file."""
        self = Self(0, 0, 0, 0, 0, 0)

    def is_regular(self) -> Bool:
        """Returns whether it is a regular file.

        Returns:
            False for folders, devices, sockets and pipes.
        """
        return self.type == _TYPE_REGULAR

    def is_folder(self) -> Bool:
        """Returns whether it is a folder.

        Returns:
            True for a folder.
        """
        return self.type == _TYPE_FOLDER


def open_folder(path: Span[UInt8, _]) -> Int:
    """Opens a folder as the start of paths (open(2), `O_PATH`).

    Args:
        path: The path, with a NUL at its end; symbolic links are followed.

    Returns:
        The descriptor, or the negated errno: `-ENOTDIR` for any other file.
    """
    return _open_at(Int32(_AT_FDCWD), path, _O_PATH | _O_DIRECTORY | _O_CLOEXEC)


def open_beneath(folder: Int32, path: Span[UInt8, _]) -> Int:
    """Opens a file or folder to read it, if it lies beneath a folder.

    The kernel resolves the whole path (openat2(2)). Symbolic links are
    followed within the folder. A link that leaves it ends the call.

    Args:
        folder: The folder.
        path: The relative path, with a NUL at its end.

    Returns:
        The descriptor, or the negated errno: `-EXDEV` if the path leaves the
        folder, `-EAGAIN` if a rename came in between, `-ENOSYS` before Linux
        5.6.
    """
    # `struct open_how`: flags, mode, resolve.
    var how = Array[UInt64, 3](fill=0)
    how[0] = UInt64(_TO_READ)
    how[2] = _RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS
    while True:
        var result = result_or_errno(
            external_call["syscall", Int, num_fixed_args=1](
                Int(_SYS_OPENAT2),
                Int(folder),
                path.unsafe_ptr(),
                how.unsafe_ptr(),
                Int(24),
            )
        )
        if result != -EINTR:
            return result


def open_to_read(path: Span[UInt8, _]) -> Int:
    """Opens a file or folder to read it (open(2)).

    Args:
        path: The path, with a NUL at its end; symbolic links are followed.

    Returns:
        The descriptor, or the negated errno.
    """
    return _open_at(Int32(_AT_FDCWD), path, _TO_READ)


def open_folder_in(folder: Int32, name: Span[UInt8, _]) -> Int:
    """Opens a folder within a folder as the start of paths; follows no link.

    Args:
        folder: The folder.
        name: A name without `/`, with a NUL at its end.

    Returns:
        The descriptor, or the negated errno.
    """
    return _open_at(
        folder, name, _O_PATH | _O_DIRECTORY | _O_NOFOLLOW | _O_CLOEXEC
    )


def open_file_in(folder: Int32, name: Span[UInt8, _]) -> Int:
    """Opens a file or folder within a folder to read it; follows no link.

    Args:
        folder: The folder.
        name: A name without `/`, with a NUL at its end.

    Returns:
        The descriptor, or the negated errno: `-ELOOP` for a link.
    """
    return _open_at(folder, name, _TO_READ | _O_NOFOLLOW)


def _open_at(folder: Int32, path: Span[UInt8, _], flags: Int) -> Int:
    debug_assert(len(path) > 0 and path[len(path) - 1] == 0, "no NUL")
    while True:
        var result = result_or_errno(
            Int(
                external_call["openat", c_int, num_fixed_args=3](
                    c_int(folder), path.unsafe_ptr(), c_int(flags)
                )
            )
        )
        if result != -EINTR:
            return result


def status_beneath(
    folder: Int32, path: Span[UInt8, _], mut status: FileStatus
) -> Int:
    """Reads the status of a file (statx(2)). Links may lead anywhere: the
    status only shows whether a file that was opened is still the same.

    Args:
        folder: The folder.
        path: The relative path, with a NUL at its end; only the NUL for the
            folder itself.
        status: Set to the status.

    Returns:
        0, or the negated errno.
    """
    debug_assert(len(path) > 0 and path[len(path) - 1] == 0, "no NUL")
    # `struct statx`: mode at octet 28, inode at 32, size at 40, ctime at 96,
    # mtime at 112, device at 136 and 140.
    var found = Array[UInt64, 32](fill=0)
    var result = result_or_errno(
        Int(
            external_call["statx", c_int](
                c_int(folder),
                path.unsafe_ptr(),
                c_int(_AT_EMPTY_PATH),
                c_uint(_STATX_BASIC_STATS),
                found.unsafe_ptr(),
            )
        )
    )
    if result == 0:
        status = FileStatus(
            found[17],
            found[4],
            Int(found[5]),
            _nanoseconds(found[14], found[15]),
            _nanoseconds(found[12], found[13]),
            UInt32(found[3] >> 32) & _TYPE_MASK,
        )
    return result


def status_of_path(path: Span[UInt8, _], mut status: FileStatus) -> Int:
    """Reads the status of a file by a path of the process.

    Args:
        path: The path, with a NUL at its end; symbolic links are followed.
        status: Set to the status.

    Returns:
        0, or the negated errno.
    """
    return status_beneath(Int32(_AT_FDCWD), path, status)


def status_of_open(descriptor: Int32, mut status: FileStatus) -> Int:
    """Reads the status of an open file.

    Args:
        descriptor: The descriptor.
        status: Set to the status.

    Returns:
        0, or the negated errno.
    """
    var nothing = Array[UInt8, 1](fill=0)
    return status_beneath(descriptor, Span(nothing), status)


def read_at(
    descriptor: Int32, into: Span[mut=True, UInt8, _], offset: Int
) -> Int:
    """Reads from a place of a file (pread(2)).

    Args:
        descriptor: The file.
        into: The destination.
        offset: The place.

    Returns:
        The count read, 0 at the end of the file, or the negated errno.
    """
    while True:
        var result = result_or_errno(
            external_call["pread", Int](
                c_int(descriptor), into.unsafe_ptr(), len(into), offset
            )
        )
        if result != -EINTR:
            return result


def read_at_once(
    descriptor: Int32, into: Span[mut=True, UInt8, _], offset: Int
) -> Int:
    """Reads octets that lie in memory from a place of a file (preadv2(2),
    `RWF_NOWAIT`).

    Args:
        descriptor: The file.
        into: The destination.
        offset: The place.

    Returns:
        The count read, 0 at the end of the file, or the negated errno. It is
        `-EAGAIN` if the call would wait for a disk, or if the file system
        cannot tell.
    """
    # `struct iovec`.
    var vector = Array[UInt64, 2](fill=0)
    vector[0] = UInt64(Int(into.unsafe_ptr()))
    vector[1] = UInt64(len(into))
    while True:
        var result = result_or_errno(
            external_call["preadv2", Int](
                c_int(descriptor),
                vector.unsafe_ptr(),
                c_int(1),
                offset,
                c_int(_RWF_NOWAIT),
            )
        )
        _ = into
        if result == -EOPNOTSUPP:
            return -EAGAIN
        if result != -EINTR:
            return result


def _nanoseconds(seconds: UInt64, nanoseconds: UInt64) -> Int:
    var clamped = min(max(Int(seconds), -_SECONDS_MAX), _SECONDS_MAX)
    return clamped * _NANOSECONDS + Int(nanoseconds & 0xFFFF_FFFF)

"""Creates, writes and renames files.

Each function returns the kernel's result, or the negated errno.
"""

from std.ffi import c_int, external_call
from std.sys.info import CompilationTarget

from .errno import EINTR, EIO
from .file import result_or_errno

comptime _IS_ARM = CompilationTarget.has_neon()
comptime _O_WRONLY = 1
comptime _O_RDWR = 2
comptime _O_CREAT = 0o100
comptime _O_EXCL = 0o200
comptime _O_APPEND = 0o2000
comptime _O_CLOEXEC = 0o2000000
comptime _O_NONBLOCK = 0o4000
comptime _O_NOCTTY = 0o400
comptime _O_NOFOLLOW = 0o100000 if _IS_ARM else 0o400000
comptime _LOCK_EX = 2
comptime _LOCK_NB = 4


def open_to_write(
    path: StringSlice,
    mode: Int,
    *,
    creates: Bool = True,
    must_create: Bool = False,
) -> Int:
    """Opens a file to read and write it (open(2)).

    Args:
        path: The path, without NUL. A symbolic link in its place is an error:
            in a folder of several users it may have been laid there.
        mode: The permissions of a new file, which the umask masks.
        creates: Whether a file that does not exist is created.
        must_create: Whether a file that exists is an error.

    Returns:
        The descriptor, or the negated errno.
    """
    var flags = _O_RDWR | _O_NOFOLLOW | _O_CLOEXEC | _O_NONBLOCK | _O_NOCTTY
    if creates:
        flags |= _O_CREAT
    if must_create:
        flags |= _O_EXCL
    return _open(path, flags, mode)


def open_to_append(path: StringSlice, mode: Int) -> Int:
    """Opens a file to write after its end, and creates it if it does not exist
    (open(2)).

    Args:
        path: The path, without NUL. It may be a symbolic link.
        mode: The permissions of a new file, which the umask masks.

    Returns:
        The descriptor, or the negated errno: `-ENXIO` for a named pipe that no
        process reads.
    """
    return _open(
        path,
        _O_WRONLY | _O_APPEND | _O_CREAT | _O_CLOEXEC | _O_NONBLOCK | _O_NOCTTY,
        mode,
    )


def _open(path: StringSlice, flags: Int, mode: Int) -> Int:
    var name = _terminated(path)
    while True:
        var result = result_or_errno(
            Int(
                external_call["open", c_int, num_fixed_args=2](
                    name.unsafe_ptr(),
                    c_int(flags),
                    c_int(mode),
                )
            )
        )
        if result != -EINTR:
            _ = name^
            return result


def lock_file(descriptor: Int32) -> Int:
    """Locks a file against other processes that do so too, until the last
    descriptor of it is closed (flock(2)).

    Args:
        descriptor: The file.

    Returns:
        0, or the negated errno: `-EAGAIN` if it is locked already.
    """
    return result_or_errno(
        Int(
            external_call["flock", c_int](
                c_int(descriptor), c_int(_LOCK_EX | _LOCK_NB)
            )
        )
    )


def set_length(descriptor: Int32, octets: Int) -> Int:
    """Sets the length of a file (ftruncate(2)).

    Args:
        descriptor: The file.
        octets: The length.

    Returns:
        0, or the negated errno.
    """
    while True:
        var result = result_or_errno(
            Int(external_call["ftruncate", c_int](c_int(descriptor), octets))
        )
        if result != -EINTR:
            return result


def write_at(descriptor: Int32, octets: Span[UInt8, _], offset: Int) -> Int:
    """Writes octets to a place of a file, all of them (pwrite(2)).

    Args:
        descriptor: The file.
        octets: The octets.
        offset: The place.

    Returns:
        0, or the negated errno. Some octets may have been written then.
    """
    var written = 0
    while written < len(octets):
        var result = result_or_errno(
            external_call["pwrite", Int](
                c_int(descriptor),
                octets.unsafe_ptr().unsafe_offset(written),
                len(octets) - written,
                offset + written,
            )
        )
        if result == 0:
            return -EIO
        if result < 0 and result != -EINTR:
            return result
        written += max(result, 0)
    _ = octets
    return 0


def sync_file(descriptor: Int32) -> Int:
    """Waits until a file is on its disk (fsync(2)).

    Args:
        descriptor: The file.

    Returns:
        0, or the negated errno.
    """
    return result_or_errno(
        Int(external_call["fsync", c_int](c_int(descriptor)))
    )


def rename_file(path: StringSlice, new_path: StringSlice) -> Int:
    """Renames a file, in place of any file of the new name (rename(2)).

    Args:
        path: The path, without NUL.
        new_path: The new path on the same file system, without NUL.

    Returns:
        0, or the negated errno.
    """
    var old = _terminated(path)
    var new = _terminated(new_path)
    var result = result_or_errno(
        Int(external_call["rename", c_int](old.unsafe_ptr(), new.unsafe_ptr()))
    )
    _ = old^
    _ = new^
    return result


def _terminated(path: StringSlice) -> List[UInt8]:
    var name = List[UInt8](capacity=path.byte_length() + 1)
    name.extend(path.as_bytes())
    name.append(0)
    return name^

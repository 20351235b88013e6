"""Reads, writes and closes descriptors of any kind.

Each function returns the kernel's result, or the negated errno.
"""

from std.ffi import c_int, c_uint, external_call, get_errno

from .errno import EAGAIN, EINTR

comptime STANDARD_OUTPUT: Int32 = 1
"""The descriptor of standard output."""
comptime STANDARD_ERROR: Int32 = 2
"""The descriptor of standard error."""
comptime _O_CLOEXEC = 0o2000000


@always_inline
def result_or_errno(result: Int) -> Int:
    """Converts a C result (-1 and errno) into a negated errno.

    Args:
        result: The result of the C function that was just called.

    Returns:
        The result, or the negated errno if it was -1.
    """
    if result == -1:
        return -Int(get_errno().value)
    return result


def close_descriptor(descriptor: Int32) -> Int:
    """Closes a descriptor.

    Args:
        descriptor: The descriptor; closed even if the call returns an error.

    Returns:
        0, or the negated errno.
    """
    return result_or_errno(Int(external_call["close", c_int](descriptor)))


def read_descriptor(descriptor: Int32, into: Span[mut=True, UInt8, _]) -> Int:
    """Reads up to `len(into)` octets from a descriptor.

    Args:
        descriptor: The descriptor.
        into: The destination.

    Returns:
        The count read, 0 at the end, or the negated errno.
    """
    return result_or_errno(
        external_call["read", Int](descriptor, into.unsafe_ptr(), len(into))
    )


def write_descriptor(descriptor: Int32, octets: Span[UInt8, _]) -> Int:
    """Writes octets to a descriptor, possibly not all of them.

    Args:
        descriptor: The descriptor.
        octets: The octets.

    Returns:
        The count written, or the negated errno.
    """
    return result_or_errno(
        external_call["write", Int](
            descriptor, octets.unsafe_ptr(), len(octets)
        )
    )


def write_whole(descriptor: Int32, octets: Span[UInt8, _]) -> Int:
    """Writes all octets, or as many as the descriptor takes before it fails.

    If the descriptor has no room, it blocks the calling thread, even if the
    descriptor is non-blocking.

    Args:
        descriptor: The descriptor.
        octets: The octets.

    Returns:
        How many were written.
    """
    var written = 0
    while written < len(octets):
        var count = write_descriptor(descriptor, octets[written:])
        if count == -EAGAIN:
            _ = wait_writable(descriptor, -1)
        elif count != -EINTR and count <= 0:
            break
        else:
            written += max(count, 0)
    return written


def write_line_to(descriptor: Int32, line: StringSlice):
    """Writes a line and its end in one call, so that lines stay whole.

    Args:
        descriptor: The descriptor; one without room blocks the calling thread.
        line: The line without its end.
    """
    var octets = List[UInt8](capacity=line.byte_length() + 1)
    octets.extend(line.as_bytes())
    octets.append(UInt8(ord("\n")))
    _ = write_whole(descriptor, octets)


def has_position(descriptor: Int32) -> Bool:
    """Returns whether a descriptor has a position, as files have (lseek(2)).

    Args:
        descriptor: The descriptor.

    Returns:
        False for a pipe, a socket or a terminal.
    """
    return external_call["lseek", Int](descriptor, Int(0), c_int(1)) >= 0


def wait_writable(descriptor: Int32, timeout_ms: Int) -> Bool:
    """Waits until a write to a descriptor would not block (poll(2)).

    Args:
        descriptor: The descriptor.
        timeout_ms: The longest wait; -1 for any.

    Returns:
        True if a few hundred octets can be written, or if a write fails at
        once.
    """
    # A `struct pollfd`: the descriptor, and POLLOUT above it.
    var entry = UInt64(UInt32(descriptor)) | (UInt64(4) << 32)
    return (
        external_call["poll", c_int](
            Pointer(to=entry), Int(1), c_int(timeout_ms)
        )
        > 0
    )


def duplicate_descriptor(descriptor: Int32) -> Int:
    """Creates another descriptor of an open file (dup(2)).

    Args:
        descriptor: Any descriptor of it.

    Returns:
        The new descriptor (close-on-exec), or the negated errno.
    """
    return result_or_errno(
        Int(
            external_call["fcntl", c_int, num_fixed_args=2](
                descriptor, c_int(1030), c_int(0)
            )
        )
    )


def replace_descriptor(descriptor: Int32, by: Int32) -> Int:
    """Makes a descriptor refer to another open file; its own file is closed.

    Args:
        descriptor: The descriptor that changes (close-on-exec afterwards).
        by: Any descriptor of the other file, another number.

    Returns:
        The descriptor, or the negated errno.
    """
    return result_or_errno(
        Int(external_call["dup3", c_int](by, descriptor, c_int(_O_CLOEXEC)))
    )


def open_event_descriptor() -> Int:
    """Opens an eventfd: a counter that another thread can raise.

    Returns:
        The descriptor (non-blocking, close-on-exec), or the negated errno.
    """
    return result_or_errno(
        Int(external_call["eventfd", c_int](c_uint(0), c_int(0x80800)))
    )

"""Reads and raises the limits that the system sets on a process."""

from std.ffi import c_int, external_call

from .file import result_or_errno

comptime _RLIMIT_NOFILE = 7


def raise_descriptor_limit() -> Int:
    """Raises the soft limit on open descriptors to the hard one.

    Returns:
        How many descriptors the process may have open, or the negated errno.
    """
    var limit = Array[UInt64, 2](fill=0)
    var read = result_or_errno(
        Int(
            external_call["getrlimit", c_int](
                c_int(_RLIMIT_NOFILE), limit.unsafe_ptr()
            )
        )
    )
    if read < 0:
        return read
    if limit[0] < limit[1]:
        limit[0] = limit[1]
        var raised = result_or_errno(
            Int(
                external_call["setrlimit", c_int](
                    c_int(_RLIMIT_NOFILE), limit.unsafe_ptr()
                )
            )
        )
        if raised < 0:
            return raised
    return Int(min(limit[0], UInt64(1) << 40))

"""Reads the monotonic clock, the wall clock, and clocks of CPU time."""

from std.ffi import c_int, external_call

comptime _CLOCK_REALTIME = 0
comptime _CLOCK_MONOTONIC = 1
# The kernel builds the clocks of processes and threads from their ids
# (clock_getcpuclockid(3)).
comptime _CLOCK_OF_SCHEDULER = 2
comptime _CLOCK_OF_THREAD = 4


@always_inline
def _read(clock: Int) -> Array[Int, 2]:
    var time = Array[Int, 2](fill=0)
    _ = external_call["clock_gettime", c_int](c_int(clock), time.unsafe_ptr())
    return time^


def monotonic_ms() -> Int:
    """Returns the time of the monotonic clock.

    Returns:
        Milliseconds since an arbitrary moment before the program began.
    """
    var time = _read(_CLOCK_MONOTONIC)
    return time[0] * 1000 + time[1] // 1_000_000


def monotonic_ns() -> Int:
    """Returns the time of the monotonic clock.

    Returns:
        Nanoseconds since an arbitrary moment before the program began.
    """
    var time = _read(_CLOCK_MONOTONIC)
    return time[0] * 1_000_000_000 + time[1]


def unix_seconds() -> Int:
    """Returns the time of the wall clock.

    Returns:
        Seconds since 1970-01-01 00:00:00 UTC.
    """
    return _read(_CLOCK_REALTIME)[0]


def unix_ms() -> Int:
    """Returns the time of the wall clock.

    Returns:
        Milliseconds since 1970-01-01 00:00:00 UTC.
    """
    var time = _read(_CLOCK_REALTIME)
    return time[0] * 1000 + time[1] // 1_000_000


def unix_us() -> Int:
    """Returns the time of the wall clock.

    Returns:
        Microseconds since 1970-01-01 00:00:00 UTC.
    """
    var time = _read(_CLOCK_REALTIME)
    return time[0] * 1_000_000 + time[1] // 1000


def process_cpu_ns(process: Int) -> Int:
    """Returns the CPU time of a process.

    Args:
        process: Its id.

    Returns:
        Nanoseconds; -1 if there is no such process.
    """
    return _cpu_ns(~process << 3 | _CLOCK_OF_SCHEDULER)


def thread_cpu_ns(thread: Int) -> Int:
    """Returns the CPU time of a thread of this process.

    Args:
        thread: Its id, as `thread_id` returns it.

    Returns:
        Nanoseconds; -1 if this process has no such thread.
    """
    return _cpu_ns(~thread << 3 | _CLOCK_OF_THREAD | _CLOCK_OF_SCHEDULER)


def _cpu_ns(clock: Int) -> Int:
    var time = Array[Int, 2](fill=0)
    var result = external_call["clock_gettime", c_int](
        c_int(clock), time.unsafe_ptr()
    )
    return time[0] * 1_000_000_000 + time[1] if result == 0 else -1

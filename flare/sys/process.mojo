"""Forks, watches and ends processes.

A forked child has one thread, and a copy of its parent's memory. Locks that
other threads of the parent held are never released in it.
"""

from std.ffi import c_int, external_call

from flare.core import PointerTo

from .file import result_or_errno

comptime SIGKILL = 9
"""Ends a process, whatever it wants."""

comptime _PR_SET_PDEATHSIG = 1
comptime _SIG_BLOCK = 0
comptime _SIG_SETMASK = 2


@fieldwise_init
struct ProcessEnd(ImplicitlyCopyable):
    """How a process ended: the status of waitpid(2)."""

    var status: Int
    """The kernel's status; -1 if unknown."""

    def signal(self) -> Int:
        """Returns the signal that ended the process.

        Returns:
            The signal's number; 0 if none did.
        """
        return 0 if self.status < 0 else self.status & 127

    def exit_code(self) -> Int:
        """Returns the exit code of the process.

        Returns:
            The exit code; -1 if a signal ended the process or the status is
            unknown.
        """
        if self.status < 0 or self.signal() != 0:
            return -1
        return self.status >> 8 & 255


def fork_process() -> Int:
    """Copies the process with the calling thread only (fork(2)).

    Buffered output of C streams is written first, so that the child does not
    write it again.

    Returns:
        The id of the child, 0 in the child itself, or the negated errno.

    Safety:
        The child takes no lock that another thread of the parent may hold.
    """
    _flush()
    return result_or_errno(Int(external_call["fork", c_int]()))


def exit_process(code: Int):
    """Ends the process without its exit handlers.

    Args:
        code: The exit code, 0 to 255.
    """
    _flush()
    external_call["_exit", NoneType](c_int(code))


def process_id() -> Int:
    """Returns the id of the process.

    Returns:
        The id.
    """
    return Int(external_call["getpid", c_int]())


def parent_process_id() -> Int:
    """Returns the id of the process that forked this one.

    Returns:
        The id; another one once that process has ended.
    """
    return Int(external_call["getppid", c_int]())


def thread_id() -> Int:
    """Returns the kernel's id of the calling thread.

    Returns:
        The id; that of the process in its first thread.
    """
    return Int(external_call["gettid", c_int]())


def send_signal(process: Int, number: Int) -> Int:
    """Sends a signal to a process.

    Args:
        process: Its id, above 0.
        number: The signal.

    Returns:
        0, or the negated errno.
    """
    return result_or_errno(
        Int(external_call["kill", c_int](c_int(process), c_int(number)))
    )


def wait_for_end(process: Int) -> ProcessEnd:
    """Waits until a child has ended, and forgets it.

    Args:
        process: The child's id.

    Returns:
        How it ended; unknown if the process ignores SIGCHLD, because the kernel
        then keeps no status.
    """
    var status = c_int(0)
    while True:
        var found = result_or_errno(
            Int(
                external_call["waitpid", c_int](
                    c_int(process), Pointer(to=status), c_int(0)
                )
            )
        )
        if found == process:
            return ProcessEnd(Int(status))
        if found != -4:  # EINTR
            return ProcessEnd(-1)


def end_with_parent(parent: Int) -> Bool:
    """Returns whether the parent still lives, after asking the kernel to end
    this process with the thread that forked it.

    Args:
        parent: The id of the process that forked this one.

    Returns:
        False if that process has ended already.
    """
    _ = external_call["prctl", c_int, num_fixed_args=1](
        c_int(_PR_SET_PDEATHSIG), SIGKILL, Int(0), Int(0), Int(0)
    )
    return parent_process_id() == parent


def block_signals(*numbers: Int) -> UInt64:
    """Blocks signals of the calling thread until `set_signal_mask`.

    Args:
        numbers: The signals; they wait meanwhile.

    Returns:
        The previous signal mask.
    """
    var mask = Array[UInt64, 16](fill=0)
    var before = Array[UInt64, 16](fill=0)
    for number in numbers:
        mask[0] |= UInt64(1) << UInt64(number - 1)
    _ = external_call["pthread_sigmask", c_int](
        c_int(_SIG_BLOCK), mask.unsafe_ptr(), before.unsafe_ptr()
    )
    return before[0]


def set_signal_mask(mask: UInt64):
    """Sets the signal mask of the calling thread.

    Args:
        mask: The result of `block_signals`.
    """
    var words = Array[UInt64, 16](fill=0)
    var before = Array[UInt64, 16](fill=0)
    words[0] = mask
    _ = external_call["pthread_sigmask", c_int](
        c_int(_SIG_SETMASK), words.unsafe_ptr(), before.unsafe_ptr()
    )


def wait_readable(mut entries: List[PollEntry], timeout_ms: Int) -> Int:
    """Waits until a descriptor can be read or has ended (poll(2)).

    Args:
        entries: The descriptors to wait for; set to their readiness.
        timeout_ms: The longest wait, limited to 31 bits; -1 waits without
            limit.

    Returns:
        The number of ready descriptors, or the negated errno.
    """
    return result_or_errno(
        Int(
            external_call["poll", c_int](
                entries.unsafe_ptr(),
                len(entries),
                c_int(min(timeout_ms, Int(c_int.MAX))),
            )
        )
    )


@fieldwise_init
struct PollEntry(TrivialRegisterPassable):
    """A descriptor to wait for: the kernel's `struct pollfd`."""

    var descriptor: Int32
    """The descriptor."""
    var events: Int16
    """The events to wait for."""
    var ready_events: Int16
    """The events that occurred."""

    def __init__(out self, descriptor: Int32):
        """Creates an entry that waits until a descriptor can be read.

        Args:
            descriptor: The descriptor.
        """
        self.descriptor = descriptor
        self.events = 1  # POLLIN
        self.ready_events = 0

    def is_ready(self) -> Bool:
        """Returns whether the descriptor is ready.

        Returns:
            True if a read returns at once, also with an end or an error.
        """
        return self.ready_events != 0


def _flush():
    _ = external_call["fflush", c_int](Optional[PointerTo[NoneType]](None))

"""Takes over descriptors that another process has opened, and passes
descriptors on.

The convention is that of sd_listen_fds(3). The descriptors are numbered from
3. Three environment variables contain their number, the process they are for,
and their names. The variables are read and removed only when a program asks
for it.
"""

from std.ffi import c_int, external_call
from std.os import getenv, unsetenv

from .file import result_or_errno
from .process import exit_process, fork_process, process_id, set_signal_mask
from .socket import send_octets
from .socket_constants import MSG_DONTWAIT

comptime PASSED_FIRST: Int32 = 3
"""The number of the first descriptor that is passed."""
comptime PASSED_MAX = 1024
"""How many may be passed."""
comptime EXEC_FAILED: UInt8 = 255
"""The message of a process that could not become the program; its errno
follows.
"""

comptime _F_SETFD = 2
comptime _FD_CLOEXEC = 1
comptime _F_DUPFD_CLOEXEC = 1030
comptime _PID_VARIABLE: StaticString = "LISTEN_PID"
comptime _COUNT_VARIABLE: StaticString = "LISTEN_FDS"
comptime _NAMES_VARIABLE: StaticString = "LISTEN_FDNAMES"
comptime _PID_DIGITS = 10
comptime _EXIT_CODE = 127


@fieldwise_init
struct PassedDescriptors(Copyable, Movable):
    """The environment's information about passed descriptors."""

    var process: String
    """For which process they are; empty if there are none."""
    var count: String
    """How many there are."""
    var names: String
    """How they are called, with colons between."""


def take_passed_descriptors() -> PassedDescriptors:
    """Reads and removes the information about passed descriptors, so that it
    applies neither to a second call nor to a child process.

    Returns:
        The variables' contents, unchecked.
    """
    var found = PassedDescriptors(
        getenv(_PID_VARIABLE), getenv(_COUNT_VARIABLE), getenv(_NAMES_VARIABLE)
    )
    _ = unsetenv(_PID_VARIABLE)
    _ = unsetenv(_COUNT_VARIABLE)
    _ = unsetenv(_NAMES_VARIABLE)
    return found^


def close_on_exec(descriptor: Int32) -> Int:
    """Closes a descriptor in programs that this process becomes or starts.

    Args:
        descriptor: Any descriptor.

    Returns:
        0, or the negated errno.
    """
    return result_or_errno(_control(descriptor, _F_SETFD, _FD_CLOEXEC))


def start_program(
    command: List[String],
    descriptors: List[Int32],
    names: StringSlice,
    variables: List[String],
    *,
    report: Int32,
) -> Int:
    """Forks a process that becomes another program with given descriptors.

    Args:
        command: The path of the program and its arguments; at least one, and
            without NUL.
        descriptors: The descriptors, at most `PASSED_MAX`.
        names: Their names, separated by colons.
        variables: Additions to its environment, as `NAME=value`.
        report: A socket to notify if the program cannot be run.

    Returns:
        The id of the process, or the negated errno.
    """
    # The new process allocates nothing: another thread may have held the lock
    # of the allocator.
    var texts = List[List[UInt8]]()
    var arguments = List[Int]()
    for argument in command:
        texts.append(_terminated(argument))
        arguments.append(Int(texts[len(texts) - 1].unsafe_ptr()))
    arguments.append(0)
    var process_text = _terminated(
        String(_PID_VARIABLE, "=", " " * _PID_DIGITS)
    )
    var count_text = _terminated(String(_COUNT_VARIABLE, "=", len(descriptors)))
    var names_text = _terminated(String(_NAMES_VARIABLE, "=", names))
    var more_texts = List[List[UInt8]]()
    for variable in variables:
        more_texts.append(_terminated(variable))
    var moved = List[Int32](length=len(descriptors), fill=-1)
    var process = fork_process()
    if process == 0:
        var problem = _place(descriptors, moved, report)
        if problem == 0:
            _write_number(
                process_text, _PID_VARIABLE.byte_length() + 1, process_id()
            )
            _ = _put(process_text)
            _ = _put(count_text)
            _ = _put(names_text)
            for text in more_texts:
                _ = _put(text)
            set_signal_mask(0)
            problem = result_or_errno(
                Int(
                    external_call["execv", c_int](
                        texts[0].unsafe_ptr(), arguments.unsafe_ptr()
                    )
                )
            )
        var answer = Array[UInt8, 2](fill=EXEC_FAILED)
        answer[1] = UInt8(-problem & 255)
        # The place of `report` may have been taken; its copy comes last.
        _ = send_octets(moved[len(moved) - 1], Span(answer), MSG_DONTWAIT)
        exit_process(_EXIT_CODE)
    _ = texts^
    _ = process_text^
    _ = count_text^
    _ = names_text^
    _ = more_texts^
    return process


def _place(
    descriptors: List[Int32], mut moved: List[Int32], report: Int32
) -> Int:
    """Moves descriptors to the numbers that a program expects.

    Returns:
        0, or the negated errno. If possible, `moved` ends with a copy of
        `report`.
    """
    # First away from the numbers that are needed, where others may stand.
    var floor = Int(PASSED_FIRST) + len(descriptors)
    for i in range(len(descriptors)):
        moved[i] = Int32(_control(descriptors[i], _F_DUPFD_CLOEXEC, floor))
    var copy = Int32(_control(report, _F_DUPFD_CLOEXEC, floor))
    for i in range(len(descriptors)):
        var placed = result_or_errno(
            Int(
                external_call["dup3", c_int](
                    moved[i], PASSED_FIRST + Int32(i), c_int(0)
                )
            )
        )
        if placed < 0:
            moved[len(moved) - 1] = copy
            return placed
    moved[len(moved) - 1] = copy
    return 0


def _put(text: List[UInt8]) -> Int:
    return Int(external_call["putenv", c_int](text.unsafe_ptr()))


def _write_number(mut text: List[UInt8], start: Int, number: Int):
    # Without zeros in front, which some would read as an octal number.
    var digits = 1
    var power = 10
    while number >= power:
        digits += 1
        power *= 10
    var rest = number
    for i in range(digits):
        text[start + digits - 1 - i] = UInt8(48 + rest % 10)
        rest //= 10
    text[start + digits] = 0


def _terminated(text: StringSlice) -> List[UInt8]:
    var octets = List[UInt8](capacity=text.byte_length() + 1)
    octets.extend(text.as_bytes())
    octets.append(0)
    return octets^


def _control(descriptor: Int32, command: Int, argument: Int) -> Int:
    return Int(
        external_call["fcntl", c_int, num_fixed_args=2](
            descriptor, c_int(command), c_int(argument)
        )
    )

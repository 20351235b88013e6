"""Reads the options of the benchmark's programs, each with a value."""

from std.sys import argv

from flare.runtime import BackendKind


def option(name: StringSlice, default: StaticString) raises -> String:
    """Returns the value of an option.

    Args:
        name: As the command line has it.
        default: The value if the command line lacks the option.
    """
    var options = argv()
    for i in range(1, len(options) - 1, 2):
        if options[i] == name:
            return String(options[i + 1])
    return String(default)


def backend(name: StringSlice) raises -> BackendKind:
    """Returns the backend of a name.

    Args:
        name: `io_uring` or `epoll`.

    Raises:
        An error if there is no such backend.
    """
    for kind in [BackendKind.IO_URING, BackendKind.EPOLL]:
        if String(kind) == name:
            return kind
    raise Error("the backend is io_uring or epoll")

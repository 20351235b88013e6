"""Turns signals into octets on a pipe.

The runtime starts threads before `main` with every signal open, so a mask set
here comes too late for signalfd. The handler does nothing but write the number
of the signal to a descriptor, which is all that is safe on any thread.
"""

from std.ffi import c_int, external_call, get_errno, set_errno
from std.sys import inlined_assembly
from std.sys.info import CompilationTarget

from flare.core import PointerTo, heap_create, heap_destroy

from .file import result_or_errno

comptime SIGHUP = 1
"""The terminal is gone, or: read the configuration again."""
comptime SIGINT = 2
"""A person asks the program to stop."""
comptime SIGPIPE = 13
"""A write to a peer that is gone."""
comptime SIGTERM = 15
"""The system asks the program to stop."""

comptime _DATA = (
    '.pushsection .data.flare_signal_pipe,"aw",@progbits\n.p2align 3\n'
    ".weak flare_signal_pipe\n.hidden flare_signal_pipe\n"
    ".type flare_signal_pipe,@object\n.size flare_signal_pipe,8\n"
    "flare_signal_pipe: .quad -1\n.popsection\n"
)


@no_inline
def _pipe_cell() -> Int:
    # A signal handler receives nothing but a number: the descriptor it writes
    # to must lie in one place for the whole process.
    comptime if CompilationTarget.has_neon():
        return inlined_assembly[
            _DATA
            + "adrp $0, flare_signal_pipe\n"
            "add $0, $0, :lo12:flare_signal_pipe\n",
            Int,
            constraints="=r",
            has_side_effect=False,
        ]()
    else:
        return inlined_assembly[
            _DATA + "leaq flare_signal_pipe(%rip), $0\n",
            Int,
            constraints="=r",
            has_side_effect=False,
        ]()


def _on_signal(number: c_int) abi("C"):
    # The code that the signal interrupts may be about to read errno.
    var errno = get_errno()
    var descriptor = PointerTo[Int](unsafe_from_address=_pipe_cell())[]
    var octet = UInt8(number)
    if descriptor >= 0:
        _ = external_call["write", Int](
            Int32(descriptor), Pointer(to=octet), Int(1)
        )
    set_errno(errno)


struct SavedAction(Movable):
    """The previous action of a signal: glibc's `struct sigaction`."""

    var words: Array[UInt64, 19]
    """The handler, the mask, the flags and the restorer."""

    def __init__(out self):
        """Creates an action of all zeros, which is the default action."""
        self.words = Array[UInt64, 19](fill=0)


def set_signal_descriptor(descriptor: Int32) -> Int32:
    """Sets where the handler writes the numbers of signals.

    Args:
        descriptor: A non-blocking descriptor, or -1 for nowhere.

    Returns:
        The previous descriptor.
    """
    var cell = PointerTo[Int](unsafe_from_address=_pipe_cell())
    var before = Int32(cell[])
    cell.unsafe_store[volatile=True](Int(descriptor))
    return before


def catch_signal(number: Int) -> Tuple[Int, PointerTo[SavedAction]]:
    """Replaces a signal's action: its number is written to the descriptor.

    Args:
        number: The signal.

    Returns:
        0 or the negated errno, and the argument for `restore_signal`.
    """
    var handler: def(c_int) abi("C") thin -> None = _on_signal
    var action = heap_create(SavedAction())
    var saved = heap_create(SavedAction())
    action[].words[0] = UInt64(Pointer(to=handler).unsafe_bitcast[Int]()[])
    action[].words[17] = 0x10000000  # SA_RESTART
    var done = _sigaction(number, action, saved)
    heap_destroy(action)
    return (done, saved)


def ignore_signal(number: Int) -> Tuple[Int, PointerTo[SavedAction]]:
    """Ignores a signal.

    Args:
        number: The signal.

    Returns:
        0 or the negated errno, and the argument for `restore_signal`.
    """
    var action = heap_create(SavedAction())
    var saved = heap_create(SavedAction())
    action[].words[0] = 1  # SIG_IGN
    var done = _sigaction(number, action, saved)
    heap_destroy(action)
    return (done, saved)


def restore_signal(number: Int, saved: PointerTo[SavedAction]):
    """Restores a signal's action, and frees the record of it.

    Args:
        number: The signal.
        saved: The result of `catch_signal` or `ignore_signal`.
    """
    _ = _sigaction(number, saved, None)
    heap_destroy(saved)


def set_action(number: Int, action: PointerTo[SavedAction]) -> Int:
    """Sets the action of a signal.

    Args:
        number: The signal.
        action: The action, which the caller still owns.

    Returns:
        0, or the negated errno.
    """
    return _sigaction(number, action, None)


def action_of_signal(number: Int, into: PointerTo[SavedAction]):
    """Reads the current action of a signal.

    Args:
        number: The signal.
        into: The memory for the action.
    """
    _ = _sigaction(number, None, into)


def _sigaction(
    number: Int,
    action: Optional[PointerTo[SavedAction]],
    saved: Optional[PointerTo[SavedAction]],
) -> Int:
    return result_or_errno(
        Int(external_call["sigaction", c_int](c_int(number), action, saved))
    )

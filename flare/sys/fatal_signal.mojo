"""Reports a fault signal before it ends the process.

A fault cannot be survived. The handler runs one function, and then the
signal's previous action, which ends the process with that signal. The code may
interrupt any other code, even an allocation, so it never allocates, locks or
waits.
"""

from std.atomic import Atomic, Ordering
from std.ffi import _Global, c_int, external_call
from std.sys import inlined_assembly
from std.sys.info import CompilationTarget

from flare.core import Erased, PointerTo, heap_create, heap_destroy

from .memory import PAGE_OCTETS, map_stack, unmap
from .signal import SavedAction, action_of_signal, set_action
from .thread import Lock

comptime SIGILL = 4
"""A check of the language failed, or code is none."""
comptime SIGTRAP = 5
"""A check of the language failed, on some processors."""
comptime SIGABRT = 6
"""The program gave up."""
comptime SIGBUS = 7
"""Memory could not be had, or a mapped file has become shorter."""
comptime SIGFPE = 8
"""A division has no result."""
comptime SIGSEGV = 11
"""No memory is there; also the end of a stack."""

comptime FatalReport = def(Int, Erased, Bool) thin -> Bool
"""The reporting function. Its arguments are the signal's number, the argument
given to `open`, and whether no watch of the process knows the thread at fault.
It returns whether this watch knows the thread.
"""

comptime _SIGNALS: Array[Int, 6] = [
    SIGILL,
    SIGTRAP,
    SIGABRT,
    SIGBUS,
    SIGFPE,
    SIGSEGV,
]
comptime _WATCHES_MAX = 64
comptime _SA_SIGINFO = 0x4
comptime _SA_ONSTACK = 0x08000000
comptime _ALTERNATE_STACK_OCTETS = 128 * 1024
comptime _SS_DISABLE = 2

comptime _DATA = (
    '.pushsection .data.flare_fatal_signals,"aw",@progbits\n.p2align 3\n'
    ".weak flare_fatal_signals\n.hidden flare_fatal_signals\n"
    ".type flare_fatal_signals,@object\n.size flare_fatal_signals,8\n"
    "flare_fatal_signals: .quad 0\n.popsection\n"
)

# Several threads open and close watches; the handler must find one state.
comptime _STATE = _Global[
    StorageType=PointerTo[_FatalState], "flare_fatal_state", _make_state
]


@fieldwise_init
struct _Watch(TrivialRegisterPassable):
    var report: FatalReport
    var argument: Erased
    var ends_at_once: Bool
    # Read by the handler at any moment, so written last.
    var used: UInt32


struct _FatalState(Movable):
    var lock: Lock
    var watches: List[_Watch]
    # In the order of `_SIGNALS`.
    var saved: List[PointerTo[SavedAction]]
    var used_count: Int

    def __init__(out self):
        self.lock = Lock.create()
        self.watches = List[_Watch](
            length=_WATCHES_MAX,
            fill=_Watch(_no_report, Erased(unsafe_from_address=64), False, 0),
        )
        self.saved = List[PointerTo[SavedAction]]()
        self.used_count = 0
        for _ in range(comptime (len(_SIGNALS))):
            self.saved.append(heap_create(SavedAction()))


@fieldwise_init
struct FatalSignals(TrivialRegisterPassable):
    """Watches for the signals of faults, on every thread of the process."""

    var _index: Int

    @staticmethod
    def open(
        report: FatalReport, argument: Erased, *, ends_at_once: Bool
    ) -> Optional[Self]:
        """Runs a function before a fault ends the process, until `close`.

        Args:
            report: The function; called on the thread at fault, on its
                alternate stack if it has one.
            argument: Handed to the function; alive until `close`.
            ends_at_once: Whether the signal's default action follows, instead
                of its previous action. The runtime's own handler writes a
                backtrace, which takes it up to half a second.

        Returns:
            The watch; none if the process has 64 already.

        Safety:
            The function must be safe in a signal handler: it does not allocate,
            lock or wait.
        """
        var state: PointerTo[_FatalState]
        try:
            state = _STATE.get_or_create_ptr()[]
        except:
            return None
        ref s = state[]
        s.lock.acquire()
        var found = Optional[Self](None)
        for i in range(_WATCHES_MAX):
            if s.watches[i].used == 0:
                s.watches[i] = _Watch(report, argument, ends_at_once, 0)
                Atomic[UInt32].store[ordering=Ordering.RELEASE](
                    Pointer(to=s.watches[i].used), 1
                )
                found = Self(i)
                break
        if found:
            s.used_count += 1
            if s.used_count == 1:
                _install(state)
        s.lock.release()
        return found

    def close(self):
        """Restores the signals' previous actions if this is the last watch."""
        var state = PointerTo[_FatalState](unsafe_from_address=_state_cell()[])
        ref s = state[]
        s.lock.acquire()
        Atomic[UInt32].store[ordering=Ordering.RELEASE](
            Pointer(to=s.watches[self._index].used), 0
        )
        s.used_count -= 1
        if s.used_count == 0:
            _restore(state)
        s.lock.release()


struct _StackDescription(Movable):
    # The kernel's `stack_t`.
    var base: Int
    var flags: Int
    var octets: Int

    def __init__(out self, base: Int, flags: Int, octets: Int):
        self.base = base
        self.flags = flags
        self.octets = octets


@fieldwise_init
struct AlternateStack(TrivialRegisterPassable):
    """The stack on which the calling thread handles a signal that its own
    stack caused.
    """

    var _base: Int

    @staticmethod
    def install() -> Self:
        """Installs an alternate stack for the calling thread if it has none.

        Without one, a stack overflow ends the process without a report.

        Returns:
            The argument for `remove`.
        """
        var present = heap_create(_StackDescription(0, 0, 0))
        _sigaltstack(None, present)
        var has_one = present[].flags & _SS_DISABLE == 0
        heap_destroy(present)
        if has_one:
            return Self(0)
        var base = map_stack(_ALTERNATE_STACK_OCTETS, PAGE_OCTETS)
        if base < 0:
            return Self(0)
        _use_stack(base + PAGE_OCTETS, 0, _ALTERNATE_STACK_OCTETS - PAGE_OCTETS)
        return Self(base)

    def remove(self):
        """Removes the alternate stack of `install`; called on the same thread.
        """
        if self._base == 0:
            return
        _use_stack(0, _SS_DISABLE, 0)
        _ = unmap(self._base, _ALTERNATE_STACK_OCTETS)


def fatal_signal_name(number: Int) -> StaticString:
    """Returns the name of a fault signal, or of SIGKILL.

    Args:
        number: The signal.

    Returns:
        Its name, or `a signal`.
    """
    if number == SIGILL:
        return "SIGILL"
    if number == SIGTRAP:
        return "SIGTRAP"
    if number == SIGABRT:
        return "SIGABRT"
    if number == SIGBUS:
        return "SIGBUS"
    if number == SIGFPE:
        return "SIGFPE"
    if number == SIGSEGV:
        return "SIGSEGV"
    return "SIGKILL" if number == 9 else "a signal"


@no_inline
def _cell() -> Int:
    comptime if CompilationTarget.has_neon():
        return inlined_assembly[
            _DATA
            + "adrp $0, flare_fatal_signals\n"
            "add $0, $0, :lo12:flare_fatal_signals\n",
            Int,
            constraints="=r",
            has_side_effect=False,
        ]()
    else:
        return inlined_assembly[
            _DATA + "leaq flare_fatal_signals(%rip), $0\n",
            Int,
            constraints="=r",
            has_side_effect=False,
        ]()


def _state_cell() -> PointerTo[Int]:
    return PointerTo[Int](unsafe_from_address=_cell())


def _make_state() -> PointerTo[_FatalState]:
    return heap_create(_FatalState())


def _use_stack(base: Int, flags: Int, octets: Int):
    var stack = heap_create(_StackDescription(base, flags, octets))
    _sigaltstack(stack, None)
    heap_destroy(stack)


def _sigaltstack(
    stack: Optional[PointerTo[_StackDescription]],
    before: Optional[PointerTo[_StackDescription]],
):
    _ = external_call["sigaltstack", c_int](stack, before)


def _no_report(number: Int, argument: Erased, unknown: Bool) -> Bool:
    return False


def _install(state: PointerTo[_FatalState]):
    _state_cell().unsafe_store[volatile=True](Int(state))
    # All are known before one can be needed: the handler restores all.
    comptime for i in range(len(_SIGNALS)):
        action_of_signal(comptime (_SIGNALS[i]), state[].saved[i])
    var handler: _FatalHandler = _on_fatal
    var action = heap_create(SavedAction())
    action[].words[0] = UInt64(Pointer(to=handler).unsafe_bitcast[Int]()[])
    action[].words[17] = UInt64(_SA_SIGINFO | _SA_ONSTACK)
    comptime for i in range(len(_SIGNALS)):
        _ = set_action(comptime (_SIGNALS[i]), action)
    heap_destroy(action)


def _restore(state: PointerTo[_FatalState]):
    comptime for i in range(len(_SIGNALS)):
        _ = set_action(comptime (_SIGNALS[i]), state[].saved[i])


comptime _FatalHandler = def(c_int, PointerTo[Int32], Erased) abi(
    "C"
) thin -> None


def _on_fatal(
    number: c_int, information: PointerTo[Int32], context: Erased
) abi("C"):
    var state = PointerTo[_FatalState](unsafe_from_address=_state_cell()[])
    # From here on a second fault, in what follows too, ends the process.
    if _any_ends_at_once(state):
        for saved in state[].saved:
            saved[].words[0] = 0  # SIG_DFL
    _restore(state)
    if not _report(state, Int(number), False):
        _ = _report(state, Int(number), True)
    # The kernel raises a fault again as soon as the handler returns. A signal
    # that a process has sent (`abort` does) arrives only once.
    if information[unsafe_offset=2] <= 0:
        _ = external_call["raise", c_int](number)


def _any_ends_at_once(state: PointerTo[_FatalState]) -> Bool:
    for i in range(_WATCHES_MAX):
        if _is_used(state, i) and state[].watches[i].ends_at_once:
            return True
    return False


def _report(state: PointerTo[_FatalState], number: Int, unknown: Bool) -> Bool:
    for i in range(_WATCHES_MAX):
        if _is_used(state, i):
            var watch = state[].watches[i]
            if watch.report(number, watch.argument, unknown):
                return True
    return False


def _is_used(state: PointerTo[_FatalState], index: Int) -> Bool:
    return (
        Atomic[UInt32].load[ordering=Ordering.ACQUIRE](
            Pointer(to=state[].watches[index].used)
        )
        == 1
    )

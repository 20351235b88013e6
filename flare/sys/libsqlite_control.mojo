"""Decides when SQLite stops a statement, waits for a lock, or refuses one.

SQLite calls these functions on the thread that runs the statement. They look at
a `SqliteControl` on the heap, which other threads change by its atomic words.
"""

from std.atomic import Atomic, Ordering
from std.ffi import c_int, external_call

from flare.core import Erased, PointerTo

from .clock import monotonic_ns
from .dynamic_library import OptionalErased

comptime PROGRESS_STEPS = 1000
"""How many steps of SQLite's machine pass between two looks at the control: some
ten microseconds."""

comptime NO_DEADLINE_NS = Int.MAX
"""The deadline of a statement that has none."""

comptime _DENY = c_int(1)
# The actions of sqlite3_set_authorizer.
comptime _TRANSACTION = c_int(22)
comptime _ATTACH = c_int(24)
comptime _DETACH = c_int(25)
comptime _SAVEPOINT = c_int(32)
comptime _PAUSE_US_MAX = 5_000
comptime _PAUSE_US = 200


struct SqliteControl(Movable):
    """The state that a connection's callbacks read. It lies on the heap."""

    var stop: Optional[PointerTo[UInt32]]
    """The word of the running statement that stops it when it is not 0."""
    var closing: PointerTo[UInt32]
    """The word of the database that stops all statements when it is not 0."""
    var deadline_ns: Int
    """When the statement is stopped, by the monotonic clock."""
    var busy_timeout_ns: Int
    """How long the connection waits for a lock of another one."""
    var busy_since_ns: Int
    """When the present wait for a lock began."""
    var runs_to_its_end: Bool
    """Whether the running statement is not stopped. SQLite asks once more after
    BEGIN or COMMIT took effect, and would then report a failure."""
    var refuses_control: Bool
    """Whether BEGIN, SAVEPOINT, ATTACH and their like are not prepared."""
    var was_refused: Bool
    """Whether the last statement was not prepared for that reason."""
    var out_address: Int
    """The memory for a pointer that a call returns."""
    var out_tail: Int
    """The memory for a second one."""

    def __init__(out self, closing: PointerTo[UInt32], busy_timeout_ms: Int):
        """Creates the control of a connection without a statement.

        Args:
            closing: The word of the database; it outlives the control.
            busy_timeout_ms: How long the connection waits for a lock.
        """
        self.stop = None
        self.closing = closing
        self.deadline_ns = NO_DEADLINE_NS
        self.busy_timeout_ns = busy_timeout_ms * 1_000_000
        self.busy_since_ns = 0
        self.runs_to_its_end = False
        self.refuses_control = False
        self.was_refused = False
        self.out_address = 0
        self.out_tail = 0


def is_stopped(control: PointerTo[SqliteControl]) -> Bool:
    """Returns whether the running statement should end.

    Args:
        control: The control of its connection.

    Returns:
        True if it was stopped, the database closes or the deadline passed.
    """
    if is_raised(control[].closing):
        return True
    if control[].stop and is_raised(control[].stop.value()):
        return True
    return (
        control[].deadline_ns != NO_DEADLINE_NS
        and monotonic_ns() >= control[].deadline_ns
    )


@always_inline
def is_raised(word: PointerTo[UInt32]) -> Bool:
    """Returns whether a word that other threads write is not 0.

    Args:
        word: The word.

    Returns:
        True if it is not 0.
    """
    return Atomic[UInt32].load[ordering=Ordering.ACQUIRE](word) != 0


def on_progress(argument: Erased) abi("C") -> c_int:
    """Stops a statement whose time is over.

    Args:
        argument: The control.

    Returns:
        1 to stop it.
    """
    var control = argument.unsafe_bitcast[SqliteControl]()
    if control[].runs_to_its_end:
        return c_int(0)
    return c_int(1) if is_stopped(control) else c_int(0)


def on_busy(argument: Erased, tries: c_int) abi("C") -> c_int:
    """Waits a moment for a lock of another connection.

    Args:
        argument: The control.
        tries: How often it was called for this lock.

    Returns:
        1 to try again, 0 to give up.
    """
    var control = argument.unsafe_bitcast[SqliteControl]()
    var now = monotonic_ns()
    if tries == 0:
        control[].busy_since_ns = now
    if now - control[].busy_since_ns >= control[].busy_timeout_ns or is_stopped(
        control
    ):
        return c_int(0)
    var pause_us = min(_PAUSE_US << min(Int(tries), 8), _PAUSE_US_MAX)
    _ = external_call["usleep", c_int](UInt32(pause_us))
    return c_int(1)


def on_authorize(
    argument: Erased,
    action: c_int,
    first: OptionalErased,
    second: OptionalErased,
    database: OptionalErased,
    trigger: OptionalErased,
) abi("C") -> c_int:
    """Refuses statements that would change the transaction of others.

    Args:
        argument: The control.
        action: The number of the action.
        first: Depends on the action.
        second: Depends on the action.
        database: The name of the database.
        trigger: The trigger that it comes from.

    Returns:
        0 to allow it.
    """
    var control = argument.unsafe_bitcast[SqliteControl]()
    if control[].refuses_control and (
        action == _TRANSACTION
        or action == _SAVEPOINT
        or action == _ATTACH
        or action == _DETACH
    ):
        control[].was_refused = True
        return _DENY
    return c_int(0)

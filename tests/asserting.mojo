"""Compares what a test got with what it wanted.

A comparison that fails prints both values and ends the process;
`tools/run_tests.py` then runs each test that was lost by itself. If it raised, the
compiler would add the destruction of all that is alive to each call: a third of
the code of the suites.
"""

from std.reflection import SourceLocation, call_location

from flare.sys.file import STANDARD_OUTPUT, write_line_to
from flare.sys.process import exit_process

comptime FAILURE_CODE = 3
"""The exit code after a failure. 1 is that of a test that raises."""


@always_inline
def assert_equal[T: Equatable & Writable](got: T, wanted: T):
    """Ends the process if two values differ.

    Parameters:
        T: Their type.

    Args:
        got: One value.
        wanted: The other one.
    """
    _equal(got, wanted, call_location())


@always_inline
def assert_equal[T: Equatable & Writable](got: T, wanted: T, why: String):
    """Ends the process if two values differ.

    Parameters:
        T: Their type.

    Args:
        got: One value.
        wanted: The other one.
        why: What the message says besides.
    """
    _equal_because(got, wanted, why, call_location())


@always_inline
def assert_equal(got: StringSlice, wanted: StringSlice):
    """Ends the process if two texts differ.

    Args:
        got: One text.
        wanted: The other one.
    """
    _equal_text(got, wanted, call_location())


@always_inline
def assert_equal(got: StringSlice, wanted: StringSlice, why: String):
    """Ends the process if two texts differ.

    Args:
        got: One text.
        wanted: The other one.
        why: What the message says besides.
    """
    _equal_text_because(got, wanted, why, call_location())


@always_inline
def assert_true[T: Boolable](holds: T):
    """Ends the process if a condition does not hold.

    Parameters:
        T: The type of the condition.

    Args:
        holds: The condition.
    """
    _holds(Bool(holds), call_location())


@always_inline
def assert_true[T: Boolable](holds: T, why: String):
    """Ends the process if a condition does not hold.

    Parameters:
        T: The type of the condition.

    Args:
        holds: The condition.
        why: What the message says besides.
    """
    _holds_because(Bool(holds), why, call_location())


@always_inline
def assert_false[T: Boolable](holds: T):
    """Ends the process if a condition holds.

    Parameters:
        T: The type of the condition.

    Args:
        holds: The condition.
    """
    _holds(not Bool(holds), call_location())


@always_inline
def assert_false[T: Boolable](holds: T, why: String):
    """Ends the process if a condition holds.

    Parameters:
        T: The type of the condition.

    Args:
        holds: The condition.
        why: What the message says besides.
    """
    _holds_because(not Bool(holds), why, call_location())


@no_inline
def _equal[T: Equatable & Writable](got: T, wanted: T, place: SourceLocation):
    if got != wanted:
        _fail(String(place, ": ", got, " is not ", wanted))


@no_inline
def _equal_because[
    T: Equatable & Writable
](got: T, wanted: T, why: String, place: SourceLocation):
    if got != wanted:
        _fail(String(place, ": ", got, " is not ", wanted, ": ", why))


@no_inline
def _equal_text(got: StringSlice, wanted: StringSlice, place: SourceLocation):
    if got != wanted:
        _fail(String(place, ": ", got, " is not ", wanted))


@no_inline
def _equal_text_because(
    got: StringSlice, wanted: StringSlice, why: String, place: SourceLocation
):
    if got != wanted:
        _fail(String(place, ": ", got, " is not ", wanted, ": ", why))


@no_inline
def _holds(holds: Bool, place: SourceLocation):
    if not holds:
        _fail(String(place, ": the condition is not as it was wanted"))


@no_inline
def _holds_because(holds: Bool, why: String, place: SourceLocation):
    if not holds:
        _fail(String(place, ": ", why))


def _fail(text: String):
    write_line_to(STANDARD_OUTPUT, text)
    exit_process(FAILURE_CODE)

"""Compares what a test got with what it wanted.

The compiler copies the text of a failure into each test that calls
`assert_equal` of `std.testing`: 170 lines of LLVM IR to compare two numbers. A
call of the function here is ten lines, and the suites call it thousands of times.
"""

from std.reflection import SourceLocation, call_location


@always_inline
def assert_equal[T: Equatable & Writable](got: T, wanted: T) raises:
    """Raises if two values differ.

    Parameters:
        T: Their type.

    Args:
        got: One value.
        wanted: The other one.

    Raises:
        Both values, and the place of the call.
    """
    _equal(got, wanted, call_location())


@always_inline
def assert_equal[
    T: Equatable & Writable
](got: T, wanted: T, why: String) raises:
    """Raises if two values differ.

    Parameters:
        T: Their type.

    Args:
        got: One value.
        wanted: The other one.
        why: What the error says besides.

    Raises:
        Both values, and the place of the call.
    """
    _equal_because(got, wanted, why, call_location())


@always_inline
def assert_equal(got: StringSlice, wanted: StringSlice) raises:
    """Raises if two texts differ.

    Args:
        got: One text.
        wanted: The other one.

    Raises:
        Both texts, and the place of the call.
    """
    _equal_text(got, wanted, call_location())


@always_inline
def assert_equal(got: StringSlice, wanted: StringSlice, why: String) raises:
    """Raises if two texts differ.

    Args:
        got: One text.
        wanted: The other one.
        why: What the error says besides.

    Raises:
        Both texts, and the place of the call.
    """
    _equal_text_because(got, wanted, why, call_location())


@always_inline
def assert_true[T: Boolable](holds: T) raises:
    """Raises if a condition does not hold.

    Parameters:
        T: The type of the condition.

    Args:
        holds: The condition.

    Raises:
        The place of the call.
    """
    _holds(Bool(holds), call_location())


@always_inline
def assert_true[T: Boolable](holds: T, why: String) raises:
    """Raises if a condition does not hold.

    Parameters:
        T: The type of the condition.

    Args:
        holds: The condition.
        why: What the error says besides.

    Raises:
        The place of the call.
    """
    _holds_because(Bool(holds), why, call_location())


@always_inline
def assert_false[T: Boolable](holds: T) raises:
    """Raises if a condition holds.

    Parameters:
        T: The type of the condition.

    Args:
        holds: The condition.

    Raises:
        The place of the call.
    """
    _holds(not Bool(holds), call_location())


@always_inline
def assert_false[T: Boolable](holds: T, why: String) raises:
    """Raises if a condition holds.

    Parameters:
        T: The type of the condition.

    Args:
        holds: The condition.
        why: What the error says besides.

    Raises:
        The place of the call.
    """
    _holds_because(not Bool(holds), why, call_location())


@no_inline
def _equal[
    T: Equatable & Writable
](got: T, wanted: T, place: SourceLocation) raises:
    if got != wanted:
        raise Error(place, ": ", got, " is not ", wanted)


@no_inline
def _equal_because[
    T: Equatable & Writable
](got: T, wanted: T, why: String, place: SourceLocation) raises:
    if got != wanted:
        raise Error(place, ": ", got, " is not ", wanted, ": ", why)


@no_inline
def _equal_text(
    got: StringSlice, wanted: StringSlice, place: SourceLocation
) raises:
    if got != wanted:
        raise Error(place, ": ", got, " is not ", wanted)


@no_inline
def _equal_text_because(
    got: StringSlice, wanted: StringSlice, why: String, place: SourceLocation
) raises:
    if got != wanted:
        raise Error(place, ": ", got, " is not ", wanted, ": ", why)


@no_inline
def _holds(holds: Bool, place: SourceLocation) raises:
    if not holds:
        raise Error(place, ": the condition is not as it was wanted")


@no_inline
def _holds_because(holds: Bool, why: String, place: SourceLocation) raises:
    if not holds:
        raise Error(place, ": ", why)

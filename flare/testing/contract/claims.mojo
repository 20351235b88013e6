"""Raises where a claim does not hold.

The compiler copies the text of a failure into each function that calls
`assert_equal` of `std.testing`, and the claims are compiled for each world.
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
        Error: Both values, and the place of the call.
    """
    _equal(got, wanted, "", call_location())


@always_inline
def assert_equal[
    T: Equatable & Writable
](got: T, wanted: T, why: StringSlice) raises:
    """Raises if two values differ.

    Parameters:
        T: Their type.

    Args:
        got: One value.
        wanted: The other one.
        why: The end of the error's text.

    Raises:
        Error: Both values, and the place of the call.
    """
    _equal(got, wanted, why, call_location())


@always_inline
def assert_true(holds: Bool) raises:
    """Raises if a condition does not hold.

    Args:
        holds: The condition.

    Raises:
        Error: The place of the call.
    """
    _holds(holds, "the condition does not hold", call_location())


@always_inline
def assert_true(holds: Bool, why: StringSlice) raises:
    """Raises if a condition does not hold.

    Args:
        holds: The condition.
        why: The error's text.

    Raises:
        Error: The reason, and the place of the call.
    """
    _holds(holds, why, call_location())


@no_inline
def _equal[
    T: Equatable & Writable
](got: T, wanted: T, why: StringSlice, place: SourceLocation) raises:
    if got != wanted:
        raise Error(place, ": ", got, " is not ", wanted, " ", why)


@no_inline
def _holds(holds: Bool, why: StringSlice, place: SourceLocation) raises:
    if not holds:
        raise Error(place, ": ", why)

"""Defines the reports of a connection to its pool."""


struct Report:
    """The reports of a connection to its pool."""

    comptime HAS_ROOM = 0
    """Further statements may be sent."""
    comptime RETRY = 1
    """The entry should be sent once more."""

"""Defines the reports of a connection to its pool."""


struct Report:
    """The reports of a connection to its pool."""

    comptime HAS_ROOM = 0
    """Further statements may be sent."""
    comptime RETRY = 1
    """The entry should be sent once more."""
    comptime BEGINS_CANCEL = 2
    """A fiber of the connection uses the pool, until `ENDS_CANCEL`."""
    comptime ENDS_CANCEL = 3
    """That fiber has ended."""

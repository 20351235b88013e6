"""The parts of which the state of a connection consists."""

from flare.sys.libpq_connection import PgCancel


@fieldwise_init
struct ConnectionFlags(ImplicitlyCopyable):
    """Which fibers may use a connection."""

    var is_owned: Bool
    """Whether a transaction has it."""
    var is_reserved: Bool
    """Whether a transaction gets it when it is idle."""
    var is_returning: Bool
    """Whether a transaction gave it back, and it must first be idle."""


@fieldwise_init
struct Cancelling(ImplicitlyCopyable):
    """The cancel requests of a connection."""

    var handle: Optional[PgCancel]
    """The handle that cancels."""
    var is_wanted: Bool
    """Whether the statement at the head is to be cancelled, and runs still."""
    var is_running: Bool
    """Whether a helper thread uses the handle."""
    var begun_ms: Int
    """When the last request was begun."""

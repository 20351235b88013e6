"""Names what the timers of a reactor belong to."""

from flare.core import Erased

comptime TIMER_OF_FIBER = 0
"""The tag of a timer whose owner is a fiber."""
comptime TIMER_OF_TASK = 1
"""The tag of a timer whose owner is a `TimerTask`."""


@fieldwise_init
struct TimerTask(TrivialRegisterPassable):
    """Says what a due timer calls."""

    var owner: Erased
    """Handed to the function."""
    var fire: def(Erased) thin -> None
    """Called in the reactor's turn, never on a fiber."""

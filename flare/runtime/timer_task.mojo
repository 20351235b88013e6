"""Defines the owners of a reactor's timers."""

from flare.core import Erased

comptime TIMER_OF_FIBER = 0
"""The tag of a timer whose owner is a fiber."""
comptime TIMER_OF_TASK = 1
"""The tag of a timer whose owner is a `TimerTask`."""


@fieldwise_init
struct TimerTask(TrivialRegisterPassable):
    """The function that a due timer calls."""

    var owner: Erased
    """The argument of the function."""
    var fire: def(Erased) thin -> None
    """Called in the reactor's turn, never on a fiber."""

    @no_inline
    def __init__(out self):
        """Creates the task of a timer that is not armed. Its owner sets another
        before it arms the timer."""
        self.owner = Erased(unsafe_from_address=64)
        self.fire = _nothing


def _nothing(owner: Erased):
    pass

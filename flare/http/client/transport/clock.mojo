"""Bounds how long an exchange may last, by the clock of the loop."""

from flare.runtime.current import current_reactor


@fieldwise_init
struct Clock(TrivialRegisterPassable):
    """The deadline of an exchange."""

    var deadline_ms: Int
    """The moment at which it must be over."""

    @staticmethod
    def starting(total_ms: Int) -> Self:
        """Starts the time of an exchange.

        Args:
            total_ms: How long the exchange may last.

        Returns:
            The clock.
        """
        # A program may have computed for long since its loop last turned.
        var reactor = current_reactor()
        if not reactor:
            return Self(total_ms)
        return Self(reactor.value().deadline_after(total_ms))

    def left(self, most_ms: Int) -> Int:
        """Returns how long the next wait may last.

        Args:
            most_ms: The bound of the wait itself.

        Returns:
            Milliseconds, not negative.
        """
        return max(min(most_ms, self.deadline_ms - now()), 0)


def now() -> Int:
    """Returns the time at which a wait or a turn of the loop last read it.

    Returns:
        Milliseconds; 0 on a thread that has no loop yet.
    """
    var reactor = current_reactor()
    return reactor.value().now_ms() if reactor else 0

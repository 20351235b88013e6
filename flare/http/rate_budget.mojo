"""Bounds how long octets may take to move.

Waiting uses a budget up, and each octet that moves adds the time that it may
take at the lowest rate, up to the timeout. So neither a peer that stops nor one
that sends or reads octet by octet holds a connection for long.
"""


@fieldwise_init
struct RateBudget(TrivialRegisterPassable):
    """The time that a peer has left to move octets in one direction."""

    var left_ms: Int
    """How long the peer may still be waited for."""
    var rest: Int
    """Credit that adds up to no whole millisecond yet, in thousandths of an
    octet."""
    var began_ms: Int
    """When the present wait began, by the reactor's clock."""

    def __init__(out self, timeout_ms: Int):
        """Creates a budget of the whole timeout.

        Args:
            timeout_ms: The longest wait without an octet.
        """
        self = Self(timeout_ms, 0, 0)

    @always_inline
    def deadline_ms(self) -> Int:
        """Returns when the present wait is over.

        Returns:
            The time, by the reactor's clock.
        """
        return self.began_ms + self.left_ms

    @always_inline
    def credit(
        mut self,
        octets: Int,
        waited_ms: Int,
        octets_per_second_min: Int,
        timeout_ms: Int,
    ):
        """Subtracts a wait and adds the time for the octets that ended it.

        Args:
            octets: The number of octets sent or received.
            waited_ms: The length of the wait.
            octets_per_second_min: The lowest rate.
            timeout_ms: The most that the budget may hold.
        """
        # Most octets are not waited for, and the division takes its time.
        if waited_ms == 0 and self.left_ms >= timeout_ms:
            return
        var thousandths = octets * 1000 + self.rest
        self.rest = thousandths % octets_per_second_min
        self.left_ms = min(
            self.left_ms - waited_ms + thousandths // octets_per_second_min,
            timeout_ms,
        )

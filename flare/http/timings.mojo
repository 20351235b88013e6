"""Says how long the phases of a client's exchange took."""


@fieldwise_init
struct ExchangeTimings(ImplicitlyCopyable):
    """Holds the phases of one exchange, in microseconds.

    What did not happen took 0: a connection that is used again neither
    connects nor shakes hands. Phases of redirections are added up.
    """

    var queue_us: Int
    """The wait for a connection of the pool."""
    var connect_us: Int
    """The look-up of the host, and the connect."""
    var handshake_us: Int
    """The words with a proxy, and the handshake of TLS."""
    var send_us: Int
    """Sending head and content."""
    var head_us: Int
    """From the last octet sent to the whole head of the response."""
    var content_us: Int
    """From the head of the response to its end."""
    var reused: Bool
    """The connection had carried another exchange before."""

    def __init__(out self):
        """Makes the timings of an exchange that has not begun."""
        self = Self(0, 0, 0, 0, 0, 0, False)

    def total_us(self) -> Int:
        """Adds the phases up.

        Returns:
            Microseconds.
        """
        return (
            self.queue_us
            + self.connect_us
            + self.handshake_us
            + self.send_us
            + self.head_us
            + self.content_us
        )

"""Measures the phases of a client's exchange."""


@fieldwise_init
struct ExchangeTimings(ImplicitlyCopyable):
    """The durations of an exchange's phases, in microseconds.

    A phase that did not happen took 0: a reused connection has no connect and
    no handshake. The phases of redirects are added up.
    """

    var queue_us: Int
    """The wait for a connection of the pool."""
    var connect_us: Int
    """The look-up of the host and the connect."""
    var handshake_us: Int
    """The request to a proxy and the TLS handshake."""
    var send_us: Int
    """The sending of head and content."""
    var head_us: Int
    """From the last octet sent to the complete head of the response."""
    var content_us: Int
    """From the head of the response to its end."""
    var reused: Bool
    """Whether the connection had carried another exchange before."""

    def __init__(out self):
        """Creates the timings of an exchange that has not begun."""
        self = Self(0, 0, 0, 0, 0, 0, False)

    def total_us(self) -> Int:
        """Returns the sum of the phases.

        Returns:
            The sum, in microseconds.
        """
        return (
            self.queue_us
            + self.connect_us
            + self.handshake_us
            + self.send_us
            + self.head_us
            + self.content_us
        )

"""The response that was written to a request."""


@fieldwise_init
struct Sent(TrivialRegisterPassable):
    """The response that was written."""

    comptime NOTHING = Self(0, 0)
    """None: the connection or the stream ends instead."""

    var status: Int
    """Its status."""
    var content_octets: Int
    """The length of its content."""

"""Defines the events of a connection of HTTP/2."""


@fieldwise_init
struct H2Event(TrivialRegisterPassable):
    """One event on a connection.

    For every kind, the owner drops `consumed` octets from the front of the
    window.
    """

    comptime NEED_OCTETS: UInt8 = 0
    """No event is available before more octets arrive."""
    comptime REQUEST_HEAD: UInt8 = 1
    """A stream begins. Its head is that of the machine's reader."""
    comptime DATA: UInt8 = 2
    """`start` and `length` say where content lies; there may be none at the
    end."""
    comptime TRAILERS: UInt8 = 3
    """The machine's reader has the lines of a trailer section."""
    comptime RESET: UInt8 = 4
    """A stream has ended at once, by `code`. Its owner still forgets it."""
    comptime GOING_AWAY: UInt8 = 5
    """The peer begins no more streams, and processes none above
    `stream_id`."""
    comptime PONG: UInt8 = 6
    """The peer has answered a PING of the owner."""
    comptime WINDOW_SMALL: UInt8 = 7
    """The windows of received content hold the peer back. The owner may grow
    them."""

    comptime RESPONSE_HEAD: UInt8 = 8
    """A final response begins. Its head is that of the machine's reader."""
    comptime INFORMATIONAL_HEAD: UInt8 = 9
    """The machine's reader has the head of a 1xx response."""

    var kind: UInt8
    """One of the constants."""
    var slot: Int
    """The slot of the stream; of stream events only."""
    var stream_id: Int
    """The stream; 0 for the connection."""
    var start: Int
    """The offset of the content in the window."""
    var length: Int
    """The length of the content."""
    var consumed: Int
    """Octets that the owner drops from the front of the window."""
    var ends: Bool
    """Whether the peer sends nothing more on the stream."""
    var code: UInt32
    """The error code; of `RESET` and `GOING_AWAY` only."""
    var status: Int
    """The status that answers a head which is not valid; 0 for a valid one. At a
    client, 431 with `RESET` if a head exceeds the limits."""

    @staticmethod
    @always_inline
    def of(kind: UInt8) -> Self:
        """Returns an event of the connection.

        Args:
            kind: One of the constants.

        Returns:
            The event.
        """
        return Self(kind, -1, 0, 0, 0, 0, False, 0, 0)

    @staticmethod
    @always_inline
    def of_stream(kind: UInt8, slot: Int, stream_id: Int, ends: Bool) -> Self:
        """Returns an event of a stream.

        Args:
            kind: One of the constants.
            slot: Its slot.
            stream_id: Its number.
            ends: Whether the peer sends nothing more.

        Returns:
            The event.
        """
        return Self(kind, slot, stream_id, 0, 0, 0, ends, 0, 0)

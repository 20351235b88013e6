"""Defines the events of the WebSocket machine."""


@fieldwise_init
struct WsEvent(TrivialRegisterPassable):
    """One event on a WebSocket connection.

    For every kind, the owner drops `consumed` octets from the front of the
    window. The number may be above zero for `NEED_OCTETS` too.
    """

    comptime NEED_OCTETS: UInt8 = 0
    """No event is available before more octets arrive. After a Close or an
    error, all octets are consumed."""
    comptime DATA: UInt8 = 1
    """`start` and `length` say where octets of a message lie, unmasked."""
    comptime PING: UInt8 = 2
    """The octets are those of a ping, which a pong returns."""
    comptime PONG: UInt8 = 3
    """The octets are those of a pong."""
    comptime CLOSE: UInt8 = 4
    """`close_code` is set; the octets are the reason, in UTF-8."""

    var kind: UInt8
    """One of the constants."""
    var opcode: UInt8
    """The opcode of the frame; for each `DATA`, that of the first frame of the
    message."""
    var fin: Bool
    """Whether the frame is the last one of its message."""
    var starts: Bool
    """Whether the data are the first of their message."""
    var ends: Bool
    """Whether the data are the last of their message."""
    var ends_frame: Bool
    """Whether the data are the last of their frame."""
    var is_compressed: Bool
    """Whether the data must be inflated. The machine has then checked neither
    the text nor the size: use a `WsMessageCheck` for the inflated octets.
    """
    var close_code: UInt16
    """The code of a Close, or `WsCloseCode.NO_STATUS`; of `CLOSE` only."""
    var start: Int
    """The offset of the octets in the window."""
    var length: Int
    """The number of octets."""
    var consumed: Int
    """Octets that the owner drops from the front of the window."""

    @staticmethod
    @always_inline
    def waiting(consumed: Int) -> Self:
        """Creates the event that more octets are needed.

        Args:
            consumed: Octets that the owner drops.

        Returns:
            The event.
        """
        return Self(
            Self.NEED_OCTETS,
            0,
            False,
            False,
            False,
            False,
            False,
            0,
            0,
            0,
            consumed,
        )

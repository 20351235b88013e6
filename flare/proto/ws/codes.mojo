"""Defines the opcodes and close codes of WebSocket frames."""


struct WsOpcode:
    """The kinds of frames (RFC 6455 section 5.2)."""

    comptime CONTINUATION: UInt8 = 0
    """A later frame of a message."""
    comptime TEXT: UInt8 = 1
    """The first frame of a message of UTF-8 text."""
    comptime BINARY: UInt8 = 2
    """The first frame of a message of any octets."""
    comptime CLOSE: UInt8 = 8
    """The peer sends no further frame."""
    comptime PING: UInt8 = 9
    """A question that a pong answers."""
    comptime PONG: UInt8 = 10
    """An answer to a ping, or a sign of life."""

    @staticmethod
    @always_inline
    def is_known(opcode: UInt8) -> Bool:
        """Returns whether RFC 6455 defines an opcode.

        Args:
            opcode: The opcode, below 16.

        Returns:
            False for the reserved ones.
        """
        return (0x0707 >> UInt16(opcode)) & 1 == 1

    @staticmethod
    @always_inline
    def is_control(opcode: UInt8) -> Bool:
        """Returns whether frames with an opcode are control frames.

        Args:
            opcode: The opcode.

        Returns:
            True for close, ping, pong and the reserved ones above them.
        """
        return opcode & 8 != 0


struct WsCloseCode:
    """The reasons for which a connection closes (RFC 6455 section 7.4)."""

    comptime NORMAL: UInt16 = 1000
    """The purpose of the connection is fulfilled."""
    comptime GOING_AWAY: UInt16 = 1001
    """The server stops, or the user left the page."""
    comptime PROTOCOL_ERROR: UInt16 = 1002
    """The peer broke a rule of RFC 6455."""
    comptime UNSUPPORTED_DATA: UInt16 = 1003
    """The peer sent a type of message that the endpoint does not accept."""
    comptime NO_STATUS: UInt16 = 1005
    """The peer's Close had no code; never on the wire."""
    comptime ABNORMAL: UInt16 = 1006
    """The connection ended without a Close; never on the wire."""
    comptime INVALID_DATA: UInt16 = 1007
    """A text is not UTF-8."""
    comptime POLICY_VIOLATION: UInt16 = 1008
    """The peer broke a rule of the endpoint."""
    comptime TOO_LARGE: UInt16 = 1009
    """A message exceeds the limit of the endpoint."""
    comptime MANDATORY_EXTENSION: UInt16 = 1010
    """The server did not accept an extension that the client needs."""
    comptime INTERNAL_ERROR: UInt16 = 1011
    """The endpoint failed."""
    comptime SERVICE_RESTART: UInt16 = 1012
    """The server restarts."""
    comptime TRY_AGAIN_LATER: UInt16 = 1013
    """The server is overloaded, or the peer reads too slowly."""
    comptime BAD_GATEWAY: UInt16 = 1014
    """The server to which a gateway forwards failed."""

    @staticmethod
    def is_valid(code: UInt16) -> Bool:
        """Returns whether a Close frame may carry a code.

        Args:
            code: Any number.

        Returns:
            True for the registered codes except 1004, 1005, 1006 and 1015, and
            for those of libraries and programs (3000 to 4999).
        """
        var number = Int(code)
        if number < 3000:
            return 1000 <= number <= 1003 or 1007 <= number <= 1014
        return number <= 4999

"""Follows the frames of a stream without their contents, for an intermediary."""

from .codes import WsOpcode

comptime _SHORT_MAX: UInt8 = 125
comptime _TWO_OCTETS: UInt8 = 126
comptime _MASKED: UInt8 = 0x80
comptime _KEY_OCTETS = 4


struct WsFramePlace(TrivialRegisterPassable):
    """The place in a stream of frames (RFC 6455 section 5.2).

    An intermediary that forwards octets may add a control frame between two
    frames. It checks no rule: each endpoint does.
    """

    var _header_octets: Int
    # Known after the second octet; at least 2 before.
    var _header_length: Int
    var _second: UInt8
    var _length: UInt64
    var _has_closed: Bool

    def __init__(out self):
        """Creates the place before the first frame."""
        self._header_octets = 0
        self._header_length = 2
        self._second = 0
        self._length = 0
        self._has_closed = False

    @always_inline
    def is_between_frames(self) -> Bool:
        """Returns whether a frame has ended and the next has not begun.

        Returns:
            True before the first frame too.
        """
        return self._header_octets == 0

    @always_inline
    def has_closed(self) -> Bool:
        """Returns whether a Close has begun.

        Returns:
            True from its first octet on.
        """
        return self._has_closed

    def advance(mut self, octets: Span[UInt8, _]) -> Int:
        """Moves on to the end of the frame, or of the octets.

        Args:
            octets: The next octets of the stream.

        Returns:
            How many of them belong to the frame.
        """
        var at = 0
        while self._is_in_header():
            if at == len(octets):
                return at
            self._take_header(octets[at])
            at += 1
        var count = min(self._length, UInt64(len(octets) - at))
        self._length -= count
        if self._length == 0:
            self._header_octets = 0
        return at + Int(count)

    def advance_over(mut self, octets: Span[UInt8, _]):
        """Moves on over any number of frames.

        Args:
            octets: The next octets of the stream.
        """
        var at = 0
        while at < len(octets):
            at += self.advance(octets[at:])

    @always_inline
    def _is_in_header(self) -> Bool:
        return self._header_octets < self._header_length

    def _take_header(mut self, octet: UInt8):
        if self._header_octets == 0:
            self._has_closed |= octet & 15 == WsOpcode.CLOSE
        elif self._header_octets == 1:
            self._second = octet
            self._take_short_length(octet & 127)
        elif self._header_octets < self._header_length - self._key_octets():
            self._length = self._length << 8 | UInt64(octet)
        self._header_octets += 1

    def _take_short_length(mut self, length: UInt8):
        self._header_length = 2 + self._key_octets()
        if length <= _SHORT_MAX:
            self._length = UInt64(length)
        elif length == _TWO_OCTETS:
            self._header_length += 2
        else:
            self._header_length += 8

    @always_inline
    def _key_octets(self) -> Int:
        return _KEY_OCTETS if self._second & _MASKED != 0 else 0

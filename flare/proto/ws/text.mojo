"""Checks that text is UTF-8 while it arrives.

The check fails at the first octet that cannot continue the text, however the
text is divided into pieces (RFC 3629, RFC 6455 section 8.1).
"""

from std.sys.intrinsics import likely

comptime _LANES = 32
comptime _TAIL_LOW: UInt8 = 0x80
comptime _TAIL_HIGH: UInt8 = 0xBF


struct WsText(ImplicitlyCopyable):
    """The position between two pieces of a text."""

    var _left: UInt8
    # The octets of the character in progress that have not arrived.
    var _low: UInt8
    # The least next octet, if one is left.
    var _high: UInt8
    # The greatest one.

    def __init__(out self):
        """Creates the position before the first octet."""
        self._left = 0
        self._low = _TAIL_LOW
        self._high = _TAIL_HIGH

    @always_inline
    def is_whole(self) -> Bool:
        """Returns whether the text may end here.

        Returns:
            False within a character of several octets.
        """
        return self._left == 0

    @always_inline
    def accept(mut self, octets: Span[UInt8, _]) -> Bool:
        """Checks the next piece of the text.

        Args:
            octets: The piece.

        Returns:
            False if an octet cannot continue the text. The position is then
            undefined.
        """
        var start = 0
        if likely(self._left == 0):
            start = _end_of_ascii(octets, 0)
        return start == len(octets) or self._accept_any(octets, start)

    @no_inline
    def _accept_any(mut self, octets: Span[UInt8, _], start: Int) -> Bool:
        var i = start
        while i < len(octets):
            var b = octets.unsafe_get(i)
            if self._left != 0:
                if b < self._low or b > self._high:
                    return False
                self._left -= 1
                self._low = _TAIL_LOW
                self._high = _TAIL_HIGH
                i += 1
            elif b < 0x80:
                i = _end_of_ascii(octets, i)
            elif self._begin(b):
                i += 1
            else:
                return False
        return True

    @always_inline
    def _begin(mut self, lead: UInt8) -> Bool:
        # RFC 3629 section 4. The second octet excludes longer forms than
        # needed (E0, F0), surrogates (ED) and numbers above 10FFFF (F4).
        if lead < 0xE0:
            self._left = 1
            return lead >= 0xC2
        if lead < 0xF0:
            self._left = 2
            if lead == 0xE0:
                self._low = 0xA0
            elif lead == 0xED:
                self._high = 0x9F
            return True
        self._left = 3
        if lead == 0xF0:
            self._low = 0x90
        elif lead == 0xF4:
            self._high = 0x8F
        return lead <= 0xF4


def is_utf8(octets: Span[UInt8, _]) -> Bool:
    """Returns whether octets are a whole text in UTF-8.

    Args:
        octets: Any octets.

    Returns:
        False if an octet cannot continue the text, or the last character is
        cut off.
    """
    var text = WsText()
    return text.accept(octets) and text.is_whole()


@always_inline
def _end_of_ascii(octets: Span[UInt8, _], start: Int) -> Int:
    # Some octet at or before the first one above 0x7F; the caller looks at
    # that one alone.
    var p = octets.unsafe_ptr()
    var n = len(octets)
    var i = start
    while i + _LANES <= n:
        if (p.unsafe_load[width=_LANES](i) & 0x80).reduce_or() != 0:
            break
        i += _LANES
    while i < n and p[unsafe_offset=i] < 0x80:
        i += 1
    return i

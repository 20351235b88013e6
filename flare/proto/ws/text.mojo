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
        var n = len(octets)
        var left = self._left
        var low = self._low
        var high = self._high
        var i = start
        while i < n:
            var b = octets.unsafe_get(i)
            if left != 0:
                if b < low or b > high:
                    return False
                left -= 1
                low = _TAIL_LOW
                high = _TAIL_HIGH
                i += 1
                continue
            if b < 0x80:
                i = _end_of_ascii(octets, i)
                continue
            # RFC 3629 section 4. The second octet excludes forms longer than
            # needed (E0, F0), surrogates (ED) and numbers above 10FFFF (F4).
            if b < 0xC2 or b > 0xF4:
                return False
            left = 1 if b < 0xE0 else (UInt8(2) if b < 0xF0 else 3)
            if b == 0xE0:
                low = 0xA0
            elif b == 0xED:
                high = 0x9F
            elif b == 0xF0:
                low = 0x90
            elif b == 0xF4:
                high = 0x8F
            i += 1
        self._left = left
        self._low = low
        self._high = high
        return True


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
    comptime for w in [16, 8, 4]:
        if i + w <= n and (p.unsafe_load[width=w](i) & 0x80).reduce_or() == 0:
            i += w
    while i < n and p[unsafe_offset=i] < 0x80:
        i += 1
    return i

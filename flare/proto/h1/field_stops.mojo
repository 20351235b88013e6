"""Finds where names and values of field lines end, 64 octets at a time.

Most lines are shorter than 64 octets, so one look serves several scans; and
where the next look goes does not wait for what the last one found.
"""

from std.bit import count_trailing_zeros
from std.memory import pack_bits
from std.sys.info import simd_byte_width

from flare.core import TAB, TOKEN_OCTETS

from .scan import Window

comptime _BLOCK = 64
comptime _LANES = min(_BLOCK, simd_byte_width())


struct FieldStops(TrivialRegisterPassable):
    """Remembers what stops scans among 64 octets of a window."""

    var base: Int
    """Where the octets begin in the window."""
    var names: UInt64
    """A bit for each octet that no field name contains, and for each that
    lies behind the window."""
    var values: UInt64
    """A bit for each octet that no field value contains, and for each that
    lies behind the window."""

    @always_inline
    def __init__(out self, window: Window, base: Int):
        """Looks at the first octets.

        Args:
            window: The received octets.
            base: Where to begin; at most the length.
        """
        self.base = base
        self.names = 0
        self.values = 0
        self._look(window)

    @always_inline
    def name_end(mut self, window: Window, start: Int) -> Int:
        """Finds the first octet that no field name contains.

        Args:
            window: The received octets.
            start: Where to begin; not before what was found last.

        Returns:
            The index, or the length of the window.
        """
        return self._find[True](window, start)

    @always_inline
    def value_end(mut self, window: Window, start: Int) -> Int:
        """Finds the first octet that no field value contains.

        Args:
            window: The received octets.
            start: Where to begin; not before what was found last.

        Returns:
            The index, or the length of the window.
        """
        return self._find[False](window, start)

    @always_inline
    def _find[is_name: Bool](mut self, window: Window, start: Int) -> Int:
        var at = start
        while True:
            if at - self.base < _BLOCK:
                var all = self.names if is_name else self.values
                var stops = all >> UInt64(at - self.base)
                if stops != 0:
                    return at + Int(count_trailing_zeros(stops))
                at = self.base + _BLOCK
            self.base += _BLOCK
            self._look(window)

    @always_inline
    def _look(mut self, window: Window):
        if self.base + _BLOCK <= len(window):
            self._load(window.unsafe_ptr().unsafe_offset(self.base))
        else:
            self._look_at_end(window)

    @always_inline
    def _load(mut self, p: Pointer[UInt8, _]):
        self.names = 0
        self.values = 0
        comptime for i in range(0, _BLOCK, _LANES):
            self._add[_LANES](p.unsafe_load[width=_LANES](i), i)

    @always_inline
    def _add[lanes: SIMDLength](mut self, x: SIMD[DType.uint8, lanes], at: Int):
        self.names |= UInt64(pack_bits(_not_token(x))) << UInt64(at)
        self.values |= UInt64(pack_bits(_not_content(x))) << UInt64(at)

    @always_inline
    def _look_at_end(mut self, window: Window):
        var n = len(window)
        var p = window.unsafe_ptr()
        # The vectors cover the window from here, or all of it if it is short;
        # the second one of a pair may overlap the first.
        var first = max(n - _BLOCK, 0)
        self.names = 0
        self.values = 0
        if n >= _BLOCK:
            self._load(p.unsafe_offset(first))
        elif n >= 32:
            self._add[32](p.unsafe_load[width=32](0), 0)
            self._add[32](p.unsafe_load[width=32](n - 32), n - 32)
        elif n >= 16:
            self._add[16](p.unsafe_load[width=16](0), 0)
            self._add[16](p.unsafe_load[width=16](n - 16), n - 16)
        else:
            var x = SIMD[DType.uint8, 16](0)
            for i in range(n):
                x[i] = p[unsafe_offset=i]
            self._add[16](x, 0)
        var left = n - self.base
        if left <= 0:
            self.names = UInt64.MAX
            self.values = UInt64.MAX
            return
        var behind = UInt64.MAX << UInt64(left)
        var seen = UInt64(self.base - first)
        self.names = (self.names >> seen) | behind
        self.values = (self.values >> seen) | behind


@always_inline
def _not_token[
    lanes: SIMDLength
](x: SIMD[DType.uint8, lanes]) -> SIMD[DType.bool, lanes]:
    var members = materialize[TOKEN_OCTETS]()
    return ~members.matches(x)


@always_inline
def _not_content[
    lanes: SIMDLength
](x: SIMD[DType.uint8, lanes]) -> SIMD[DType.bool, lanes]:
    return (x.lt(0x20) & x.ne(TAB)) | x.eq(0x7F)

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


@fieldwise_init
struct _Stops(TrivialRegisterPassable):
    # A bit for each octet that no field name, that no field value contains, and
    # for each that lies behind the window.
    var names: UInt64
    var values: UInt64


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
        var stops = _look(window, base)
        self.base = base
        self.names = stops.names
        self.values = stops.values

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
        var all = self.names if is_name else self.values
        var stops: UInt64 = 0
        if at - self.base < _BLOCK:
            stops = all >> UInt64(at - self.base)
        while stops == 0:
            self.base += _BLOCK
            var seen = _look(window, self.base)
            self.names = seen.names
            self.values = seen.values
            all = self.names if is_name else self.values
            at = max(at, self.base)
            if at - self.base < _BLOCK:
                stops = all >> UInt64(at - self.base)
        return at + Int(count_trailing_zeros(stops))


@no_inline
def _look(window: Window, base: Int) -> _Stops:
    # Not inlined: vector constants would be loaded anew behind each call in
    # the loop over the lines.
    if base + _BLOCK <= len(window):
        return _load(window.unsafe_ptr(), base)
    return _look_at_end(window, base)


@always_inline
def _load(p: Pointer[mut=False, UInt8, _], start: Int) -> _Stops:
    var stops = _Stops(0, 0)
    comptime for i in range(0, _BLOCK, _LANES):
        _add(stops, p.unsafe_load[width=_LANES](start + i), i)
    return stops


@always_inline
def _add[
    lanes: SIMDLength
](mut stops: _Stops, x: SIMD[DType.uint8, lanes], at: Int):
    stops.names |= UInt64(pack_bits(_not_token(x))) << UInt64(at)
    stops.values |= UInt64(pack_bits(_not_content(x))) << UInt64(at)


@always_inline
def _look_at_end(window: Window, base: Int) -> _Stops:
    var n = len(window)
    var p = window.unsafe_ptr()
    var left = n - base
    if left <= 0:
        return _Stops(UInt64.MAX, UInt64.MAX)
    # The vectors cover the window from here, or all of it if it is short; the
    # second one of a pair may overlap the first.
    var first = max(n - _BLOCK, 0)
    var stops = _Stops(0, 0)
    if n >= _BLOCK:
        stops = _load(p, first)
    elif n >= 32:
        _add(stops, p.unsafe_load[width=32](0), 0)
        _add(stops, p.unsafe_load[width=32](n - 32), n - 32)
    elif n >= 16:
        _add(stops, p.unsafe_load[width=16](0), 0)
        _add(stops, p.unsafe_load[width=16](n - 16), n - 16)
    else:
        var x = SIMD[DType.uint8, 16](0)
        for i in range(n):
            x[i] = p[unsafe_offset=i]
        _add(stops, x, 0)
    var behind = UInt64.MAX << UInt64(left)
    var seen = UInt64(base - first)
    stops.names = (stops.names >> seen) | behind
    stops.values = (stops.values >> seen) | behind
    return stops


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

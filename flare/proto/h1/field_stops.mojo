"""Finds the ends of names and values of field lines, 64 octets at a time.

Most lines are shorter than 64 octets, so one look serves several scans. The
place of the next look does not depend on the result of the last one. The first
look of a request serves its request line and Host too.
"""

from std.bit import count_trailing_zeros
from std.math import iota
from std.memory import pack_bits
from std.sys.info import simd_byte_width
from std.sys.compile import OptimizationLevel
from std.sys.intrinsics import likely, masked_load

from flare.core import OctetSet, TAB, TOKEN_OCTETS

from .scan import Window

comptime STOPS_WINDOW_MIN = 16
"""The shortest window that a `FieldStops` can look at."""
comptime _BLOCK = 64
comptime _LANES = min(_BLOCK, simd_byte_width())
# A build with -O0 has no such load. `masked_load` passes its alignment as a
# value that only the optimizer turns into the constant that LLVM requires.
comptime _FOLDS_CONSTANTS = Int(OptimizationLevel) > 0
# If a vector is as long as the block, as with AVX-512, a part of it can be
# loaded at no cost.
comptime _LOADS_PARTS = _LANES == _BLOCK and _FOLDS_CONSTANTS

comptime PLAIN_PATH_OCTETS = OctetSet.of(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-."
    "/_~!$&'()*+,;=:@"
)
"""The octets of a path that need no further check."""
comptime PLAIN_HOST_OCTETS = OctetSet.of(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-."
)
"""The octets of a name or an IPv4 address."""
comptime _FORBIDDEN_OCTETS = _forbidden_octets()


def _forbidden_octets() -> OctetSet:
    # The octets that a field value cannot contain (RFC 9110 section 5.5).
    var set = OctetSet.of("\x7f")
    for b in range(32):
        if UInt8(b) != TAB:
            set.add(UInt8(b))
    return set


@fieldwise_init
struct _Stops(TrivialRegisterPassable):
    # A bit for each octet that a field name, or a field value, cannot contain,
    # and for each after the window. Two words are returned in registers.
    var names: UInt64
    var values: UInt64


@fieldwise_init
struct FirstLook(TrivialRegisterPassable):
    """Further results of the first look at a window.

    Each word has a bit for each octet that is not in its set, and for each
    that lies after the window.
    """

    comptime OCTETS = _BLOCK
    """The number of octets looked at."""

    var paths: UInt64
    """The octets that are not in `PLAIN_PATH_OCTETS`."""
    var hosts: UInt64
    """The octets that are not in `PLAIN_HOST_OCTETS`."""
    var digits: UInt64
    """The octets that are not decimal digits."""

    @staticmethod
    @always_inline
    def nothing() -> Self:
        """Returns a look without results.

        Returns:
            The look, with all octets outside the sets.
        """
        return Self(UInt64.MAX, UInt64.MAX, UInt64.MAX)


struct FieldStops(TrivialRegisterPassable):
    """The stops of scans among 64 octets of a window."""

    var base: Int
    """The offset of the octets in the window."""
    var names: UInt64
    """A bit for each octet that a field name cannot contain, and for each
    after the window.
    """
    var values: UInt64
    """A bit for each octet that a field value cannot contain, and for each
    after the window.
    """

    @always_inline
    def __init__(out self, window: Window, base: Int):
        """Creates the stops of the first octets of a span.

        Args:
            window: The received octets, at least `STOPS_WINDOW_MIN`.
            base: The offset to start at; at most the length.
        """
        var stops = _look(window, base)
        self.base = base
        self.names = stops.names
        self.values = stops.values

    @always_inline
    def __init__(out self, window: Window, mut first: FirstLook):
        """Creates the stops of the first octets of a window.

        Args:
            window: The received octets, at least `STOPS_WINDOW_MIN`.
            first: Set to the further results.
        """
        first = FirstLook(0, 0, 0)
        var stops: _Stops
        if likely(len(window) >= _BLOCK):
            stops = _look_at_block[True](window.unsafe_ptr(), 0, first)
        else:
            stops = _look_at_short[True](window, 0, first)
        self.base = 0
        self.names = stops.names
        self.values = stops.values

    @always_inline
    def reaches(self, at: Int) -> Bool:
        """Returns whether an octet is among those looked at.

        Args:
            at: The octet's offset; not before `base`.

        Returns:
            True if the stops cover the octet.
        """
        return at - self.base < _BLOCK

    @always_inline
    def name_end(mut self, window: Window, line_end: Int) -> Int:
        """Returns the first octet that a field name cannot contain.

        Args:
            window: The received octets.
            line_end: The place of the CR LF before the name; its CR is among
                the octets looked at.

        Returns:
            The offset, or the end of the window or of a name after it.
        """
        return self._find[True, 2](window, line_end)

    @always_inline
    def value_end(mut self, window: Window, colon: Int) -> Int:
        """Returns the first octet that a field value cannot contain.

        Args:
            window: The received octets.
            colon: The place of the octet before the value; it is among the
                octets looked at.

        Returns:
            The offset, or the end of the window or of a value after it.
        """
        return self._find[False, 1](window, colon)

    @always_inline
    def _find[
        is_name: Bool, octets: Int
    ](mut self, window: Window, last: Int) -> Int:
        # Two shifts, because all 64 bits may have to go.
        var stops = (
            (self.names if is_name else self.values)
            >> UInt64(last - self.base)
            >> UInt64(octets)
        )
        if likely(stops != 0):
            return last + octets + Int(count_trailing_zeros(stops))
        # At most the LF of the line before is among the next octets.
        var before = last + octets - (self.base + _BLOCK)
        var found = self._look_on(window)
        comptime if is_name:
            found.names &= UInt64.MAX << UInt64(max(before, 0))
        stops = found.names if is_name else found.values
        while stops == 0:
            found = self._look_on(window)
            stops = found.names if is_name else found.values
        return self.base + Int(count_trailing_zeros(stops))

    @always_inline
    def _look_on(mut self, window: Window) -> _Stops:
        self.base += _BLOCK
        var found = _look(window, self.base)
        self.names = found.names
        self.values = found.values
        return found


@no_inline
def _look(window: Window, base: Int) -> _Stops:
    # Not inlined: it would take the registers of the loop over the lines.
    var n = len(window)
    var first = FirstLook.nothing()
    if likely(base + _BLOCK <= n):
        return _look_at_block[False](window.unsafe_ptr(), base, first)
    if base >= n:
        return _Stops(UInt64.MAX, UInt64.MAX)
    if _LOADS_PARTS or n < _BLOCK:
        return _look_at_short[False](window, base, first)
    # The last octets of the window, without those before `base`.
    var start = n - _BLOCK
    var stops = _look_at_block[False](window.unsafe_ptr(), start, first)
    var behind = UInt64.MAX << UInt64(n - base)
    return _Stops(
        (stops.names >> UInt64(base - start)) | behind,
        (stops.values >> UInt64(base - start)) | behind,
    )


@always_inline
def _look_at_block[
    is_first: Bool
](p: Pointer[mut=False, UInt8, _], start: Int, mut first: FirstLook) -> _Stops:
    var stops = _Stops(0, 0)
    comptime for i in range(0, _BLOCK, _LANES):
        _add[_LANES, is_first](stops, first, p, start + i, i)
    return stops


@always_inline
def _look_at_short[
    is_first: Bool
](window: Window, base: Int, mut first: FirstLook) -> _Stops:
    var n = len(window)
    var p = window.unsafe_ptr()
    var stops = _Stops(0, 0)
    comptime if _LOADS_PARTS:
        # Octets that are not loaded are zero, which is in no set of allowed
        # octets.
        _add_lanes[_BLOCK, is_first](
            stops,
            first,
            masked_load[_BLOCK](
                p.unsafe_offset(base),
                iota[DType.uint8, _BLOCK]().lt(UInt8(n - base)),
                SIMD[DType.uint8, _BLOCK](0),
            ),
            0,
        )
        return stops
    # The second vector may overlap the first.
    if n >= 32:
        _add[32, is_first](stops, first, p, 0, 0)
        _add[32, is_first](stops, first, p, n - 32, n - 32)
    else:
        _add[16, is_first](stops, first, p, 0, 0)
        _add[16, is_first](stops, first, p, n - 16, n - 16)
    var behind = UInt64.MAX << UInt64(n - base)
    comptime if is_first:
        first.paths |= behind
        first.hosts |= behind
        first.digits |= behind
    return _Stops(
        (stops.names >> UInt64(base)) | behind,
        (stops.values >> UInt64(base)) | behind,
    )


@always_inline
def _add[
    lanes: SIMDLength, is_first: Bool
](
    mut stops: _Stops,
    mut first: FirstLook,
    p: Pointer[mut=False, UInt8, _],
    start: Int,
    at: Int,
):
    _add_lanes[lanes, is_first](
        stops, first, p.unsafe_load[width=lanes](start), at
    )


@always_inline
def _add_lanes[
    lanes: SIMDLength, is_first: Bool
](
    mut stops: _Stops,
    mut first: FirstLook,
    x: SIMD[DType.uint8, lanes],
    at: Int,
):
    var shift = UInt64(at)
    var names = materialize[TOKEN_OCTETS]()
    var forbidden = materialize[_FORBIDDEN_OCTETS]()
    stops.names |= UInt64(pack_bits(~names.matches(x))) << shift
    stops.values |= UInt64(pack_bits(forbidden.matches(x))) << shift
    comptime if is_first:
        var paths = materialize[PLAIN_PATH_OCTETS]()
        var hosts = materialize[PLAIN_HOST_OCTETS]()
        first.paths |= UInt64(pack_bits(~paths.matches(x))) << shift
        first.hosts |= UInt64(pack_bits(~hosts.matches(x))) << shift
        first.digits |= UInt64(pack_bits((x - 48).ge(10))) << shift

"""Reads and writes the identity of a trace (W3C Trace Context)."""

from std.bit import byte_swap

comptime TRACE_ID_OCTETS = 32
"""The length of a trace id as text (section 3.2.2.3)."""
comptime SPAN_ID_OCTETS = 16
"""The length of the id of a span as text (section 3.2.2.4)."""
comptime TRACE_ID_START = 3
"""Where the trace id begins in a `traceparent`."""
# `00-`, 32 digits of the trace, `-`, 16 of its parent, `-`, 2 of flags.
comptime _TRACE_PARENT_OCTETS = 55
comptime _PARENT_START = 36
comptime _FLAGS_START = 53
comptime _DASH = UInt8(ord("-"))
comptime _ZERO = UInt8(ord("0"))
comptime _SAMPLED: UInt8 = 1
comptime _DIGITS: StaticString = "0123456789abcdef"


@fieldwise_init
struct TraceContext(Equatable, TrivialRegisterPassable):
    """The identity of one step of a trace, such as the span of a request."""

    var trace_high: UInt64
    """The first half of the trace id."""
    var trace_low: UInt64
    """The second half of the trace id."""
    var span_id: UInt64
    """The id of the span; not 0."""
    var is_sampled: Bool
    """Whether the span is recorded; those that it causes should be, too."""

    @staticmethod
    def parse(value: Span[UInt8, _]) -> Optional[Self]:
        """Reads the value of a field `traceparent` (sections 3.2 and 4.3).

        Args:
            value: The value.

        Returns:
            The span that has sent the request. `None` if the value is not
            valid, or if one of its ids is all zeros. Of later versions, the
            part that version 00 defines is read.
        """
        if not has_valid_ids(value):
            return None
        var flags = _nibble(value, _FLAGS_START + 1)
        return Self(
            _eight_octets(value, TRACE_ID_START),
            _eight_octets(value, TRACE_ID_START + 16),
            _eight_octets(value, _PARENT_START),
            flags & _SAMPLED != 0,
        )

    def traceparent(self) -> String:
        """Writes a field `traceparent` of version 00.

        Returns:
            The value: 55 octets.
        """
        var flags: StaticString = "-01" if self.is_sampled else "-00"
        return String(
            "00-", self.trace_id_text(), "-", self.span_id_text(), flags
        )

    def trace_id_text(self) -> String:
        """Writes the trace id.

        Returns:
            32 lower-case hexadecimal digits.
        """
        var digits = Array[UInt8, TRACE_ID_OCTETS](fill=0)
        write_trace_id(Span(digits), self)
        return String(StringSlice(unsafe_from_utf8=Span(digits)))

    def span_id_text(self) -> String:
        """Writes the id of the span.

        Returns:
            16 lower-case hexadecimal digits.
        """
        var digits = Array[UInt8, SPAN_ID_OCTETS](fill=0)
        write_digits(Span(digits), self.span_id)
        return String(StringSlice(unsafe_from_utf8=Span(digits)))


def has_valid_ids(value: Span[UInt8, _]) -> Bool:
    """Returns whether a field `traceparent` has a valid value.

    Args:
        value: The value.

    Returns:
        True if it has a trace id and a parent that are not all zeros, and the
        form of its version.
    """
    if len(value) < _TRACE_PARENT_OCTETS:
        return False
    var octets = value.unsafe_ptr()
    var trace = octets.unsafe_load[width=TRACE_ID_OCTETS](TRACE_ID_START)
    var parent = octets.unsafe_load[width=SPAN_ID_OCTETS](_PARENT_START)
    var version = octets.unsafe_load[width=2](0)
    if (
        octets[unsafe_offset=2] != _DASH
        or octets[unsafe_offset=_PARENT_START - 1] != _DASH
        or octets[unsafe_offset=_FLAGS_START - 1] != _DASH
        or not _are_digits(version)
        or not _are_digits(trace)
        or not _are_digits(parent)
        or not _are_digits(octets.unsafe_load[width=2](_FLAGS_START))
        or trace.eq(_ZERO).reduce_and()
        or parent.eq(_ZERO).reduce_and()
        # 255 is no version.
        or version.eq(UInt8(ord("f"))).reduce_and()
    ):
        return False
    if len(value) == _TRACE_PARENT_OCTETS:
        return True
    # A later version may add a dash and further octets.
    return (
        not version.eq(_ZERO).reduce_and()
        and octets[unsafe_offset=_TRACE_PARENT_OCTETS] == _DASH
    )


def write_trace_id(to: Span[mut=True, UInt8, _], trace: TraceContext):
    """Writes a trace id.

    Args:
        to: Where to write 32 digits.
        trace: The trace.
    """
    write_digits(to[:16], trace.trace_high)
    write_digits(to[16:], trace.trace_low)


def write_digits(to: Span[mut=True, UInt8, _], number: UInt64):
    """Writes a number in 16 hexadecimal digits.

    Args:
        to: Where to write them.
        number: The number.
    """
    var digits = _DIGITS.as_bytes().unsafe_ptr()
    var place = to.unsafe_ptr()
    debug_assert(len(to) >= 16, "write_digits to ", len(to))
    for i in range(16):
        place[unsafe_offset=i] = digits[
            unsafe_offset=Int(number >> UInt64(60 - 4 * i)) & 15
        ]


@always_inline
def _are_digits[lanes: SIMDLength](x: SIMD[DType.uint8, lanes]) -> Bool:
    return ((x.ge(48) & x.le(57)) | (x.ge(97) & x.le(102))).reduce_and()


@always_inline
def _nibble(digits: Span[UInt8, _], at: Int) -> UInt8:
    var digit = digits.unsafe_get(at)
    return digit - 48 if digit <= 57 else digit - 87


@always_inline
def _eight_octets(digits: Span[UInt8, _], start: Int) -> UInt64:
    return _four_octets(digits, start) << 32 | _four_octets(digits, start + 8)


@always_inline
def _four_octets(digits: Span[UInt8, _], start: Int) -> UInt64:
    # Eight digits at a time, the first one in the lowest octet.
    var x = (
        digits.unsafe_ptr()
        .unsafe_offset(start)
        .unsafe_bitcast[UInt64]()
        .unsafe_load[alignment=1]()
    )
    comptime ONES: UInt64 = 0x0101_0101_0101_0101
    # A letter has bit 6; its number is 9 more than its low four bits.
    x = (x & (15 * ONES)) + 9 * ((x >> 6) & ONES)
    # Pairs become octets, then neighbours.
    x = ((x << 4) | (x >> 8)) & 0x00FF_00FF_00FF_00FF
    x = (x | x >> 8) & 0x0000_FFFF_0000_FFFF
    x = (x | x >> 16) & 0xFFFF_FFFF
    return UInt64(byte_swap(UInt32(x)))

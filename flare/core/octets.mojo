"""Scans, compares and converts octets, many at a time.

All functions are pure. A set of ASCII octets is two nibble tables of 16
entries, so that one shuffle tests a whole vector. Loads never pass the end of
the span.
"""

from std.bit import count_trailing_zeros
from std.memory import pack_bits, unsafe_memcmp

from .pointer import OctetPointer

comptime _U8 = DType.uint8
comptime _ROUND = 128

comptime CR: UInt8 = 13
"""Carriage return."""
comptime LF: UInt8 = 10
"""Line feed."""
comptime SPACE: UInt8 = 32
"""Space."""
comptime TAB: UInt8 = 9
"""Horizontal tab."""
comptime COLON: UInt8 = 58
"""Colon."""


@fieldwise_init
struct OctetSet(ImplicitlyCopyable):
    """A set of octets below 128, tested one or sixteen at a time.

    Build it at compile time: `comptime DIGITS = OctetSet.of("0123456789")`.
    """

    var low: SIMD[_U8, 16]
    """Entry `b & 15` holds the bit `b >> 4` of each member `b`."""
    var map: SIMD[DType.uint64, 2]
    """One bit per member, for single octets."""

    @staticmethod
    def of(members: StaticString) -> Self:
        """Creates the set of the octets in a text.

        Args:
            members: ASCII octets.

        Returns:
            The set.
        """
        var set = Self(SIMD[_U8, 16](0), SIMD[DType.uint64, 2](0))
        for b in members.as_bytes():
            set.add(b)
        return set

    def add(mut self, b: UInt8):
        """Adds one octet.

        Args:
            b: The octet, below 128.
        """
        self.low[Int(b & 15)] |= UInt8(1) << (b >> 4)
        self.map[Int(b >> 6)] |= UInt64(1) << UInt64(b & 63)

    @always_inline
    def __contains__(self, b: UInt8) -> Bool:
        """Returns whether an octet is a member.

        Args:
            b: Any octet.

        Returns:
            True if the octet is a member.
        """
        return b < 128 and (self.map[Int(b >> 6)] >> UInt64(b & 63)) & 1 == 1

    @always_inline
    def matches[
        lanes: SIMDLength
    ](self, x: SIMD[_U8, lanes]) -> SIMD[DType.bool, lanes]:
        """Returns which octets of a vector are members.

        Parameters:
            lanes: The width, 16 or more.

        Args:
            x: Any octets.

        Returns:
            True in each lane whose octet is a member.
        """
        comptime HIGH = SIMD[_U8, 16](
            1, 2, 4, 8, 16, 32, 64, 128, 0, 0, 0, 0, 0, 0, 0, 0
        )
        return (
            self.low._dynamic_shuffle(x & 15) & HIGH._dynamic_shuffle(x >> 4)
        ).ne(0)


def _token_set() -> OctetSet:
    return OctetSet.of(
        "!#$%&'*+-.^_`|~0123456789"
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    )


comptime TOKEN_OCTETS = _token_set()
"""The octets of a token (RFC 9110 section 5.6.2)."""


@always_inline
def _fold(p: Pointer[UInt8, _], n: Int) -> SIMD[_U8, 16]:
    # Fewer than sixteen octets in one vector without a load past their end:
    # the two halves overlap.
    if n >= 8:
        return p.unsafe_load[width=8]().join(p.unsafe_load[width=8](n - 8))
    if n >= 4:
        return (
            p.unsafe_load[width=4]()
            .join(p.unsafe_load[width=4](n - 4))
            .join(SIMD[_U8, 8](0))
        )
    var few = SIMD[_U8, 16](0)
    few[0] = p[]
    few[1] = p[unsafe_offset=n >> 1]
    few[2] = p[unsafe_offset=n - 1]
    return few


@always_inline
def _unfold(hits: Int, n: Int) -> Int:
    # One bit per octet, from one bit per lane of `_fold`.
    if n >= 8:
        return (hits & 255) | (hits >> 8) << (n - 8)
    if n >= 4:
        return (hits & 15) | ((hits >> 4) & 15) << (n - 4)
    return (
        (hits & 1)
        | ((hits >> 1) & 1) << (n >> 1)
        | ((hits >> 2) & 1) << (n - 1)
    )


@always_inline
def copy_octets(dest: OctetPointer, src: Pointer[UInt8, _], count: Int):
    """Copies octets to memory that does not overlap theirs.

    Args:
        dest: Room for them.
        src: The octets.
        count: The number of octets.

    Safety:
        Both have `count` octets.
    """
    if count >= 16:
        if count > 32:
            if count > 256:
                _copy_long(dest, src, count)
                return
            var i = 16
            while i + 16 < count:
                dest.unsafe_store(i, src.unsafe_load[width=16](i))
                i += 16
        # The last vector overlaps the one before it: no scalar tail.
        var end = src.unsafe_load[width=16](count - 16)
        dest.unsafe_store(0, src.unsafe_load[width=16](0))
        dest.unsafe_store(count - 16, end)
        return
    comptime for w in [8, 4, 2]:
        if count >= w:
            var end = src.unsafe_load[width=w](count - w)
            dest.unsafe_store(0, src.unsafe_load[width=w]())
            dest.unsafe_store(count - w, end)
            return
    if count == 1:
        dest[] = src[]


@no_inline
def _copy_long(dest: OctetPointer, src: Pointer[UInt8, _], count: Int):
    # Four vectors a round take half the time of the library's one.
    var i = 0
    while i + _ROUND < count:
        _copy_round(dest, src, i)
        i += _ROUND
    # The last round overlaps the one before it: no scalar tail.
    _copy_round(dest, src, count - _ROUND)


@always_inline
def _copy_round(dest: OctetPointer, src: Pointer[UInt8, _], at: Int):
    var a = src.unsafe_load[width=32](at)
    var b = src.unsafe_load[width=32](at + 32)
    var c = src.unsafe_load[width=32](at + 64)
    var d = src.unsafe_load[width=32](at + 96)
    dest.unsafe_store(at, a)
    dest.unsafe_store(at + 32, b)
    dest.unsafe_store(at + 64, c)
    dest.unsafe_store(at + 96, d)


@always_inline
def find_octet(s: Span[UInt8, _], wanted: UInt8, start: Int = 0) -> Int:
    """Returns the index of the first occurrence of an octet.

    Args:
        s: The octets to search.
        wanted: The octet to find.
        start: The first index to look at; at most the length.

    Returns:
        The index, or the length of `s` if there is none.
    """
    var p = s.unsafe_ptr()
    var n = len(s)
    var i = start
    while i + 16 <= n:
        var hits = pack_bits(p.unsafe_load[width=16](i).eq(wanted))
        if hits != 0:
            return i + Int(count_trailing_zeros(hits))
        i += 16
    if i == n:
        return n
    var rest: Int
    if n >= 16:
        # The last vector overlaps the one before it: no scalar tail.
        rest = Int(pack_bits(p.unsafe_load[width=16](n - 16).eq(wanted))) >> (
            i + 16 - n
        )
    else:
        rest = _unfold(Int(pack_bits(_fold(p, n).eq(wanted))), n) >> i
    return n if rest == 0 else i + Int(count_trailing_zeros(rest))


@always_inline
def find_member[
    set: OctetSet, member: Bool = True
](s: Span[UInt8, _], start: Int = 0) -> Int:
    """Returns the index of the first octet that is, or is not, in a set.

    Parameters:
        set: The set.
        member: Whether to find a member; if False, the first octet that is not
            a member.

    Args:
        s: The octets to search.
        start: The first index to look at; at most the length.

    Returns:
        The index, or the length of `s` if there is none.
    """
    var members = materialize[set]()
    var p = s.unsafe_ptr()
    var n = len(s)
    var i = start
    while i + 16 <= n:
        var hit = members.matches(p.unsafe_load[width=16](i))
        var hits = pack_bits(hit if member else ~hit)
        if hits != 0:
            return i + Int(count_trailing_zeros(hits))
        i += 16
    if i == n:
        return n
    var rest: Int
    if n >= 16:
        var hit = members.matches(p.unsafe_load[width=16](n - 16))
        rest = Int(pack_bits(hit if member else ~hit)) >> (i + 16 - n)
    else:
        var hit = members.matches(_fold(p, n))
        rest = _unfold(Int(pack_bits(hit if member else ~hit)), n) >> i
    return n if rest == 0 else i + Int(count_trailing_zeros(rest))


@always_inline
def is_token(s: Span[UInt8, _]) -> Bool:
    """Returns whether octets form a token (RFC 9110 section 5.6.2).

    Args:
        s: The octets.

    Returns:
        True if there is at least one and all are token octets.
    """
    return len(s) > 0 and find_member[TOKEN_OCTETS, False](s) == len(s)


@always_inline
def lower_octet(b: UInt8) -> UInt8:
    """Returns the lower-case form of an ASCII octet.

    Args:
        b: Any octet.

    Returns:
        The lower-case letter for a capital, otherwise `b` itself.
    """
    return b | 32 if b - 65 < 26 else b


@always_inline
def _lower[lanes: SIMDLength](x: SIMD[_U8, lanes]) -> SIMD[_U8, lanes]:
    return (x - 65).lt(26).select(x | 32, x)


def equals_lower(s: Span[UInt8, _], lower: Span[UInt8, _]) -> Bool:
    """Returns whether octets equal a lower-case text, ignoring ASCII case.

    Args:
        s: Any octets.
        lower: The text, without ASCII capitals.

    Returns:
        True if they are equal but for ASCII case in `s`.
    """
    return _equals_folded[False](s, lower)


def equals_ignoring_case(a: Span[UInt8, _], b: Span[UInt8, _]) -> Bool:
    """Returns whether octets are equal, ignoring ASCII case.

    Args:
        a: Any octets.
        b: Any octets.

    Returns:
        True if they are equal but for ASCII case.
    """
    return _equals_folded[True](a, b)


@always_inline
def _equals_folded[folds_b: Bool](a: Span[UInt8, _], b: Span[UInt8, _]) -> Bool:
    var n = len(a)
    if n != len(b):
        return False
    var p = a.unsafe_ptr()
    var q = b.unsafe_ptr()
    if n >= 16:
        var i = 0
        while i + 16 < n:
            if not _is_same_word[folds_b](p, q, i):
                return False
            i += 16
        # The last vector overlaps the one before it: no scalar tail.
        return _is_same_word[folds_b](p, q, n - 16)
    if n == 0:
        return True
    var few = _fold(q, n)
    return _lower(_fold(p, n)) == (_lower(few) if folds_b else few)


@always_inline
def _is_same_word[
    folds_b: Bool
](p: Pointer[UInt8, _], q: Pointer[UInt8, _], at: Int) -> Bool:
    var word = q.unsafe_load[width=16](at)
    return _lower(p.unsafe_load[width=16](at)) == (
        _lower(word) if folds_b else word
    )


@always_inline
def equals(a: Span[UInt8, _], b: Span[UInt8, _]) -> Bool:
    """Returns whether octets are equal.

    Args:
        a: Any octets.
        b: Any octets.

    Returns:
        True if length and every octet are equal.
    """
    var n = len(a)
    if n != len(b):
        return False
    var p = a.unsafe_ptr()
    var q = b.unsafe_ptr()
    if n >= 16:
        if n > 256:
            return _equals_long(p, q, n)
        var i = 0
        while i + 16 < n:
            if p.unsafe_load[width=16](i) != q.unsafe_load[width=16](i):
                return False
            i += 16
        return p.unsafe_load[width=16](n - 16) == q.unsafe_load[width=16](
            n - 16
        )
    comptime for w in [8, 4, 2]:
        if n >= w:
            return p.unsafe_load[width=w]() == q.unsafe_load[
                width=w
            ]() and p.unsafe_load[width=w](n - w) == q.unsafe_load[width=w](
                n - w
            )
    return n == 0 or p[] == q[]


@no_inline
def _equals_long(a: Pointer[UInt8, _], b: Pointer[UInt8, _], n: Int) -> Bool:
    # The library's comparison is a thousand lines of LLVM IR wherever it is
    # inlined.
    return unsafe_memcmp(a, b, n) == 0


def write_escaped(octets: Span[UInt8, _], mut writer: Some[Writer]):
    """Writes octets from a peer in a form that is safe for logs and terminals.

    Printable ASCII except the backslash is kept; other octets become `\\xHH`.

    Args:
        octets: Any octets.
        writer: The destination.
    """
    var i = 0
    while i < len(octets):
        var end = _end_of_plain(octets, i)
        if end > i:
            writer.write(
                StringSlice(
                    unsafe_from_utf8=octets.unsafe_subspan(
                        offset=i, length=end - i
                    )
                )
            )
        if end < len(octets):
            var form = _hexadecimal_form(octets.unsafe_get(end))
            writer.write(StringSlice(unsafe_from_utf8=Span(form)))
        i = end + 1


def write_hexadecimal(octets: Span[UInt8, _], mut writer: Some[Writer]):
    """Writes octets as two lower-case hexadecimal digits each.

    Args:
        octets: Any octets.
        writer: The destination.
    """
    for octet in octets:
        var form = _hexadecimal_form(octet)
        writer.write(
            StringSlice(
                unsafe_from_utf8=Span(form).unsafe_subspan(offset=2, length=2)
            )
        )


# These do not depend on the writer, so that they are compiled once: a text that
# is formatted has three writers.
@no_inline
def _end_of_plain(octets: Span[UInt8, _], start: Int) -> Int:
    var i = start
    while i < len(octets):
        var b = octets.unsafe_get(i)
        if b < 32 or b >= 127 or b == 92:
            break
        i += 1
    return i


@no_inline
def _hexadecimal_form(octet: UInt8) -> Array[UInt8, 4]:
    # `\xHH`.
    return [92, 120, _digit(octet >> 4), _digit(octet & 15)]


@always_inline
def _digit(value: UInt8) -> UInt8:
    return value + UInt8(48 if value < 10 else 87)

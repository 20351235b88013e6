"""Codes and decodes strings with the static Huffman code (RFC 7541 section 5.2,
appendix B).

The code is canonical: codes of one length count up in the order of the symbols,
and shorter codes precede longer ones. So all tables follow from the lengths.
"""

from std.bit import byte_swap
from std.builtin.globals import global_constant

from flare.core import Buffer, OctetPointer, PointerTo

# The lengths of the codes of the 256 octets and of EOS: `a` stands for 5 bits, and
# `z` for 30.
comptime _LETTERS: StaticString = (
    "isxxxxxxxtzxxzxxxxxxxxzxxxxxxxxx"
    "bffhibdgffdgdbbbaaabbbbbbbcdkbhf"
    "ibccccccccccccccccccccccdcdioijb"
    "kabababbbaccbbbabcbaabccccckgjix"
    "prpprrrsrssssststtrstssssqrsrsst"
    "rqprrssqsrrtqrssqqrqsrssprrrsrrs"
    "vvporsruvvvwwvtuoqvwwvwtqqvvxwww"
    "ptpqrqqsrruuttvsvwvvwwwwwxwwwwwv"
    "z"
)
comptime _LENGTHS = _lengths()
comptime _EOS = 256
comptime _LENGTH_MIN = 5
comptime _LENGTH_MAX = 30
# Codes of up to so many bits are found with one look: those of all octets that
# are frequent. Letters and digits mostly come two at a time.
comptime _FAST_BITS = 12
comptime _FAST_COUNT = 1 << _FAST_BITS
comptime _CODES = _codes()
comptime _FAST = _fast_table()
comptime _SORTED = _sorted_symbols()
# For each length, the first code that is longer, at the top of 32 bits.
comptime _ENDS = _ends()
# For each length, the number that turns a code into a place in `_SORTED`.
comptime _SHIFTS = _shifts()


def _lengths() -> Array[UInt8, 257]:
    var lengths = Array[UInt8, 257](fill=0)
    for i in range(257):
        lengths[i] = _LETTERS.as_bytes()[i] - 97 + 5
    return lengths^


def _codes() -> Array[UInt32, 257]:
    var lengths = _lengths()
    var codes = Array[UInt32, 257](fill=0)
    var code: UInt32 = 0
    for length in range(_LENGTH_MIN, _LENGTH_MAX + 1):
        for symbol in range(257):
            if Int(lengths[symbol]) == length:
                codes[symbol] = code
                code += 1
        code <<= 1
    return codes^


def _sorted_symbols() -> Array[UInt16, 257]:
    var lengths = _lengths()
    var symbols = Array[UInt16, 257](fill=0)
    var count = 0
    for length in range(_LENGTH_MIN, _LENGTH_MAX + 1):
        for symbol in range(257):
            if Int(lengths[symbol]) == length:
                symbols[count] = UInt16(symbol)
                count += 1
    return symbols^


def _ends() -> Array[UInt32, _LENGTH_MAX + 1]:
    var lengths = _lengths()
    var ends = Array[UInt32, _LENGTH_MAX + 1](fill=0)
    var code: UInt32 = 0
    for length in range(_LENGTH_MIN, _LENGTH_MAX + 1):
        for symbol in range(257):
            if Int(lengths[symbol]) == length:
                code += 1
        # All ones is no code of 30 bits but the last one, EOS.
        if length < _LENGTH_MAX:
            ends[length] = code << UInt32(32 - length)
        code <<= 1
    ends[_LENGTH_MAX] = UInt32.MAX
    return ends^


def _shifts() -> Array[Int32, _LENGTH_MAX + 1]:
    var lengths = _lengths()
    var shifts = Array[Int32, _LENGTH_MAX + 1](fill=0)
    var code: UInt32 = 0
    var place = 0
    for length in range(_LENGTH_MIN, _LENGTH_MAX + 1):
        shifts[length] = Int32(place) - Int32(code)
        for symbol in range(257):
            if Int(lengths[symbol]) == length:
                code += 1
                place += 1
        code <<= 1
    return shifts^


def _fast_table() -> Array[UInt32, _FAST_COUNT]:
    """Returns the symbol that each possible beginning stands for, and the next
    one if its code is whole. They take 16 bits. Above those are the length of
    both in 7 bits, their number in 2, and the length of the first. If the code
    is longer, the length of both is one that never is there, and the other
    numbers are 0."""
    var firsts = _first_table()
    var table = Array[UInt32, _FAST_COUNT](fill=UInt32(64 << 16))
    for i in range(_FAST_COUNT):
        var symbol = Int(firsts[i] & 255)
        var length = Int(firsts[i] >> 8)
        if length == 0:
            continue
        var next = firsts[i << length & (_FAST_COUNT - 1)]
        var both = length + Int(next >> 8)
        table[i] = UInt32(length << 25 | 1 << 23 | length << 16 | symbol)
        if next != 0 and both <= _FAST_BITS:
            symbol |= Int(next & 255) << 8
            table[i] = UInt32(length << 25 | 2 << 23 | both << 16 | symbol)
    return table^


def _first_table() -> Array[UInt16, _FAST_COUNT]:
    # The length above the symbol; 0 for a longer code.
    var lengths = _lengths()
    var table = Array[UInt16, _FAST_COUNT](fill=0)
    var code = 0
    for length in range(_LENGTH_MIN, _FAST_BITS + 1):
        for symbol in range(257):
            if Int(lengths[symbol]) == length:
                var first = code << (_FAST_BITS - length)
                for i in range(1 << (_FAST_BITS - length)):
                    table[first + i] = UInt16(length << 8 | symbol)
                code += 1
        code <<= 1
    return table^


def huffman_octets(text: Span[UInt8, _]) -> Int:
    """Returns how long a string is in the code.

    Args:
        text: The octets.

    Returns:
        The number of octets.
    """
    var bits = 0
    for octet in text:
        bits += Int(global_constant[_LENGTHS]().unsafe_get(Int(octet)))
    return (bits + 7) // 8


def append_huffman(
    text: Span[UInt8, _], coded_octets: Int, into: PointerTo[Buffer]
):
    """Writes a string in the code, filled up with ones.

    Args:
        text: The octets.
        coded_octets: The result of `huffman_octets`.
        into: The destination.

    Safety:
        `coded_octets` is that result for the same text.
    """
    debug_assert(coded_octets == huffman_octets(text), "not its length")
    # Four octets are written at a time.
    var target = into[].reserve(coded_octets + 3)
    var bits: UInt64 = 0
    var held = 0
    var at = 0
    for octet in text:
        var length = Int(global_constant[_LENGTHS]().unsafe_get(Int(octet)))
        var code = global_constant[_CODES]().unsafe_get(Int(octet))
        bits = bits << UInt64(length) | UInt64(code)
        held += length
        if held >= 32:
            held -= 32
            _store(bits >> UInt64(held), target, at)
            at += 4
    if held > 0:
        var ones = (UInt64(1) << UInt64(32 - held)) - 1
        _store(bits << UInt64(32 - held) | ones, target, at)
    into[].advance(coded_octets)


@always_inline
def _store(bits: UInt64, target: OctetPointer, at: Int):
    """Writes the lower 32 bits, the first octet from the top."""
    target.unsafe_offset(at).unsafe_bitcast[UInt32]().unsafe_store[alignment=1](
        byte_swap(UInt32(bits & 0xFFFF_FFFF))
    )


@fieldwise_init
struct _Code(TrivialRegisterPassable):
    """One code of a string: its symbol, and its length in bits."""

    var symbol: Int
    var length: Int


@no_inline
def decode_huffman(coded: Span[UInt8, _], into: PointerTo[Buffer]) -> Bool:
    """Decodes a string.

    Args:
        coded: The octets in the code.
        into: The destination; it may have grown by a part of the string if
            this fails.

    Returns:
        False if the octets contain EOS, or if their end is no padding of at
        most seven ones.
    """
    # No code is shorter than five bits, and two octets are written at a time.
    var target = into[].reserve((len(coded) * 13 >> 3) + 2)
    var count = 0
    # The next bits are at the top, and `held` of them count. Below those there
    # are zeros, or bits that are loaded again.
    var bits: UInt64 = 0
    var held = 0
    var at = 0
    while True:
        if at + 8 <= len(coded):
            bits |= _load_eight(coded, at) >> UInt64(held)
            at += (63 - held) >> 3
            held |= 56
        elif at < len(coded):
            bits |= _load(coded, at) >> UInt64(held)
            var taken = min(len(coded) - at, (63 - held) >> 3)
            at += taken
            held += 8 * taken
        var entry = _entry(bits)
        while _length(entry) <= held:
            target.unsafe_offset(count).unsafe_bitcast[UInt16]().unsafe_store[
                alignment=1
            ](UInt16(entry & 0xFFFF))
            count += Int(entry >> 23 & 3)
            bits <<= UInt64(_length(entry))
            held -= _length(entry)
            entry = _entry(bits)
        if held < _LENGTH_MAX and at < len(coded):
            continue
        # A long code, or the first of two symbols.
        var code = _Code(Int(entry & 255), Int(entry >> 25))
        if code.length == 0:
            code = _long_code(UInt32(bits >> 32))
        if code.length > held:
            into[].advance(count)
            return held < 8 and bits == ~(UInt64.MAX >> UInt64(held))
        if code.symbol == _EOS:
            return False
        target[unsafe_offset=count] = UInt8(code.symbol & 255)
        count += 1
        bits <<= UInt64(code.length)
        held -= code.length


@always_inline
def _entry(bits: UInt64) -> UInt32:
    return global_constant[_FAST]().unsafe_get(
        Int(bits >> UInt64(64 - _FAST_BITS))
    )


@always_inline
def _length(entry: UInt32) -> Int:
    return Int(entry >> 16 & 127)


@always_inline
def _load(octets: Span[UInt8, _], at: Int) -> UInt64:
    """Returns the octets from an offset on, the first one at the top, and zeros
    if fewer than eight follow."""
    if len(octets) < 8:
        var bits: UInt64 = 0
        for i in range(at, len(octets)):
            bits |= UInt64(octets.unsafe_get(i)) << UInt64(56 - 8 * (i - at))
        return bits
    var start = min(at, len(octets) - 8)
    return _load_eight(octets, start) << UInt64(8 * (at - start))


@always_inline
def _load_eight(octets: Span[UInt8, _], at: Int) -> UInt64:
    return byte_swap(
        octets.unsafe_ptr()
        .unsafe_offset(at)
        .unsafe_bitcast[UInt64]()
        .unsafe_load[alignment=1]()
    )


@no_inline
def _long_code(bits: UInt32) -> _Code:
    var length = _FAST_BITS + 1
    while length < _LENGTH_MAX and bits >= global_constant[_ENDS]().unsafe_get(
        length
    ):
        length += 1
    var place = Int(bits >> UInt32(32 - length)) + Int(
        global_constant[_SHIFTS]().unsafe_get(length)
    )
    return _Code(Int(global_constant[_SORTED]().unsafe_get(place)), length)

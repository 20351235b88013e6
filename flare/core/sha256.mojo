"""Computes SHA-256 (FIPS 180-4), as octets and in pieces.

The code is plain arithmetic without tables that depend on secrets. So its time
depends on the length of the input alone.
"""

from std.bit import byte_swap
from std.builtin.globals import global_constant

comptime Sha256Digest = SIMD[DType.uint8, 32]
"""A digest: a value in registers, which compares in constant time."""
comptime Sha256State = SIMD[DType.uint32, 8]
"""The state after a number of whole blocks."""
comptime BLOCK_OCTETS = 64
"""The length of a block."""
comptime FIRST_STATE = Sha256State(
    0x6A09E667,
    0xBB67AE85,
    0x3C6EF372,
    0xA54FF53A,
    0x510E527F,
    0x9B05688C,
    0x1F83D9AB,
    0x5BE0CD19,
)
"""The state before the first block (FIPS 180-4 section 5.3.3)."""

comptime _CUBE_ROOTS: Array[UInt32, 64] = [
    0x428A2F98,
    0x71374491,
    0xB5C0FBCF,
    0xE9B5DBA5,
    0x3956C25B,
    0x59F111F1,
    0x923F82A4,
    0xAB1C5ED5,
    0xD807AA98,
    0x12835B01,
    0x243185BE,
    0x550C7DC3,
    0x72BE5D74,
    0x80DEB1FE,
    0x9BDC06A7,
    0xC19BF174,
    0xE49B69C1,
    0xEFBE4786,
    0x0FC19DC6,
    0x240CA1CC,
    0x2DE92C6F,
    0x4A7484AA,
    0x5CB0A9DC,
    0x76F988DA,
    0x983E5152,
    0xA831C66D,
    0xB00327C8,
    0xBF597FC7,
    0xC6E00BF3,
    0xD5A79147,
    0x06CA6351,
    0x14292967,
    0x27B70A85,
    0x2E1B2138,
    0x4D2C6DFC,
    0x53380D13,
    0x650A7354,
    0x766A0ABB,
    0x81C2C92E,
    0x92722C85,
    0xA2BFE8A1,
    0xA81A664B,
    0xC24B8B70,
    0xC76C51A3,
    0xD192E819,
    0xD6990624,
    0xF40E3585,
    0x106AA070,
    0x19A4C116,
    0x1E376C08,
    0x2748774C,
    0x34B0BCB5,
    0x391C0CB3,
    0x4ED8AA4A,
    0x5B9CCA4F,
    0x682E6FF3,
    0x748F82EE,
    0x78A5636F,
    0x84C87814,
    0x8CC70208,
    0x90BEFFFA,
    0xA4506CEB,
    0xBEF9A3F7,
    0xC67178F2,
]


struct Sha256(Copyable, Movable):
    """Hashes octets that come in pieces. It allocates no memory."""

    var _state: Sha256State
    var _octets: Int
    # The start of a block that is not whole.
    var _block: Array[UInt8, BLOCK_OCTETS]

    def __init__(out self):
        """Creates a hash of no octets."""
        self = Self(state=FIRST_STATE, octets=0)

    @always_inline
    def __init__(out self, *, state: Sha256State, octets: Int):
        """Creates a hash that continues after whole blocks.

        Args:
            state: The state after them.
            octets: Their length, a multiple of `BLOCK_OCTETS`.
        """
        debug_assert(octets % BLOCK_OCTETS == 0, "no whole blocks: ", octets)
        self._state = state
        self._octets = octets
        self._block = Array[UInt8, BLOCK_OCTETS](fill=0)

    def update(mut self, octets: Span[UInt8, _]):
        """Adds octets.

        Args:
            octets: The octets.
        """
        var at = 0
        var kept = self._octets % BLOCK_OCTETS
        self._octets += len(octets)
        if kept > 0:
            at = min(BLOCK_OCTETS - kept, len(octets))
            for i in range(at):
                self._block[kept + i] = octets[i]
            if kept + at < BLOCK_OCTETS:
                return
            self._state = compress(self._state, Span(self._block).unsafe_ptr())
        while len(octets) - at >= BLOCK_OCTETS:
            self._state = compress(
                self._state, octets.unsafe_ptr().unsafe_offset(at)
            )
            at += BLOCK_OCTETS
        for i in range(len(octets) - at):
            self._block[i] = octets[at + i]

    def update(mut self, number: Int):
        """Adds a number as eight octets, the highest first.

        Args:
            number: The number.
        """
        var octets = Array[UInt8, 8](fill=0)
        for i in range(8):
            octets[i] = UInt8(UInt64(number) >> UInt64(56 - 8 * i) & 0xFF)
        self.update(Span(octets))

    def digest(var self) -> Sha256Digest:
        """Ends the input.

        Returns:
            The digest of all octets.
        """
        # One set bit, zeros, and the count of bits in the last eight octets.
        var bits = byte_swap(UInt64(self._octets) * 8)
        var kept = self._octets % BLOCK_OCTETS
        self._block[kept] = 0x80
        for i in range(kept + 1, BLOCK_OCTETS):
            self._block[i] = 0
        if kept >= BLOCK_OCTETS - 8:
            self._state = compress(self._state, Span(self._block).unsafe_ptr())
            for i in range(BLOCK_OCTETS):
                self._block[i] = 0
        for i in range(8):
            self._block[BLOCK_OCTETS - 8 + i] = UInt8(
                bits >> UInt64(8 * i) & 0xFF
            )
        var state = compress(self._state, Span(self._block).unsafe_ptr())
        var digest = Sha256Digest(0)
        comptime for i in range(32):
            digest[i] = UInt8(state[i // 4] >> UInt32(24 - i % 4 * 8) & 0xFF)
        return digest


def sha256_digest(octets: Span[UInt8, _]) -> Sha256Digest:
    """Returns the SHA-256 digest of octets.

    Args:
        octets: The octets.

    Returns:
        The digest.
    """
    var hash = Sha256()
    hash.update(octets)
    return hash^.digest()


@no_inline
def compress(state: Sha256State, block: Pointer[UInt8, _]) -> Sha256State:
    """Adds a block (FIPS 180-4 section 6.2.2).

    Args:
        state: The state after the blocks before.
        block: `BLOCK_OCTETS` octets.

    Returns:
        The state after it.
    """
    # Sixteen rounds are unrolled, so that the words of the schedule stay in
    # registers. All 64 would be 11,500 lines of LLVM IR in every client.
    var words = Array[UInt32, 16](fill=0)
    comptime for i in range(16):
        words[i] = byte_swap(
            block.unsafe_bitcast[UInt32]().unsafe_load[alignment=1](i)
        )
    var a = state[0]
    var b = state[1]
    var c = state[2]
    var d = state[3]
    var e = state[4]
    var f = state[5]
    var g = state[6]
    var h = state[7]
    for turn in range(4):
        if turn > 0:
            _extend(words)
        comptime for i in range(16):
            var first = (
                h
                + (_turned(e, 6) ^ _turned(e, 11) ^ _turned(e, 25))
                + (g ^ (e & (f ^ g)))
                + global_constant[_CUBE_ROOTS]().unsafe_get(16 * turn + i)
                + words[i]
            )
            var second = (_turned(a, 2) ^ _turned(a, 13) ^ _turned(a, 22)) + (
                (a & b) | (c & (a | b))
            )
            h = g
            g = f
            f = e
            e = d + first
            d = c
            c = b
            b = a
            a = first + second
    return state + Sha256State(a, b, c, d, e, f, g, h)


@always_inline
def _extend(mut words: Array[UInt32, 16]):
    """Computes the next sixteen words of the schedule."""
    comptime for i in range(16):
        var x = words[(i + 1) % 16]
        var y = words[(i + 14) % 16]
        words[i] += (
            (_turned(x, 7) ^ _turned(x, 18) ^ (x >> 3))
            + words[(i + 9) % 16]
            + (_turned(y, 17) ^ _turned(y, 19) ^ (y >> 10))
        )


@always_inline
def _turned(word: UInt32, count: UInt32) -> UInt32:
    return word >> count | word << (32 - count)

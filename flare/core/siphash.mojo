"""Computes SipHash, a fast hash under a secret key.

Peers cannot choose octets that collide, because they do not know the key. The
algorithm is that of Aumasson and Bernstein, "SipHash: a fast short-input PRF".
"""


@fieldwise_init
struct SipKey(TrivialRegisterPassable):
    """A key of SipHash: 128 unpredictable bits."""

    var low: UInt64
    """The first eight octets, the least significant first."""
    var high: UInt64
    """The last eight octets, the least significant first."""


def siphash[
    rounds: Int = 1, final_rounds: Int = 3
](octets: Span[UInt8, _], key: SipKey) -> UInt64:
    """Returns the hash of octets.

    Parameters:
        rounds: The rounds for each word. SipHash-1-3 is enough for tables.
        final_rounds: The rounds at the end.

    Args:
        octets: The octets.
        key: The key.

    Returns:
        The hash.
    """
    var state = _State(key)
    var at = 0
    while at + 8 <= len(octets):
        state.add[rounds](
            octets.unsafe_ptr()
            .unsafe_offset(at)
            .unsafe_bitcast[UInt64]()
            .unsafe_load[alignment=1]()
        )
        at += 8
    var last = UInt64(len(octets)) << 56
    for i in range(at, len(octets)):
        last |= UInt64(octets.unsafe_get(i)) << UInt64(8 * (i - at))
    state.add[rounds](last)
    return state.end[final_rounds]()


@always_inline
def siphash_word(word: UInt64, key: SipKey, kind: UInt64 = 0) -> UInt64:
    """Returns the hash of a number, by SipHash-1-3.

    Args:
        word: The number.
        key: The key.
        kind: Another kind gives another hash, and none that octets have.

    Returns:
        The hash.
    """
    var state = _State(key)
    state.add[1](word)
    state.add[1](kind << 8 | 0xFF)
    return state.end[3]()


@fieldwise_init
struct _State(TrivialRegisterPassable):
    var a: UInt64
    var b: UInt64
    var c: UInt64
    var d: UInt64

    @always_inline
    def __init__(out self, key: SipKey):
        self.a = key.low ^ 0x736F6D6570736575
        self.b = key.high ^ 0x646F72616E646F6D
        self.c = key.low ^ 0x6C7967656E657261
        self.d = key.high ^ 0x7465646279746573

    @always_inline
    def add[rounds: Int](mut self, word: UInt64):
        self.d ^= word
        comptime for _ in range(rounds):
            self._mix()
        self.a ^= word

    @always_inline
    def end[rounds: Int](mut self) -> UInt64:
        self.c ^= 0xFF
        comptime for _ in range(rounds):
            self._mix()
        return self.a ^ self.b ^ self.c ^ self.d

    @always_inline
    def _mix(mut self):
        self.a += self.b
        self.b = _turned(self.b, 13) ^ self.a
        self.a = _turned(self.a, 32)
        self.c += self.d
        self.d = _turned(self.d, 16) ^ self.c
        self.a += self.d
        self.d = _turned(self.d, 21) ^ self.a
        self.c += self.b
        self.b = _turned(self.b, 17) ^ self.c
        self.c = _turned(self.c, 32)


@always_inline
def _turned(word: UInt64, count: UInt64) -> UInt64:
    return word << count | word >> (64 - count)

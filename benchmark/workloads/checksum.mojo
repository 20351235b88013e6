"""Makes content that never repeats, and checksums it (CRC-32 as in zlib)."""

comptime _POLYNOMIAL: UInt32 = 0xEDB88320


struct Checksum(Movable):
    """Sums octets up in the order they come."""

    var _table: List[UInt32]
    var _sum: UInt32

    def __init__(out self):
        """Sums nothing yet."""
        self._table = List[UInt32](capacity=256)
        self._sum = ~UInt32(0)
        for octet in range(256):
            var entry = UInt32(octet)
            for _ in range(8):
                entry = (entry >> 1) ^ (_POLYNOMIAL if entry & 1 == 1 else 0)
            self._table.append(entry)

    def add(mut self, octets: Span[UInt8, _]):
        """Adds octets.

        Args:
            octets: What follows the octets added before.
        """
        var sum = self._sum
        for i in range(len(octets)):
            var index = Int((sum ^ UInt32(octets.unsafe_get(i))) & 255)
            sum = (sum >> 8) ^ self._table.unsafe_get(index)
        self._sum = sum

    def value(self) -> UInt32:
        """Gives the checksum of all that was added.

        Returns:
            What `zlib.crc32` gives for the same octets.
        """
        return ~self._sum


@fieldwise_init
struct ContentSource(Movable):
    """Makes content of which no two pieces are alike (xorshift64)."""

    var _state: UInt64

    def __init__(out self):
        """Begins at the same octets each time."""
        self._state = 0x9E3779B97F4A7C15

    def fill(mut self, octets: Span[mut=True, UInt8, _]):
        """Makes the next octets.

        Args:
            octets: Where to; their number is a multiple of 8.
        """
        var words = octets.unsafe_ptr().unsafe_bitcast[UInt64]()
        var state = self._state
        for i in range(len(octets) // 8):
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            words.unsafe_offset(i).unsafe_store[alignment=1](state)
        self._state = state

"""Inflates a message in a naive way: whole, and bit by bit (RFC 1951).

It shares no code with zlib. Lengths of codes are searched in a list, and the
context is all content since it was begun.
"""

comptime WHOLE: UInt8 = 0
"""The message ends after a block."""
comptime BAD: UInt8 = 1
"""The octets are no deflate data, or end within a block."""
comptime TOO_LARGE: UInt8 = 2
"""The content exceeds the limit."""
comptime _TAIL: List[UInt8] = [0x00, 0x00, 0xFF, 0xFF]
comptime _ORDER: List[Int] = [
    16,
    17,
    18,
    0,
    8,
    7,
    9,
    6,
    10,
    5,
    11,
    4,
    12,
    3,
    13,
    2,
    14,
    1,
    15,
]
comptime _END_OF_BLOCK = 256


struct InflateModel(Movable):
    """Reads the messages of one direction."""

    var content: List[UInt8]
    """All content since the context was begun."""
    var start: Int
    """Where the content of the last message begins."""
    var _octets: List[UInt8]
    var _bit: Int
    var _octets_max: Int

    def __init__(out self, octets_max: Int):
        """Begins a direction.

        Args:
            octets_max: The limit on messages.
        """
        self.content = []
        self.start = 0
        self._octets = []
        self._bit = 0
        self._octets_max = octets_max

    def read(mut self, octets: Span[UInt8, _], *, keeps_context: Bool) -> UInt8:
        """Inflates a message.

        Args:
            octets: The compressed message.
            keeps_context: Whether it may refer back to earlier ones.

        Returns:
            One of the constants of this module.
        """
        if not keeps_context:
            self.content.clear()
        self.start = len(self.content)
        self._octets = List[UInt8](octets)
        self._octets.extend(Span(materialize[_TAIL]()))
        self._bit = 0
        try:
            # Less than a header is left between two blocks.
            while self._left() >= 3:
                var is_final = self._take(1) == 1
                self._read_block(self._take(2))
                if is_final:
                    self._align()
                    # A final block needs no tail.
                    if self._bit == 8 * len(octets):
                        return WHOLE
                    if self._left() == 0:
                        return BAD
            return WHOLE
        except e:
            return TOO_LARGE if String(e) == "too large" else BAD

    def _left(self) -> Int:
        return 8 * len(self._octets) - self._bit

    def _align(mut self):
        self._bit = (self._bit + 7) // 8 * 8

    def _take(mut self, count: Int) raises -> Int:
        if self._left() < count:
            raise Error("cut off")
        var number = 0
        for i in range(count):
            var octet = Int(self._octets[self._bit // 8])
            number |= (octet >> (self._bit % 8) & 1) << i
            self._bit += 1
        return number

    def _add(mut self, octet: UInt8) raises:
        self.content.append(octet)
        if len(self.content) - self.start > self._octets_max:
            raise Error("too large")

    def _read_block(mut self, kind: Int) raises:
        if kind == 0:
            self._align()
            var length = self._take(16)
            if length + self._take(16) != 0xFFFF:
                raise Error("lengths differ")
            for _ in range(length):
                self._add(UInt8(self._take(8)))
        elif kind == 1:
            var lengths = List[Int]()
            for i in range(288):
                lengths.append(
                    8 if i < 144 else 9 if i < 256 else 7 if i < 280 else 8
                )
            self._read_codes(
                Codes(lengths), Codes(List[Int](length=32, fill=5))
            )
        elif kind == 2:
            self._read_dynamic()
        else:
            raise Error("no such block")

    def _read_dynamic(mut self) raises:
        var literals = self._take(5) + 257
        var distances = self._take(5) + 1
        var count = self._take(4) + 4
        if literals > 286 or distances > 30:
            raise Error("too many symbols")
        var order = materialize[_ORDER]()
        var lengths = List[Int](length=19, fill=0)
        for i in range(count):
            lengths[order[i]] = self._take(3)
        var codes = Codes(lengths)
        codes.check(allows_one=False)
        var all = List[Int]()
        while len(all) < literals + distances:
            var symbol = self._take_symbol(codes)
            if symbol < 16:
                all.append(symbol)
                continue
            var repeated = 0
            var times: Int
            if symbol == 16:
                if len(all) == 0:
                    raise Error("no length to repeat")
                repeated = all[len(all) - 1]
                times = self._take(2) + 3
            elif symbol == 17:
                times = self._take(3) + 3
            else:
                times = self._take(7) + 11
            if len(all) + times > literals + distances:
                raise Error("too many lengths")
            for _ in range(times):
                all.append(repeated)
        if all[_END_OF_BLOCK] == 0:
            raise Error("no end of the block")
        var of_literals = Codes(List[Int](Span(all)[:literals]))
        var of_distances = Codes(List[Int](Span(all)[literals:]))
        of_literals.check(allows_one=True)
        of_distances.check(allows_one=True)
        self._read_codes(of_literals, of_distances)

    def _take_symbol(mut self, codes: Codes) raises -> Int:
        var code = 0
        for length in range(1, 16):
            code = code << 1 | self._take(1)
            var symbol = codes.symbol(code, length)
            if symbol >= 0:
                return symbol
        raise Error("no such code")

    def _read_codes(mut self, literals: Codes, distances: Codes) raises:
        while True:
            var symbol = self._take_symbol(literals)
            if symbol < _END_OF_BLOCK:
                self._add(UInt8(symbol))
                continue
            if symbol == _END_OF_BLOCK:
                return
            var length = self._take_length(symbol - 257)
            symbol = self._take_symbol(distances)
            if symbol > 29:
                raise Error("no such distance")
            var distance = symbol + 1
            if symbol > 3:
                var extra = symbol // 2 - 1
                distance = ((2 + symbol % 2) << extra) + self._take(extra) + 1
            if distance > len(self.content):
                raise Error("too far back")
            for _ in range(length):
                self._add(self.content[len(self.content) - distance])

    def _take_length(mut self, index: Int) raises -> Int:
        if index > 28:
            raise Error("no such length")
        if index == 28:
            return 258
        if index < 8:
            return index + 3
        var extra = index // 4 - 1
        return ((4 + index % 4) << extra) + self._take(extra) + 3


struct Codes(Movable):
    """The canonical codes of symbols (RFC 1951 section 3.2.2)."""

    var _lengths: List[Int]
    var _codes: List[Int]

    def __init__(out self, lengths: List[Int]):
        """Assigns the codes.

        Args:
            lengths: The length of each symbol's code; 0 for none.
        """
        self._lengths = lengths.copy()
        self._codes = List[Int](length=len(lengths), fill=0)
        var code = 0
        for length in range(1, 16):
            for symbol in range(len(lengths)):
                if lengths[symbol] == length:
                    self._codes[symbol] = code
                    code += 1
            code <<= 1

    def check(self, *, allows_one: Bool) raises:
        """Checks that the codes are neither too many nor too few, as zlib does.

        Args:
            allows_one: Whether a single code of one bit suffices.

        Raises:
            Error: If they are.
        """
        var used = 0
        var longest = 0
        for length in self._lengths:
            if length > 0:
                used += 1 << (15 - length)
                longest = max(longest, length)
        if used > 1 << 15:
            raise Error("too many codes")
        if used < 1 << 15 and longest > 1:
            raise Error("too few codes")
        if used < 1 << 15 and longest == 1 and not allows_one:
            raise Error("too few codes")

    def symbol(self, code: Int, length: Int) -> Int:
        """Returns the symbol of a code.

        Args:
            code: The code.
            length: The number of its bits.

        Returns:
            The symbol; below 0 if the code has none.
        """
        for symbol in range(len(self._lengths)):
            if self._lengths[symbol] == length and (
                self._codes[symbol] == code
            ):
                return symbol
        return -1

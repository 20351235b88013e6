"""Decompresses field blocks as a reader of RFC 7541 would by hand."""

from flare.core import Buffer, heap_create, heap_destroy
from flare.proto.h2.hpack import append_huffman, huffman_octets
from flare.proto.h2.hpack.static_table import (
    STATIC_COUNT,
    static_name,
    static_value,
)


struct ModelLine(Copyable, Movable):
    """A field line."""

    var name: List[UInt8]
    """The name."""
    var value: List[UInt8]
    """The value."""
    var is_never_indexed: Bool
    """Whether it may not be indexed."""

    def __init__(
        out self,
        var name: List[UInt8],
        var value: List[UInt8],
        is_never_indexed: Bool = False,
    ):
        """Makes a line.

        Args:
            name: The name.
            value: The value.
            is_never_indexed: Whether it may not be indexed.
        """
        self.name = name^
        self.value = value^
        self.is_never_indexed = is_never_indexed


struct HpackModel(Movable):
    """A decoder whose table is a list of lines, the latest first."""

    var table: List[ModelLine]
    """The dynamic table."""
    var size_max: Int
    """The most that it may count."""
    var _codes: Dict[Int, Int]

    def __init__(out self):
        """Makes a decoder with an empty table."""
        self.table = []
        self.size_max = 4096
        self._codes = {}

    def read(mut self, block: Span[UInt8, _]) raises -> List[ModelLine]:
        """Decompresses a block.

        Args:
            block: The whole block.

        Returns:
            Its lines.

        Raises:
            Error: If it is malformed.
        """
        var lines = List[ModelLine]()
        var at = 0
        var updates = 0
        while at < len(block):
            var first = Int(block[at])
            if first & 0xE0 == 0x20:
                updates += 1
                var size = _integer(block, at, 5)
                if updates > 2 or len(lines) > 0 or size > 4096:
                    raise Error("size")
                self.size_max = size
                self._evict(0)
            elif first & 0x80 != 0:
                lines.append(self.line(_integer(block, at, 7)))
            elif first & 0x40 != 0:
                var line = self._literal(block, at, 6)
                self.insert(line.copy())
                lines.append(line^)
            else:
                var line = self._literal(block, at, 4)
                line.is_never_indexed = first & 0x10 != 0
                lines.append(line^)
        return lines^

    def line(self, index: Int) raises -> ModelLine:
        """Finds a line in the tables.

        Args:
            index: Its index.

        Returns:
            The line.

        Raises:
            Error: If there is none.
        """
        if index < 1 or index > STATIC_COUNT + len(self.table):
            raise Error("index")
        if index > STATIC_COUNT:
            return self.table[index - STATIC_COUNT - 1].copy()
        return ModelLine(
            List[UInt8](static_name(index).as_bytes()),
            List[UInt8](static_value(index).as_bytes()),
        )

    def insert(mut self, var line: ModelLine):
        """Inserts a line into the dynamic table.

        Args:
            line: The line.
        """
        var size = len(line.name) + len(line.value) + 32
        self._evict(size)
        if size <= self.size_max:
            self.table.insert(0, line^)

    def size(self) -> Int:
        """Counts the dynamic table.

        Returns:
            The sum over its lines.
        """
        var sum = 0
        for line in self.table:
            sum += len(line.name) + len(line.value) + 32
        return sum

    def _evict(mut self, octets: Int):
        while len(self.table) > 0 and self.size() + octets > self.size_max:
            _ = self.table.pop()

    def _literal(
        mut self, block: Span[UInt8, _], mut at: Int, prefix: Int
    ) raises -> ModelLine:
        var index = _integer(block, at, prefix)
        var name: List[UInt8]
        if index > 0:
            name = self.line(index).name.copy()
        else:
            name = self._string(block, at)
        return ModelLine(name^, self._string(block, at))

    def _string(
        mut self, block: Span[UInt8, _], mut at: Int
    ) raises -> List[UInt8]:
        if at >= len(block):
            raise Error("end")
        var is_coded = block[at] & 0x80 != 0
        var length = _integer(block, at, 7)
        if at + length > len(block):
            raise Error("end")
        var octets = List[UInt8](block[at : at + length])
        at += length
        return self._decoded(Span(octets)) if is_coded else octets^

    def _decoded(mut self, coded: Span[UInt8, _]) raises -> List[UInt8]:
        self._make_codes()
        var text = List[UInt8]()
        var code = 0
        var bits = 0
        for octet in coded:
            for i in range(8):
                code = code << 1 | Int(octet >> UInt8(7 - i) & 1)
                bits += 1
                var symbol = self._codes.get(bits << 32 | code)
                if symbol:
                    text.append(UInt8(symbol.value()))
                    code = 0
                    bits = 0
                elif bits >= 30:
                    raise Error("code")
        if bits > 7 or code != (1 << bits) - 1:
            raise Error("padding")
        return text^

    def _make_codes(mut self):
        if len(self._codes) > 0:
            return
        var into = heap_create(Buffer())
        for symbol in range(256):
            # Eight codes of as many bits end at an octet.
            var eight = List[UInt8](length=8, fill=UInt8(symbol))
            into[].clear()
            append_huffman(Span(eight), huffman_octets(Span(eight)), into)
            var bits = huffman_octets(Span(eight))
            var code = 0
            for octet in into[].span()[: (bits + 7) // 8]:
                code = code << 8 | Int(octet)
            code >>= (bits + 7) // 8 * 8 - bits
            self._codes[bits << 32 | code] = symbol
        heap_destroy(into)


def _integer(block: Span[UInt8, _], mut at: Int, prefix: Int) raises -> Int:
    var most = (1 << prefix) - 1
    var value = Int(block[at]) & most
    at += 1
    if value < most:
        return value
    var factor = 1
    for _ in range(4):
        if at >= len(block):
            raise Error("end")
        var octet = Int(block[at])
        at += 1
        value += octet % 128 * factor
        factor *= 128
        if octet < 128:
            return value
    raise Error("integer")

"""Stores the dynamic table of a decoder (RFC 7541 section 2.3.2)."""

from flare.core import Buffer

comptime ENTRY_OVERHEAD_OCTETS = 32
"""The size of an entry without octets (RFC 7541 section 4.1)."""
# A table for entries starts with room for these.
comptime _ENTRIES_MIN = 8


@fieldwise_init
struct TableEntry(TrivialRegisterPassable):
    """The place of an entry."""

    var start: UInt32
    """The number of the first octet, counted from the first octet ever
    inserted, modulo 2^32."""
    var name_octets: UInt16
    """The length of the name."""
    var value_octets: UInt16
    """The length of the value."""
    var known: UInt8
    """The number of the name."""
    var kind: UInt8
    """A mark that the owner of the table keeps with the entry."""

    def size(self) -> Int:
        """Returns the size of the entry (RFC 7541 section 4.1).

        Returns:
            The number of octets.
        """
        return (
            Int(self.name_octets)
            + Int(self.value_octets)
            + ENTRY_OVERHEAD_OCTETS
        )


struct DynamicTable(Movable):
    """The entries that a peer has inserted, the latest first.

    It allocates no memory before the first entry, and then grows with them.
    """

    var octets: Buffer
    """The names and values, the earliest first."""
    var base: UInt32
    """The number of the first of these octets."""
    var ring: List[TableEntry]
    """The entries; the length is a power of two."""
    var first: Int
    """The place of the earliest entry."""
    var count: Int
    """The number of entries."""
    var size: Int
    """The sum of their sizes."""
    var size_max: Int
    """The largest sum of sizes."""
    var version: Int
    """How often it has changed. While this is the same, each index means the
    same."""

    def __init__(out self, size_max: Int):
        """Creates an empty table.

        Args:
            size_max: The largest sum of its entries' sizes; at most 65535.
        """
        self.octets = Buffer()
        self.base = 0
        self.ring = []
        self.first = 0
        self.count = 0
        self.size = 0
        self.size_max = size_max
        self.version = 0

    @always_inline
    def entry(self, index: Int) -> TableEntry:
        """Returns an entry.

        Args:
            index: Its index, from 1 for the latest to `count`.

        Returns:
            The entry.
        """
        return self.ring.unsafe_get(
            (self.first + self.count - index) & (len(self.ring) - 1)
        )

    @always_inline
    def unsafe_name(self, entry: TableEntry) -> Span[UInt8, ImmUntrackedOrigin]:
        """Returns the name of an entry.

        Args:
            entry: An entry of this table.

        Returns:
            The name.

        Safety:
            It is valid until the next insertion.
        """
        return self._octets_at(entry.start, entry.name_octets)

    @always_inline
    def unsafe_value(
        self, entry: TableEntry
    ) -> Span[UInt8, ImmUntrackedOrigin]:
        """Returns the value of an entry.

        Args:
            entry: An entry of this table.

        Returns:
            The value.

        Safety:
            It is valid until the next insertion.
        """
        return self._octets_at(
            entry.start + UInt32(entry.name_octets), entry.value_octets
        )

    @always_inline
    def _octets_at(
        self, start: UInt32, count: UInt16
    ) -> Span[UInt8, ImmUntrackedOrigin]:
        return Span[UInt8, ImmUntrackedOrigin](
            unsafe_ptr=self.octets.unsafe_front()
            .unsafe_offset(Int(start - self.base))
            .unsafe_mut_cast[False]()
            .unsafe_origin_cast[ImmUntrackedOrigin](),
            length=Int(count),
        )

    def limit(mut self, size_max: Int):
        """Sets the largest sum of sizes, and drops the earliest entries until
        the sum does not exceed it.

        Args:
            size_max: The largest sum.
        """
        self.version += 1
        self.size_max = size_max
        self._make_room(0)

    def insert(
        mut self,
        name: Span[UInt8, _],
        value: Span[UInt8, _],
        known: UInt8,
        kind: UInt8 = 0,
    ) -> Bool:
        """Inserts an entry. Earlier ones make room for it.

        Args:
            name: The name, which lies outside of the table.
            value: The value.
            known: The number of the name.
            kind: A mark.

        Returns:
            False if it is too large for the table, which is empty then.
        """
        self.version += 1
        var octets = len(name) + len(value)
        self._make_room(octets + ENTRY_OVERHEAD_OCTETS)
        if octets + ENTRY_OVERHEAD_OCTETS > self.size_max:
            return False
        var start = self.base + UInt32(len(self.octets))
        self.octets.append(name)
        self.octets.append(value)
        if self.count == len(self.ring):
            self._grow()
        self.ring[
            (self.first + self.count) & (len(self.ring) - 1)
        ] = TableEntry(
            start, UInt16(len(name)), UInt16(len(value)), known, kind
        )
        self.count += 1
        self.size += octets + ENTRY_OVERHEAD_OCTETS
        return True

    def _make_room(mut self, octets: Int):
        while self.count > 0 and self.size + octets > self.size_max:
            var entry = self.ring[self.first]
            var length = Int(entry.name_octets) + Int(entry.value_octets)
            self.octets.consume(length)
            self.base += UInt32(length)
            self.size -= length + ENTRY_OVERHEAD_OCTETS
            self.first = (self.first + 1) & (len(self.ring) - 1)
            self.count -= 1

    @no_inline
    def _grow(mut self):
        var larger = List[TableEntry](
            length=max(2 * len(self.ring), _ENTRIES_MIN),
            fill=TableEntry(0, 0, 0, 0, 0),
        )
        for i in range(self.count):
            larger[i] = self.ring[(self.first + i) & (len(self.ring) - 1)]
        self.ring = larger^
        self.first = 0

"""Decompresses field blocks (RFC 7541 section 3)."""

from std.sys.intrinsics import unlikely

from flare.core import Buffer, PointerTo, heap_create, heap_destroy
from flare.message.known_field import known_field

from ..field_check import line_kind, name_kind
from .dynamic_table import DynamicTable
from .hpack_error import HpackError
from .huffman import decode_huffman
from .integer import read_integer
from .static_table import (
    STATIC_COUNT,
    static_kind,
    static_known,
    static_name,
    static_value,
)

comptime TABLE_OCTETS = 4096
"""The size of the dynamic table that a peer may use: the default, which needs
no SETTINGS_HEADER_TABLE_SIZE (RFC 9113 section 6.5.2)."""
comptime KEPT_OCTETS_MAX = 2048
"""The most memory that is kept for the strings of later blocks. Thousands of
connections may be idle."""
# One for the smallest size between two blocks, and one for the last (RFC 7541
# section 4.2).
comptime _SIZE_UPDATES_MAX = 2


@fieldwise_init
struct HpackField(Boolable, TrivialRegisterPassable):
    """A field line of a block."""

    var name: Span[UInt8, ImmUntrackedOrigin]
    """The name; any octets."""
    var value: Span[UInt8, ImmUntrackedOrigin]
    """The value; any octets."""
    var known: UInt8
    """The number of the name (`FieldName`)."""
    var kind: UInt8
    """The facts about the line (`LineKind`)."""
    var is_never_indexed: Bool
    """Whether the peer forbids that an intermediary indexes it (RFC 7541
    section 7.1.3)."""
    var end: Int
    """The offset of the octet after it in the block; 0 if there is no line."""

    @staticmethod
    @always_inline
    def none() -> Self:
        """Returns the value at the end of a block. It stands for `None`,
        because the compiler copies an `Optional` of this length octet by octet.

        Returns:
            A value that is False.
        """
        var nothing = Span[UInt8, ImmUntrackedOrigin]()
        return Self(nothing, nothing, 0, 0, False, 0)

    @always_inline
    def __bool__(self) -> Bool:
        """Returns whether there is a line.

        Returns:
            False at the end of a block.
        """
        return self.end > 0


@fieldwise_init
struct HpackString(TrivialRegisterPassable):
    """A string of a block."""

    var octets: Span[UInt8, ImmUntrackedOrigin]
    """The string; any octets."""
    var is_decoded: Bool
    """Whether it was written by the Huffman code."""
    var end: Int
    """The offset of the octet after it in the block."""


struct HpackDecoderState(Movable):
    """The state of a decoder."""

    var table: DynamicTable
    """The dynamic table."""
    var scratch: Buffer
    """The latest strings that were not found in a table."""
    var size_updates: Int
    """How many changes of the table's size the block began with; -1 after the
    first field."""

    def __init__(out self):
        """Creates a decoder before its first block."""
        self.table = DynamicTable(TABLE_OCTETS)
        self.scratch = Buffer()
        self.size_updates = 0


@fieldwise_init
struct HpackDecoder(TrivialRegisterPassable):
    """A handle to a decoder of one connection."""

    var state: PointerTo[HpackDecoderState]
    """The state."""

    @staticmethod
    def create() -> Self:
        """Creates a decoder on the heap.

        Returns:
            A handle; call `destroy` at its end.
        """
        return Self(heap_create(HpackDecoderState()))

    def destroy(self):
        """Frees the decoder."""
        heap_destroy(self.state)

    def begin_block(self):
        """Prepares for the first octet of a block."""
        self.state[].size_updates = 0

    @always_inline
    def next(
        self, block: Span[mut=False, UInt8, _], at: Int
    ) raises HpackError -> HpackField:
        """Reads the next field line of a block.

        Args:
            block: The whole block.
            at: The start of the line: 0, or `end` of the line before it.

        Returns:
            The line, whose views are valid until the next call;
            `HpackField.none` at the end of the block.

        Raises:
            HpackError: If the block is malformed. The decoder cannot be used
                any more.
        """
        if at < len(block) and block.unsafe_get(at) >= 128:
            return self._indexed(block, at)
        return self._next_unindexed(block, at)

    @no_inline
    def _next_unindexed(
        self, block: Span[mut=False, UInt8, _], at: Int
    ) raises HpackError -> HpackField:
        var start = at
        while start < len(block):
            var first = block.unsafe_get(start)
            if first >= 128:
                return self._indexed(block, start)
            if first >= 64:
                return self._inserted(block, start)
            if first < 32:
                return self._literal(block, start, first >= 16)
            start = self._update_size(block, start)
        self.end_block()
        return HpackField.none()

    @always_inline
    def next_value(
        self, block: Span[mut=False, UInt8, _], at: Int
    ) raises HpackError -> HpackString:
        """Reads the value of a literal line whose name is known.

        Args:
            block: The whole block.
            at: The start of the value.

        Returns:
            The value, which is valid until the next call.

        Raises:
            HpackError: If the string is malformed or incomplete.
        """
        self.state[].scratch.clear()
        return self._string(block, at)

    @always_inline
    def end_block(self):
        """Frees memory that later blocks hardly need. `next` does so after the
        last line."""
        if unlikely(self.state[].scratch.capacity() > KEPT_OCTETS_MAX):
            self.state[].scratch = Buffer()

    @always_inline
    def _indexed(
        self, block: Span[mut=False, UInt8, _], at: Int
    ) raises HpackError -> HpackField:
        var index = read_integer(block, at, 7)
        self.state[].size_updates = -1
        return self._line(index.value, index.end)

    @always_inline
    def _line(self, index: Int, end: Int) raises HpackError -> HpackField:
        if index > STATIC_COUNT:
            ref table = self.state[].table
            if index - STATIC_COUNT > table.count:
                raise HpackError("an index exceeds the table")
            var entry = table.entry(index - STATIC_COUNT)
            return HpackField(
                table.unsafe_name(entry),
                table.unsafe_value(entry),
                entry.known,
                entry.kind,
                False,
                end,
            )
        if unlikely(index == 0):
            raise HpackError("an index is 0")
        return HpackField(
            _untracked(static_name(index).as_bytes()),
            _untracked(static_value(index).as_bytes()),
            static_known(index),
            static_kind(index),
            False,
            end,
        )

    @always_inline
    def _literal(
        self,
        block: Span[mut=False, UInt8, _],
        at: Int,
        is_never_indexed: Bool,
    ) raises HpackError -> HpackField:
        var index = read_integer(block, at, 4)
        var field = self._strings(block, index.value, index.end, False)
        field.is_never_indexed = is_never_indexed
        field.kind = line_kind(field.kind, field.value)
        return field

    @no_inline
    def _inserted(
        self, block: Span[mut=False, UInt8, _], at: Int
    ) raises HpackError -> HpackField:
        var index = read_integer(block, at, 6)
        # An entry with the name may have to make room for this one.
        var field = self._strings(
            block, index.value, index.end, index.value > STATIC_COUNT
        )
        ref table = self.state[].table
        field.kind = line_kind(field.kind, field.value)
        if table.insert(field.name, field.value, field.known, field.kind):
            field.name = table.unsafe_name(table.entry(1))
            field.value = table.unsafe_value(table.entry(1))
        return field

    @always_inline
    def _strings(
        self,
        block: Span[mut=False, UInt8, _],
        index: Int,
        at: Int,
        copies_name: Bool,
    ) raises HpackError -> HpackField:
        """Reads the strings of a literal: the name, if no table has it, and the
        value. Each string may move the scratch buffer.

        Returns:
            The line, with the facts about its name.
        """
        ref scratch = self.state[].scratch
        self.state[].size_updates = -1
        scratch.clear()
        if index == 0:
            return self._named(block, at)
        var field = self._line(index, at)
        if copies_name:
            scratch.append(field.name)
        var value = self._string(block, at)
        if copies_name:
            field.name = self._scratch_octets()[: len(field.name)]
        field.value = value.octets
        field.end = value.end
        return field

    @no_inline
    def _named(
        self, block: Span[mut=False, UInt8, _], at: Int
    ) raises HpackError -> HpackField:
        var name = self._string(block, at)
        var value = self._string(block, name.end)
        if name.is_decoded:
            name.octets = self._scratch_octets()[: len(name.octets)]
        return HpackField(
            name.octets,
            value.octets,
            known_field(name.octets),
            name_kind(name.octets),
            False,
            value.end,
        )

    @always_inline
    def _string(
        self, block: Span[mut=False, UInt8, _], at: Int
    ) raises HpackError -> HpackString:
        if at >= len(block):
            raise HpackError("a literal is incomplete")
        var is_coded = block.unsafe_get(at) >= 128
        var length = read_integer(block, at, 7)
        var end = length.end + length.value
        if end > len(block):
            raise HpackError("a string is incomplete")
        var octets = _untracked(block[length.end : end])
        if not is_coded:
            return HpackString(octets, False, end)
        ref scratch = self.state[].scratch
        var before = len(scratch)
        if not decode_huffman(octets, Pointer(to=scratch)):
            raise HpackError("a string is no Huffman code")
        return HpackString(self._scratch_octets()[before:], True, end)

    def _scratch_octets(self) -> Span[UInt8, ImmUntrackedOrigin]:
        return _untracked(self.state[].scratch.span())

    def _update_size(
        self, block: Span[mut=False, UInt8, _], at: Int
    ) raises HpackError -> Int:
        ref s = self.state[]
        if s.size_updates < 0:
            raise HpackError("the table's size changes after a field")
        s.size_updates += 1
        if s.size_updates > _SIZE_UPDATES_MAX:
            raise HpackError("the table's size changes too often")
        var size = read_integer(block, at, 5)
        if size.value > TABLE_OCTETS:
            raise HpackError("the table's size exceeds the limit")
        s.table.limit(size.value)
        return size.end


@always_inline
def _untracked(
    octets: Span[mut=False, UInt8, _]
) -> Span[UInt8, ImmUntrackedOrigin]:
    return Span[UInt8, ImmUntrackedOrigin](
        unsafe_ptr=octets.unsafe_ptr().unsafe_origin_cast[ImmUntrackedOrigin](),
        length=len(octets),
    )

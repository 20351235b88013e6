"""Stores the lines of one header map: octets, table, set of known names.

A block is created at the first insertion. It lies on the heap, so that a map
is small. The map has checked all lines.
"""

from std.builtin.globals import global_constant
from std.collections.string.string_span import get_static_string
from std.memory import unsafe_memmove

from flare.core import (
    BlockKind,
    Buffer,
    COLON,
    CR,
    Erased,
    LF,
    OctetPointer,
    PointerTo,
    SPACE,
    copy_octets,
    equals_ignoring_case,
    heap_create,
    heap_destroy,
)
from flare.sys.thread_cell import thread_recycler

from .field_line import FieldLine, FieldSection
from .field_name import FieldName
from .known_field import constant_field, known_field

comptime _INITIAL_OCTETS = 256
comptime _KEPT_OCTETS_MAX = 8192
comptime _INITIAL_LINES = 8
comptime _KEPT_LINES_MAX = 256


@fieldwise_init
struct ConstantLine(Copyable, Movable):
    """A section of one line that is known at compile time."""

    var wire: StaticString
    var line: FieldLine
    var known: UInt64


comptime ConstantLinePointer = Pointer[ConstantLine, ImmStaticOrigin]


@always_inline
def constant_line[
    name: StaticString, value: StaticString
]() -> ConstantLinePointer:
    comptime LINE = ConstantLine(
        get_static_string[name, ": ", value, "\r\n"](),
        _line_at(0, name.byte_length(), value.byte_length()),
        _constant_bit[name](),
    )
    return Pointer(to=global_constant[LINE]())


struct HeaderBlock(Movable):
    """The memory of a non-empty `HeaderMap`."""

    var octets: Buffer
    var lines: List[FieldLine]
    var known: UInt64

    def __init__(out self):
        self.octets = Buffer(capacity=_INITIAL_OCTETS)
        self.lines = List[FieldLine](capacity=_INITIAL_LINES)
        self.known = 0

    @always_inline
    def append(mut self, name: Span[UInt8, _], value: Span[UInt8, _]):
        var start = len(self.octets)
        var line = _line_at(start, len(name), len(value))
        var octets = len(name) + len(value) + 4
        _write_line(self.octets.reserve(octets), name, value)
        self.octets.advance(octets)
        self.lines.append(line)
        self.known |= known_bit(name)

    @always_inline
    def append_constant(mut self, constant: ConstantLine):
        var name_octets = Int(constant.line.name_octets)
        var value_octets = Int(constant.line.value_octets)
        self.lines.append(_line_at(len(self.octets), name_octets, value_octets))
        self.octets.append(constant.wire)
        self.known |= constant.known

    def append_section(mut self, section: FieldSection, octets: Int):
        # One reservation for all lines.
        _ = self.octets.reserve(octets)
        for i in range(len(section)):
            self.append(section.name(i).as_bytes(), section.value(i).as_bytes())

    def append_block(mut self, other: Self):
        self.octets.append(other.octets.span())
        self.lines.extend(Span(other.lines))
        self.known |= other.known

    def clear(mut self):
        self.octets.clear()
        self.lines.clear()
        self.known = 0

    def replace(
        mut self, index: Int, name: Span[UInt8, _], value: Span[UInt8, _]
    ):
        # Equal names have equal lengths: only the value moves what follows.
        var old = self.lines[index]
        var new = _line_at(Int(old.name_start), len(name), len(value))
        var length = len(self.octets)
        var change = len(value) - Int(old.value_octets)
        _ = self.octets.reserve(max(change, 0))
        var front = self.octets.unsafe_front()
        unsafe_memmove(
            dest=front.unsafe_offset(_end_of(new)),
            src=front.unsafe_offset(_end_of(old)),
            count=length - _end_of(old),
        )
        _write_line(front.unsafe_offset(Int(new.name_start)), name, value)
        self._truncate(length + change)
        self.lines[index] = new
        for i in range(index + 1, len(self.lines)):
            self.lines[i] = _moved(self.lines[i], change)

    def remove(mut self, name: Span[UInt8, _], start: Int) -> Int:
        var kept = start
        var end = _end_of(self.lines[start - 1]) if start > 0 else 0
        var front = self.octets.unsafe_front()
        for i in range(start, len(self.lines)):
            var line = self.lines[i]
            var octets = _end_of(line) - Int(line.name_start)
            var old_name = Span(
                unsafe_ptr=front.unsafe_offset(Int(line.name_start)),
                length=Int(line.name_octets),
            )
            if equals_ignoring_case(old_name, name):
                continue
            unsafe_memmove(
                dest=front.unsafe_offset(end),
                src=front.unsafe_offset(Int(line.name_start)),
                count=octets,
            )
            self.lines[kept] = _moved(line, end - Int(line.name_start))
            kept += 1
            end += octets
        var removed = len(self.lines) - kept
        self.lines.shrink(kept)
        self._truncate(end)
        return removed

    def _truncate(mut self, length: Int):
        # No octets are ever consumed, so they start at the front.
        self.octets.clear()
        self.octets.advance(length)


def take_block() -> PointerTo[HeaderBlock]:
    var recycler = thread_recycler()
    if recycler:
        var block = recycler.value().take(BlockKind.HEADERS)
        if block:
            return block.value().unsafe_bitcast[HeaderBlock]()
    return heap_create(HeaderBlock())


def give_block(block: PointerTo[HeaderBlock]):
    var recycler = thread_recycler()
    if (
        recycler
        and block[].octets.capacity() <= _KEPT_OCTETS_MAX
        and block[].lines.capacity() <= _KEPT_LINES_MAX
    ):
        block[].clear()
        if recycler.value().give(
            BlockKind.HEADERS,
            block.unsafe_bitcast[NoneType](),
            _destroy_block,
        ):
            return
    heap_destroy(block)


def _destroy_block(block: Erased):
    heap_destroy(block.unsafe_bitcast[HeaderBlock]())


def known_bit(name: Span[UInt8, _]) -> UInt64:
    var id = known_field(name)
    return 0 if id == FieldName.UNKNOWN else FieldName.bit(id)


def _constant_bit[name: StaticString]() -> UInt64:
    comptime ID = constant_field[name]()
    return 0 if ID == FieldName.UNKNOWN else FieldName.bit(ID)


@always_inline
def _line_at(start: Int, name_octets: Int, value_octets: Int) -> FieldLine:
    return FieldLine(
        UInt32(start),
        UInt32(name_octets),
        UInt32(start + name_octets + 2),
        UInt32(value_octets),
    )


def _moved(line: FieldLine, change: Int) -> FieldLine:
    return _line_at(
        Int(line.name_start) + change,
        Int(line.name_octets),
        Int(line.value_octets),
    )


def _end_of(line: FieldLine) -> Int:
    return Int(line.value_start + line.value_octets) + 2


@always_inline
def _write_line(
    target: OctetPointer, name: Span[UInt8, _], value: Span[UInt8, _]
):
    var value_start = len(name) + 2
    var end = value_start + len(value)
    copy_octets(target, name.unsafe_ptr(), len(name))
    target[unsafe_offset=len(name)] = COLON
    target[unsafe_offset=len(name) + 1] = SPACE
    copy_octets(
        target.unsafe_offset(value_start), value.unsafe_ptr(), len(value)
    )
    target[unsafe_offset=end] = CR
    target[unsafe_offset=end + 1] = LF

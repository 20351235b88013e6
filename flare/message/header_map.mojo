"""Stores the field lines of a message that is being built, ready to be sent.

The octets are in wire form (`Name: value CR LF`, line after line), so sending
a section is one copy. A table of offsets finds each line. Lines are checked
when they are inserted, so that no value can smuggle in another line (RFC 9110
sections 5.1 and 5.5).
"""

from flare.core import (
    OctetSet,
    PointerTo,
    SPACE,
    TAB,
    TOKEN_OCTETS,
    find_member,
    is_token,
    write_escaped,
)

from ._header_block import (
    ConstantLinePointer,
    HeaderBlock,
    constant_line,
    give_block,
    known_bit,
    take_block,
)
from .field_line import FieldIterator, FieldLine, FieldSection, FieldValues
from .field_name import FieldName


@fieldwise_init
struct WireSection[origin: ImmOrigin](TrivialRegisterPassable):
    """A view of field lines in wire form, and the set of known fields among
    them.

    Parameters:
        origin: The origin of the lines.
    """

    var octets: Span[UInt8, Self.origin]
    """Each line with its CR LF."""
    var known: UInt64
    """The union of the `FieldName.bit` of each known field."""


struct HeaderMap(Copyable, Iterable, Movable, Sized, Writable):
    """Field lines in order; names are case-insensitive.

    An empty map is two null pointers: it needs no memory and moves for free.
    So does a map whose single line is known at compile time.
    """

    comptime OCTETS_MAX = 1 << 20
    """The bound on the total length of all lines in wire form."""
    comptime LINES_MAX = 4096
    """The bound on the number of lines."""
    comptime IteratorType[
        mut: Bool, //, map_origin: Origin[mut=mut]
    ]: Iterator = FieldIterator[ImmOrigin(map_origin)]
    """The iterator over the field lines.

    Parameters:
        mut: Whether the map may be changed.
        map_origin: The origin of the map.
    """

    # At most one of them is set: a block, or the only line, which is not
    # owned.
    var _block: Optional[PointerTo[HeaderBlock]]
    var _constant: Optional[ConstantLinePointer]

    @always_inline
    def __init__(out self):
        """Creates an empty map, without memory."""
        self._block = None
        self._constant = None

    def __init__(out self, *, copy: Self):
        """Copies all lines.

        Args:
            copy: The map to copy.
        """
        self._block = None
        self._constant = copy._constant
        if copy._block:
            var block = take_block()
            block[].append_block(copy._block.unsafe_value()[])
            self._block = block

    @always_inline
    def __deinit__(deinit self):
        """Frees or recycles the memory."""
        if self._block:
            give_block(self._block.unsafe_value())

    def append(mut self, name: StringSlice, value: StringSlice) raises:
        """Adds a line after all others; lines of the same name stay.

        Args:
            name: The name, a token.
            value: The value; blanks around it are removed.

        Raises:
            An error `message.bad_header_name`, `message.bad_header_value` or
            `message.headers_too_large`; the map is then unchanged.
        """
        var trimmed = _checked_value(name.as_bytes(), value.as_bytes())
        self._insert(name.as_bytes(), trimmed)

    @always_inline
    def append_constant[name: StaticString, value: StaticString](mut self):
        """Adds a line that is known and checked at compile time.

        Parameters:
            name: The name, a token.
            value: The value.
        """
        comptime assert _is_constant_line(name, value), "not a field line"
        if not self._block and not self._constant:
            self._constant = constant_line[name, value]()
        else:
            self._append(constant_line[name, value]())

    def append_all(mut self, section: FieldSection) raises:
        """Adds all lines of a section.

        Args:
            section: The lines; not a view of this map.

        Raises:
            The errors of `append`; the lines before the refused one are then
            added.
        """
        for i in range(len(section)):
            self.append(section.name(i), section.value(i))

    def unsafe_append_parsed(mut self, section: FieldSection) -> Bool:
        """Adds all lines of a section that a parser has checked.

        Args:
            section: The lines; not a view of this map.

        Returns:
            False if the lines do not fit; the map is then unchanged.

        Safety:
            Each name is a token, and no value has a control octet.
        """
        var octets = 0
        for i in range(len(section)):
            ref line = section.lines.unsafe_get(i)
            octets += Int(line.name_octets + line.value_octets) + 4
        if (
            len(self) + len(section) > Self.LINES_MAX
            or len(self.wire()) + octets > Self.OCTETS_MAX
        ):
            return False
        if len(section) > 0:
            self._own_block()[].append_section(section, octets)
        return True

    def set(mut self, name: StringSlice, value: StringSlice) raises:
        """Replaces all lines of a name by one, at the place of the first.

        Args:
            name: The name, a token.
            value: The value; blanks around it are removed.

        Raises:
            An error `message.bad_header_name`, `message.bad_header_value` or
            `message.headers_too_large`; the map is then unchanged.
        """
        var trimmed = _checked_value(name.as_bytes(), value.as_bytes())
        var first = self.view().find(name)
        if first == len(self):
            return self._insert(name.as_bytes(), trimmed)
        var old_octets = Int(self.view().lines[first].value_octets)
        self._check_room(len(trimmed) - old_octets, 0)
        var block = self._own_block()
        _ = block[].remove(name.as_bytes(), first + 1)
        block[].replace(first, name.as_bytes(), trimmed)

    def remove(mut self, name: StringSlice) -> Int:
        """Removes all lines of a name.

        Args:
            name: The name, in any case.

        Returns:
            How many lines were removed.
        """
        if name not in self:
            return 0
        var block = self._own_block()
        var removed = block[].remove(name.as_bytes(), 0)
        block[].known &= ~known_bit(name.as_bytes())
        return removed

    def clear(mut self):
        """Removes all lines and keeps the memory."""
        self._constant = None
        if self._block:
            self._block.unsafe_value()[].clear()

    @always_inline
    def __len__(self) -> Int:
        """Returns the number of field lines.

        Returns:
            The number; a repeated field counts once per line.
        """
        if self._block:
            return len(self._block.unsafe_value()[].lines)
        return 1 if self._constant else 0

    def __contains__(self, name: StringSlice) -> Bool:
        """Returns whether a field is present.

        Args:
            name: The name, in any case.

        Returns:
            True if at least one line has it.
        """
        return name in self.view()

    def __iter__(ref self) -> FieldIterator[origin_of(self)]:
        """Returns an iterator over the field lines, in order.

        Returns:
            An iterator of `FieldView`.
        """
        return FieldIterator(self.view())

    def contains(self, name: StringSlice) -> Bool:
        """Returns whether a field is present.

        Args:
            name: The name, in any case.

        Returns:
            True if at least one line has it.
        """
        return name in self

    @always_inline
    def has_known(self, id: UInt8) -> Bool:
        """Returns whether a known field is present, without a search.

        Args:
            id: One of the constants of `FieldName`, not `UNKNOWN`.

        Returns:
            True if at least one line has the name.
        """
        return self.known() & FieldName.bit(id) != 0

    @always_inline
    def known(self) -> UInt64:
        """Returns the set of known fields that are present.

        Returns:
            The union of their `FieldName.bit`.
        """
        if self._block:
            return self._block.unsafe_value()[].known
        if self._constant:
            return self._constant.unsafe_value()[].known
        return 0

    def get(self, name: StringSlice) -> Optional[StringSlice[origin_of(self)]]:
        """Returns the value of the first line of a name.

        Args:
            name: The name, in any case.

        Returns:
            A view that is valid until the map changes, or `None`.
        """
        return self.view().get(name)

    def values[
        name_origin: ImmOrigin
    ](self, name: StringSlice[name_origin]) -> FieldValues[
        origin_of(self), name_origin
    ]:
        """Returns an iterator over the values of all lines of a name.

        Parameters:
            name_origin: The origin of the name.

        Args:
            name: The name, in any case.

        Returns:
            An iterator of views, in order.
        """
        return self.view().values(name)

    def count(self, name: StringSlice) -> Int:
        """Returns the number of lines of a name.

        Args:
            name: The name, in any case.

        Returns:
            The number.
        """
        return self.view().count(name)

    def name(self, index: Int) -> StringSlice[origin_of(self)]:
        """Returns the name of one line, in the case it was inserted in.

        Args:
            index: The line, from 0; below `len`.

        Returns:
            A view that is valid until the map changes.
        """
        return self.view().name(index)

    def value(self, index: Int) -> StringSlice[origin_of(self)]:
        """Returns the value of one line.

        Args:
            index: The line, from 0; below `len`.

        Returns:
            A view that is valid until the map changes.
        """
        return self.view().value(index)

    def view(self) -> FieldSection[origin_of(self)]:
        """Returns a view of all lines.

        Returns:
            A view that is valid until the map changes.
        """
        if not self._block:
            return FieldSection[origin_of(self)](
                self.wire(), self._constant_line()
            )
        ref lines = self._block.unsafe_value()[].lines
        return FieldSection[origin_of(self)](
            self.wire(),
            Span[FieldLine, origin_of(self)](
                unsafe_ptr=lines.unsafe_ptr()
                .unsafe_mut_cast[False]()
                .unsafe_origin_cast[origin_of(self)](),
                length=len(lines),
            ),
        )

    @always_inline
    def wire(self) -> Span[UInt8, origin_of(self)]:
        """Returns the lines in wire form (RFC 9112 section 5).

        Returns:
            A view of each line with its CR LF, without the empty line that
            ends the section. It is valid until the map changes.
        """
        if not self._block:
            if not self._constant:
                return Span[UInt8, origin_of(self)]()
            return rebind[Span[UInt8, origin_of(self)]](
                self._constant.unsafe_value()[].wire.as_bytes()
            )
        var octets = self._block.unsafe_value()[].octets.span()
        return Span[UInt8, origin_of(self)](
            unsafe_ptr=octets.unsafe_ptr().unsafe_origin_cast[
                origin_of(self)
            ](),
            length=len(octets),
        )

    @always_inline
    def wire_section(self) -> WireSection[origin_of(self)]:
        """Returns the lines in wire form together with the set of known
        fields.

        Returns:
            The results of `wire` and `known`, at the cost of one of them.
        """
        if self._block:
            return WireSection[origin_of(self)](
                self.wire(), self._block.unsafe_value()[].known
            )
        if not self._constant:
            return WireSection[origin_of(self)](
                Span[UInt8, origin_of(self)](), 0
            )
        ref line = self._constant.unsafe_value()[]
        return WireSection[origin_of(self)](
            rebind[Span[UInt8, origin_of(self)]](line.wire.as_bytes()),
            line.known,
        )

    def write_to(self, mut writer: Some[Writer]):
        """Writes one `Name: value` a line, control octets escaped.

        Args:
            writer: The destination.
        """
        for line in self:
            writer.write(line.name, ": ")
            write_escaped(line.value.as_bytes(), writer)
            writer.write("\n")

    def _check_room(self, octets: Int, lines: Int) raises:
        if (
            len(self) + lines > Self.LINES_MAX
            or len(self.wire()) + octets > Self.OCTETS_MAX
        ):
            raise Error("message.headers_too_large")

    @always_inline
    def _insert(mut self, name: Span[UInt8, _], value: Span[UInt8, _]) raises:
        self._check_room(len(name) + len(value) + 4, 1)
        self._own_block()[].append(name, value)

    def _append(mut self, line: ConstantLinePointer):
        self._own_block()[].append_constant(line[])

    @always_inline
    def _own_block(mut self) -> PointerTo[HeaderBlock]:
        if not self._block:
            self._begin_block()
        return self._block.unsafe_value()

    @no_inline
    def _begin_block(mut self):
        var block = take_block()
        if self._constant:
            block[].append_constant(self._constant.unsafe_value()[])
        self._block = block
        self._constant = None

    def _constant_line(self) -> Span[FieldLine, origin_of(self)]:
        if not self._constant:
            return Span[FieldLine, origin_of(self)]()
        return rebind[Span[FieldLine, origin_of(self)]](
            Span(
                unsafe_ptr=Pointer(to=self._constant.unsafe_value()[].line),
                length=1,
            )
        )


def _control_octets() -> OctetSet:
    var set = OctetSet.of("\x7f")
    for b in range(32):
        if UInt8(b) != TAB:
            set.add(UInt8(b))
    return set


comptime _CONTROL_OCTETS = _control_octets()


def _is_constant_line(name: StaticString, value: StaticString) -> Bool:
    # One octet at a time: the compiler cannot evaluate the vector scans.
    for b in name.as_bytes():
        if b not in materialize[TOKEN_OCTETS]():
            return False
    for b in value.as_bytes():
        if b in materialize[_CONTROL_OCTETS]():
            return False
    return name.byte_length() > 0


def _checked_value[
    origin: Origin
](name: Span[UInt8, _], value: Span[UInt8, origin]) raises -> Span[
    UInt8, origin
]:
    if not is_token(name):
        raise Error("message.bad_header_name not a token")
    if find_member[_CONTROL_OCTETS](value) != len(value):
        raise Error("message.bad_header_value control octet")
    var start = 0
    var end = len(value)
    while start < end and _is_blank(value[start]):
        start += 1
    while start < end and _is_blank(value[end - 1]):
        end -= 1
    return value[start:end]


@always_inline
def _is_blank(b: UInt8) -> Bool:
    return b == SPACE or b == TAB

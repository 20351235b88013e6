"""Views the field lines of one section without owning or copying them.

A parsed head and a `HeaderMap` have the same form: octets, and a table of the
places of names and values (RFC 9110 section 5).
"""

from flare.core import equals_ignoring_case


@fieldwise_init
struct FieldLine(TrivialRegisterPassable):
    """The places of the name and the value of one field line."""

    var name_start: UInt32
    """The offset of the name from the start of the section's octets."""
    var name_octets: UInt32
    """The length of the name."""
    var value_start: UInt32
    """The offset of the value, without the white space around it."""
    var value_octets: UInt32
    """The length of the value."""


@fieldwise_init
struct FieldView[origin: ImmOrigin](ImplicitlyCopyable):
    """A view of the name and the value of one field line.

    Parameters:
        origin: The origin of the octets.
    """

    var name: StringSlice[Self.origin]
    """The name, in the case it was received or inserted in."""
    var value: StringSlice[Self.origin]
    """The value; its octets need not be valid UTF-8."""


struct FieldSection[origin: ImmOrigin](ImplicitlyCopyable, Iterable, Sized):
    """A view of a field section: its octets, and the table that divides them.

    Parameters:
        origin: The origin of the octets and the table.
    """

    comptime IteratorType[
        mut: Bool, //, section_origin: Origin[mut=mut]
    ]: Iterator = FieldIterator[Self.origin]
    """The iterator over the field lines.

    Parameters:
        mut: Whether the section may be changed.
        section_origin: The origin of the section.
    """

    var octets: Span[UInt8, Self.origin]
    """The octets that hold every name and value."""
    var lines: Span[FieldLine, Self.origin]
    """The field lines in the order of arrival."""

    def __init__(
        out self,
        octets: Span[UInt8, Self.origin],
        lines: Span[FieldLine, Self.origin],
    ):
        """Creates a view of a section.

        Args:
            octets: The octets to which the table refers.
            lines: The table.
        """
        self.octets = octets
        self.lines = lines

    def __len__(self) -> Int:
        """Returns the number of field lines.

        Returns:
            The number; a repeated field counts once per line.
        """
        return len(self.lines)

    @always_inline
    def name(self, index: Int) -> StringSlice[Self.origin]:
        """Returns the name of one field line, in the case it was received in.

        Args:
            index: The line, from 0.

        Returns:
            A view of the name.
        """
        ref line = self.lines[index]
        return StringSlice(
            unsafe_from_utf8=self.octets[
                Int(line.name_start) : Int(line.name_start + line.name_octets)
            ]
        )

    @always_inline
    def value(self, index: Int) -> StringSlice[Self.origin]:
        """Returns the value of one field line, without the white space around
        it.

        A value may contain octets above 0x7F (obs-text, RFC 9110 section 5.5)
        and need not be UTF-8. Check it with `StringSlice(from_utf8=…)` before
        you read code points. After a value that a parser has read, CR LF
        follows in the same buffer, so that a truncated sequence ends there.

        Args:
            index: The line, from 0.

        Returns:
            A view of the value.
        """
        ref line = self.lines[index]
        return StringSlice(
            unsafe_from_utf8=self.octets[
                Int(line.value_start) : Int(
                    line.value_start + line.value_octets
                )
            ]
        )

    def __iter__(ref self) -> FieldIterator[Self.origin]:
        """Returns an iterator over the field lines, in order.

        Returns:
            An iterator of `FieldView`.
        """
        return FieldIterator[Self.origin](self)

    def find(self, name: StringSlice, start: Int = 0) -> Int:
        """Returns the index of the next field line of a name.

        Args:
            name: The name, in any case.
            start: The first line to look at.

        Returns:
            The index; the number of lines if there is none.
        """
        var wanted = name.as_bytes()
        for i in range(start, len(self.lines)):
            if Int(self.lines.unsafe_get(i).name_octets) == len(
                wanted
            ) and equals_ignoring_case(self.name(i).as_bytes(), wanted):
                return i
        return len(self.lines)

    def get(self, name: StringSlice) -> Optional[StringSlice[Self.origin]]:
        """Returns the value of the first field line of a name.

        Args:
            name: The name, in any case.

        Returns:
            A view of the value, or `None`.
        """
        var i = self.find(name)
        if i == len(self.lines):
            return None
        return self.value(i)

    def values[
        name_origin: ImmOrigin
    ](self, name: StringSlice[name_origin]) -> FieldValues[
        Self.origin, name_origin
    ]:
        """Returns an iterator over the values of all field lines of a name.

        Parameters:
            name_origin: The origin of the name.

        Args:
            name: The name, in any case.

        Returns:
            An iterator of views, in order.
        """
        return FieldValues(self, name)

    def count(self, name: StringSlice) -> Int:
        """Returns the number of field lines of a name.

        Args:
            name: The name, in any case.

        Returns:
            The number.
        """
        var found = 0
        var i = self.find(name)
        while i < len(self.lines):
            found += 1
            i = self.find(name, i + 1)
        return found

    def __contains__(self, name: StringSlice) -> Bool:
        """Returns whether a field is present.

        Args:
            name: The name, in any case.

        Returns:
            True if at least one field line has it.
        """
        return self.find(name) < len(self.lines)


struct FieldIterator[origin: ImmOrigin](ImplicitlyCopyable, Iterator):
    """Iterates over the field lines of a section, in order.

    Parameters:
        origin: The origin of the section.
    """

    comptime Element = FieldView[Self.origin]
    """The type of each element."""

    var _section: FieldSection[Self.origin]
    var _next: Int

    def __init__(out self, section: FieldSection[Self.origin]):
        """Creates an iterator at the first line.

        Args:
            section: The section.
        """
        self._section = section
        self._next = 0

    def __next__(mut self) raises StopIteration -> FieldView[Self.origin]:
        """Returns the next line.

        Returns:
            Views of its name and value.

        Raises:
            StopIteration: After the last line.
        """
        if self._next >= len(self._section):
            raise StopIteration()
        var i = self._next
        self._next = i + 1
        return FieldView(self._section.name(i), self._section.value(i))


struct FieldValues[origin: ImmOrigin, name_origin: ImmOrigin](
    ImplicitlyCopyable, Iterable, Iterator
):
    """Iterates over the values of one name in a section.

    Parameters:
        origin: The origin of the section.
        name_origin: The origin of the name.
    """

    comptime Element = StringSlice[Self.origin]
    """The type of each element."""
    comptime IteratorType[
        mut: Bool, //, values_origin: Origin[mut=mut]
    ]: Iterator = Self
    """The iterator itself.

    Parameters:
        mut: Whether the iterator may be changed.
        values_origin: The origin of the iterator.
    """

    var _section: FieldSection[Self.origin]
    var _name: StringSlice[Self.name_origin]
    var _next: Int

    def __init__(
        out self,
        section: FieldSection[Self.origin],
        name: StringSlice[Self.name_origin],
    ):
        """Creates an iterator at the first line.

        Args:
            section: The section.
            name: The name, in any case.
        """
        self._section = section
        self._name = name
        self._next = 0

    def __iter__(ref self) -> Self:
        """Returns the iterator for a `for` loop.

        Returns:
            A copy at the same position.
        """
        return self

    def __next__(mut self) raises StopIteration -> StringSlice[Self.origin]:
        """Returns the next value.

        Returns:
            A view of it.

        Raises:
            StopIteration: After the last value.
        """
        var i = self._section.find(self._name, self._next)
        if i >= len(self._section):
            raise StopIteration()
        self._next = i + 1
        return self._section.value(i)

"""Views the field lines of one section without owning or copying them.

A parsed head and a `HeaderMap` have the same shape: octets in one place, and a
table that says where each name and each value lies (RFC 9110 section 5).
"""

from flare.core import equals_ignoring_case


@fieldwise_init
struct FieldLine(TrivialRegisterPassable):
    """Says where the name and the value of one field line lie."""

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
    """Views the name and the value of one field line.

    Parameters:
        origin: What keeps the octets alive.
    """

    var name: StringSlice[Self.origin]
    """The name, in the case it was received or inserted in."""
    var value: StringSlice[Self.origin]
    """The value; its octets need not be valid UTF-8."""


struct FieldSection[origin: ImmOrigin](ImplicitlyCopyable, Iterable, Sized):
    """Views a field section: the octets and the table that divides them.

    Parameters:
        origin: What keeps the octets and the table alive.
    """

    comptime IteratorType[
        mut: Bool, //, section_origin: Origin[mut=mut]
    ]: Iterator = FieldIterator[Self.origin]
    """The iterator over the field lines.

    Parameters:
        mut: Whether the section may be changed.
        section_origin: Where the section lies.
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
        """Views a section.

        Args:
            octets: The octets that the table refers to.
            lines: The table.
        """
        self.octets = octets
        self.lines = lines

    def __len__(self) -> Int:
        """Counts the field lines.

        Returns:
            The count; a repeated field counts once per line.
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
        """Returns the value of one field line without the space around it.

        A value may hold octets above 0x7F (obs-text, RFC 9110 section 5.5) and
        need not be UTF-8: check it with `StringSlice(from_utf8=…)` before it
        is read by code points. In what a parser has read, CR LF follows it in
        the same buffer, so that a cut sequence ends there.

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
        """Walks over the field lines in order.

        Returns:
            An iterator of `FieldView`.
        """
        return FieldIterator[Self.origin](self)

    def find(self, name: StringSlice, start: Int = 0) -> Int:
        """Finds the next field line of a name.

        Args:
            name: The name, in any case.
            start: The line to begin at.

        Returns:
            The index of the line, or the count of lines if there is none.
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
            A view of the value, or none.
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
        """Walks over the values of all field lines of a name.

        Parameters:
            name_origin: What keeps the name alive.

        Args:
            name: The name, in any case.

        Returns:
            An iterator of views of the values, in order.
        """
        return FieldValues(self, name)

    def count(self, name: StringSlice) -> Int:
        """Counts the field lines of a name.

        Args:
            name: The name, in any case.

        Returns:
            The count.
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
    """Walks over the field lines of a section in order.

    Parameters:
        origin: What keeps the section alive.
    """

    comptime Element = FieldView[Self.origin]
    """What each step gives."""

    var _section: FieldSection[Self.origin]
    var _next: Int

    def __init__(out self, section: FieldSection[Self.origin]):
        """Begins at the first line.

        Args:
            section: What to walk over.
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
    """Walks over the values of one name in a section.

    Parameters:
        origin: What keeps the section alive.
        name_origin: What keeps the name alive.
    """

    comptime Element = StringSlice[Self.origin]
    """What each step gives."""
    comptime IteratorType[
        mut: Bool, //, values_origin: Origin[mut=mut]
    ]: Iterator = Self
    """The iterator itself.

    Parameters:
        mut: Whether the iterator may be changed.
        values_origin: Where the iterator lies.
    """

    var _section: FieldSection[Self.origin]
    var _name: StringSlice[Self.name_origin]
    var _next: Int

    def __init__(
        out self,
        section: FieldSection[Self.origin],
        name: StringSlice[Self.name_origin],
    ):
        """Begins at the first line.

        Args:
            section: What to walk over.
            name: The name, in any case.
        """
        self._section = section
        self._name = name
        self._next = 0

    def __iter__(ref self) -> Self:
        """Returns the iterator for a `for` loop.

        Returns:
            A copy that stands where this one stands.
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

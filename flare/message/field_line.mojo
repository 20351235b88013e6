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


struct FieldSection[origin: ImmOrigin](ImplicitlyCopyable, Sized):
    """Views a field section: the octets and the table that divides them.

    Parameters:
        origin: What keeps the octets and the table alive.
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
        """Gives the name of one field line, in the case it was received in.

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
        """Gives the value of one field line without the space around it.

        Args:
            index: The line, from 0.

        Returns:
            A view of the value; its octets need not be valid UTF-8.
        """
        ref line = self.lines[index]
        return StringSlice(
            unsafe_from_utf8=self.octets[
                Int(line.value_start) : Int(
                    line.value_start + line.value_octets
                )
            ]
        )

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
            ref line = self.lines.unsafe_get(i)
            if Int(line.name_octets) == len(
                wanted
            ) and equals_ignoring_case(self.name(i).as_bytes(), wanted):
                return i
        return len(self.lines)

    def get(self, name: StringSlice) -> Optional[StringSlice[Self.origin]]:
        """Gives the value of the first field line of a name.

        Args:
            name: The name, in any case.

        Returns:
            A view of the value, or none.
        """
        var i = self.find(name)
        if i == len(self.lines):
            return None
        return self.value(i)

    def __contains__(self, name: StringSlice) -> Bool:
        """Tells whether a field is present.

        Args:
            name: The name, in any case.

        Returns:
            True if at least one field line has it.
        """
        return self.find(name) < len(self.lines)

"""Defines the request methods and their properties (RFC 9110 section 9)."""

from std.builtin.globals import global_constant


struct Method(Equatable, Hashable, TrivialRegisterPassable, Writable):
    """A request method, as one octet.

    Methods are case-sensitive (RFC 9110 section 9.1): `get` is not `GET`. Of
    an extension method, only the request line has the text.
    """

    comptime OTHER = Self(0)
    """A method that has no constant here."""
    comptime GET = Self(1)
    """Asks for a representation (RFC 9110 section 9.3.1)."""
    comptime HEAD = Self(2)
    """Asks as GET does, without the content (RFC 9110 section 9.3.2)."""
    comptime POST = Self(3)
    """Sends content to the resource (RFC 9110 section 9.3.3)."""
    comptime PUT = Self(4)
    """Replaces the representation (RFC 9110 section 9.3.4)."""
    comptime DELETE = Self(5)
    """Removes the resource (RFC 9110 section 9.3.5)."""
    comptime CONNECT = Self(6)
    """Asks for a tunnel (RFC 9110 section 9.3.6)."""
    comptime OPTIONS = Self(7)
    """Asks for the supported options (RFC 9110 section 9.3.7)."""
    comptime TRACE = Self(8)
    """Asks for the request as received (RFC 9110 section 9.3.8)."""
    comptime PATCH = Self(9)
    """Changes a part of the resource (RFC 5789 section 2)."""
    comptime COUNT = 10
    """One more than the largest number, for tables indexed by method."""

    var id: UInt8
    """The number of the method, below `COUNT`; 0 for `OTHER`."""

    @always_inline
    def __init__(out self, id: UInt8):
        """Creates a method from its number.

        Args:
            id: The number; numbers from `COUNT` on mean `OTHER`.
        """
        self.id = id if id < 10 else 0

    @staticmethod
    @always_inline
    def from_octets(octets: Span[UInt8, _]) -> Self:
        """Returns the method of a case-sensitive name.

        Args:
            octets: The method as received.

        Returns:
            The method, or `OTHER`.
        """
        var p = octets.unsafe_ptr()
        var n = len(octets)
        if n < 3 or n > 7:
            return Self.OTHER
        if n == 3:
            # Three octets and the last of them again make a word.
            var word = _word(
                p[], p[unsafe_offset=1], p[unsafe_offset=2], p[unsafe_offset=2]
            )
            if word == comptime (_word_of("GETT")):
                return Self.GET
            return (
                Self.PUT if word == comptime (_word_of("PUTT")) else Self.OTHER
            )
        var first = p.unsafe_bitcast[UInt32]().unsafe_load[alignment=1]()
        # The two words overlap; together they cover four to seven octets.
        var last = (
            p.unsafe_offset(n - 4)
            .unsafe_bitcast[UInt32]()
            .unsafe_load[alignment=1]()
        )
        comptime for id in range(2, Self.COUNT):
            comptime name = _NAMES[id]
            comptime octets_of_name = name.byte_length()
            comptime if octets_of_name != 3:
                if (
                    n == octets_of_name
                    and first == comptime (_word_of(name))
                    and last == comptime (_word_of(name, octets_of_name - 4))
                ):
                    return Self(UInt8(id))
        return Self.OTHER

    @always_inline
    def __eq__(self, other: Self) -> Bool:
        """Returns whether two methods are equal.

        Args:
            other: The other method.

        Returns:
            True if they have the same number, so `OTHER` equals `OTHER`.
        """
        return self.id == other.id

    def __eq__(self, text: StringSlice) -> Bool:
        """Returns whether the method has a case-sensitive name.

        Args:
            text: The name.

        Returns:
            True if the names are equal. False for an extension method, whose
            name is not stored.
        """
        var other = Self.from_octets(text.as_bytes())
        return self.id == other.id and other.id != 0

    @always_inline
    def __ne__(self, other: Self) -> Bool:
        """Returns whether two methods differ.

        Args:
            other: The other method.

        Returns:
            True if they have different numbers.
        """
        return self.id != other.id

    def __ne__(self, text: StringSlice) -> Bool:
        """Returns whether the method's case-sensitive name differs.

        Args:
            text: The name.

        Returns:
            True if the text is not the method's name.
        """
        return not self == text

    def name(self) -> StaticString:
        """Returns the name as it is sent.

        Returns:
            The name; empty for `OTHER`.
        """
        return global_constant[_NAMES]().unsafe_get(Int(self.id))

    @always_inline
    def is_safe(self) -> Bool:
        """Returns whether the method is safe: the client asks for no change of
        state.

        Returns:
            True for the safe methods of RFC 9110 section 9.2.1.
        """
        return self._is_in[
            Self.GET.bit()
            | Self.HEAD.bit()
            | Self.OPTIONS.bit()
            | Self.TRACE.bit()
        ]()

    @always_inline
    def is_idempotent(self) -> Bool:
        """Returns whether the method is idempotent: sent twice, it has the
        effect of one.

        A client may repeat such a request after a broken connection.

        Returns:
            True for the idempotent methods of RFC 9110 section 9.2.2.
        """
        return (
            self.is_safe() or self._is_in[Self.PUT.bit() | Self.DELETE.bit()]()
        )

    @always_inline
    def bit(self) -> UInt16:
        """Returns the set that contains this method only.

        Returns:
            A word with one bit set.
        """
        return UInt16(1) << UInt16(self.id)

    def write_to(self, mut writer: Some[Writer]):
        """Writes the name, or `OTHER`.

        Args:
            writer: The destination.
        """
        writer.write(self.name() if self.id != 0 else "OTHER")

    @always_inline
    def _is_in[methods: UInt16](self) -> Bool:
        return self.bit() & methods != 0


comptime _NAMES: Array[StaticString, Method.COUNT] = [
    "",
    "GET",
    "HEAD",
    "POST",
    "PUT",
    "DELETE",
    "CONNECT",
    "OPTIONS",
    "TRACE",
    "PATCH",
]


@always_inline
def _word(a: UInt8, b: UInt8, c: UInt8, d: UInt8) -> UInt32:
    return UInt32(a) | UInt32(b) << 8 | UInt32(c) << 16 | UInt32(d) << 24


def _word_of(text: StaticString, start: Int = 0) -> UInt32:
    var s = text.as_bytes()
    return _word(s[start], s[start + 1], s[start + 2], s[start + 3])

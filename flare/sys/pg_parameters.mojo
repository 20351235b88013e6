"""Lays out texts and parameters of statements as libpq takes them."""

from flare.core import OctetPointer


struct CStringTable(Copyable, Movable):
    """Texts of C in one block: each ends with NUL."""

    var octets: List[UInt8]
    """The texts."""
    var starts: List[Int]
    """The place of the first octet of each."""

    def __init__(out self):
        """Creates a table without texts."""
        self.octets = List[UInt8]()
        self.starts = List[Int]()

    def __init__(out self, text: StringSlice):
        """Creates a table of one text.

        Args:
            text: The text, without NUL.
        """
        self = Self()
        self.octets.reserve(text.byte_length() + 1)
        self.add(text)

    def add(mut self, text: StringSlice):
        """Appends a text.

        Args:
            text: The text, without NUL.
        """
        self.starts.append(len(self.octets))
        self.octets.extend(text.as_bytes())
        self.octets.append(0)

    def first(self) -> OctetPointer:
        """Returns the address of the first text.

        Returns:
            The address, valid until the table changes or ends.
        """
        return (
            self.octets.unsafe_ptr()
            .unsafe_mut_cast[True]()
            .unsafe_origin_cast[MutUntrackedOrigin]()
        )

    def pointers(self) -> List[Int]:
        """Returns the addresses of the texts.

        Returns:
            The addresses and a final zero, valid until the table changes or
            ends.
        """
        var addresses = List[Int](capacity=len(self.starts) + 1)
        for start in self.starts:
            addresses.append(Int(self.first()) + start)
        addresses.append(0)
        return addresses^


struct PgParameters(Movable):
    """The parameters of one statement."""

    comptime TEXT: Int32 = 0
    """The form of a value that the server reads as text."""
    comptime BINARY: Int32 = 1
    """The form of a value that is in the server's own format."""
    comptime NULL = -1
    """The place of NULL."""

    var octets: List[UInt8]
    """The octets of all values; a text ends with NUL."""
    var starts: List[Int]
    """The place of the first octet of each value, or `NULL`."""
    var lengths: List[Int32]
    """The length of each value."""
    var formats: List[Int32]
    """The form of each value, `TEXT` or `BINARY`."""
    var types: List[Int32]
    """The object id of each type; 0 lets the server choose."""

    def __init__(out self):
        """Creates an empty list of parameters."""
        self.octets = List[UInt8]()
        self.starts = List[Int]()
        self.lengths = List[Int32]()
        self.formats = List[Int32]()
        self.types = List[Int32]()

    def count(self) -> Int:
        """Returns the number of parameters.

        Returns:
            The number.
        """
        return len(self.starts)

    def pointers(self) -> List[Int]:
        """Returns the addresses of the values.

        Returns:
            The addresses, 0 for NULL; valid until a value is added.
        """
        var addresses = List[Int](capacity=len(self.starts))
        for start in self.starts:
            addresses.append(
                0 if start
                == Self.NULL else Int(self.octets.unsafe_ptr()) + start
            )
        return addresses^

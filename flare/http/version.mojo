"""Defines versions of HTTP."""


@fieldwise_init
struct HttpVersion(Comparable, ImplicitlyCopyable, Writable):
    """A version of HTTP."""

    comptime HTTP_1_0 = Self(1, 0)
    """HTTP/1.0 (RFC 1945)."""
    comptime HTTP_1_1 = Self(1, 1)
    """HTTP/1.1 (RFC 9112)."""
    comptime HTTP_2 = Self(2, 0)
    """HTTP/2 (RFC 9113)."""

    var major: Int
    """The digit before the dot."""
    var minor: Int
    """The digit after the dot; 0 for HTTP/2."""

    def __lt__(self, other: Self) -> Bool:
        """Returns whether this version is older than another one.

        Args:
            other: Another version.

        Returns:
            True if this one is older.
        """
        return (self.major, self.minor) < (other.major, other.minor)

    def write_to(self, mut writer: Some[Writer]):
        """Writes the version as in a request line.

        Args:
            writer: The destination.
        """
        writer.write("HTTP/", self.major, ".", self.minor)

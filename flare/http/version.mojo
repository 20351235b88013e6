"""Names versions of HTTP."""


@fieldwise_init
struct HttpVersion(Comparable, ImplicitlyCopyable, Writable):
    """Names a version of HTTP."""

    comptime HTTP_1_0 = Self(1, 0)
    """HTTP/1.0 (RFC 1945)."""
    comptime HTTP_1_1 = Self(1, 1)
    """HTTP/1.1 (RFC 9112)."""

    var major: Int
    """The digit before the dot."""
    var minor: Int
    """The digit behind the dot."""

    def __lt__(self, other: Self) -> Bool:
        """Tells which version is older.

        Args:
            other: Another version.

        Returns:
            True if this one is older.
        """
        return (self.major, self.minor) < (other.major, other.minor)

    def write_to(self, mut writer: Some[Writer]):
        """Writes the version as a request line has it.

        Args:
            writer: The destination.
        """
        writer.write("HTTP/", self.major, ".", self.minor)

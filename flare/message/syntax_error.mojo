"""Defines the error for malformed URLs and request targets."""


@fieldwise_init
struct SyntaxError(ImplicitlyCopyable, Writable):
    """Describes a syntax error: the part, the place, the reason. It contains
    no octets of the input.
    """

    var part: StaticString
    """The part at fault: `scheme`, `host`, `port`, `path`, `query` …."""
    var offset: Int
    """The offset of the error from the start of the parsed octets."""
    var reason: StaticString
    """A fixed phrase for logs."""

    def write_to(self, mut writer: Some[Writer]):
        """Writes part, offset and reason.

        Args:
            writer: The destination.
        """
        writer.write(self.part, " at octet ", self.offset, ": ", self.reason)

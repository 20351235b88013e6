"""Reports octets that do not follow the grammar of a URL or a target."""


@fieldwise_init
struct SyntaxError(ImplicitlyCopyable, Writable):
    """Says which part is wrong, where and why; holds no octet of the input."""

    var part: StaticString
    """The part at fault: `scheme`, `host`, `port`, `path`, `query` …."""
    var offset: Int
    """The offset of the fault from the start of the octets parsed."""
    var reason: StaticString
    """A fixed phrase for logs."""

    def write_to(self, mut writer: Some[Writer]):
        """Writes part, offset and reason.

        Args:
            writer: The destination.
        """
        writer.write(self.part, " at octet ", self.offset, ": ", self.reason)

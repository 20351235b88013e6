"""Defines the error of a field block that cannot be decompressed."""


@fieldwise_init
struct HpackError(ImplicitlyCopyable, Writable):
    """A violation of RFC 7541 by the peer.

    The tables of both ends differ afterwards, so the connection ends with
    COMPRESSION_ERROR (RFC 9113 section 4.3).
    """

    var reason: StaticString
    """A fixed phrase for logs, never octets from the peer."""

    def write_to(self, mut writer: Some[Writer]):
        """Writes one line for a log.

        Args:
            writer: The destination.
        """
        writer.write("hpack error: ", self.reason)

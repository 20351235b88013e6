"""Limits on the heads of HTTP/2, and the faults that a head may have."""


@fieldwise_init
struct H2HeadLimits(TrivialRegisterPassable):
    """The limits on one head."""

    var section_octets_max: Int
    """The longest section, counted as HTTP/1.1 writes it: with `: ` and a line
    end for each line."""
    var lines_max: Int
    """The most field lines."""
    var crumbs_max: Int
    """The most lines of Cookie, which together are one line (RFC 9113 section
    8.2.3)."""

    def __init__(out self):
        """Creates the limits of a server by default."""
        self.section_octets_max = 8192
        self.lines_max = 100
        self.crumbs_max = 256


@fieldwise_init
struct H2HeadFault(Boolable, TrivialRegisterPassable):
    """The reason why a head does not become a request.

    The table of the decoder is still right, so other streams continue.
    """

    comptime NONE = Self(0, "")
    """There is no fault."""

    var status: Int
    """The status of an answer; 0 if the stream is malformed, so that it ends
    with PROTOCOL_ERROR (RFC 9113 section 8.1.1)."""
    var reason: StaticString
    """A fixed phrase for logs; empty without a fault."""

    def __bool__(self) -> Bool:
        """Returns whether there is a fault.

        Returns:
            True if the head is refused.
        """
        return self.reason.byte_length() > 0

    @staticmethod
    def malformed(reason: StaticString) -> Self:
        """Returns a fault that ends the stream.

        Args:
            reason: The phrase for logs.

        Returns:
            The fault.
        """
        return Self(0, reason)

    @staticmethod
    def refused(status: Int, reason: StaticString) -> Self:
        """Returns a fault that is answered.

        Args:
            status: The status of the answer.
            reason: The phrase for logs.

        Returns:
            The fault.
        """
        return Self(status, reason)

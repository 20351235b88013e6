"""Leads the connections for one host to another address."""

from flare.core import equals_ignoring_case

comptime _PORT_MAX = 65535


struct ConnectTo(Copyable, Movable):
    """A host, and the address to which the client connects in its place.

    Requests, cookies and certificates still mean the host: so a program can
    test a new server before DNS knows it.
    """

    var host: String
    """The host in URLs, an IPv6 address without brackets."""
    var address: String
    """The address or name to connect to."""
    var port: Int
    """The port in URLs; 0 for each."""
    var address_port: Int
    """The port to connect to; 0 for the port in the URL."""

    def __init__(
        out self,
        var host: String,
        var address: String,
        *,
        port: Int = 0,
        address_port: Int = 0,
    ):
        """Creates a rule.

        Args:
            host: The host in URLs.
            address: The address or name to connect to.
            port: The port in URLs; 0 for each.
            address_port: The port to connect to; 0 for the same.
        """
        self.host = host^
        self.address = address^
        self.port = port
        self.address_port = address_port

    def means(self, host: StringSlice, port: Int) -> Bool:
        """Returns whether the rule is for a host.

        Args:
            host: The host in a URL.
            port: Its port.

        Returns:
            True if host and port are those of the rule.
        """
        return (self.port == 0 or self.port == port) and equals_ignoring_case(
            host.as_bytes(), self.host.as_bytes()
        )

    @always_inline
    def is_valid(self) -> Bool:
        """Returns whether the rule can be followed.

        Returns:
            False if a text is empty, or a port too large.
        """
        return (
            self.host.byte_length() > 0
            and self.address.byte_length() > 0
            and 0 <= self.port <= _PORT_MAX
            and 0 <= self.address_port <= _PORT_MAX
        )

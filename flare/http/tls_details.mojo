"""Tells a handler what TLS knows of the connection of its request."""

from flare.tls import TlsMachine


struct TlsDetails(Copyable, Movable):
    """Holds what both ends have agreed on, and who the peer is."""

    var version: String
    """`TLSv1.2` or `TLSv1.3`."""
    var cipher: String
    """The cipher suite, as the registry of IANA names it."""
    var server_name: Optional[String]
    """The name that the client has asked for, escaped where it is not
    printable."""
    var peer_subject: Optional[String]
    """Whom the certificate of the client is for, in the form of RFC 4514 and
    whole, however long; none if it has shown none. An authority of the
    configuration has vouched for it."""
    var is_resumed: Bool
    """Whether the handshake was a short one."""

    def __init__(out self, machine: TlsMachine):
        """Reads what a machine knows.

        Args:
            machine: The machine, whose handshake is complete.
        """
        self.version = machine.version()
        self.cipher = machine.cipher()
        self.server_name = machine.server_name()
        self.peer_subject = machine.peer_subject()
        self.is_resumed = machine.is_resumed()

"""Describes the TLS connection of a request, for handlers."""

from flare.tls import TlsMachine


struct TlsDetails(Copyable, Movable):
    """The parameters of a TLS connection, and the identity of the peer."""

    var version: String
    """`TLSv1.2` or `TLSv1.3`."""
    var cipher: String
    """The cipher suite, by its IANA name."""
    var server_name: Optional[String]
    """The server name that the client asked for, with unprintable octets
    escaped.
    """
    var peer_subject: Optional[String]
    """The subject of the client's certificate, in the form of RFC 4514 and of
    any length; `None` without a certificate. An authority of the configuration
    has signed the certificate.
    """
    var is_resumed: Bool
    """Whether the handshake resumed a session."""

    def __init__(out self, machine: TlsMachine):
        """Creates the details from a machine.

        Args:
            machine: The machine, whose handshake is complete.
        """
        self.version = machine.version()
        self.cipher = machine.cipher()
        self.server_name = machine.server_name()
        self.peer_subject = machine.peer_subject()
        self.is_resumed = machine.is_resumed()

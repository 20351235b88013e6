"""Holds what a program decides about TLS. Every default is the safe choice."""

from .pem import Pem

comptime HANDSHAKE_TIMEOUT_MS = 10_000
"""The longest handshake unless a program says otherwise."""

comptime _PROTOCOL_OCTETS_MAX = 255
comptime _PROTOCOLS_MAX = 32


struct TlsIdentity(Copyable, Movable):
    """Holds who we are: a certificate, what leads from it to an authority,
    and its private key."""

    var certificates: Pem
    """Our certificate first, then those of the authorities in between."""
    var key: Pem
    """The private key, not encrypted."""
    var status_path: Optional[String]
    """A file with an OCSP response in DER that a server shows to who asks
    (RFC 6066 section 8). Somebody else keeps it fresh; a reload reads it
    again, and refuses what is no such response."""

    def __init__(
        out self,
        var certificates: Pem,
        var key: Pem,
        *,
        var status_path: Optional[String] = None,
    ):
        """Makes an identity.

        Args:
            certificates: Our certificate first.
            key: Its private key.
            status_path: A file with an OCSP response, or none.
        """
        self.certificates = certificates^
        self.key = key^
        self.status_path = status_path^

    @staticmethod
    def files(certificates: StringSlice, key: StringSlice) -> Self:
        """Makes an identity of two files.

        Args:
            certificates: The path of the certificates.
            key: The path of the private key; may be the same.

        Returns:
            The identity.
        """
        return Self(Pem(path=certificates), Pem(path=key))


struct TlsConfig(Copyable, Movable):
    """Holds what a client decides."""

    var application_protocols: List[String]
    """What is offered for the inside of the connection, best first (RFC 7301).
    """
    var trusts_system_authorities: Bool
    """Whether the authorities of the system are trusted."""
    var authorities: List[Pem]
    """Further authorities that are trusted."""
    var identity: Optional[TlsIdentity]
    """What is shown to servers that ask who we are."""
    var expected_name: Optional[String]
    """The name that the certificate must be for and that the server is asked
    for, where that is not the host connected to. An address as well; one in
    IPv4-mapped form is not the IPv4 address."""
    var asks_for_status: Bool
    """Whether the server is asked to staple the status of its certificate. It
    is handed out as it comes, and decides nothing."""
    var requires_tls_1_3: Bool
    """Whether TLS 1.2 is refused."""
    var handshake_timeout_ms: Int
    """The longest handshake; over 0."""
    var dangerously_skip_verification: Bool
    """Whether anybody may pose as the server. For tests on one machine."""
    var dangerously_keep_keys: Bool
    """Whether the secrets of a connection can be read, so that a recording of
    it can be decrypted."""

    def __init__(
        out self,
        *,
        var application_protocols: List[String] = List[String](),
        trusts_system_authorities: Bool = True,
        var authorities: List[Pem] = List[Pem](),
        var identity: Optional[TlsIdentity] = None,
        var expected_name: Optional[String] = None,
        asks_for_status: Bool = False,
        requires_tls_1_3: Bool = False,
        handshake_timeout_ms: Int = HANDSHAKE_TIMEOUT_MS,
        dangerously_skip_verification: Bool = False,
        dangerously_keep_keys: Bool = False,
    ):
        """Makes a configuration; each field may be changed afterwards.

        Args:
            application_protocols: What is offered, best first.
            trusts_system_authorities: Whether those of the system count.
            authorities: Further authorities.
            identity: Who we are, for servers that ask.
            expected_name: A name other than the host.
            asks_for_status: Whether to ask for an OCSP response.
            requires_tls_1_3: Whether TLS 1.2 is refused.
            handshake_timeout_ms: The longest handshake.
            dangerously_skip_verification: Whether any certificate will do.
            dangerously_keep_keys: Whether secrets are kept to be read.
        """
        self.application_protocols = application_protocols^
        self.trusts_system_authorities = trusts_system_authorities
        self.authorities = authorities^
        self.identity = identity^
        self.expected_name = expected_name^
        self.asks_for_status = asks_for_status
        self.requires_tls_1_3 = requires_tls_1_3
        self.handshake_timeout_ms = handshake_timeout_ms
        self.dangerously_skip_verification = dangerously_skip_verification
        self.dangerously_keep_keys = dangerously_keep_keys

    def first_problem(self) -> Optional[StaticString]:
        """Looks for a field that is out of its bounds.

        Returns:
            What is wrong, or none.
        """
        if self.handshake_timeout_ms < 1:
            return StaticString("handshake_timeout_ms is under 1")
        if self.dangerously_skip_verification and len(self.authorities) > 0:
            return StaticString(
                "authorities are given, and verification is skipped"
            )
        if (
            not self.trusts_system_authorities
            and len(self.authorities) == 0
            and not self.dangerously_skip_verification
        ):
            return StaticString("no authority is trusted")
        return _protocols_problem(self.application_protocols)


struct TlsServerConfig(Copyable, Movable):
    """Holds what a server decides."""

    var identities: List[TlsIdentity]
    """Who we are: the first one for clients that name nobody of them, else the
    first whose certificate is for the name that the client asks for."""
    var application_protocols: List[String]
    """What we speak inside, best first. If there are some, a client that
    offers others only is refused (RFC 7301 section 3.2)."""
    var client_authorities: List[Pem]
    """Who may vouch for clients. If there are some, clients are asked."""
    var client_certificate_is_optional: Bool
    """Whether a client that is asked may show none."""
    var gives_tickets: Bool
    """Whether a client may come back with a short handshake."""
    var requires_tls_1_3: Bool
    """Whether TLS 1.2 is refused."""
    var handshake_timeout_ms: Int
    """The longest handshake; over 0."""
    var dangerously_keep_keys: Bool
    """Whether the secrets of a connection can be read, so that a recording of
    it can be decrypted."""

    def __init__(
        out self,
        var identity: TlsIdentity,
        *,
        var application_protocols: List[String] = List[String](),
        var client_authorities: List[Pem] = List[Pem](),
        client_certificate_is_optional: Bool = False,
        gives_tickets: Bool = True,
        requires_tls_1_3: Bool = False,
        handshake_timeout_ms: Int = HANDSHAKE_TIMEOUT_MS,
        dangerously_keep_keys: Bool = False,
    ):
        """Makes a configuration; each field may be changed afterwards.

        Args:
            identity: Who we are; append others to `identities`.
            application_protocols: What we speak inside, best first.
            client_authorities: Who may vouch for clients.
            client_certificate_is_optional: Whether they may show none.
            gives_tickets: Whether short handshakes are offered.
            requires_tls_1_3: Whether TLS 1.2 is refused.
            handshake_timeout_ms: The longest handshake.
            dangerously_keep_keys: Whether secrets are kept to be read.
        """
        self.identities = List[TlsIdentity]()
        self.identities.append(identity^)
        self.application_protocols = application_protocols^
        self.client_authorities = client_authorities^
        self.client_certificate_is_optional = client_certificate_is_optional
        self.gives_tickets = gives_tickets
        self.requires_tls_1_3 = requires_tls_1_3
        self.handshake_timeout_ms = handshake_timeout_ms
        self.dangerously_keep_keys = dangerously_keep_keys

    def first_problem(self) -> Optional[StaticString]:
        """Looks for a field that is out of its bounds.

        Returns:
            What is wrong, or none.
        """
        if len(self.identities) == 0:
            return StaticString("a server needs an identity")
        if self.handshake_timeout_ms < 1:
            return StaticString("handshake_timeout_ms is under 1")
        if (
            self.client_certificate_is_optional
            and len(self.client_authorities) == 0
        ):
            return StaticString(
                "client certificates are optional, but nobody vouches"
            )
        return _protocols_problem(self.application_protocols)


def wire_protocols(names: List[String]) -> List[UInt8]:
    """Writes application protocols as they are sent (RFC 7301 section 3.1).

    Args:
        names: Their names, each of 1 to 255 octets.

    Returns:
        Each name behind an octet that tells its length.
    """
    var octets = List[UInt8]()
    for name in names:
        octets.append(UInt8(name.byte_length()))
        octets.extend(name.as_bytes())
    return octets^


def _protocols_problem(names: List[String]) -> Optional[StaticString]:
    if len(names) > _PROTOCOLS_MAX:
        return StaticString("there are over 32 application protocols")
    for name in names:
        if name.byte_length() < 1 or name.byte_length() > _PROTOCOL_OCTETS_MAX:
            return StaticString(
                "an application protocol has not 1 to 255 octets"
            )
    return None

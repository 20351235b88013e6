"""Configures TLS. Every default is the safe choice."""

from .pem import Pem
from .self_signed import LOCAL_NAMES, self_signed_texts

comptime HANDSHAKE_TIMEOUT_MS = 10_000
"""The default limit of a handshake."""

comptime _PROTOCOL_OCTETS_MAX = 255
comptime _PROTOCOLS_MAX = 32


struct TlsIdentity(Copyable, Movable):
    """The certificate with which one end identifies itself, and its private
    key.
    """

    var certificates: Pem
    """The certificate first, then the intermediate ones up to an authority."""
    var key: Pem
    """The private key, not encrypted."""
    var status_path: Optional[String]
    """A file with an OCSP response in DER, which a server staples for clients
    that ask (RFC 6066 section 8). The file is kept up to date by another
    program. A reload reads it again, and fails if it is not such a response.
    """

    def __init__(
        out self,
        var certificates: Pem,
        var key: Pem,
        *,
        var status_path: Optional[String] = None,
    ):
        """Creates an identity.

        Args:
            certificates: The certificate first, then the intermediate ones.
            key: Its private key.
            status_path: A file with an OCSP response in DER, or `None`.
        """
        self.certificates = certificates^
        self.key = key^
        self.status_path = status_path^

    @staticmethod
    def files(certificates: StringSlice, key: StringSlice) -> Self:
        """Creates an identity from two files.

        Args:
            certificates: The path of the certificates.
            key: The path of the private key; may be the same file.

        Returns:
            The identity.
        """
        return Self(Pem(path=certificates), Pem(path=key))

    @staticmethod
    def self_signed() raises -> Self:
        """Creates an identity for development only: for `localhost`,
        `127.0.0.1` and `::1`, on a key that is made anew.

        No client trusts it, unless it is told to trust this certificate or to
        skip verification. It exists in memory only, so each start makes
        another one.

        Returns:
            The identity, valid for 30 days. `certificates` and `key` hold the
            text.

        Raises:
            Error: `tls.no_library load` or `tls.other configure`.
        """
        var names = List[String]()
        comptime for i in range(len(LOCAL_NAMES)):
            names.append(String(comptime (LOCAL_NAMES[i])))
        return Self.self_signed(names)

    @staticmethod
    def self_signed(names: List[String]) raises -> Self:
        """Creates an identity for development only, as without names.

        Args:
            names: The host names and addresses that the certificate is for; 1
                to 100. A host name is ASCII, without a wildcard.

        Returns:
            The identity, valid for 30 days.

        Raises:
            Error: `tls.bad_name configure`, `tls.no_library load` or
                `tls.other configure`.
        """
        var texts = self_signed_texts(names)
        return Self(Pem(text=texts[0]), Pem(text=texts[1]))


struct TlsConfig(Copyable, Movable):
    """Configures TLS for clients."""

    var application_protocols: List[String]
    """The application protocols to offer, best first (RFC 7301)."""
    var trusts_system_authorities: Bool
    """Whether to trust the authorities of the system."""
    var authorities: List[Pem]
    """Further authorities to trust."""
    var identity: Optional[TlsIdentity]
    """The identity for servers that ask for one."""
    var expected_name: Optional[String]
    """The host name or address that the certificate must be for, and that the
    client asks the server for. By default, it is the host that the client
    connects to. The IPv4-mapped form of an address is not the IPv4 address.
    """
    var asks_for_status: Bool
    """Whether to ask the server to staple the status of its certificate. The
    response is not verified and decides nothing; `status_response` returns it.
    """
    var requires_tls_1_3: Bool
    """Whether to refuse TLS 1.2."""
    var handshake_timeout_ms: Int
    """The longest handshake; over 0."""
    var dangerously_skip_verification: Bool
    """Whether to accept any certificate, so that anyone can pose as the
    server. For tests on one machine.
    """
    var dangerously_keep_keys: Bool
    """Whether to keep the secrets of a connection, with which a recording of
    it can be decrypted.
    """

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
        """Creates a configuration. Each field can be changed afterwards.

        Args:
            application_protocols: The application protocols to offer, best
                first.
            trusts_system_authorities: Whether to trust the authorities of the
                system.
            authorities: Further authorities to trust.
            identity: The identity for servers that ask for one.
            expected_name: The name to check the certificate for, if not the
                host.
            asks_for_status: Whether to ask for an OCSP response.
            requires_tls_1_3: Whether to refuse TLS 1.2.
            handshake_timeout_ms: The longest handshake.
            dangerously_skip_verification: Whether to accept any certificate.
            dangerously_keep_keys: Whether to keep the secrets.
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
        """Returns the first field that is out of its bounds.

        Returns:
            The problem, or `None`.
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
    """Configures TLS for servers."""

    var identities: List[TlsIdentity]
    """The identities of the server. It uses the first one whose certificate
    matches the name that the client asks for, otherwise the first of all.
    """
    var application_protocols: List[String]
    """The application protocols that the server speaks, best first. If the
    list is not empty, a client that offers only others is refused (RFC 7301
    section 3.2).
    """
    var client_authorities: List[Pem]
    """Authorities for client certificates. If the list is not empty, the
    server asks clients for a certificate.
    """
    var client_certificate_is_optional: Bool
    """Whether to accept clients that present no certificate."""
    var gives_tickets: Bool
    """Whether clients may resume a session, with a short handshake."""
    var requires_tls_1_3: Bool
    """Whether to refuse TLS 1.2."""
    var handshake_timeout_ms: Int
    """The longest handshake; over 0."""
    var dangerously_keep_keys: Bool
    """Whether to keep the secrets of a connection, with which a recording of
    it can be decrypted.
    """

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
        """Creates a configuration. Each field can be changed afterwards.

        Args:
            identity: The identity of the server; append others to
                `identities`.
            application_protocols: The application protocols, best first.
            client_authorities: Authorities for client certificates.
            client_certificate_is_optional: Whether to accept clients without
                one.
            gives_tickets: Whether clients may resume a session.
            requires_tls_1_3: Whether to refuse TLS 1.2.
            handshake_timeout_ms: The longest handshake.
            dangerously_keep_keys: Whether to keep the secrets.
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
        """Returns the first field that is out of its bounds.

        Returns:
            The problem, or `None`.
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
    """Returns application protocols in wire form (RFC 7301 section 3.1).

    Args:
        names: Their names, each of 1 to 255 octets.

    Returns:
        For each name an octet with its length, then the name.
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

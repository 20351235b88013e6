"""Shares a configuration among connections, and replaces it while they live.

A context is created once: reading the authorities of a system takes
milliseconds. Any thread may create connections from it.
"""

from std.memory import ArcPointer

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.sys.openssl import OpenSsl
from flare.sys.openssl_bio import free_transport, make_transport
from flare.sys.openssl_callbacks import (
    ProtocolPreference,
    ServerNameChoice,
    StapledStatus,
)
from flare.sys.openssl_certificate import (
    Certificate,
    free_key,
    read_certificates,
    read_key,
)
from flare.sys.openssl_context import (
    OPTION_NO_COMPRESSION,
    OPTION_NO_RENEGOTIATION,
    OPTION_NO_TICKET,
    OPTION_PREFER_CHACHA,
    OPTION_SERVER_PREFERENCE,
    SESSION_CACHE_OFF,
    TLS_1_2,
    TLS_1_3,
    VERIFY_NONE,
    VERIFY_PEER,
    VERIFY_REQUIRED,
    SslContext,
)
from flare.sys.thread import Lock

from .config import TlsConfig, TlsIdentity, TlsServerConfig, wire_protocols
from .error import TlsError
from .library import loaded_library, system_trust_store
from .pem import Pem
from .status import read_status

# Authenticated encryption with fresh keys only (RFC 9325 section 4.2).
comptime _SUITES_1_2: StaticString = (
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:"
    "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"
    "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305"
)
comptime _SUITES_1_3: StaticString = (
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"
)
comptime _GROUPS: StaticString = "X25519:P-256:P-384"
# 112 bits: RSA of 2,048 at least, and no SHA-1.
comptime _SECURITY_LEVEL = 2
comptime _PURPOSE: StaticString = "flare"


struct Generation(Movable):
    """Owns the OpenSSL contexts of one configuration.

    Connections refer to it. It lives until the last of them ends, even after
    it was replaced.
    """

    var library: OpenSsl
    """The library."""
    var is_server: Bool
    """Whether its connections are servers."""
    var contexts: List[SslContext]
    """One context per identity; each connection starts with the first."""
    var transport: Optional[Erased]
    """The functions by which OpenSSL reads and writes; `None` if memory ran
    out.
    """
    var choice: PointerTo[ServerNameChoice]
    """Selects among the contexts by the client's server name."""
    var preference: PointerTo[ProtocolPreference]
    """The application protocols of a server."""
    var statuses: List[PointerTo[StapledStatus]]
    """The stapled OCSP responses."""
    var verifies: Bool
    """Whether a client verifies the server's certificate."""
    var asks_for_status: Bool
    """Whether a client asks for an OCSP response."""
    var expected_name: Optional[String]
    """The name that a client expects, if not the host."""
    var handshake_timeout_ms: Int
    """The longest handshake."""

    def __init__(out self, library: OpenSsl, *, is_server: Bool):
        """Creates a generation without a context.

        Args:
            library: The library.
            is_server: Whether its connections are servers.
        """
        self.library = library
        self.is_server = is_server
        self.contexts = List[SslContext]()
        self.transport = make_transport(library)
        self.choice = heap_create(ServerNameChoice(library))
        self.preference = heap_create(
            ProtocolPreference(library, List[UInt8]())
        )
        self.statuses = List[PointerTo[StapledStatus]]()
        self.verifies = True
        self.asks_for_status = False
        self.expected_name = None
        self.handshake_timeout_ms = 0

    def __deinit__(deinit self):
        """Frees the contexts and the data of their callbacks."""
        for context in self.contexts:
            context.free()
        for certificate in self.choice[].certificates:
            certificate.free()
        for status in self.statuses:
            heap_destroy(status)
        if self.transport:
            free_transport(self.library, self.transport.value())
        heap_destroy(self.choice)
        heap_destroy(self.preference)

    def add_context(mut self, *, requires_tls_1_3: Bool) raises -> SslContext:
        """Adds a context with the settings that are the same in every
        configuration.

        Args:
            requires_tls_1_3: Whether to refuse TLS 1.2.

        Returns:
            The context. It trusts no authority yet.

        Raises:
            Error: `tls.other configure`.
        """
        var made = SslContext.create(self.library, is_server=self.is_server)
        if not made:
            raise _failed(self.library)
        var context = made.value()
        self.contexts.append(context)
        var lowest = TLS_1_3 if requires_tls_1_3 else TLS_1_2
        context.set_security_level(_SECURITY_LEVEL)
        if (
            not context.set_versions(lowest, TLS_1_3)
            or not context.set_suites(_SUITES_1_2, _SUITES_1_3)
            or not context.set_groups(_GROUPS)
        ):
            raise _failed(self.library)
        context.set_options(
            OPTION_NO_COMPRESSION
            | OPTION_NO_RENEGOTIATION
            | OPTION_SERVER_PREFERENCE
            | OPTION_PREFER_CHACHA
        )
        return context

    def use_identity(
        mut self, context: SslContext, identity: TlsIdentity
    ) raises:
        """Sets the identity of a context.

        Args:
            context: The context.
            identity: The certificates and the key.

        Raises:
            Error: `tls.bad_file configure`, `tls.bad_certificate configure` or
                `tls.wrong_key configure`.
        """
        var certificates = _certificates_in(self.library, identity.certificates)
        var refused = -1
        for i in range(len(certificates)):
            var is_used: Bool
            if i == 0:
                is_used = context.use_certificate(certificates[i].address)
            else:
                is_used = context.add_to_chain(certificates[i].address)
            if not is_used and refused < 0:
                refused = i
        self.choice[].contexts.append(context.address)
        self.choice[].certificates.append(certificates[0])
        for i in range(1, len(certificates)):
            certificates[i].free()
        if refused >= 0:
            raise identity.certificates.refused(
                TlsError.BAD_CERTIFICATE, self.library.take_error()[1]
            )
        var octets = identity.key.read()
        var key = read_key(self.library, Span(octets))
        if not key:
            raise identity.key.refused(TlsError.BAD_FILE)
        var is_ours = context.use_key(key.value())
        free_key(self.library, key.value())
        if not is_ours:
            raise identity.key.refused(
                TlsError.WRONG_KEY, self.library.take_error()[1]
            )
        if identity.status_path:
            var status = heap_create(
                StapledStatus(
                    self.library, read_status(identity.status_path.value())
                )
            )
            self.statuses.append(status)
            context.staple_status(status)

    def trust(
        self, context: SslContext, authorities: List[Pem], *, is_told: Bool
    ) raises:
        """Adds trusted authorities to a context.

        Args:
            context: The context.
            authorities: Their certificates.
            is_told: Whether a server lists them to clients.

        Raises:
            Error: `tls.bad_file configure`.
        """
        for source in authorities:
            var certificates = _certificates_in(self.library, source)
            var is_whole = True
            for certificate in certificates:
                if not context.add_authority(
                    certificate.address, is_told=is_told
                ):
                    is_whole = False
                certificate.free()
            if not is_whole:
                raise source.refused(
                    TlsError.BAD_FILE, self.library.take_error()[1]
                )


struct _Shared(Movable):
    var lock: Lock
    var generation: ArcPointer[Generation]

    def __init__(out self, var generation: ArcPointer[Generation]):
        self.lock = Lock.create()
        self.generation = generation^

    def __deinit__(deinit self):
        self.lock.destroy()


struct TlsContext(ImplicitlyCopyable, Movable):
    """A checked configuration from which many connections are created.

    Copies share the configuration: after `reload`, all of them create
    connections from the new one.
    """

    var _shared: ArcPointer[_Shared]

    def __init__(out self, var generation: Generation):
        """Creates a context that shares a generation.

        Args:
            generation: The contexts.
        """
        self._shared = ArcPointer(_Shared(ArcPointer(generation^)))

    @staticmethod
    def for_clients(config: TlsConfig) raises -> Self:
        """Reads the files of a client configuration and checks it.

        Args:
            config: The configuration.

        Returns:
            The context.

        Raises:
            Error: `tls.no_library load`, `tls.no_trust_store configure`,
                `tls.bad_file configure`, `tls.bad_config configure` and
                others.
        """
        return Self(_client_generation(config))

    @staticmethod
    def for_servers(config: TlsServerConfig) raises -> Self:
        """Reads the files of a server configuration and checks it.

        Args:
            config: The configuration.

        Returns:
            The context.

        Raises:
            Error: `tls.no_library load`, `tls.bad_file configure`,
                `tls.wrong_key configure`, `tls.bad_config configure` and
                others.
        """
        return Self(_server_generation(config))

    def reload(self, config: TlsServerConfig) raises:
        """Replaces the configuration for new connections.

        Existing connections keep theirs. If a part of the new configuration
        cannot be used, the old one stays.

        Args:
            config: The new configuration.

        Raises:
            Error: As `for_servers` does; `tls.bad_config configure` also for a
                context of clients.
        """
        if not self.generation()[].is_server:
            raise Error(String(TlsError(TlsError.BAD_CONFIG, "configure")))
        self._exchange(ArcPointer(_server_generation(config)))

    def replace(self, other: Self) raises:
        """Replaces the configuration for new connections by that of another
        context.

        Existing connections keep theirs.

        Args:
            other: A context for the same role.

        Raises:
            Error: `tls.bad_config configure` if its role is the other one.
        """
        var next = other.generation()
        if self.generation()[].is_server != next[].is_server:
            raise Error(String(TlsError(TlsError.BAD_CONFIG, "configure")))
        self._exchange(next^)

    def _exchange(self, var next: ArcPointer[Generation]):
        # The old one may be freed, which takes long: not under the lock.
        self._shared[].lock.acquire()
        swap(self._shared[].generation, next)
        self._shared[].lock.release()
        _ = next^

    def generation(self) -> ArcPointer[Generation]:
        """Returns the OpenSSL contexts for the next connection.

        Returns:
            The contexts.
        """
        self._shared[].lock.acquire()
        var generation = self._shared[].generation
        self._shared[].lock.release()
        return generation^


def _client_generation(config: TlsConfig) raises -> Generation:
    _check(config.first_problem())
    var generation = Generation(loaded_library(), is_server=False)
    generation.verifies = not config.dangerously_skip_verification
    generation.asks_for_status = config.asks_for_status
    generation.expected_name = config.expected_name.copy()
    generation.handshake_timeout_ms = config.handshake_timeout_ms
    var context = generation.add_context(
        requires_tls_1_3=config.requires_tls_1_3
    )
    context.keep_sessions()
    if generation.verifies:
        context.set_verification(VERIFY_PEER)
        if config.trusts_system_authorities:
            _trust_system(generation.library, context)
        generation.trust(context, config.authorities, is_told=False)
    else:
        context.set_verification(VERIFY_NONE)
    if config.identity:
        generation.use_identity(context, config.identity.value())
    if len(config.application_protocols) > 0:
        var names = wire_protocols(config.application_protocols)
        if not context.offer_protocols(Span(names)):
            raise _failed(generation.library)
    if config.dangerously_keep_keys:
        context.keep_keys()
    return generation^


def _server_generation(config: TlsServerConfig) raises -> Generation:
    _check(config.first_problem())
    var generation = Generation(loaded_library(), is_server=True)
    generation.handshake_timeout_ms = config.handshake_timeout_ms
    generation.preference[].names = wire_protocols(config.application_protocols)
    for identity in config.identities:
        var context = generation.add_context(
            requires_tls_1_3=config.requires_tls_1_3
        )
        generation.use_identity(context, identity)
        context.set_session_cache(SESSION_CACHE_OFF)
        context.set_session_purpose(_PURPOSE.as_bytes())
        if not config.gives_tickets:
            context.set_options(OPTION_NO_TICKET)
        if len(config.client_authorities) > 0:
            generation.trust(context, config.client_authorities, is_told=True)
            context.set_verification(
                VERIFY_PEER if config.client_certificate_is_optional else VERIFY_REQUIRED
            )
        if len(config.application_protocols) > 0:
            context.choose_protocols(generation.preference)
        if config.dangerously_keep_keys:
            context.keep_keys()
    if len(generation.contexts) > 1:
        generation.contexts[0].choose_by_server_name(generation.choice)
    return generation^


def _trust_system(library: OpenSsl, context: SslContext) raises:
    var path = system_trust_store()
    if not path:
        raise Error(String(TlsError(TlsError.NO_TRUST_STORE, "configure")))
    if not context.add_authorities_file(path.value()):
        raise TlsError(
            TlsError.BAD_FILE, "configure", code=library.take_error()[1]
        ).about(path.value().as_bytes())


def _certificates_in(library: OpenSsl, source: Pem) raises -> List[Certificate]:
    var octets = source.read()
    var found = read_certificates(library, Span(octets))
    if found[1] and len(found[0]) > 0:
        return found[0].copy()
    for certificate in found[0]:
        certificate.free()
    raise source.refused(TlsError.BAD_FILE)


def _check(problem: Optional[StaticString]) raises:
    if problem:
        raise TlsError(TlsError.BAD_CONFIG, "configure").about(
            problem.value().as_bytes()
        )


def _failed(library: OpenSsl) -> Error:
    return Error(
        String(
            TlsError(TlsError.OTHER, "configure", code=library.take_error()[1])
        )
    )

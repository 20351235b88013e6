"""Wraps SSL_CTX: the shared settings of many connections.

One thread sets up a context; afterwards, any thread may create connections
from it.
"""

from std.ffi import c_int, c_long, c_uint

from flare.core import Erased, PointerTo

from .openssl import InOctets, OpenSsl, OptionalErased
from .openssl_callbacks import (
    KeyFunction,
    ProtocolPreference,
    ProtocolsFunction,
    ServerNameChoice,
    ServerNameFunction,
    SessionFunction,
    StapledStatus,
    StatusFunction,
    choose_protocol,
    on_key,
    on_server_name,
    on_session,
    on_status,
)

comptime TLS_1_2 = 0x0303
"""The protocol version of RFC 5246."""
comptime TLS_1_3 = 0x0304
"""The protocol version of RFC 8446."""

comptime OPTION_NO_COMPRESSION: UInt64 = 1 << 17
"""Octets are never compressed before they are encrypted."""
comptime OPTION_SERVER_PREFERENCE: UInt64 = 1 << 22
"""The order of the server decides among suites."""
comptime OPTION_PREFER_CHACHA: UInt64 = 1 << 21
"""Except where the client puts ChaCha20 first: it has no AES instructions."""
comptime OPTION_NO_RENEGOTIATION: UInt64 = 1 << 30
"""A second handshake inside a connection is refused."""
comptime OPTION_NO_TICKET: UInt64 = 1 << 14
"""The server gives no tickets for resuming."""

comptime VERIFY_NONE = 0
"""Any certificate will do, or none."""
comptime VERIFY_PEER = 1
"""A certificate must be one that we trust."""
comptime VERIFY_REQUIRED = 3
"""A client must have a certificate, and one that we trust."""

comptime _CTRL_MODE = 33
comptime _CTRL_SESSION_CACHE_MODE = 44
comptime _CTRL_SERVER_NAME_CALLBACK = 53
comptime _CTRL_SERVER_NAME_ARGUMENT = 54
comptime _CTRL_STATUS_CALLBACK = 63
comptime _CTRL_STATUS_ARGUMENT = 64
comptime _CTRL_CHAIN_CERTIFICATE = 89
comptime _CTRL_GROUPS = 92
comptime _CTRL_MIN_VERSION = 123
comptime _CTRL_MAX_VERSION = 124

# A write of several records ends after each, the octets may move before it
# continues, and an idle connection has no buffers.
comptime _MODES = 0x01 | 0x02 | 0x10

comptime _PARTIAL_CHAIN: UInt64 = 0x80000

comptime SESSION_CACHE_OFF = 0
"""Sessions are kept by clients only, as tickets."""
comptime SESSION_CACHE_CLIENT_NOT_INTERNAL = 0x0301
"""Sessions are handed to us, and OpenSSL keeps none."""


@fieldwise_init
struct SslContext(TrivialRegisterPassable):
    """A handle to an SSL_CTX."""

    var library: OpenSsl
    """The library."""
    var address: Erased
    """The SSL_CTX."""

    @staticmethod
    def create(library: OpenSsl, *, is_server: Bool) -> Optional[Self]:
        """Creates a context without trusted authorities and certificate.

        Args:
            library: The library.
            is_server: Whether its connections are servers.

        Returns:
            The context; `None` if memory runs out.
        """
        comptime Method = def() thin abi("C") -> Erased
        var method: Erased
        if is_server:
            method = library.function["TLS_server_method", Method]()()
        else:
            method = library.function["TLS_client_method", Method]()()
        var made = library.function[
            "SSL_CTX_new", def(Erased) thin abi("C") -> OptionalErased
        ]()(method)
        if not made:
            return None
        var context = Self(library, made.value())
        _ = context._control(_CTRL_MODE, _MODES)
        return context

    def free(self):
        """Releases the context; its connections keep it as long as they live.
        """
        self.library.function[
            "SSL_CTX_free", def(Erased) thin abi("C") -> None
        ]()(self.address)

    def set_versions(self, lowest: Int, highest: Int) -> Bool:
        """Sets the lowest and the highest protocol version.

        Args:
            lowest: `TLS_1_2` or `TLS_1_3`.
            highest: `TLS_1_2` or `TLS_1_3`.

        Returns:
            Whether the library has them.
        """
        return (
            self._control(_CTRL_MIN_VERSION, lowest) == 1
            and self._control(_CTRL_MAX_VERSION, highest) == 1
        )

    def set_options(self, options: UInt64):
        """Sets options, which cannot be cleared.

        Args:
            options: Some of the constants `OPTION_…`.
        """
        _ = self.library.function[
            "SSL_CTX_set_options",
            def(Erased, UInt64) thin abi("C") -> UInt64,
        ]()(self.address, options)

    def set_suites(self, tls_1_2: StaticString, tls_1_3: StaticString) -> Bool:
        """Sets the cipher suites, best first.

        Args:
            tls_1_2: Those of TLS 1.2, with colons between.
            tls_1_3: Those of TLS 1.3, with colons between.

        Returns:
            Whether the library has at least one of each.
        """
        comptime Set = def(Erased, InOctets) thin abi("C") -> c_int
        var older = String(tls_1_2, "\0")
        var newer = String(tls_1_3, "\0")
        var done = self.library.function["SSL_CTX_set_cipher_list", Set]()(
            self.address, _in(older)
        )
        done &= self.library.function["SSL_CTX_set_ciphersuites", Set]()(
            self.address, _in(newer)
        )
        return done == 1

    def set_groups(self, groups: StaticString) -> Bool:
        """Sets the groups for key exchange, best first.

        Args:
            groups: Their names, with colons between.

        Returns:
            Whether the library has them.
        """
        var names = String(groups, "\0")
        return self._control_octets(_CTRL_GROUPS, 0, _in(names)) == 1

    def set_security_level(self, level: Int):
        """Sets the minimum strength of keys and signatures.

        Args:
            level: 2 requires 112 bits: RSA of 2,048 and no SHA-1.
        """
        self.library.function[
            "SSL_CTX_set_security_level",
            def(Erased, c_int) thin abi("C") -> None,
        ]()(self.address, c_int(level))

    def set_verification(self, mode: Int):
        """Sets whether the peer's certificate is required and verified.

        Args:
            mode: One of the constants `VERIFY_…`.
        """
        self.library.function[
            "SSL_CTX_set_verify",
            def(Erased, c_int, OptionalErased) thin abi("C") -> None,
        ]()(self.address, c_int(mode), OptionalErased(None))

    def add_authorities_file(self, path: StringSlice) -> Bool:
        """Adds the authorities in a file to the trusted ones.

        Args:
            path: A file of certificates in PEM.

        Returns:
            Whether it was read and holds one at least.
        """
        var name = String(path, "\0")
        return (
            self.library.function[
                "SSL_CTX_load_verify_file",
                def(Erased, InOctets) thin abi("C") -> c_int,
            ]()(self.address, _in(name))
            == 1
        )

    def add_authority(self, certificate: Erased, *, is_told: Bool) -> Bool:
        """Adds a trusted authority.

        Args:
            certificate: An X509, which the caller still owns.
            is_told: Whether a server lists it to clients as trusted.

        Returns:
            False if memory runs out.
        """
        comptime Add = def(Erased, Erased) thin abi("C") -> c_int
        var store = self.library.function[
            "SSL_CTX_get_cert_store", def(Erased) thin abi("C") -> Erased
        ]()(self.address)
        var done = self.library.function["X509_STORE_add_cert", Add]()(
            store, certificate
        )
        # A listed certificate is trusted even if another one has signed it: an
        # intermediate authority, or a single host.
        done &= self.library.function[
            "X509_STORE_set_flags",
            def(Erased, UInt64) thin abi("C") -> c_int,
        ]()(store, _PARTIAL_CHAIN)
        if is_told:
            done &= self.library.function["SSL_CTX_add_client_CA", Add]()(
                self.address, certificate
            )
        return done == 1

    def use_certificate(self, certificate: Erased) -> Bool:
        """Sets the certificate that connections show.

        Args:
            certificate: An X509, which the caller still owns.

        Returns:
            Whether it is strong enough and its key of a known kind.
        """
        return (
            self.library.function[
                "SSL_CTX_use_certificate",
                def(Erased, Erased) thin abi("C") -> c_int,
            ]()(self.address, certificate)
            == 1
        )

    def add_to_chain(self, certificate: Erased) -> Bool:
        """Adds an intermediate certificate to the chain.

        Args:
            certificate: An X509, which the caller still owns.

        Returns:
            Whether the certificate is strong enough.
        """
        # The 1 lets the library count its own use of the certificate.
        return (
            self.library.function[
                "SSL_CTX_ctrl",
                def(
                    Erased, c_int, c_long, OptionalErased
                ) thin abi("C") -> c_long,
            ]()(
                self.address,
                c_int(_CTRL_CHAIN_CERTIFICATE),
                c_long(1),
                OptionalErased(certificate),
            )
            == 1
        )

    def use_key(self, key: Erased) -> Bool:
        """Sets the private key of our certificate.

        Args:
            key: An EVP_PKEY, which the caller still owns.

        Returns:
            Whether it belongs to the certificate.
        """
        if (
            self.library.function[
                "SSL_CTX_use_PrivateKey",
                def(Erased, Erased) thin abi("C") -> c_int,
            ]()(self.address, key)
            != 1
        ):
            return False
        return (
            self.library.function[
                "SSL_CTX_check_private_key",
                def(Erased) thin abi("C") -> c_int,
            ]()(self.address)
            == 1
        )

    def offer_protocols(self, names: Span[UInt8, _]) -> Bool:
        """Sets the application protocols that clients offer.

        Args:
            names: For each name an octet with its length, then the name.

        Returns:
            Whether the list is well-formed.
        """
        # Here 0 means success.
        return (
            self.library.function[
                "SSL_CTX_set_alpn_protos",
                def(Erased, InOctets, c_uint) thin abi("C") -> c_int,
            ]()(
                self.address,
                names.unsafe_ptr()
                .unsafe_mut_cast[False]()
                .unsafe_origin_cast[ImmUnsafeAnyOrigin](),
                c_uint(len(names)),
            )
            == 0
        )

    def choose_protocols(self, preference: PointerTo[ProtocolPreference]):
        """Makes a server choose the application protocol.

        Args:
            preference: Its protocols; they must outlive the context.
        """
        self.library.function[
            "SSL_CTX_set_alpn_select_cb",
            def(Erased, ProtocolsFunction, Erased) thin abi("C") -> None,
        ]()(
            self.address,
            choose_protocol,
            preference.unsafe_bitcast[NoneType](),
        )

    def choose_by_server_name(self, choice: PointerTo[ServerNameChoice]):
        """Makes a server choose the context by the requested server name.

        Args:
            choice: The contexts; they must outlive this one.
        """
        _ = self.library.function[
            "SSL_CTX_callback_ctrl",
            def(Erased, c_int, ServerNameFunction) thin abi("C") -> c_long,
        ]()(self.address, c_int(_CTRL_SERVER_NAME_CALLBACK), on_server_name)
        _ = self._control_pointer(
            _CTRL_SERVER_NAME_ARGUMENT, choice.unsafe_bitcast[NoneType]()
        )

    def staple_status(self, status: PointerTo[StapledStatus]):
        """Makes a server staple an OCSP response for clients that ask.

        Args:
            status: The response; it must outlive the context.
        """
        _ = self.library.function[
            "SSL_CTX_callback_ctrl",
            def(Erased, c_int, StatusFunction) thin abi("C") -> c_long,
        ]()(self.address, c_int(_CTRL_STATUS_CALLBACK), on_status)
        _ = self._control_pointer(
            _CTRL_STATUS_ARGUMENT, status.unsafe_bitcast[NoneType]()
        )

    def keep_sessions(self):
        """Stores each session that a client may resume in its `BioState`."""
        self.set_session_cache(SESSION_CACHE_CLIENT_NOT_INTERNAL)
        self.library.function[
            "SSL_CTX_sess_set_new_cb",
            def(Erased, SessionFunction) thin abi("C") -> None,
        ]()(self.address, on_session)

    def set_session_cache(self, mode: Int):
        """Sets which end keeps sessions.

        Args:
            mode: One of the constants `SESSION_CACHE_…`.
        """
        _ = self._control(_CTRL_SESSION_CACHE_MODE, mode)

    def set_session_purpose(self, purpose: Span[UInt8, _]):
        """Prevents sessions of one purpose from being resumed for another.

        Args:
            purpose: At most 32 octets.
        """
        _ = self.library.function[
            "SSL_CTX_set_session_id_context",
            def(Erased, InOctets, c_uint) thin abi("C") -> c_int,
        ]()(
            self.address,
            purpose.unsafe_ptr()
            .unsafe_mut_cast[False]()
            .unsafe_origin_cast[ImmUnsafeAnyOrigin](),
            c_uint(len(purpose)),
        )

    def keep_keys(self):
        """Writes the secrets of each connection into its `BioState`."""
        self.library.function[
            "SSL_CTX_set_keylog_callback",
            def(Erased, KeyFunction) thin abi("C") -> None,
        ]()(self.address, on_key)

    def _control(self, command: Int, number: Int) -> Int:
        return Int(
            self.library.function[
                "SSL_CTX_ctrl",
                def(
                    Erased, c_int, c_long, OptionalErased
                ) thin abi("C") -> c_long,
            ]()(
                self.address,
                c_int(command),
                c_long(number),
                OptionalErased(None),
            )
        )

    def _control_pointer(self, command: Int, argument: Erased) -> Int:
        return Int(
            self.library.function[
                "SSL_CTX_ctrl",
                def(
                    Erased, c_int, c_long, OptionalErased
                ) thin abi("C") -> c_long,
            ]()(
                self.address,
                c_int(command),
                c_long(0),
                OptionalErased(argument),
            )
        )

    def _control_octets(
        self, command: Int, number: Int, octets: InOctets
    ) -> Int:
        return Int(
            self.library.function[
                "SSL_CTX_ctrl",
                def(Erased, c_int, c_long, InOctets) thin abi("C") -> c_long,
            ]()(self.address, c_int(command), c_long(number), octets)
        )


@always_inline
def _in(text: String) -> InOctets:
    return (
        text.unsafe_ptr()
        .unsafe_mut_cast[False]()
        .unsafe_origin_cast[ImmUnsafeAnyOrigin]()
    )

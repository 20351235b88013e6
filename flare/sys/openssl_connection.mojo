"""Wraps SSL: one connection over a BIO of ours.

Each call works on the octets in the `BioState` and never waits. `@no_inline`
keeps the octets that a span names out of the caller's registers while the
library reads them through the BIO.
"""

from std.ffi import c_int, c_long, c_uint

from flare.core import Erased, OctetPointer, PointerTo

from .openssl import InOctets, OpenSsl, OptionalErased, OutOctets
from .openssl_bio import BioState, open_bio
from .openssl_certificate import Certificate
from .openssl_context import SslContext

comptime SSL_DONE = 0
"""The call did what was asked."""
comptime SSL_WANT_READ = 2
"""The window is empty, and more is needed."""
comptime SSL_CLOSED = 6
"""The peer has said that it sends no more."""

comptime _CTRL_HOST_NAME = 55
comptime _CTRL_STATUS_TYPE = 65
comptime _CTRL_STATUS_RESPONSE = 70
comptime _STATUS_TYPE_OCSP = 1
# A wildcard stands for one whole label, and the subject names no host, whatever
# other names there are (RFC 9525).
comptime _NAME_RULES = 0x04 | 0x20
comptime _COUNT_MAX = 1 << 30


@fieldwise_init
struct SslConnection(TrivialRegisterPassable):
    """A handle to an SSL."""

    var library: OpenSsl
    """The library."""
    var address: Erased
    """The SSL."""
    var state: PointerTo[BioState]
    """The buffers that it reads and writes."""

    @staticmethod
    def create(
        context: SslContext,
        transport: Erased,
        state: PointerTo[BioState],
        *,
        is_server: Bool,
    ) -> Optional[Self]:
        """Creates a connection.

        Args:
            context: The shared context.
            transport: The result of `make_transport`; it must outlive the
                connection.
            state: The buffers that it reads and writes; they must outlive the
                connection.
            is_server: Whether it is the server's end.

        Returns:
            The connection; `None` if memory runs out.
        """
        var library = context.library
        library.clear_errors()
        var made = library.function[
            "SSL_new", def(Erased) thin abi("C") -> OptionalErased
        ]()(context.address)
        if not made:
            return None
        var connection = Self(library, made.value(), state)
        var bio = open_bio(transport, state)
        if not bio:
            connection.free()
            return None
        library.function[
            "SSL_set_bio", def(Erased, Erased, Erased) thin abi("C") -> None
        ]()(connection.address, bio.value(), bio.value())
        comptime SetRole = def(Erased) thin abi("C") -> None
        if is_server:
            library.function["SSL_set_accept_state", SetRole]()(
                connection.address
            )
        else:
            library.function["SSL_set_connect_state", SetRole]()(
                connection.address
            )
        return connection

    def free(self):
        """Frees the connection and its BIO."""
        self.library.function["SSL_free", def(Erased) thin abi("C") -> None]()(
            self.address
        )

    def ask_for_name(self, name: StringSlice) -> Bool:
        """Sets the server name that a client asks for (RFC 6066 section 3).

        Args:
            name: A host name, not an address.

        Returns:
            False if memory runs out.
        """
        var text = String(name, "\0")
        return (
            self.library.function[
                "SSL_ctrl",
                def(Erased, c_int, c_long, InOctets) thin abi("C") -> c_long,
            ]()(
                self.address,
                c_int(_CTRL_HOST_NAME),
                c_long(0),
                text.unsafe_ptr()
                .unsafe_mut_cast[False]()
                .unsafe_origin_cast[ImmUnsafeAnyOrigin](),
            )
            == 1
        )

    def expect_name(self, name: StringSlice) -> Bool:
        """Accepts only a certificate for a name.

        Args:
            name: A host name.

        Returns:
            False if memory runs out.
        """
        var parameters = self._parameters()
        self.library.function[
            "X509_VERIFY_PARAM_set_hostflags",
            def(Erased, c_uint) thin abi("C") -> None,
        ]()(parameters, c_uint(_NAME_RULES))
        return (
            self.library.function[
                "X509_VERIFY_PARAM_set1_host",
                def(Erased, InOctets, Int) thin abi("C") -> c_int,
            ]()(
                parameters,
                name.unsafe_ptr()
                .unsafe_mut_cast[False]()
                .unsafe_origin_cast[ImmUnsafeAnyOrigin](),
                name.byte_length(),
            )
            == 1
        )

    def expect_address(self, address: StringSlice) -> Bool:
        """Accepts only a certificate for an IP address.

        Args:
            address: Its text form, without brackets.

        Returns:
            Whether the text is an IP address.
        """
        var text = String(address, "\0")
        return (
            self.library.function[
                "X509_VERIFY_PARAM_set1_ip_asc",
                def(Erased, InOctets) thin abi("C") -> c_int,
            ]()(
                self._parameters(),
                text.unsafe_ptr()
                .unsafe_mut_cast[False]()
                .unsafe_origin_cast[ImmUnsafeAnyOrigin](),
            )
            == 1
        )

    def ask_for_status(self):
        """Asks the server for the status of its certificate (RFC 6066)."""
        _ = self.library.function[
            "SSL_ctrl",
            def(Erased, c_int, c_long, OptionalErased) thin abi("C") -> c_long,
        ]()(
            self.address,
            c_int(_CTRL_STATUS_TYPE),
            c_long(_STATUS_TYPE_OCSP),
            OptionalErased(None),
        )

    def resume(self, session: Erased) -> Bool:
        """Offers to resume a session.

        Args:
            session: An SSL_SESSION, which the caller still owns.

        Returns:
            Whether the client may offer the session.
        """
        return (
            self.library.function[
                "SSL_set_session",
                def(Erased, Erased) thin abi("C") -> c_int,
            ]()(self.address, session)
            == 1
        )

    @no_inline
    def handshake(self) -> Int:
        """Continues the handshake.

        Returns:
            A constant `SSL_…`, or another number for a failure.
        """
        self.library.clear_errors()
        return self._outcome(
            self.library.function[
                "SSL_do_handshake", def(Erased) thin abi("C") -> c_int
            ]()(self.address)
        )

    @no_inline
    def read(self, into: Span[mut=True, UInt8, _]) -> Tuple[Int, Int]:
        """Reads decrypted octets.

        Args:
            into: The destination; not empty.

        Returns:
            A constant `SSL_…`, or another number for a failure, and the
            count of octets if it is `SSL_DONE`.
        """
        self.library.clear_errors()
        var result = self.library.function[
            "SSL_read", def(Erased, OutOctets, c_int) thin abi("C") -> c_int
        ]()(
            self.address,
            into.unsafe_ptr().unsafe_origin_cast[MutUnsafeAnyOrigin](),
            c_int(min(len(into), _COUNT_MAX)),
        )
        if result > 0:
            return (SSL_DONE, Int(result))
        return (self._outcome(result), 0)

    def has_pending(self) -> Bool:
        """Returns whether OpenSSL holds octets that `read` has not returned,
        decrypted or not.

        Returns:
            True if OpenSSL holds such octets.
        """
        return (
            self.library.function[
                "SSL_has_pending", def(Erased) thin abi("C") -> c_int
            ]()(self.address)
            == 1
        )

    @no_inline
    def write(self, octets: Span[UInt8, _]) -> Tuple[Int, Int]:
        """Encrypts octets, at most one record.

        Args:
            octets: The octets to encrypt; not empty.

        Returns:
            A constant `SSL_…`, or another number for a failure; and the number
            of octets taken if it is `SSL_DONE`.
        """
        self.library.clear_errors()
        var result = self.library.function[
            "SSL_write", def(Erased, InOctets, c_int) thin abi("C") -> c_int
        ]()(
            self.address,
            octets.unsafe_ptr()
            .unsafe_mut_cast[False]()
            .unsafe_origin_cast[ImmUnsafeAnyOrigin](),
            c_int(min(len(octets), _COUNT_MAX)),
        )
        if result > 0:
            return (SSL_DONE, Int(result))
        return (self._outcome(result), 0)

    @no_inline
    def close(self) -> Int:
        """Ends this end's stream (`close_notify`).

        Returns:
            A constant `SSL_…`, or another number for a failure; `SSL_DONE`
            even if the peer has not answered.
        """
        self.library.clear_errors()
        var result = self.library.function[
            "SSL_shutdown", def(Erased) thin abi("C") -> c_int
        ]()(self.address)
        return SSL_DONE if result >= 0 else self._outcome(result)

    def verify_result(self) -> Int:
        """Returns why the peer's certificate was refused.

        Returns:
            One of the numbers X509_V_ERR_…; 0 if it was not.
        """
        return Int(
            self.library.function[
                "SSL_get_verify_result", def(Erased) thin abi("C") -> c_long
            ]()(self.address)
        )

    def is_resumed(self) -> Bool:
        """Returns whether the connection resumed a session.

        Returns:
            True if the handshake was a short one.
        """
        return (
            self.library.function[
                "SSL_session_reused", def(Erased) thin abi("C") -> c_int
            ]()(self.address)
            == 1
        )

    def version(self) -> String:
        """Returns the protocol version.

        Returns:
            `TLSv1.2` or `TLSv1.3`.
        """
        return _text_at(
            self.library.function[
                "SSL_get_version",
                def(Erased) thin abi("C") -> Optional[OctetPointer],
            ]()(self.address)
        )

    def cipher(self) -> String:
        """Returns the IANA name of the cipher suite.

        Returns:
            The name; empty before it is known.
        """
        var cipher = self.library.function[
            "SSL_get_current_cipher",
            def(Erased) thin abi("C") -> OptionalErased,
        ]()(self.address)
        if not cipher:
            return String()
        return _text_at(
            self.library.function[
                "SSL_CIPHER_standard_name",
                def(Erased) thin abi("C") -> Optional[OctetPointer],
            ]()(cipher.value())
        )

    def server_name(self) -> List[UInt8]:
        """Returns the server name that the client asked for.

        Returns:
            Octets of the peer; empty without a name.
        """
        var name = self.library.function[
            "SSL_get_servername",
            def(Erased, c_int) thin abi("C") -> Optional[OctetPointer],
        ]()(self.address, c_int(0))
        return _octets_at(name)

    @no_inline
    def application_protocol(self) -> List[UInt8]:
        """Returns the application protocol that both ends agreed on (RFC
        7301).

        Returns:
            Its name; empty if there is none.
        """
        # On the heap: a local would be read as it was before the call.
        var found = List[Int](length=2, fill=0)
        self.library.function[
            "SSL_get0_alpn_selected",
            def(Erased, OutOctets, OutOctets) thin abi("C") -> None,
        ]()(
            self.address,
            found.unsafe_ptr()
            .unsafe_bitcast[UInt8]()
            .unsafe_origin_cast[MutUnsafeAnyOrigin](),
            found.unsafe_ptr()
            .unsafe_bitcast[UInt8]()
            .unsafe_offset(8)
            .unsafe_origin_cast[MutUnsafeAnyOrigin](),
        )
        var octets = List[UInt8]()
        if found[0] != 0:
            octets.extend(
                Span(
                    unsafe_ptr=OctetPointer(unsafe_from_address=found[0]),
                    length=found[1],
                )
            )
        return octets^

    @no_inline
    def status_response(self) -> List[UInt8]:
        """Returns the OCSP response that the server stapled.

        Returns:
            The response in DER; empty if there is none.
        """
        var found = List[Int](length=1, fill=0)
        var count = Int(
            self.library.function[
                "SSL_ctrl",
                def(Erased, c_int, c_long, OutOctets) thin abi("C") -> c_long,
            ]()(
                self.address,
                c_int(_CTRL_STATUS_RESPONSE),
                c_long(0),
                found.unsafe_ptr()
                .unsafe_bitcast[UInt8]()
                .unsafe_origin_cast[MutUnsafeAnyOrigin](),
            )
        )
        var octets = List[UInt8]()
        if count > 0 and found[0] != 0:
            octets.extend(
                Span(
                    unsafe_ptr=OctetPointer(unsafe_from_address=found[0]),
                    length=count,
                )
            )
        return octets^

    def peer_certificate(self) -> Optional[Certificate]:
        """Returns the certificate that the peer has shown.

        Returns:
            The certificate, which the caller frees; none if there is none.
        """
        var found = self.library.function[
            "SSL_get1_peer_certificate",
            def(Erased) thin abi("C") -> OptionalErased,
        ]()(self.address)
        if not found:
            return None
        return Certificate(self.library, found.value())

    def _parameters(self) -> Erased:
        return self.library.function[
            "SSL_get0_param", def(Erased) thin abi("C") -> Erased
        ]()(self.address)

    def _outcome(self, result: c_int) -> Int:
        if result == 1:
            return SSL_DONE
        return Int(
            self.library.function[
                "SSL_get_error", def(Erased, c_int) thin abi("C") -> c_int
            ]()(self.address, result)
        )


def _octets_at(text: Optional[OctetPointer]) -> List[UInt8]:
    var octets = List[UInt8]()
    if text:
        var i = 0
        while text.value()[unsafe_offset=i] != 0:
            octets.append(text.value()[unsafe_offset=i])
            i += 1
    return octets^


def _text_at(text: Optional[OctetPointer]) -> String:
    # Only names that the library itself has are read so.
    var octets = _octets_at(text)
    return String(StringSlice(unsafe_from_utf8=Span(octets)))

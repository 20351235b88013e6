"""Reads certificates and keys from PEM (RFC 7468), and their contents."""

from std.ffi import c_int, c_uint

from flare.core import Erased, OctetPointer

from .openssl import InOctets, OpenSsl, OptionalErased, OutOctets

comptime _PIECE_OCTETS = 4096
# RFC 2253, with everything escaped that is not printable ASCII.
comptime _NAME_FLAGS: UInt64 = 0x1110317
comptime _LIBRARY_PEM = 9
comptime _NO_START_LINE = 108

comptime _PasswordFunction = def(
    OctetPointer, c_int, c_int, OptionalErased
) thin abi("C") -> c_int


@fieldwise_init
struct Certificate(TrivialRegisterPassable):
    """A handle to an X509."""

    var library: OpenSsl
    """The library."""
    var address: Erased
    """The X509."""

    def free(self):
        """Releases the certificate."""
        self.library.function["X509_free", def(Erased) thin abi("C") -> None]()(
            self.address
        )

    def is_for_name(self, name: OctetPointer, octets: Int) -> Bool:
        """Returns whether the certificate is for a host name.

        Args:
            name: The name.
            octets: Its length, over 0.

        Returns:
            True also if a wildcard of it stands for the name.
        """
        return (
            self.library.function[
                "X509_check_host",
                def(
                    Erased, OctetPointer, Int, c_uint, OptionalErased
                ) thin abi("C") -> c_int,
            ]()(self.address, name, octets, c_uint(0), OptionalErased(None))
            == 1
        )

    @no_inline
    def subject(self) -> Optional[List[UInt8]]:
        """Returns the subject of the certificate (RFC 4514), as `CN=a,O=b`.

        Returns:
            The complete name, in printable ASCII: a truncated name could be
            that of another subject. None if it cannot be written, without
            memory.
        """
        var name = self.library.function[
            "X509_get_subject_name",
            def(Erased) thin abi("C") -> OptionalErased,
        ]()(self.address)
        var bio = memory_bio(self.library)
        if not bio:
            return None
        var octets = Optional[List[UInt8]](None)
        if name:
            var written = self.library.function[
                "X509_NAME_print_ex",
                def(Erased, Erased, c_int, UInt64) thin abi("C") -> c_int,
            ]()(bio.value(), name.value(), c_int(0), _NAME_FLAGS)
            if written >= 0:
                octets = read_bio(self.library, bio.value())
        close_bio(self.library, bio.value())
        return octets^


def read_certificates(
    library: OpenSsl, pem: Span[UInt8, _]
) -> Tuple[List[Certificate], Bool]:
    """Reads all certificates of a text.

    Args:
        library: The library.
        pem: The text; octets between the certificates are skipped.

    Returns:
        The certificates in order, which the caller frees, and whether all of
        them could be read.
    """
    var certificates = List[Certificate]()
    library.clear_errors()
    var bio = _open(library, pem)
    if not bio:
        return (certificates^, len(pem) == 0)
    while True:
        var found = library.function[
            "PEM_read_bio_X509",
            def(
                Erased, OptionalErased, _PasswordFunction, OptionalErased
            ) thin abi("C") -> OptionalErased,
        ]()(bio.value(), None, _no_password, None)
        if not found:
            break
        certificates.append(Certificate(library, found.value()))
    close_bio(library, bio.value())
    var last = Int(
        library.function[
            "ERR_peek_last_error", def() thin abi("C") -> UInt64
        ]()()
    )
    library.clear_errors()
    var is_whole = (
        last >> 23 & 0xFF == _LIBRARY_PEM and last & 0x7FFFFF == _NO_START_LINE
    )
    return (certificates^, is_whole)


def read_key(library: OpenSsl, pem: Span[UInt8, _]) -> OptionalErased:
    """Reads a private key that is not encrypted.

    Args:
        library: The library.
        pem: The text.

    Returns:
        An EVP_PKEY, which the caller frees with `free_key`; none if there is
        none, or if it cannot be read.
    """
    var bio = _open(library, pem)
    if not bio:
        return None
    var key = library.function[
        "PEM_read_bio_PrivateKey",
        def(
            Erased, OptionalErased, _PasswordFunction, OptionalErased
        ) thin abi("C") -> OptionalErased,
    ]()(bio.value(), None, _no_password, None)
    close_bio(library, bio.value())
    library.clear_errors()
    return key


def free_key(library: OpenSsl, key: Erased):
    """Frees a private key.

    Args:
        library: The library.
        key: The result of `read_key`.
    """
    library.function["EVP_PKEY_free", def(Erased) thin abi("C") -> None]()(key)


def memory_bio(library: OpenSsl) -> OptionalErased:
    """Creates a BIO in memory.

    Args:
        library: The library.

    Returns:
        The BIO, which the caller closes; none if memory runs out.
    """
    var method = library.function[
        "BIO_s_mem", def() thin abi("C") -> Erased
    ]()()
    return library.function[
        "BIO_new", def(Erased) thin abi("C") -> OptionalErased
    ]()(method)


@no_inline
def read_bio(library: OpenSsl, bio: Erased) -> List[UInt8]:
    """Reads all octets of a BIO.

    Args:
        library: The library.
        bio: The BIO.

    Returns:
        The octets.
    """
    var octets = List[UInt8]()
    var piece = List[UInt8](length=_PIECE_OCTETS, fill=0)
    while True:
        var count = library.function[
            "BIO_read", def(Erased, OutOctets, c_int) thin abi("C") -> c_int
        ]()(
            bio,
            piece.unsafe_ptr().unsafe_origin_cast[MutUnsafeAnyOrigin](),
            c_int(len(piece)),
        )
        if count <= 0:
            return octets^
        octets.extend(Span(piece)[: Int(count)])


def close_bio(library: OpenSsl, bio: Erased):
    """Frees a BIO.

    Args:
        library: The library.
        bio: The BIO.
    """
    _ = library.function["BIO_free", def(Erased) thin abi("C") -> c_int]()(bio)


@no_inline
def _open(library: OpenSsl, octets: Span[UInt8, _]) -> OptionalErased:
    if len(octets) == 0:
        return None
    return library.function[
        "BIO_new_mem_buf", def(InOctets, c_int) thin abi("C") -> OptionalErased
    ]()(
        octets.unsafe_ptr()
        .unsafe_mut_cast[False]()
        .unsafe_origin_cast[ImmUnsafeAnyOrigin](),
        c_int(len(octets)),
    )


def _no_password(
    into: OctetPointer, count: c_int, is_new: c_int, argument: OptionalErased
) abi("C") -> c_int:
    # Otherwise the library would ask at the terminal.
    return -1

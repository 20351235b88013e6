"""Makes a key, and a certificate that it signs itself, in memory."""

from std.ffi import c_int, c_long

from flare.core import Erased

from .openssl import InOctets, OpenSsl, OptionalErased
from .openssl_certificate import (
    Certificate,
    close_bio,
    free_key,
    memory_bio,
    read_bio,
)

comptime _KEY_TYPE_EC = 408
comptime _CURVE: StaticString = "P-256\0"
comptime _VERSION_3 = 2
comptime _TEXT_ASCII = 0x1001
comptime _KEY_USAGE = 83
comptime _ALTERNATIVE_NAMES = 85
comptime _BASIC_CONSTRAINTS = 87
comptime _EXTENDED_KEY_USAGE = 126


@fieldwise_init
struct SelfSignedOrder(Movable):
    """The contents of a certificate."""

    var subject: String
    """The common name of the subject, which is the issuer too."""
    var names: String
    """The names in the form of OpenSSL, as `DNS:a.test,IP:::1`. The caller has
    checked them: the form has commands, too."""
    var serial: UInt64
    """The serial number, over 0."""
    var since_seconds: Int
    """From when on it is valid, in seconds from now."""
    var until_seconds: Int
    """Until when it is valid, in seconds from now."""


def make_self_signed(
    library: OpenSsl, order: SelfSignedOrder
) -> Optional[Tuple[List[UInt8], List[UInt8]]]:
    """Makes a key on P-256, and a certificate for servers that it signs.

    Args:
        library: The library.
        order: The contents of the certificate.

    Returns:
        The certificate and the key in PEM; `None` if the library failed.
    """
    var key = _make_key(library)
    if not key:
        return None
    var found = Optional[Tuple[List[UInt8], List[UInt8]]](None)
    var address = library.function[
        "X509_new", def() thin abi("C") -> OptionalErased
    ]()()
    if address:
        var certificate = Certificate(library, address.value())
        if _fill(certificate, key.value(), order):
            found = _texts(certificate, key.value())
        certificate.free()
    free_key(library, key.value())
    return found^


@no_inline
def _make_key(library: OpenSsl) -> OptionalErased:
    comptime Prepare = def(Erased) thin abi("C") -> c_int
    comptime SetName = def(Erased, InOctets) thin abi("C") -> c_int
    comptime Generate = def(Erased, Erased) thin abi("C") -> c_int
    var context = library.function[
        "EVP_PKEY_CTX_new_id",
        def(c_int, OptionalErased) thin abi("C") -> OptionalErased,
    ]()(c_int(_KEY_TYPE_EC), OptionalErased(None))
    if not context:
        return None
    var curve = String(_CURVE)
    # C writes the result here; on the heap, no copy of it can be stale.
    var made = List[OptionalErased](length=1, fill=None)
    if (
        library.function["EVP_PKEY_keygen_init", Prepare]()(context.value())
        == 1
        and library.function["EVP_PKEY_CTX_set_group_name", SetName]()(
            context.value(), _in(curve)
        )
        == 1
    ):
        _ = library.function["EVP_PKEY_generate", Generate]()(
            context.value(),
            made.unsafe_ptr()
            .unsafe_bitcast[NoneType]()
            .unsafe_origin_cast[MutUntrackedOrigin](),
        )
    library.function["EVP_PKEY_CTX_free", def(Erased) thin abi("C") -> None]()(
        context.value()
    )
    return made[0]


def _fill(
    certificate: Certificate, key: Erased, order: SelfSignedOrder
) -> Bool:
    comptime Set = def(Erased, Erased) thin abi("C") -> c_int
    comptime Sign = def(Erased, Erased, Erased) thin abi("C") -> c_int
    var library = certificate.library
    var x = certificate.address
    return (
        _set_numbers(certificate, order)
        and library.function["X509_set_pubkey", Set]()(x, key) == 1
        and _set_names(certificate, order.subject)
        and _extend(certificate, _BASIC_CONSTRAINTS, "critical,CA:FALSE")
        and _extend(certificate, _KEY_USAGE, "critical,digitalSignature")
        and _extend(certificate, _EXTENDED_KEY_USAGE, "serverAuth")
        and _extend(certificate, _ALTERNATIVE_NAMES, order.names)
        # The length of the signature.
        and library.function["X509_sign", Sign]()(
            x,
            key,
            library.function["EVP_sha256", def() thin abi("C") -> Erased]()(),
        )
        > 0
    )


def _set_numbers(certificate: Certificate, order: SelfSignedOrder) -> Bool:
    comptime Part = def(Erased) thin abi("C") -> Erased
    comptime SetVersion = def(Erased, c_long) thin abi("C") -> c_int
    comptime SetNumber = def(Erased, UInt64) thin abi("C") -> c_int
    comptime SetTime = def(Erased, c_long) thin abi("C") -> OptionalErased
    var library = certificate.library
    var x = certificate.address
    var serial = library.function["X509_get_serialNumber", Part]()(x)
    var since = library.function["X509_getm_notBefore", Part]()(x)
    var until = library.function["X509_getm_notAfter", Part]()(x)
    var set_time = library.function["X509_gmtime_adj", SetTime]()
    return (
        library.function["X509_set_version", SetVersion]()(
            x, c_long(_VERSION_3)
        )
        == 1
        and library.function["ASN1_INTEGER_set_uint64", SetNumber]()(
            serial, order.serial
        )
        == 1
        and Bool(set_time(since, c_long(order.since_seconds)))
        and Bool(set_time(until, c_long(order.until_seconds)))
    )


@no_inline
def _set_names(certificate: Certificate, subject: StringSlice) -> Bool:
    var library = certificate.library
    var name = library.function[
        "X509_get_subject_name", def(Erased) thin abi("C") -> OptionalErased
    ]()(certificate.address)
    if not name:
        return False
    var field = String("CN\0")
    var text = String(subject, "\0")
    return (
        library.function[
            "X509_NAME_add_entry_by_txt",
            def(
                Erased, InOctets, c_int, InOctets, c_int, c_int, c_int
            ) thin abi("C") -> c_int,
        ]()(
            name.value(),
            _in(field),
            c_int(_TEXT_ASCII),
            _in(text),
            c_int(-1),
            c_int(-1),
            c_int(0),
        )
        == 1
        and library.function[
            "X509_set_issuer_name",
            def(Erased, Erased) thin abi("C") -> c_int,
        ]()(certificate.address, name.value())
        == 1
    )


@no_inline
def _extend(certificate: Certificate, kind: Int, value: StringSlice) -> Bool:
    var library = certificate.library
    var text = String(value, "\0")
    var extension = library.function[
        "X509V3_EXT_conf_nid",
        def(
            OptionalErased, OptionalErased, c_int, InOctets
        ) thin abi("C") -> OptionalErased,
    ]()(OptionalErased(None), OptionalErased(None), c_int(kind), _in(text))
    if not extension:
        return False
    var added = library.function[
        "X509_add_ext", def(Erased, Erased, c_int) thin abi("C") -> c_int
    ]()(certificate.address, extension.value(), c_int(-1))
    library.function[
        "X509_EXTENSION_free", def(Erased) thin abi("C") -> None
    ]()(extension.value())
    return added == 1


def _texts(
    certificate: Certificate, key: Erased
) -> Optional[Tuple[List[UInt8], List[UInt8]]]:
    var library = certificate.library
    var one = memory_bio(library)
    if not one:
        return None
    var other = memory_bio(library)
    if not other:
        close_bio(library, one.value())
        return None
    var is_written = (
        library.function[
            "PEM_write_bio_X509", def(Erased, Erased) thin abi("C") -> c_int
        ]()(one.value(), certificate.address)
        == 1
        and library.function[
            "PEM_write_bio_PrivateKey",
            def(
                Erased,
                Erased,
                OptionalErased,
                OptionalErased,
                c_int,
                OptionalErased,
                OptionalErased,
            ) thin abi("C") -> c_int,
        ]()(
            other.value(),
            key,
            OptionalErased(None),
            OptionalErased(None),
            c_int(0),
            OptionalErased(None),
            OptionalErased(None),
        )
        == 1
    )
    var found = (
        read_bio(library, one.value()),
        read_bio(library, other.value()),
    )
    close_bio(library, one.value())
    close_bio(library, other.value())
    if not is_written:
        return None
    return found^


def _in(text: String) -> InOctets:
    return (
        text.unsafe_ptr()
        .unsafe_mut_cast[False]()
        .unsafe_origin_cast[ImmUnsafeAnyOrigin]()
    )

"""Makes certificates for development, which no authority has signed."""

from flare.sys.openssl_self_signed import SelfSignedOrder, make_self_signed
from flare.sys.random import fill_random

from .error import TlsError
from .library import loaded_library
from .server_name import ServerName

comptime LOCAL_NAMES: List[StaticString] = ["localhost", "127.0.0.1", "::1"]
"""The names by which a machine reaches itself."""

comptime _SUBJECT: StaticString = "flare development"
comptime _VALID_SECONDS = 30 * 24 * 3600
# The clock of a client may be slow.
comptime _EARLIER_SECONDS = 3600
comptime _NAMES_MAX = 100
comptime _SERIAL_OCTETS = 8


def self_signed_texts(
    names: List[String],
) raises -> Tuple[String, String]:
    """Makes a certificate and its key.

    Args:
        names: The names and addresses that it is for, 1 to 100.

    Returns:
        The certificate and the key, in PEM.

    Raises:
        Error: `tls.bad_name configure`, `tls.no_library load` or
            `tls.other configure`.
    """
    var library = loaded_library()
    var made = make_self_signed(
        library,
        SelfSignedOrder(
            String(_SUBJECT),
            _alternative_names(names),
            _serial(),
            -_EARLIER_SECONDS,
            _VALID_SECONDS,
        ),
    )
    if not made:
        raise Error(
            String(
                TlsError(
                    TlsError.OTHER, "configure", code=library.take_error()[1]
                )
            )
        )
    ref texts = made.value()
    return (
        String(StringSlice(unsafe_from_utf8=Span(texts[0]))),
        String(StringSlice(unsafe_from_utf8=Span(texts[1]))),
    )


def _alternative_names(names: List[String]) raises -> String:
    if not 0 < len(names) <= _NAMES_MAX:
        raise Error(String(TlsError(TlsError.BAD_NAME, "configure")))
    var text = String()
    for name in names:
        var parsed: ServerName
        try:
            parsed = ServerName.parse(name)
        except:
            raise TlsError(TlsError.BAD_NAME, "configure").about(
                name.as_bytes()
            )
        text.write(
            "," if text else "",
            "IP:" if parsed.is_address else "DNS:",
            parsed.text,
        )
    return text^


def _serial() raises -> UInt64:
    var octets = List[UInt8](length=_SERIAL_OCTETS, fill=0)
    if fill_random(Span(octets)) != _SERIAL_OCTETS:
        raise Error(String(TlsError(TlsError.OTHER, "configure")))
    var serial = UInt64(0)
    for octet in octets:
        serial = serial << 8 | UInt64(octet)
    # Positive, and of the same length each time.
    return serial >> 2 | 1 << 62

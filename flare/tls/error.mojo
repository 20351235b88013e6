"""Defines the error of TLS and its text form.

 tls.<kind> <operation>[ alert=<number>][ code=<number>][: <detail>]

Callers receive the text only, as with `NetError`; `TlsError.of` reads the
fields back. The detail is for people and is not parsed.
"""

from flare.core import equals, index_of_text, text_at, write_escaped

comptime _KINDS: List[StaticString] = [
    "other",
    "no_library",
    "protocol",
    "version",
    "no_shared_cipher",
    "expired",
    "not_yet_valid",
    "self_signed",
    "unknown_authority",
    "wrong_name",
    "bad_certificate",
    "revoked",
    "no_certificate",
    "alert",
    "truncated",
    "closed",
    "plain_http",
    "no_application_protocol",
    "bad_name",
    "bad_file",
    "wrong_key",
    "no_trust_store",
    "bad_config",
    "too_large",
]

comptime _DETAILS: List[StaticString] = [
    "the library failed",
    (
        "OpenSSL 3 is not installed: the package is libssl3 on Debian,"
        " openssl-libs on Fedora, openssl@3 from Homebrew on macOS"
    ),
    "the peer does not keep to the protocol",
    "the peer does not speak TLS 1.2 or 1.3",
    "the peer has no cipher suite that is safe",
    "the certificate has expired",
    "the certificate is not valid yet",
    "the certificate is self-signed and not among those trusted",
    "the certificate comes from an authority that is not trusted",
    "the certificate is for another name",
    "the certificate cannot be accepted",
    "the certificate was revoked",
    "the peer has shown no certificate",
    "the peer has refused",
    "the connection ended without a close_notify",
    "the connection is closed",
    "the peer speaks HTTP without TLS",
    "no application protocol is shared",
    "the name cannot be that of a server",
    "the file cannot be read, or does not hold what it should",
    "the key does not belong to the certificate",
    "no file of trusted authorities was found",
    "a field of the configuration is out of its bounds",
    "a limit was passed",
]

comptime _OPERATIONS: List[StaticString] = [
    "accept",
    "close",
    "configure",
    "connect",
    "handshake",
    "load",
    "read",
    "start",
    "write",
]

comptime _PREFIX: StaticString = "tls."
comptime _ALERT: StaticString = "alert="
comptime _CODE: StaticString = "code="
comptime _DIGITS_MAX = 9
comptime _ABOUT_OCTETS_MAX = 255


struct TlsError(Equatable, ImplicitlyCopyable, Writable):
    """Describes a failed step of TLS."""

    comptime OTHER = 0
    """A failure without a kind of its own; see `code`."""
    comptime NO_LIBRARY = 1
    """OpenSSL 3 is not installed."""
    comptime PROTOCOL = 2
    """The peer violates the protocol, or does not speak TLS."""
    comptime VERSION = 3
    """The peer speaks neither TLS 1.2 nor TLS 1.3, or not the version
    required.
    """
    comptime NO_SHARED_CIPHER = 4
    """The two ends share no cipher suite, group or signature algorithm."""
    comptime EXPIRED = 5
    """A certificate of the peer has expired."""
    comptime NOT_YET_VALID = 6
    """A certificate of the peer is not valid yet."""
    comptime SELF_SIGNED = 7
    """The certificate is self-signed and not trusted."""
    comptime UNKNOWN_AUTHORITY = 8
    """The peer's certificates lead to no trusted authority."""
    comptime WRONG_NAME = 9
    """The certificate is for another name or address."""
    comptime BAD_CERTIFICATE = 10
    """A certificate is malformed, too weak, or not for this purpose."""
    comptime REVOKED = 11
    """The authority has revoked the certificate."""
    comptime NO_CERTIFICATE = 12
    """A client presented no certificate although one is required."""
    comptime ALERT = 13
    """The peer ended the connection with an alert; see `alert`."""
    comptime TRUNCATED = 14
    """The transport ended without a close_notify: octets may be missing."""
    comptime CLOSED = 15
    """This end is closed, or not open yet."""
    comptime PLAIN_HTTP = 16
    """The client sent an HTTP request in place of a handshake."""
    comptime NO_APPLICATION_PROTOCOL = 17
    """The two ends share no application protocol (RFC 7301)."""
    comptime BAD_NAME = 18
    """The server's name is not one that a certificate can have."""
    comptime BAD_FILE = 19
    """Certificates or a key cannot be read."""
    comptime WRONG_KEY = 20
    """The private key does not match the certificate. Of a peer: it did not
    prove that it has its certificate's key.
    """
    comptime NO_TRUST_STORE = 21
    """No file of authorities was found at the known places."""
    comptime BAD_CONFIG = 22
    """A field of a configuration is out of its bounds."""
    comptime TOO_LARGE = 23
    """The output has reached its limit."""

    var kind: Int
    """One of the constants above."""
    var operation: StaticString
    """The step: `"handshake"`, `"read"` and so on."""
    var alert: Int
    """The alert that the peer sent (RFC 8446 section 6); 0 if none."""
    var code: Int
    """The library's reason: X509_V_ERR_… for a refused certificate, otherwise
    SSL_R_…; 0 if none.
    """

    def __init__(
        out self,
        kind: Int,
        operation: StaticString,
        *,
        alert: Int = 0,
        code: Int = 0,
    ):
        """Creates an error.

        Args:
            kind: One of the constants of this struct.
            operation: The step that failed.
            alert: The alert that the peer sent, or 0.
            code: The library's reason, or 0.
        """
        self.kind = kind
        self.operation = operation
        self.alert = alert
        self.code = code

    @staticmethod
    def of(e: Error) -> Optional[Self]:
        """Returns the fields of an error that a function of TLS raised.

        Args:
            e: Any error.

        Returns:
            The fields; `None` if the error has another origin.
        """
        var text = String(e)
        if not text.startswith(_PREFIX):
            return None
        var end = text.find(": ")
        if end < 0:
            end = text.byte_length()
        var parts = StringSlice(unsafe_from_utf8=text.as_bytes()[0:end]).split(
            " "
        )
        if len(parts) < 2 or len(parts) > 4:
            return None
        var kind = index_of_text[_KINDS](
            parts[0].as_bytes()[_PREFIX.byte_length() :]
        )
        var operation = index_of_text[_OPERATIONS](parts[1].as_bytes())
        if not kind or not operation:
            return None
        var error = Self(kind.value(), text_at[_OPERATIONS](operation.value()))
        var i = 2
        if i < len(parts):
            error.alert = _number_in(parts[i].as_bytes(), _ALERT)
            i += 1 if error.alert != 0 else 0
        if i < len(parts):
            error.code = _number_in(parts[i].as_bytes(), _CODE)
            i += 1 if error.code != 0 else 0
        if i < len(parts):
            return None
        return error

    def write_to(self, mut writer: Some[Writer]):
        """Writes the text that `of` reads, with an explanation.

        Args:
            writer: The destination.
        """
        writer.write(_PREFIX, text_at[_KINDS](self.kind), " ", self.operation)
        if self.alert != 0:
            writer.write(" ", _ALERT, self.alert)
        if self.code != 0:
            writer.write(" ", _CODE, self.code)
        writer.write(": ", text_at[_DETAILS](self.kind))

    def about(self, octets: Span[UInt8, _]) -> Error:
        """Returns the error with the name or path that caused it.

        Args:
            octets: A name or a path, escaped and cut in the text.

        Returns:
            The error.
        """
        var text = String(self, ": ")
        write_escaped(octets[0 : min(len(octets), _ABOUT_OCTETS_MAX)], text)
        return Error(text)


def _number_in(octets: Span[UInt8, _], prefix: StaticString) -> Int:
    var start = prefix.byte_length()
    var digits = len(octets) - start
    if digits < 1 or digits > _DIGITS_MAX:
        return 0
    if not equals(octets[0:start], prefix.as_bytes()) or octets[start] == 48:
        return 0
    var number = 0
    for octet in octets[start : len(octets)]:
        if octet - 48 > 9:
            return 0
        number = number * 10 + Int(octet - 48)
    return number

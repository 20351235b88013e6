"""Converts failures of OpenSSL into errors."""

from flare.sys.openssl import LIBRARY_SSL

from .error import TlsError

# Numbers of OpenSSL, which keeps them from version to version.
comptime _ALERTS_FROM = 1000
comptime _ALERTS_TO = 1255
# Reasons that any part of the library may report have this bit. The bits below
# hold the part that failed, or a number of their own.
comptime _COMMON_REASON = 0x80000
comptime _PART_X509 = 11
comptime _PART_ASN1 = 13
comptime _NO_SUITABLE_KEY_SHARE = 101
comptime _BAD_SIGNATURE = 123
comptime _CERTIFICATE_VERIFY_FAILED = 134
comptime _HTTPS_PROXY_REQUEST = 155
comptime _HTTP_REQUEST = 156
comptime _VERSION_TOO_HIGH = 166
comptime _NO_PROTOCOLS_AVAILABLE = 191
comptime _NO_SHARED_CIPHER = 193
comptime _PEER_DID_NOT_RETURN_A_CERTIFICATE = 199
comptime _NO_APPLICATION_PROTOCOL = 235
comptime _UNSUPPORTED_PROTOCOL = 258
comptime _WRONG_SSL_VERSION = 266
comptime _NO_SHARED_SIGNATURE_ALGORITHMS = 376
comptime _VERSION_TOO_LOW = 396
comptime _NO_SHARED_GROUPS = 410

comptime _ALERT_PROTOCOL_VERSION = 70
comptime _ALERT_NO_APPLICATION_PROTOCOL = 120

comptime _X509_UNABLE_TO_GET_ISSUER = 2
comptime _X509_NOT_YET_VALID = 9
comptime _X509_HAS_EXPIRED = 10
comptime _X509_SELF_SIGNED_LEAF = 18
comptime _X509_SELF_SIGNED_IN_CHAIN = 19
comptime _X509_NO_LOCAL_ISSUER = 20
comptime _X509_UNABLE_TO_VERIFY_LEAF = 21
comptime _X509_REVOKED = 23
comptime _X509_UNTRUSTED = 27
comptime _X509_HOST_MISMATCH = 62
comptime _X509_ADDRESS_MISMATCH = 64


def failure_of(
    operation: StaticString, part: Int, reason: Int, verify_result: Int
) -> TlsError:
    """Returns the error for an entry of the library's error queue.

    Args:
        operation: The step that failed.
        part: The part of the library that failed.
        reason: Its reason.
        verify_result: The result of verifying the peer's certificate.

    Returns:
        The error.
    """
    if part != LIBRARY_SSL:
        return TlsError(
            TlsError.PROTOCOL if part != 0 else TlsError.OTHER,
            operation,
            code=reason,
        )
    if reason > _ALERTS_FROM and reason <= _ALERTS_TO:
        var alert = reason - _ALERTS_FROM
        return TlsError(_kind_of_alert(alert), operation, alert=alert)
    if reason == _CERTIFICATE_VERIFY_FAILED:
        return TlsError(
            kind_of_certificate(verify_result), operation, code=verify_result
        )
    return TlsError(_kind_of_reason(reason), operation, code=reason)


def kind_of_certificate(verify_result: Int) -> Int:
    """Returns the kind of error for a refused certificate.

    Args:
        verify_result: One of the numbers X509_V_ERR_….

    Returns:
        One of the constants of `TlsError`.
    """
    if verify_result == _X509_HAS_EXPIRED:
        return TlsError.EXPIRED
    if verify_result == _X509_NOT_YET_VALID:
        return TlsError.NOT_YET_VALID
    if verify_result == _X509_SELF_SIGNED_LEAF:
        return TlsError.SELF_SIGNED
    if verify_result in (
        _X509_UNABLE_TO_GET_ISSUER,
        _X509_SELF_SIGNED_IN_CHAIN,
        _X509_NO_LOCAL_ISSUER,
        _X509_UNABLE_TO_VERIFY_LEAF,
        _X509_UNTRUSTED,
    ):
        return TlsError.UNKNOWN_AUTHORITY
    if verify_result in (_X509_HOST_MISMATCH, _X509_ADDRESS_MISMATCH):
        return TlsError.WRONG_NAME
    if verify_result == _X509_REVOKED:
        return TlsError.REVOKED
    return TlsError.BAD_CERTIFICATE


def _kind_of_alert(alert: Int) -> Int:
    if alert == _ALERT_PROTOCOL_VERSION:
        return TlsError.VERSION
    if alert == _ALERT_NO_APPLICATION_PROTOCOL:
        return TlsError.NO_APPLICATION_PROTOCOL
    return TlsError.ALERT


def _kind_of_reason(reason: Int) -> Int:
    if reason & _COMMON_REASON != 0:
        # TLS also parses the certificates that peers present.
        if reason - _COMMON_REASON in (_PART_ASN1, _PART_X509):
            return TlsError.BAD_CERTIFICATE
        return TlsError.OTHER
    if reason == _BAD_SIGNATURE:
        return TlsError.WRONG_KEY
    if reason in (_HTTP_REQUEST, _HTTPS_PROXY_REQUEST):
        return TlsError.PLAIN_HTTP
    if reason in (
        _VERSION_TOO_HIGH,
        _VERSION_TOO_LOW,
        _NO_PROTOCOLS_AVAILABLE,
        _UNSUPPORTED_PROTOCOL,
        _WRONG_SSL_VERSION,
    ):
        return TlsError.VERSION
    if reason in (
        _NO_SUITABLE_KEY_SHARE,
        _NO_SHARED_CIPHER,
        _NO_SHARED_SIGNATURE_ALGORITHMS,
        _NO_SHARED_GROUPS,
    ):
        return TlsError.NO_SHARED_CIPHER
    if reason == _PEER_DID_NOT_RETURN_A_CERTIFICATE:
        return TlsError.NO_CERTIFICATE
    if reason == _NO_APPLICATION_PROTOCOL:
        return TlsError.NO_APPLICATION_PROTOCOL
    return TlsError.PROTOCOL

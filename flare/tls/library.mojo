"""Finds OpenSSL, and the file of authorities that the system trusts."""

from std.os.path import isfile

from flare.sys.openssl import OpenSsl, openssl

from .error import TlsError

comptime TRUST_STORE_PATHS: List[StaticString] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
    "/etc/ssl/ca-bundle.pem",
    "/opt/homebrew/etc/openssl@3/cert.pem",
    "/usr/local/etc/openssl@3/cert.pem",
    "/opt/local/etc/openssl/cert.pem",
]
"""The files of authorities: of Debian and Alpine, Fedora, older systems of its
family, Alpine and macOS, openSUSE, and macOS package managers.
"""


def loaded_library() raises -> OpenSsl:
    """Returns OpenSSL, loaded at the first call.

    Returns:
        The library.

    Raises:
        Error: `tls.no_library load`, with the packages to install.
    """
    return required(openssl())


def required(library: Optional[OpenSsl]) raises -> OpenSsl:
    """Returns a library, or raises if it was not found.

    Args:
        library: The library, if found.

    Returns:
        The library.

    Raises:
        Error: `tls.no_library load`, with the packages to install.
    """
    if not library:
        raise Error(String(TlsError(TlsError.NO_LIBRARY, "load")))
    return library.value()


def find_trust_store(paths: List[String]) -> Optional[String]:
    """Returns the first file that exists.

    Args:
        paths: The places to look at, best first.

    Returns:
        Its path, or `None`.
    """
    for path in paths:
        if isfile(path):
            return path
    return None


def system_trust_store() -> Optional[String]:
    """Returns the file of authorities that the system trusts.

    Returns:
        Its path, or `None`.
    """
    var paths = List[String]()
    comptime for i in range(len(TRUST_STORE_PATHS)):
        paths.append(String(comptime (TRUST_STORE_PATHS[i])))
    return find_trust_store(paths)

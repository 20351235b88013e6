"""Finds what the machine must have: the library, and whom it trusts."""

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
"""Where Debian and Alpine, Fedora, older ones of its family, Alpine and macOS,
openSUSE, and the package managers of macOS keep their authorities."""


def loaded_library() raises -> OpenSsl:
    """Gives OpenSSL, and loads it the first time.

    Returns:
        The library.

    Raises:
        Error: `tls.no_library load`, with the packages to install.
    """
    return required(openssl())


def required(library: Optional[OpenSsl]) raises -> OpenSsl:
    """Insists on a library.

    Args:
        library: What was loaded.

    Returns:
        The library.

    Raises:
        Error: `tls.no_library load`, with the packages to install.
    """
    if not library:
        raise Error(String(TlsError(TlsError.NO_LIBRARY, "load")))
    return library.value()


def find_trust_store(paths: List[String]) -> Optional[String]:
    """Finds the first file that exists.

    Args:
        paths: Where to look, best first.

    Returns:
        Its path, or none.
    """
    for path in paths:
        if isfile(path):
            return path
    return None


def system_trust_store() -> Optional[String]:
    """Finds the file in which the system keeps the authorities it trusts.

    Returns:
        Its path, or none.
    """
    var paths = List[String]()
    comptime for i in range(len(TRUST_STORE_PATHS)):
        paths.append(String(comptime (TRUST_STORE_PATHS[i])))
    return find_trust_store(paths)

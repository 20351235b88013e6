"""Makes certificates at run time, and configurations that use them."""

from std.ffi import c_int, external_call

from flare.tls import Pem, TlsConfig, TlsIdentity, TlsServerConfig

comptime FOLDER: StaticString = "build/tls_certificates"
"""Where the certificates lie; the tests run in the folder of the project."""


def path_of(name: StringSlice) raises -> String:
    """Finds a file, and makes all of them the first time.

    Args:
        name: Its name.

    Returns:
        Its path.

    Raises:
        Error: If the `openssl` command fails.
    """
    var command = String("sh tests/tls/make_certificates.sh ", FOLDER)
    if external_call["system", c_int](command.as_c_string_span()) != 0:
        raise Error("the certificates could not be made")
    return String(FOLDER, "/", name)


def identity_of(name: StringSlice) raises -> TlsIdentity:
    """Makes an identity.

    Args:
        name: The name of the files, without their endings.

    Returns:
        The identity.

    Raises:
        Error: As `path_of` does.
    """
    return TlsIdentity.files(
        path_of(String(name, ".pem")), path_of(String(name, ".key"))
    )


def server_config(name: StringSlice = "server") raises -> TlsServerConfig:
    """Makes the configuration of a server.

    Args:
        name: Whose certificate it shows.

    Returns:
        The configuration.

    Raises:
        Error: As `path_of` does.
    """
    return TlsServerConfig(identity_of(name))


def client_config(authority: StringSlice = "ca") raises -> TlsConfig:
    """Makes the configuration of a client that trusts one authority only.

    Args:
        authority: The authority.

    Returns:
        The configuration.

    Raises:
        Error: As `path_of` does.
    """
    var config = TlsConfig(trusts_system_authorities=False)
    config.authorities.append(Pem(path=path_of(String(authority, ".pem"))))
    return config^

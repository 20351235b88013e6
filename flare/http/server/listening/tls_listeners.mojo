"""Stores the TLS contexts of a server's listeners, and replaces them."""

from flare.http.alpn import AlpnName
from flare.tls import TlsContext, TlsServerConfig

from .protocols import HttpProtocols

comptime _TIMEOUT_MS_MAX = (1 << 31) - 1


struct TlsListenerState(Copyable, Movable):
    """The TLS state of one listening socket."""

    var config: TlsServerConfig
    """The configuration; its files may be read again."""
    var context: TlsContext
    """The context that its connections share."""
    var protocols: HttpProtocols
    """The versions of HTTP that its connections may speak."""

    def __init__(
        out self,
        var config: TlsServerConfig,
        protocols: HttpProtocols = HttpProtocols.ALL,
    ) raises:
        """Creates the state from a configuration, whose files it reads and
        checks.

        Args:
            config: The configuration.
            protocols: The versions of HTTP that its connections may speak.

        Raises:
            Error: As `TlsContext.for_servers` does.
        """
        self.protocols = protocols
        self.config = completed(config^, protocols)
        self.context = TlsContext.for_servers(self.config)


def completed(
    var config: TlsServerConfig, protocols: HttpProtocols
) raises -> TlsServerConfig:
    """Adds the server's application protocols to a configuration without any.

    Args:
        config: The configuration.
        protocols: The versions of HTTP that its connections may speak.

    Returns:
        The configuration to use.

    Raises:
        Error: `http.bad_config` if it has other protocols, or no handshake
            timeout.
    """
    if len(config.application_protocols) == 0:
        if protocols.includes(HttpProtocols.HTTP2):
            config.application_protocols.append(String(AlpnName.HTTP_2))
        if protocols.includes(HttpProtocols.HTTP1):
            config.application_protocols.append(String(AlpnName.HTTP_1_1))
            config.application_protocols.append(String(AlpnName.HTTP_1_0))
    if config.handshake_timeout_ms > _TIMEOUT_MS_MAX:
        raise Error(
            "http.bad_config TlsServerConfig.handshake_timeout_ms must be 1 to"
            " 2,147,483,647"
        )
    for name in config.application_protocols:
        if (
            name != AlpnName.HTTP_2
            and name != AlpnName.HTTP_1_1
            and name != AlpnName.HTTP_1_0
        ):
            raise Error(
                "http.bad_config TlsServerConfig.application_protocols may"
                " only name h2, http/1.1 and http/1.0"
            )
    return config^

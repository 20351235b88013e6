# Run: mojo run -I . examples/02_dns_resolution.mojo
# Prints: 2001:db8::1 passes through
"""Looks up hosts, with the system's resolver and with chosen servers."""

from flare.dns import (
    DnsError,
    HostsFile,
    Resolver,
    ResolverConfig,
    resolve,
    resolve_v4,
    resolve_v6,
)


def main() raises:
    # The system is asked on a helper thread. Numeric addresses and localhost
    # need no query.
    for address in resolve("localhost"):
        print("localhost is", address)
    print("v4 only:", resolve_v4("localhost")[0])
    print("v6 only:", resolve_v6("localhost")[0])
    print(resolve("2001:db8::1")[0], "passes through")

    # A text that is not a host name is refused before any query.
    for text in ["user@example.com", "a\r\nHost: b", "127.1", ""]:
        try:
            print(resolve(text)[0])
        except e:
            print(e)

    # A name that never exists (RFC 6761 section 6.4).
    try:
        print(resolve("host.invalid", timeout_ms=2000)[0])
    except e:
        var error = DnsError.of(e)
        if error and error.value().kind == DnsError.NOT_FOUND:
            print(error.value().host, "does not exist")
        elif error and error.value().can_retry():
            print("no name server answers:", e)

    # A resolver of its own: servers, search list and hosts are values.
    # `ResolverConfig.from_system()` reads the files of the system.
    var config = ResolverConfig()
    config.hosts = HostsFile.parse("10.0.0.7 db db.internal".as_bytes())
    config.server_timeout_ms = 1000
    var resolver = Resolver(config^)
    print("db is", resolver.resolve("db")[0])

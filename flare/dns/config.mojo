"""Configures a resolver: servers, timeouts, cache."""

from flare.net import IpAddr, SocketAddr
from flare.runtime.blocking import blocking

from .host_name import check_host_name
from .hosts_file import HostsFile
from .resolv_conf import NDOTS_MAX, SEARCH_MAX, ResolvConf

comptime FILE_OCTETS_MAX = 4 * 1024 * 1024
"""How much of a system file is read; the rest is ignored."""

comptime _DNS_PORT: UInt16 = 53
comptime _HOSTS: StaticString = "/etc/hosts"
comptime _RESOLV_CONF: StaticString = "/etc/resolv.conf"


struct ResolverConfig(Copyable, Movable):
    """Configures a `Resolver`."""

    comptime SERVERS_MAX = 8
    """The most servers."""
    comptime SEARCH_MAX = SEARCH_MAX
    """The most domains of a search list."""
    comptime SERVER_TIMEOUT_MS_MAX = 30_000
    """The bound of `server_timeout_ms`."""
    comptime CACHE_ENTRIES_MAX = 65_536
    """The bound of `cache_entries_max`."""
    comptime CACHE_SECONDS_MAX = 604_800
    """The bound of `cache_seconds_max` and `negative_cache_seconds_max`: one
    week (RFC 8767 section 4).
    """

    var servers: List[SocketAddr]
    """The servers to ask, in this order; at least one. The default is the
    server on this machine.
    """
    var hosts: HostsFile
    """Hosts with fixed addresses; none by default."""
    var search: List[String]
    """Domains that are appended to short names, each a host name; none by
    default.
    """
    var ndots: Int
    """A name with at least this many dots is first looked up as it is; 1 by
    default.
    """
    var server_timeout_ms: Int
    """How long to wait for one server; 5 s by default."""
    var attempts: Int
    """How often to ask each server; twice by default."""
    var cache_entries_max: Int
    """The most cached answers; 1,024 by default. If the cache is full, the
    answer that expires first is replaced.
    """
    var cache_seconds_max: Int
    """The longest time to cache addresses, whatever the server says; one day
    by default.
    """
    var negative_cache_seconds_max: Int
    """The longest time to cache that there is no address; one hour by default
    (RFC 2308 section 5 advises one to three).
    """

    def __init__(out self):
        """Creates a configuration with the defaults."""
        self.servers = [SocketAddr.localhost(_DNS_PORT)]
        self.hosts = HostsFile()
        self.search = []
        self.ndots = 1
        self.server_timeout_ms = 5000
        self.attempts = 2
        self.cache_entries_max = 1024
        self.cache_seconds_max = 86_400
        self.negative_cache_seconds_max = 3600

    @staticmethod
    def from_files(
        hosts: Span[mut=False, UInt8, _],
        resolv_conf: Span[mut=False, UInt8, _],
    ) -> Self:
        """Creates a configuration from the contents of system files.

        Args:
            hosts: The content of a file like hosts(5).
            resolv_conf: The content of a file like resolv.conf(5).

        Returns:
            The configuration.
        """
        var config = Self()
        config.hosts = HostsFile.parse(hosts)
        var conf = ResolvConf.parse(resolv_conf)
        if len(conf.servers) > 0:
            config.servers.clear()
            for server in conf.servers:
                config.servers.append(SocketAddr(_reached(server), _DNS_PORT))
        config.search = conf.search.copy()
        config.ndots = conf.ndots
        config.server_timeout_ms = conf.timeout_seconds * 1000
        config.attempts = conf.attempts
        return config^

    @staticmethod
    def from_system() raises -> Self:
        """Reads `/etc/hosts` and `/etc/resolv.conf`; a missing file counts as
        empty.

        After the files have changed, call it again.

        Returns:
            The configuration.

        Raises:
            Error: `net.…` if the caller may not wait.
        """

        def read() raises {} -> List[List[UInt8]]:
            return [_content(_HOSTS), _content(_RESOLV_CONF)]

        var contents = blocking(read)
        return Self.from_files(Span(contents[0]), Span(contents[1]))

    def first_problem(self) -> Optional[StaticString]:
        """Returns the first invalid value.

        Returns:
            The problem, or `None`.
        """
        if len(self.servers) < 1 or len(self.servers) > Self.SERVERS_MAX:
            return StaticString("servers must be 1 to 8")
        for server in self.servers:
            if server.port == 0 or server.ip.is_unspecified():
                return StaticString("a server needs an address and a port")
        if len(self.search) > Self.SEARCH_MAX:
            return StaticString("search has up to 32 domains")
        if self.ndots < 0 or self.ndots > NDOTS_MAX:
            return StaticString("ndots must be 0 to 15")
        if (
            self.server_timeout_ms < 1
            or self.server_timeout_ms > Self.SERVER_TIMEOUT_MS_MAX
        ):
            return StaticString("server_timeout_ms must be 1 to 30,000")
        if self.attempts < 1 or self.attempts > 5:
            return StaticString("attempts must be 1 to 5")
        if (
            self.cache_entries_max < 1
            or self.cache_entries_max > Self.CACHE_ENTRIES_MAX
        ):
            return StaticString("cache_entries_max must be 1 to 65,536")
        for seconds in [
            self.cache_seconds_max,
            self.negative_cache_seconds_max,
        ]:
            if seconds < 1 or seconds > Self.CACHE_SECONDS_MAX:
                return StaticString("cached answers last a second to a week")
        try:
            self.check_search()
        except:
            return StaticString("a search domain is no host name")
        return None

    def check_search(self) raises:
        """Checks the search domains by the rules for names to look up.

        Raises:
            Error: `dns.bad_name resolve` for the first domain that is not a
                host name (`DnsError.of`).
        """
        for domain in self.search:
            try:
                check_host_name(domain.as_bytes())
            except e:
                raise e.about(domain.as_bytes())


def _reached(server: IpAddr) -> IpAddr:
    # The kernel takes the unspecified address for that of this machine.
    if not server.is_unspecified():
        return server
    return IpAddr.localhost_v4() if server.is_v4() else IpAddr.localhost_v6()


def _content(path: StaticString) -> List[UInt8]:
    try:
        with open(path, "r") as file:
            return file.read_bytes(FILE_OCTETS_MAX)
    except:
        return []

"""Queries name servers directly, without the system's resolver.

Use it to choose the servers, or to look up more names at once than helper
threads could. A look-up costs a fiber, not a thread. Fixed hosts come first,
then the cache, then the servers in order.
"""

from flare.core import PointerTo, heap_create, heap_destroy
from flare.net import IpAddr, SocketAddr
from flare.proto.dns import RecordType
from flare.runtime.wait import waiting_fiber
from flare.sys.file import close_descriptor
from flare.sys.socket import connect_socket, open_socket
from flare.sys.socket_address import AF_INET, AF_INET6, AF_UNSPEC
from flare.sys.socket_constants import IPPROTO_UDP, SOCK_DGRAM

from .cache import DnsCache
from .config import ResolverConfig
from .datagram import DatagramExchange
from .error import DnsError
from .finding import Finding
from .resolve import RESOLVE_TIMEOUT_MS, known_addresses
from .search import whole_names
from .stream import ask_by_stream

comptime _NO_DEADLINE_MS = Int.MAX


struct _ResolverState(Movable):
    var config: ResolverConfig
    var cache: DnsCache

    def __init__(out self, var config: ResolverConfig):
        self.cache = DnsCache(config.cache_entries_max)
        self.config = config^


struct Resolver(Movable):
    """A resolver that queries name servers and caches their answers.

    It belongs to one thread. Any number of that thread's fibers may use it at
    once.
    """

    var _state: PointerTo[_ResolverState]

    def __init__(
        out self, var config: ResolverConfig = ResolverConfig()
    ) raises:
        """Creates a resolver with an empty cache.

        Args:
            config: The servers and the limits.

        Raises:
            Error: `dns.bad_name resolve` if a search domain is not a host
                name, `dns.bad_config` if a value is out of its bounds.
        """
        config.check_search()
        var problem = config.first_problem()
        if problem:
            raise Error("dns.bad_config ", problem.value())
        self._state = heap_create(_ResolverState(config^))

    def __deinit__(deinit self):
        """Frees the cache."""
        heap_destroy(self._state)

    def resolve(
        self,
        host: StringSlice,
        *,
        timeout_ms: Optional[Int] = RESOLVE_TIMEOUT_MS,
    ) raises -> List[IpAddr]:
        """Returns the addresses of a host, of both versions.

        Args:
            host: A host name, `localhost`, or an address without port and
                brackets, which is returned as it is.
            timeout_ms: The longest wait; `None` applies only `deadline_in`.

        Returns:
            At least one address; first those of the version for which the
            machine has a route.

        Raises:
            Error: `dns.not_found resolve`, `dns.timeout resolve`,
                `dns.bad_name resolve` and others (`DnsError.of`).
                `net.cancelled resolve` if the fiber is cancelled.
        """
        return self._resolve(host, AF_UNSPEC, timeout_ms)

    def resolve_v4(
        self,
        host: StringSlice,
        *,
        timeout_ms: Optional[Int] = RESOLVE_TIMEOUT_MS,
    ) raises -> List[IpAddr]:
        """Returns the IPv4 addresses of a host.

        Args:
            host: As for `resolve`.
            timeout_ms: The longest wait; `None` applies only `deadline_in`.

        Returns:
            At least one address.

        Raises:
            Error: As `resolve` does.
        """
        return self._resolve(host, AF_INET, timeout_ms)

    def resolve_v6(
        self,
        host: StringSlice,
        *,
        timeout_ms: Optional[Int] = RESOLVE_TIMEOUT_MS,
    ) raises -> List[IpAddr]:
        """Returns the IPv6 addresses of a host.

        Args:
            host: As for `resolve`.
            timeout_ms: The longest wait; `None` applies only `deadline_in`.

        Returns:
            At least one address.

        Raises:
            Error: As `resolve` does.
        """
        return self._resolve(host, AF_INET6, timeout_ms)

    def cached_answers(self) -> Int:
        """Returns the number of cached answers.

        Returns:
            The number, including expired answers.
        """
        return len(self._state[].cache)

    def clear_cache(self):
        """Removes all cached answers."""
        self._state[].cache.clear()

    def _resolve(
        self, host: StringSlice, family: Int, timeout_ms: Optional[Int]
    ) raises -> List[IpAddr]:
        var known = known_addresses(host, family)
        if known:
            return known.take()
        var by_hand = _of_family(
            self._state[].config.hosts.addresses_of(host), family
        )
        if len(by_hand) > 0:
            return by_hand^
        var deadline_ms = _NO_DEADLINE_MS
        if timeout_ms:
            deadline_ms = (
                waiting_fiber("resolve")
                .reactor()
                .deadline_after(timeout_ms.value())
            )
        var missing = DnsError.NOT_FOUND
        for name in whole_names(
            host, self._state[].config.search, self._state[].config.ndots
        ):
            # A search list may lead to names of this machine too.
            var local = known_addresses(name, family)
            if local:
                return local.take()
            var findings = self._ask(name, family, deadline_ms)
            var addresses = List[IpAddr]()
            for finding in findings:
                addresses.extend(Span(finding.addresses))
            if len(addresses) > 0:
                return _reachable_first(addresses)
            for finding in findings:
                # A server that fails has not said that there is no such name:
                # the next one may belong to somebody else.
                if finding.is_open():
                    raise Error(
                        DnsError(
                            finding.failure,
                            "resolve",
                            String(host),
                            finding.code,
                        )
                    )
                if finding.status == Finding.NO_ADDRESS:
                    missing = DnsError.NO_ADDRESS
        raise Error(DnsError(missing, "resolve", String(host), 0))

    def _ask(
        self, name: String, family: Int, deadline_ms: Int
    ) raises -> List[Finding]:
        var reactor = waiting_fiber("resolve").reactor()
        var findings = List[Finding]()
        if family != AF_INET:
            findings.append(self._known(name, RecordType.AAAA))
        if family != AF_INET6:
            findings.append(self._known(name, RecordType.A))
        for _ in range(self._state[].config.attempts):
            for i in range(len(self._state[].config.servers)):
                if not _has_open(findings):
                    return findings^
                var left_ms = self._state[].config.server_timeout_ms
                if deadline_ms != _NO_DEADLINE_MS:
                    left_ms = min(
                        left_ms, deadline_ms - reactor.refresh_now_ms()
                    )
                if left_ms <= 0:
                    return findings^
                _ask_server(
                    self._state[].config.servers[i], name, findings, left_ms
                )
                self._keep(name, findings)
        return findings^

    def _known(self, name: String, type: UInt16) raises -> Finding:
        var now_ms = waiting_fiber("resolve").reactor().refresh_now_ms()
        var kept = self._state[].cache.find(name, type, now_ms)
        return kept.take() if kept else Finding(type)

    def _keep(self, name: String, mut findings: List[Finding]) raises:
        var now_ms = waiting_fiber("resolve").reactor().refresh_now_ms()
        ref config = self._state[].config
        for i in range(len(findings)):
            ref finding = findings[i]
            if finding.is_open() or not finding.ttl_seconds:
                continue
            var seconds_max = config.negative_cache_seconds_max
            if finding.status == Finding.ADDRESSES:
                seconds_max = config.cache_seconds_max
            var seconds = min(finding.ttl_seconds.value(), seconds_max)
            # Answers from the cache are not cached again.
            finding.ttl_seconds = None
            self._state[].cache.keep(
                name, finding, now_ms + seconds * 1000, now_ms
            )


def _ask_server(
    server: SocketAddr,
    name: String,
    mut findings: List[Finding],
    timeout_ms: Int,
) raises:
    var reactor = waiting_fiber("resolve").reactor()
    var deadline_ms = reactor.deadline_after(timeout_ms)
    _ask_until(server, name, findings, deadline_ms, with_edns=True)
    for finding in findings:
        if finding.is_open() and finding.was_unreadable:
            # RFC 6891 section 6.2.2: it may be a server from before EDNS.
            _ask_until(server, name, findings, deadline_ms, with_edns=False)
            return


def _ask_until(
    server: SocketAddr,
    name: String,
    mut findings: List[Finding],
    deadline_ms: Int,
    *,
    with_edns: Bool,
) raises:
    var reactor = waiting_fiber("resolve").reactor()
    var exchange = DatagramExchange(server, name, findings, with_edns=with_edns)
    while True:
        # At once: the other answer may never come (RFC 7766 section 5).
        var truncated = exchange.next_truncated(findings, deadline_ms)
        if not truncated:
            return
        var left_ms = deadline_ms - reactor.refresh_now_ms()
        if left_ms > 0:
            ask_by_stream(
                server,
                name,
                findings[truncated.value()],
                left_ms,
                with_edns=with_edns,
            )


def _has_open(findings: List[Finding]) -> Bool:
    for finding in findings:
        if finding.is_open():
            return True
    return False


def _of_family(addresses: List[IpAddr], family: Int) -> List[IpAddr]:
    var wanted = List[IpAddr]()
    for address in addresses:
        if family == AF_UNSPEC or address.is_v4() == (family == AF_INET):
            wanted.append(address)
    return wanted^


def _reachable_first(addresses: List[IpAddr]) -> List[IpAddr]:
    # IPv6 before IPv4 (RFC 6724 section 2.1), but for a machine without a
    # route to the first address of IPv6.
    var v6 = _of_family(addresses, AF_INET6)
    var v4 = _of_family(addresses, AF_INET)
    if len(v6) == 0 or len(v4) == 0 or _has_route(v6[0]):
        v6.extend(Span(v4))
        return v6^
    v4.extend(Span(v6))
    return v4^


def _has_route(address: IpAddr) -> Bool:
    # Connecting a socket for datagrams asks the kernel only.
    var opened = open_socket(
        AF_INET if address.is_v4() else AF_INET6, SOCK_DGRAM, IPPROTO_UDP
    )
    if opened < 0:
        return False
    var connected = connect_socket(
        Int32(opened), SocketAddr(address, 53).to_storage()
    )
    _ = close_descriptor(Int32(opened))
    return connected >= 0

"""Looks names up with a resolver of its own, for tests with a server.

Usage: lookups (io_uring | epoll) SETTING=VALUE… NAME… where a setting is
`server`, `search`, `timeout`, `attempts`, `ndots`, `cache`, `limit` or `hosts`.
A name that begins with `4:` or `6:` is looked up in one family. Names joined by
commas are looked up at the same time. One line is printed for each.
"""

from std.memory import ArcPointer
from std.sys import argv

from flare.dns import HostsFile, Resolver, ResolverConfig
from flare.net import IpAddr, SocketAddr
from flare.runtime.backend import BackendKind
from flare.runtime.private_loop import begin_private_loop, end_private_loop
from flare.runtime.reactor import ReactorConfig
from flare.runtime.task import JoinHandle, spawn


def main() raises:
    var kind = BackendKind.IO_URING
    if argv()[1] == "epoll":
        kind = BackendKind.EPOLL
    var begun = begin_private_loop(ReactorConfig(backend=kind))
    if begun[0] != 0:
        raise Error("no loop: ", begun[0])
    run()
    end_private_loop()


def run() raises:
    var config = ResolverConfig()
    config.servers.clear()
    var limit_ms = 20_000
    var names = List[String]()
    for i in range(2, len(argv())):
        var parts = String(argv()[i]).split("=")
        if len(parts) == 1:
            names.append(String(parts[0]))
        elif parts[0] == "server":
            config.servers.append(SocketAddr.parse(parts[1]))
        elif parts[0] == "search":
            config.search.append(String(parts[1]))
        elif parts[0] == "timeout":
            config.server_timeout_ms = Int(parts[1])
        elif parts[0] == "attempts":
            config.attempts = Int(parts[1])
        elif parts[0] == "ndots":
            config.ndots = Int(parts[1])
        elif parts[0] == "cache":
            config.cache_entries_max = Int(parts[1])
        elif parts[0] == "limit":
            limit_ms = Int(parts[1])
        elif parts[0] == "hosts":
            config.hosts = HostsFile.parse(parts[1].as_bytes())
    var resolver = ArcPointer(Resolver(config^))
    for name in names:
        var asking = List[JoinHandle[String]]()
        for one in name.split(","):
            asking.append(begin(resolver, String(one), limit_ms))
        while len(asking) > 0:
            print(asking.pop(0).join(), flush=True)


def begin(
    resolver: ArcPointer[Resolver], name: String, limit_ms: Int
) raises -> JoinHandle[String]:
    def ask() raises {var resolver, var name, var limit_ms} -> String:
        return look_up(resolver[], name, limit_ms)

    return spawn(ask^)


def look_up(resolver: Resolver, name: String, limit_ms: Int) -> String:
    try:
        var addresses: List[IpAddr]
        if name.startswith("4:"):
            addresses = resolver.resolve_v4(name[byte=2:], timeout_ms=limit_ms)
        elif name.startswith("6:"):
            addresses = resolver.resolve_v6(name[byte=2:], timeout_ms=limit_ms)
        else:
            addresses = resolver.resolve(name, timeout_ms=limit_ms)
        var text = String(name)
        for address in addresses:
            text.write(" ", address)
        return text^
    except e:
        return String(e)

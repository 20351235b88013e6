"""Runs a reverse proxy with fields of its own, for test_reverse_proxy.py."""

from std.sys import argv

from flare.http import ClientConfig, HttpServer, ReverseProxy, ServerConfig
from flare.message import HeaderMap
from flare.net import SocketAddr
from flare.runtime import BackendKind


def main() raises:
    var backend = BackendKind.IO_URING
    if argv()[2] == "epoll":
        backend = BackendKind.EPOLL
    var server = HttpServer.bind(
        SocketAddr.localhost(0), ServerConfig(backend=backend)
    )
    var headers = HeaderMap()
    headers.append("X-Gateway-Key", "ours")
    print("listening at", server.local_address(), flush=True)
    server.serve(
        ReverseProxy(
            argv()[1],
            config=ClientConfig(
                headers=headers^,
                http2_prior_knowledge=argv()[len(argv()) - 1] == "h2c",
            ),
            fields_dropped=["X-Tenant", "X-Auth-*"],
            fields_kept=["X-Client-IP"],
        )
    )

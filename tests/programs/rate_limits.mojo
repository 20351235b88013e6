"""Limits the requests of each address, over four workers
(tests/python/test_rate_limits.py).

Arguments: the backend, and `exact` or `parted`.
"""

from std.sys import argv

from flare.http import (
    FnHandler,
    HttpServer,
    RateLimit,
    RateLimitConfig,
    Request,
    Response,
    ServerConfig,
    ok,
)
from flare.net import IpAddr, SocketAddr
from flare.runtime import BackendKind

comptime WORKERS = 4


def hello(req: Request) raises -> Response:
    return ok("hello")


def main() raises:
    var backend = BackendKind.IO_URING
    if argv()[1] == "epoll":
        backend = BackendKind.EPOLL
    var is_exact = argv()[2] == "exact"
    # No test takes long enough to regain one.
    var limit = RateLimitConfig(
        requests=1000,
        window_seconds=31 * 86400,
        is_exact=is_exact,
        workers=1 if is_exact else WORKERS,
    )
    # Clients of IPv4 have an IPv4-mapped address here.
    var server = HttpServer.bind(
        SocketAddr(IpAddr.unspecified_v6(), 0), ServerConfig(backend=backend)
    )
    print(server.local_address().port, flush=True)
    server.serve(RateLimit(FnHandler(hello), limit), num_workers=WORKERS)

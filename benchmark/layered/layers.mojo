"""Serves one route with and without middleware, metrics and a log.

Options: --port P --layers NAME, one of `none`, `metrics`, `log`, `tracing` and
`all`, which leaves out the log; --folder F receives the log.
"""

from std.sys import argv

from flare.http import (
    AccessLog,
    Cors,
    CorsConfig,
    CrossOriginProtection,
    Handler,
    Health,
    Limit,
    MetricsPage,
    Path,
    RateLimit,
    RateLimitConfig,
    Request,
    RequestValue,
    Response,
    Router,
    StatusPage,
    Timeout,
    Tracing,
    ok,
)
from flare.http import HttpServer, ServerConfig
from flare.metrics import Metrics
from flare.net import SocketAddr

# A benchmark's connections last as long as it does.
comptime REQUESTS_MAX = 1_000_000_000


def option(name: StringSlice, default: StaticString) -> String:
    """Returns the value of an option.

    Args:
        name: As the command line has it.
        default: The value if the command line lacks the option.
    """
    var options = argv()
    for i in range(1, len(options) - 1, 2):
        if options[i] == name:
            return String(options[i + 1])
    return String(default)


def bare(id: Path[Int]) raises -> Response:
    return ok(String(id.value))


def valued(id: Path[Int], user: RequestValue[Int]) raises -> Response:
    return ok(String(id.value + user[]))


@fieldwise_init
struct SignedIn[H: Handler](Handler):
    """Hands a value to the handler."""

    var inner: Self.H

    def serve(self, req: Request) raises -> Response:
        req.set(0)
        return self.inner.serve(req)


def pages(mut router: Router, metrics: Metrics) raises:
    """Mounts the pages that nobody asks for here.

    Args:
        router: Gets their routes.
        metrics: What they show.
    """
    router.get("/metrics", MetricsPage(metrics))
    router.get("/-/flare", StatusPage(metrics))


def main() raises:
    var layers = option("--layers", "none")
    var address = SocketAddr.localhost(UInt16(Int(option("--port", "8080"))))
    var config = ServerConfig(max_keepalive_requests=REQUESTS_MAX)
    var router = Router()
    if layers == "all":
        var metrics = Metrics()
        pages(router, metrics)
        config.metrics = metrics
        router.get[valued]("/item/:id")
        var inner = Timeout(Limit(SignedIn(router^), body_octets=10_000), 5_000)
        var cors = CorsConfig(origins=["https://a.example"])
        var rate = RateLimitConfig(requests=REQUESTS_MAX)
        var guarded = CrossOriginProtection(RateLimit(inner^, rate))
        HttpServer.bind(address, config^).serve(
            Tracing(Health(Cors(guarded^, cors)))
        )
        return
    router.get[bare]("/item/:id")
    if layers == "metrics":
        var metrics = Metrics()
        pages(router, metrics)
        config.metrics = metrics
    elif layers == "log":
        config.access_log = AccessLog.json_lines(
            file=option("--folder", ".") + "/access.log"
        )
    var server = HttpServer.bind(address, config^)
    if layers == "tracing":
        server.serve(Tracing(router^))
    else:
        server.serve(router^)

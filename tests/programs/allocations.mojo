"""Serves the requests whose heap allocations test_allocations.py counts."""

from std.sys import argv

from flare.http import (
    AccessLog,
    Cors,
    CorsConfig,
    CrossOriginProtection,
    ETag,
    FileOptions,
    FnHandler,
    FromFields,
    Handler,
    HttpDate,
    HttpServer,
    Limit,
    Path,
    Problems,
    QueryOf,
    RateLimit,
    RateLimitConfig,
    Request,
    RequestValue,
    Response,
    Router,
    ServerConfig,
    StaticFiles,
    Tracing,
    Validated,
    Validators,
    not_modified,
    ok,
    precondition_fails,
    requested_ranges,
    unchanged,
)
from flare.metrics import Counter, Histogram, Metrics
from flare.net import SocketAddr
from flare.runtime import BackendKind, sleep
from flare.ws import WebSocket, WsConnection


def echo(req: Request) raises -> Response:
    if Int(req.param("id")) != 1234:
        raise Error("the route's parameter is lost")
    return ok(req.text())


def parked_echo(req: Request) raises -> Response:
    sleep(0)
    return echo(req)


def copied_echo(req: Request) raises -> Response:
    return ok(String(req.text()))


def conditional(req: Request) raises -> Response:
    var validators = Validators(ETag.strong(7), HttpDate(946_684_800))
    var ranges = requested_ranges(req, validators, 1000)
    if len(ranges) != 2 or precondition_fails(req, validators):
        raise Error("the conditions are decided wrongly")
    if unchanged(req, validators):
        return not_modified(validators)
    return ok("changed")


@fieldwise_init
struct Wanted(FromFields, Validated):
    var page: Optional[Int]
    var name: String
    var is_exact: Bool

    def validate(self, mut problems: Problems):
        problems.require(self.page.or_else(1) > 0, "/page", "too small")
        problems.require(self.is_exact, "/is_exact", "must be true")


def validated(
    req: Request, id: Path[Int], wanted: QueryOf[Wanted]
) raises -> Response:
    if id.value != 1234 or wanted.value.page.or_else(0) != 3:
        raise Error("a value is lost")
    return echo(req)


def converse(ws: WsConnection) raises:
    for message in ws:
        ws.send(message)


struct Named[H: Handler](Handler):
    """Adds a header field to what another handler answers."""

    var inner: Self.H

    def __init__(out self, var inner: Self.H):
        self.inner = inner^

    def serve(self, req: Request) raises -> Response:
        var response = self.inner.serve(req)
        response.headers.set("X-Served-By", "flare")
        return response^


@fieldwise_init
struct Metered(Handler):
    var count: Counter
    var labelled: Counter
    var times: Histogram

    def serve(self, req: Request) raises -> Response:
        self.count.add()
        self.labelled.add()
        self.times.observe(1_000_000)
        return echo(req)


@fieldwise_init
struct Counted[H: Handler](Handler):
    var inner: Self.H

    def serve(self, req: Request) raises -> Response:
        req.set(7)
        var response = self.inner.serve(req)
        if RequestValue[Int].of(req)[] != 7:
            raise Error("the value is lost")
        return response^


def main() raises:
    var router = Router()
    router.post("/echo/:id", echo)
    router.post("/parked/:id", parked_echo)
    router.post("/copied/:id", copied_echo)
    router.get("/conditional", conditional)
    var guarded = RateLimit(
        Limit(
            Tracing(Counted(CrossOriginProtection(FnHandler(echo)))),
            body_octets=1000,
            time_ms=1000,
        ),
        RateLimitConfig(requests=1_000_000),
    )
    router.post(
        "/guarded/:id",
        Cors(guarded^, CorsConfig(origins=["https://a.example"])),
    )
    router.post("/validated/:id", validated)
    var metrics = Metrics()
    router.post(
        "/metered/:id",
        Metered(
            metrics.counter("a_total", "A."),
            metrics.counter("b_total", "B.", labels=["x"]).of("y"),
            metrics.histogram("c_seconds", "C."),
        ),
    )
    router.get("/ws", WebSocket(converse))
    # What a hit costs is counted, not what a look at the disk does.
    var options = FileOptions(recheck_ms=60_000)
    router.get(
        "/files/*path",
        StaticFiles(".", precompressed=True, options=options),
    )
    var backend = BackendKind.IO_URING
    if argv()[1] == "epoll":
        backend = BackendKind.EPOLL
    var server = HttpServer.bind(
        SocketAddr.localhost(0),
        ServerConfig(
            backend=backend,
            metrics=metrics,
            access_log=AccessLog.json_lines(file="access.log"),
        ),
    )
    print(server.local_address().port, flush=True)
    server.serve(Named(router^))

"""Serves with spans that are reported (tests/python/test_loopback_tracing.py).

Options: `--backend KIND`, `--collector URL`, `--workers N`, `--supervised`,
`--share NUMBER`, `--strict`, `--delay-ms N`, `--upstream URL`.
"""

from std.sys import argv

from flare.http import (
    App,
    ClientConfig,
    HttpClient,
    HttpServer,
    OtlpExporter,
    RequestId,
    Request,
    Response,
    ResponseStream,
    ReverseProxy,
    Router,
    ServerConfig,
    State,
    Tracing,
    current_trace,
    ok,
    trace_fields,
)
from flare.message import HeaderMap
from flare.net import SocketAddr
from flare.runtime import BackendKind, sleep


@fieldwise_init
struct Program(ImplicitlyCopyable):
    """What handlers need."""

    var exporter: OtlpExporter
    """The exporter whose numbers are shown."""
    var port: Int
    """The port of the server."""


def hello(req: Request) raises -> Response:
    return ok(String("hello ", req.param("name")))


def show(req: Request) raises -> Response:
    return ok(current_trace().value().traceparent())


def wait(req: Request) raises -> Response:
    sleep(Int(req.param("ms")))
    return ok("waited")


def fail(req: Request) raises -> Response:
    raise Error("of the test")


def streamed(req: Request) raises -> Response:
    return Response.stream(_write_pieces)


def _write_pieces(req: Request, stream: ResponseStream) raises:
    for _ in range(Int(req.param("count"))):
        stream.write_text("piece")
        sleep(50)


def call(req: Request) raises -> Response:
    # Asks the same server, as if it were another one.
    var program = State[Program].of(req)
    var client = HttpClient(
        String("http://127.0.0.1:", program[].port),
        config=ClientConfig(field_source=trace_fields),
    )
    return ok(client.get("/show").text())


def statistics(req: Request) raises -> Response:
    var found = State[Program].of(req)[].exporter.statistics()
    return ok(String(found.exported, " ", found.dropped, " ", found.failed))


def main() raises:
    var config = ServerConfig()
    if _option("--backend") == "epoll":
        config.backend = BackendKind.EPOLL
    var workers = 1
    if _has("--workers"):
        workers = Int(_option("--workers"))
    var share = 1.0
    if _has("--share"):
        share = atof(_option("--share"))
    var delay_ms = 50
    if _has("--delay-ms"):
        delay_ms = Int(_option("--delay-ms"))
    var headers = HeaderMap()
    headers.set("Authorization", "Bearer of-the-test")
    var exporter = OtlpExporter(
        service_name='a "test"',
        url=_option("--collector"),
        headers=headers,
        delay_ms=delay_ms,
    )
    var server = HttpServer.bind(SocketAddr.localhost(0), config^)
    var port = Int(server.local_address().port)
    print(port, flush=True)
    if _has("--upstream"):
        server.serve(
            Tracing(
                ReverseProxy(_option("--upstream")),
                exporter=exporter,
                trusts_incoming=not _has("--strict"),
            )
        )
        return
    var router = Router()
    router.get("/hello/:name", hello)
    router.get("/show", show)
    router.get("/wait/:ms", wait)
    router.get("/streamed/:count", streamed)
    router.get("/fail", fail)
    router.get("/call", call)
    router.get("/statistics", statistics)
    server.serve(
        App(
            state=Program(exporter, port),
            handler=RequestId(
                Tracing(
                    router^,
                    exporter=exporter,
                    sampled_share=share,
                    trusts_incoming=not _has("--strict"),
                )
            ),
        ),
        num_workers=workers,
        supervise=_has("--supervised"),
    )


def _has(option: StringSlice) -> Bool:
    for each in argv():
        if each == option:
            return True
    return False


def _option(name: StringSlice) raises -> String:
    for i in range(len(argv()) - 1):
        if argv()[i] == name:
            return String(argv()[i + 1])
    return ""

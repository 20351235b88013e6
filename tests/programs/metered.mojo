"""Serves what is counted (tests/python/test_metrics.py).

Options: `--backend KIND`, `--workers N`, `--supervised`, `--every-edge`,
`--tls FOLDER`, `--postgres URL`, `--files FOLDER`.
"""

from std.sys import argv

from flare.http import (
    App,
    Handler,
    HttpServer,
    MetricsPage,
    Request,
    Response,
    ResponseStream,
    Router,
    ServerConfig,
    State,
    StaticFiles,
    ok,
)
from flare.metrics import (
    Counter,
    CounterFamily,
    Gauge,
    Histogram,
    Metrics,
    all_bounds,
)
from flare.net import SocketAddr
from flare.postgres import Database as PostgresDatabase
from flare.runtime import BackendKind, blocking, sleep
from flare.sqlite import Database as SqliteDatabase
from flare.sys.process import process_id
from flare.tls import TlsIdentity, TlsServerConfig


def home(req: Request) raises -> Response:
    return ok("hello")


def who(req: Request) raises -> Response:
    return ok(String(process_id()))


def user(req: Request) raises -> Response:
    return ok(req.param("id"))


def wait(req: Request) raises -> Response:
    sleep(Int(req.param("ms")))
    return ok("waited")


def fail(req: Request) raises -> Response:
    raise Error("of the test")


def teapot(req: Request) raises -> Response:
    return Response(418, "short and stout")


def echo(req: Request) raises -> Response:
    return ok(req.text())


def streamed(req: Request) raises -> Response:
    return Response.stream(_write_pieces)


def _write_pieces(req: Request, stream: ResponseStream) raises:
    for _ in range(3):
        stream.write_text("piece")
        sleep(1)


struct Stores(Movable):
    """The databases of a worker."""

    var sqlite: SqliteDatabase
    var postgres: Optional[PostgresDatabase]

    def __init__(out self) raises:
        self.sqlite = SqliteDatabase(":memory:")
        self.postgres = None
        if _has("--postgres"):
            self.postgres = PostgresDatabase(_option("--postgres"))


def open_stores(worker: Int) raises -> Stores:
    return Stores()


def ask_sqlite(stores: State[Stores], req: Request) raises -> Response:
    return ok(String(stores[].sqlite.query_one[Int](_statement(req))))


def ask_postgres(stores: State[Stores], req: Request) raises -> Response:
    ref database = stores[].postgres.value()
    if req.param("what") == "transaction":
        with database.transaction() as tx:
            return ok(String(tx.query_one[Int]("SELECT 7")))
    return ok(String(database.query_one[Int](_statement(req))))


def _statement(req: Request) raises -> String:
    if req.param("what") == "wrong":
        return "SELECT wrong"
    if req.param("what") == "slow":
        return "SELECT 7 FROM pg_sleep(3)"
    return "SELECT 7"


@fieldwise_init
struct Order(Handler):
    """Counts orders."""

    var orders: Counter
    var kinds: CounterFamily
    var depth: Gauge
    var sizes: Histogram

    def serve(self, req: Request) raises -> Response:
        self.orders.add()
        self.kinds.of(String(req.param("kind"))).add()
        self.depth.add(1)
        self.sizes.observe(2_500_000)
        self.depth.add(-1)
        return ok("ordered")


@fieldwise_init
struct Hold(Handler):
    """Counts one more, for as long as its worker lives."""

    var depth: Gauge

    def serve(self, req: Request) raises -> Response:
        self.depth.add(1)
        return ok("held")


@fieldwise_init
struct InThread(Handler):
    """Counts on a thread that is no worker."""

    var orders: Counter

    def serve(self, req: Request) raises -> Response:
        var orders = self.orders

        def body() raises {var orders} -> Int:
            orders.add(1)
            return 0

        return ok(String(blocking(body)))


def main() raises:
    var config = ServerConfig(max_body_size=8192)
    if _option("--backend") == "epoll":
        config.backend = BackendKind.EPOLL
    var metrics = Metrics()
    if _has("--every-edge"):
        metrics = Metrics(duration_bounds=all_bounds())
    config.metrics = metrics
    var workers = 1
    if _has("--workers"):
        workers = Int(_option("--workers"))
    var server = _bind(config^)
    print(server.local_address().port, flush=True)
    server.serve(
        App.per_worker[open_stores](_routes(metrics)),
        num_workers=workers,
        supervise=_has("--supervised"),
    )


def _bind(var config: ServerConfig) raises -> HttpServer:
    if not _has("--tls"):
        return HttpServer.bind(SocketAddr.localhost(0), config^)
    var folder = _option("--tls")
    return HttpServer.bind_tls(
        SocketAddr.localhost(0),
        TlsServerConfig(
            TlsIdentity.files(
                String(folder, "/server.pem"), String(folder, "/server.key")
            )
        ),
        config^,
    )


def _routes(metrics: Metrics) raises -> Router[Stores]:
    var orders = metrics.counter("orders_total", "Orders that were placed.")
    var depth = metrics.gauge("orders_open", "Orders that are being placed.")
    var router = Router[Stores]()
    router.get("/sqlite/:what", ask_sqlite)
    router.get("/postgresql/:what", ask_postgres)
    if _has("--files"):
        router.get("/files/*path", StaticFiles(_option("--files")))
    router.get("/", home)
    router.get("/who", who)
    router.get("/user/:id", user)
    router.get("/wait/:ms", wait)
    router.get("/fail", fail)
    router.get("/teapot", teapot)
    router.post("/echo", echo)
    router.get("/streamed", streamed)
    router.get("/hold", Hold(depth))
    router.get("/in-thread", InThread(orders))
    router.get(
        "/order/:kind",
        Order(
            orders,
            metrics.counter(
                "orders_by_kind_total", "Orders by kind.", labels=["kind"]
            ),
            depth,
            metrics.histogram("order_duration_seconds", "Time of orders."),
        ),
    )
    router.get("/-/metrics", MetricsPage(metrics))
    return router^


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

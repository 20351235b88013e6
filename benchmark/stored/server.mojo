"""Serves products of a database, as a user of flare would write it.

Options: --port P --workers N --backend io_uring|epoll --database URL
"""

from flare.http import (
    App,
    HttpServer,
    Request,
    Response,
    Router,
    ServerConfig,
    State,
    ok_json,
)
from flare.net import SocketAddr
from flare.postgres import Database, DatabaseOptions

from options import backend, option
from products import LIST, PICKS, PRODUCTS, Generator, Priced, summed_up

comptime _ONE: StaticString = "SELECT text FROM products WHERE id = $1"
comptime _FEW: StaticString = (
    "SELECT text FROM products WHERE id >= $1 AND id < $2 ORDER BY id"
)
comptime _PRICES: StaticString = (
    "SELECT id, price, brand FROM products WHERE id = ANY($1)"
)
comptime _CONNECTIONS = 32
comptime _LIST_OCTETS = 128 * 1024
# A benchmark's connections last as long as it does.
comptime _REQUESTS_PER_CONNECTION_MAX = 1_000_000_000


@fieldwise_init
struct PricedRow(Copyable):
    """Holds of a product what the statistics need, as the table has it."""

    var id: Int32
    var price: Float64
    var brand: String


struct Stored(Movable):
    """Is the database of one worker, and the turn of each route."""

    var database: Database
    var read_next: Int
    var list_next: Int
    var generator: Generator

    def __init__(out self, workers: Int) raises:
        self.database = Database(
            option("--database", ""),
            DatabaseOptions(max_connections=_CONNECTIONS),
            workers=workers,
        )
        self.read_next = 0
        self.list_next = 0
        self.generator = Generator()


def simple(req: Request) raises -> Response:
    return ok_json('{"message":"hi"}')


def read(stored: State[Stored]) raises -> Response:
    var number = stored[].read_next
    stored[].read_next = (number + 1) % PRODUCTS
    return ok_json(stored[].database.query_one[String](_ONE, number))


def list(stored: State[Stored]) raises -> Response:
    var first = stored[].list_next
    stored[].list_next = (first + LIST) % PRODUCTS
    var texts = stored[].database.query[String](_FEW, first, first + LIST)
    var all = String()
    all.reserve_bytes(_LIST_OCTETS)
    for text in texts:
        all += "[" if not all else ","
        all += text
    all += "]"
    return ok_json(all^)


def compute(stored: State[Stored]) raises -> Response:
    var numbers = List[Int32](capacity=PICKS)
    for _ in range(PICKS):
        numbers.append(Int32(stored[].generator.draw()))
    var rows = stored[].database.query[PricedRow](_PRICES, numbers)

    def is_before(a: PricedRow, b: PricedRow) {} -> Bool:
        return a.brand < b.brand

    sort(rows, is_before)
    var brands = List[String]()
    var found = List[Priced](length=PRODUCTS, fill=Priced(0, 0))
    for row in rows:
        if not brands or brands[len(brands) - 1] != row.brand:
            brands.append(row.brand)
        found[Int(row.id)] = Priced(row.price, len(brands) - 1)
    var picks = List[Priced](capacity=PICKS)
    for number in numbers:
        picks.append(found[Int(number)])
    return ok_json(summed_up(picks, brands))


def workers() raises -> Int:
    return Int(option("--workers", "1"))


def make_stored(worker: Int) raises -> Stored:
    return Stored(workers())


def main() raises:
    var router = Router[Stored]()
    router.get("/simple", simple)
    router.get[read]("/read")
    router.get[list]("/list")
    router.get[compute]("/compute")
    var server = HttpServer.bind(
        SocketAddr.localhost(UInt16(Int(option("--port", "8080")))),
        ServerConfig(
            backend=backend(option("--backend", "io_uring")),
            max_keepalive_requests=_REQUESTS_PER_CONNECTION_MAX,
        ),
    )
    server.serve(App.per_worker[make_stored](router^), num_workers=workers())

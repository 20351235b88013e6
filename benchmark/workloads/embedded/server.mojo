"""Answers requests while fibers read points of a file of SQLite
(benchmark/workloads/embedded/run).

Arguments: the backend, and the path of the file.
"""

from std.sys import argv

from flare.http import (
    App,
    HttpServer,
    Response,
    Router,
    ServerConfig,
    State,
    ok,
)
from flare.net import SocketAddr
from flare.runtime import BackendKind, sleep, spawn
from flare.sqlite import Database, DatabaseOptions

from std.memory import ArcPointer

comptime _FIBERS = 16
comptime _ROWS = 10_000
# Of each fiber, before the others get their turn.
comptime _READS_PER_TURN = 8


@fieldwise_init
struct Point(Movable):
    var id: Int
    var name: String
    var price: Int


struct Reads(Movable):
    """Is what the handlers and the fibers of the worker share."""

    var database: Database
    var count: Int
    var are_running: Bool

    def __init__(out self, var database: Database):
        self.database = database^
        self.count = 0
        self.are_running = False


def make_reads(worker: Int) raises -> ArcPointer[Reads]:
    var db = Database(String(argv()[2]), DatabaseOptions(inline_reads=True))
    _ = db.execute(
        "CREATE TABLE IF NOT EXISTS points (id INTEGER PRIMARY KEY, name TEXT,"
        " price INTEGER)"
    )
    _ = db.execute(
        (
            "INSERT OR IGNORE INTO points WITH RECURSIVE n(i) AS (SELECT 1"
            " UNION ALL SELECT i + 1 FROM n WHERE i < $1) SELECT i, 'point ' ||"
            " i, i * 3 FROM n"
        ),
        _ROWS,
    )
    return ArcPointer(Reads(db^))


def hello() -> Response:
    return ok("Hello, World!")


def start(reads: State[ArcPointer[Reads]]) raises -> Response:
    """Lets fibers read until `stop`."""
    var shared = reads[].copy()
    shared[].are_running = True
    for k in range(_FIBERS):

        def read() raises {var shared, var k}:
            var id = k * 601
            while shared[].are_running:
                for _ in range(_READS_PER_TURN):
                    id = (id + 7_919) % _ROWS
                    var point = shared[].database.query_one[Point](
                        "SELECT id, name, price FROM points WHERE id = $1",
                        id + 1,
                    )
                    if point.price != 3 * point.id:
                        raise Error("a wrong row")
                    shared[].count += 1
                sleep(0)

        spawn(read).detach()
    return ok()


def stop(reads: State[ArcPointer[Reads]]) raises -> Response:
    reads[][].are_running = False
    return ok()


def count(reads: State[ArcPointer[Reads]]) raises -> Response:
    return ok(String(reads[][].count))


def main() raises:
    var config = ServerConfig()
    if argv()[1] == "epoll":
        config.backend = BackendKind.EPOLL
    var server = HttpServer.bind(SocketAddr.parse("127.0.0.1:0"), config^)
    print(server.local_address().port, flush=True)
    var router = Router[ArcPointer[Reads]]()
    router.get[hello]("/")
    router.post[start]("/start")
    router.post[stop]("/stop")
    router.get[count]("/count")
    server.serve(App.per_worker[make_reads](router^), num_workers=1)

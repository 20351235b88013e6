"""Asks a database three times for each request
(benchmark/workloads/database/run).

Arguments: the backend, and the URL of the database.
"""

from std.sys import argv

from flare.http import (
    App,
    HttpServer,
    Path,
    Response,
    Router,
    ServerConfig,
    State,
    ok,
    service_unavailable,
)
from flare.net import SocketAddr
from flare.postgres import Database, PostgresError
from flare.runtime import BackendKind, deadline_in

comptime _REQUESTS_IN_FLIGHT_MAX = 4_096
comptime _QUERIES = 3
comptime _DEADLINE_MS = 1_000


@fieldwise_init
struct Shared(Movable):
    """Is what the handlers of the worker share."""

    var database: Database


def make_shared(worker: Int) raises -> Shared:
    return Shared(Database(argv()[2]))


def ask(first: Path[Int], shared: State[Shared]) raises -> Response:
    """Answers with the sum of three prices, one query after another."""
    var sum = 0
    with deadline_in(_DEADLINE_MS):
        for i in range(_QUERIES):
            try:
                sum += Int(
                    shared[].database.query_one[Int32](
                        "SELECT price FROM items WHERE id = $1",
                        first.value + i,
                    )
                )
            except e:
                if not PostgresError.of(e):
                    raise e^
                return service_unavailable()
    return ok(String(sum))


def count(shared: State[Shared]) raises -> Response:
    var counts = shared[].database.statistics()
    return ok(
        String(
            "open=",
            counts.open_connections,
            "\nbusy=",
            counts.busy_connections,
            "\nwaiting=",
            counts.waiting,
            "\nstatements=",
            counts.statements,
            "\nconnects=",
            counts.connects,
            "\n",
        )
    )


def main() raises:
    var config = ServerConfig(max_requests_in_flight=_REQUESTS_IN_FLIGHT_MAX)
    if argv()[1] == "epoll":
        config.backend = BackendKind.EPOLL
    var server = HttpServer.bind(SocketAddr.parse("127.0.0.1:0"), config^)
    print(server.local_address().port, flush=True)
    var router = Router[Shared]()
    router.get[ask]("/ask/:first")
    router.get[count]("/count")
    server.serve(App.per_worker[make_shared](router^), num_workers=1)

"""Serves on two addresses, with an access log on standard output, and lets its
handlers watch and stop it (tests/python/test_loopback_watched.py)."""

from std.sys import argv

from flare.http import (
    AccessLog,
    Handler,
    HttpServer,
    Request,
    Response,
    Router,
    ServerConfig,
    ServerHandle,
    ok,
)
from flare.net import SocketAddr
from flare.runtime import BackendKind, sleep
from flare.sys.thread import allowed_cpus


def home(req: Request) raises -> Response:
    return ok("hello")


def slow(req: Request) raises -> Response:
    sleep(50_000)
    return ok("too late")


def cpus(req: Request) raises -> Response:
    return ok(
        String(req.unsafe_exchange()[].host.worker, " ", len(allowed_cpus()))
    )


@fieldwise_init
struct Counts(Handler):
    """Answers with the requests of each worker, in order."""

    var handle: ServerHandle

    def serve(self, req: Request) raises -> Response:
        var text = String()
        for each in self.handle.statistics():
            text.write(each.requests, " ")
        return ok(text)


@fieldwise_init
struct Stop(Handler):
    """Stops the server at once."""

    var handle: ServerHandle

    def serve(self, req: Request) raises -> Response:
        self.handle.shutdown_now()
        return ok("stopping")


def main() raises:
    var config = ServerConfig()
    config.access_log = AccessLog.standard_output()
    config.backend = (
        BackendKind.EPOLL if argv()[1] == "epoll" else BackendKind.IO_URING
    )
    var server = HttpServer.bind_many(
        [SocketAddr.parse("127.0.0.1:0"), SocketAddr.parse("127.0.0.2:0")],
        config^,
    )
    for address in server.handle().local_addresses():
        var place = address.socket_address()
        print(place.ip, place.port, flush=True)
    var router = Router()
    router.get("/", home)
    router.get("/slow", slow)
    router.get("/cpus", cpus)
    router.get("/counts", Counts(server.handle()))
    router.get("/stop", Stop(server.handle()))
    server.serve(
        router^, num_workers=Int(argv()[2]), pin_cores=argv()[3] == "pin"
    )

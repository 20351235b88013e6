"""Serves what makes lines in the log: handlers that raise, and a reverse proxy
(tests/python/test_loopback_log.py)."""

from std.sys import argv

from flare.http import (
    AccessLog,
    FnHandler,
    Handler,
    HttpServer,
    Logger,
    Request,
    Response,
    ReverseProxy,
    Router,
    ServerConfig,
    ServerHandle,
    ok,
)
from flare.net import SocketAddr
from flare.runtime import BackendKind


def hello(req: Request) raises -> Response:
    return ok("hello")


def fail(req: Request) raises -> Response:
    raise Error("it fails")


@fieldwise_init
struct Counts(Handler):
    """Answers with what the worker counts."""

    var handle: ServerHandle

    def serve(self, req: Request) raises -> Response:
        var counters = self.handle.statistics()[0]
        return ok(
            String(
                counters.handler_errors,
                " ",
                counters.log_lines_dropped,
            )
        )


def main() raises:
    var config = ServerConfig()
    config.backend = (
        BackendKind.EPOLL if argv()[1] == "epoll" else BackendKind.IO_URING
    )
    for word in argv():
        if word == "access":
            config.access_log = AccessLog.standard_output()
    var server = HttpServer.bind(SocketAddr.localhost(0), config^)
    print(server.local_address().port, flush=True)
    var router = Router()
    router.get("/", hello)
    router.get("/raise", fail)
    router.get("/logged", Logger(FnHandler(hello)))
    router.get("/counts", Counts(server.handle()))
    router.get("/behind/*", ReverseProxy(argv()[2]))
    router.post("/behind/*", ReverseProxy(argv()[2]))
    server.serve(router^, supervise=argv()[3] == "supervise")

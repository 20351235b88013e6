"""Serves what a driver in a library of its own must do for a handler: waits,
errors, streams (tests/python/test_quick.py)."""

from std.sys import argv

from flare.core import PointerTo, heap_create
from flare.http import (
    Handler,
    HttpServer,
    Request,
    Response,
    ResponseStream,
    Router,
    ServerConfig,
    ok,
)
from flare.net import SocketAddr
from flare.runtime import BackendKind, sleep


def hello(req: Request) raises -> Response:
    return ok(String("hello ", req.param("name")))


def fail(req: Request) raises -> Response:
    raise Error("it fails")


def count(req: Request) raises -> Response:
    def write(req: Request, stream: ResponseStream) raises:
        for i in range(3):
            stream.write_text(String(i, "\n"))
            stream.flush()

    return Response.stream(write, content_type="text/plain", length=6)


@fieldwise_init
struct Meet(Handler):
    """Answers once two requests are here: on one worker, that takes waits which
    do not block it."""

    var present: PointerTo[Int]

    def serve(self, req: Request) raises -> Response:
        self.present[] += 1
        while self.present[] < 2:
            sleep(1)
        return ok("met")


def main() raises:
    var config = ServerConfig()
    config.backend = (
        BackendKind.EPOLL if argv()[1] == "epoll" else BackendKind.IO_URING
    )
    var server = HttpServer.bind(SocketAddr.localhost(0), config^)
    print(server.local_address().port, flush=True)
    var router = Router()
    router.get("/hello/:name", hello)
    router.get("/fail", fail)
    router.get("/count", count)
    router.get("/meet", Meet(heap_create(0)))
    server.serve(router^)

"""Serves the requests whose heap allocations test_allocations.py counts."""

from std.sys import argv

from flare.http import (
    ETag,
    FileOptions,
    Handler,
    HttpDate,
    HttpServer,
    Request,
    Response,
    Router,
    ServerConfig,
    StaticFiles,
    Validators,
    not_modified,
    ok,
    precondition_fails,
    requested_ranges,
    unchanged,
)
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


def main() raises:
    var router = Router()
    router.post("/echo/:id", echo)
    router.post("/parked/:id", parked_echo)
    router.post("/copied/:id", copied_echo)
    router.get("/conditional", conditional)
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
        SocketAddr.localhost(0), ServerConfig(backend=backend)
    )
    print(server.local_address().port, flush=True)
    server.serve(Named(router^))

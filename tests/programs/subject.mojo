"""Serves what the loopback tests ask for (tests/python/test_loopback_*.py)."""

from std.sys import argv, stderr

from flare.http.body import Body
from flare.http.builders import (
    method_not_allowed,
    no_content,
    not_found,
    ok,
)
from flare.http.handler import Handler
from flare.http.request import Request
from flare.http.response import Response
from flare.http.server.config import ServerConfig
from flare.http.server.handle import ServerHandle
from flare.http.server.server import HttpServer
from flare.http.server.statistics import WorkerStatistics
from flare.net import SocketAddr
from flare.runtime.backend import BackendKind
from flare.runtime.wait import sleep


@fieldwise_init
struct Subject(Handler):
    """Answers every route of the tests."""

    var handle: ServerHandle

    def serve(self, req: Request) raises -> Response:
        var path = req.path
        if path == "/":
            if req.method != "GET" and req.method != "HEAD":
                return method_not_allowed("GET, HEAD")
            return ok("hello")
        if path == "/echo":
            return ok(req.text())
        if path == "/upload":
            return ok(String(len(req.body.octets())))
        if path == "/headers":
            var found = req.headers.get("X-Echo")
            return ok(found.value()) if found else not_found()
        if path == "/peer":
            return ok(String(req.peer()))
        if path == "/sleep0":
            sleep(0)
            return ok("slept")
        if path == "/close":
            return ok("closing").with_header("Connection", "close")
        if path == "/nothing":
            return no_content()
        if path == "/unchanged":
            return Response(304, "not for the wire")
        if path == "/raise":
            raise Error("the secret is 7\r\nflare: forged line \x1b[31m")
        if path == "/split":
            return ok("split").with_header("X-Split", "a\r\nX-Injected: b")
        if path == "/statistics":
            return ok(self._statistics())
        return _answer_with_number(req)

    def _statistics(self) -> String:
        var sum = WorkerStatistics()
        for each in self.handle.statistics():
            sum.connections_accepted += each.connections_accepted
            sum.connections += each.connections
            sum.requests += each.requests
            sum.requests_in_flight += each.requests_in_flight
            sum.handler_errors += each.handler_errors
            sum.refused += each.refused
            sum.fibers += each.fibers
            sum.receive_buffers += each.receive_buffers
            sum.timers += each.timers
        return String(
            "connections_accepted=",
            sum.connections_accepted,
            "\nconnections=",
            sum.connections,
            "\nrequests=",
            sum.requests,
            "\nrequests_in_flight=",
            sum.requests_in_flight,
            "\nhandler_errors=",
            sum.handler_errors,
            "\nrefused=",
            sum.refused,
            "\nfibers=",
            sum.fibers,
            "\nreceive_buffers=",
            sum.receive_buffers,
            "\ntimers=",
            sum.timers,
            "\n",
        )


def main() raises:
    var backend = BackendKind.AUTOMATIC
    var workers = 1
    var port = 0
    var small_limits = False
    var half_close_allowed = False
    var connections_max = Optional[Int](None)
    var options = argv()
    var i = 1
    while i < len(options):
        if options[i] == "--small-limits":
            small_limits = True
        elif options[i] == "--half-close":
            half_close_allowed = True
        elif i + 1 == len(options):
            raise Error("no value for ", options[i])
        elif options[i] == "--port":
            i += 1
            port = Int(options[i])
        elif options[i] == "--connections":
            i += 1
            connections_max = Int(options[i])
        elif options[i] == "--workers":
            i += 1
            workers = Int(options[i])
        elif options[i] == "--backend":
            i += 1
            backend = _backend(options[i])
        else:
            raise Error("unknown option ", options[i])
        i += 1
    var config = _small_limits() if small_limits else ServerConfig()
    config.backend = backend
    config.half_close_allowed = half_close_allowed
    if connections_max:
        config.max_connections = connections_max.value()
    var server = HttpServer.bind(
        SocketAddr.localhost(UInt16(port)), config^
    )
    print(server.local_address().port, flush=True)
    server.serve(Subject(server.handle()), num_workers=workers)


def _small_limits() -> ServerConfig:
    return ServerConfig(
        max_body_size=1 << 20,
        max_requests_in_flight=4,
        max_keepalive_requests=50,
        idle_timeout_ms=400,
        head_timeout_ms=400,
        body_timeout_ms=400,
        write_timeout_ms=400,
        handler_timeout_ms=1500,
        linger_timeout_ms=400,
        shutdown_timeout_ms=1000,
    )


def _backend(name: StringSlice) raises -> BackendKind:
    if name == "io_uring":
        return BackendKind.IO_URING
    if name == "epoll":
        return BackendKind.EPOLL
    raise Error("the backend is io_uring or epoll")


def _answer_with_number(req: Request) raises -> Response:
    var parts = String(req.path).split("/")
    if len(parts) != 3:
        return not_found()
    if parts[1] == "users":
        return ok(String("user ", parts[2]))
    var number = Int(parts[2])
    if parts[1] == "delay":
        _wait(number)
        return ok(String("waited ", number))
    if parts[1] == "big":
        return ok(Body(List[UInt8](length=number, fill=120)))
    if parts[1] == "late-echo":
        _wait(number)
        return ok(req.text())
    if parts[1] == "echo-late":
        var content = String(req.text())
        _wait(number)
        return ok(content)
    return not_found()


def _wait(duration_ms: Int) raises:
    try:
        sleep(duration_ms)
    except e:
        print("cut off:", e, file=stderr)
        raise e^

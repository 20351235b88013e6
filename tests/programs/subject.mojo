"""Serves what the loopback tests ask for (tests/python/test_loopback_*.py)."""

from std.sys import argv, stderr

from flare.http import (
    Handler,
    HttpServer,
    Request,
    Response,
    Router,
    ServerConfig,
    ServerHandle,
    no_content,
    not_found,
    ok,
)
from flare.http.server.statistics import WorkerStatistics
from flare.net import SocketAddr
from flare.runtime import BackendKind, sleep
from flare.sys.clock import monotonic_ms


def home(req: Request) raises -> Response:
    return ok("hello")


def echo(req: Request) raises -> Response:
    return ok(req.text())


def late_echo(req: Request) raises -> Response:
    _wait(req)
    return ok(req.text())


def echo_late(req: Request) raises -> Response:
    var content = String(req.text())
    _wait(req)
    return ok(content)


def upload(req: Request) raises -> Response:
    return ok(String(len(req.body.octets())))


def user(req: Request) raises -> Response:
    return ok(String("user ", req.param("id")))


def delay(req: Request) raises -> Response:
    _wait(req)
    return ok(String("waited ", req.param("ms")))


def busy(req: Request) raises -> Response:
    var until = monotonic_ms() + Int(req.param("ms"))
    while monotonic_ms() < until:
        pass
    return ok("busy")


def sleep0(req: Request) raises -> Response:
    sleep(0)
    return ok("slept")


def big(req: Request) raises -> Response:
    return ok(List[UInt8](length=Int(req.param("octets")), fill=120))


def headers(req: Request) raises -> Response:
    var found = req.headers.get("X-Echo")
    return ok(found.value()) if found else not_found()


def peer(req: Request) raises -> Response:
    return ok(String(req.peer()))


def close(req: Request) raises -> Response:
    return ok("closing").with_header("Connection", "close")


def nothing(req: Request) raises -> Response:
    return no_content()


def unchanged(req: Request) raises -> Response:
    return Response(304, "not for the wire")


def fail(req: Request) raises -> Response:
    raise Error("the secret is 7\r\nflare: forged line \x1b[31m")


def split(req: Request) raises -> Response:
    return ok("split").with_header("X-Split", "a\r\nX-Injected: b")


@fieldwise_init
struct Statistics(Handler):
    """Answers with the sums of the workers' counters."""

    var handle: ServerHandle

    def serve(self, req: Request) raises -> Response:
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
            sum.slow_turns += each.slow_turns
        return ok(
            String(
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
                "\nslow_turns=",
                sum.slow_turns,
                "\n",
            )
        )


def main() raises:
    var backend = BackendKind.AUTOMATIC
    var workers = 1
    var port = 0
    var small_limits = False
    var half_close_allowed = False
    var connections_max = Optional[Int](None)
    var receive_buffers_max = Optional[Int](None)
    var overload_timeout_ms = Optional[Int](None)
    var serves = 1
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
        elif options[i] == "--receive-buffers":
            i += 1
            receive_buffers_max = Int(options[i])
        elif options[i] == "--overload-timeout":
            i += 1
            overload_timeout_ms = Int(options[i])
        elif options[i] == "--serves":
            i += 1
            serves = Int(options[i])
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
    if receive_buffers_max:
        config.max_receive_buffers = receive_buffers_max.value()
    if overload_timeout_ms:
        config.overload_timeout_ms = overload_timeout_ms.value()
    var server = HttpServer.bind(SocketAddr.localhost(UInt16(port)), config^)
    print(server.local_address().port, flush=True)
    for i in range(serves):
        if i > 0:
            # The test has its moment between the two.
            print("served", flush=True)
            _ = input()
        server.serve(_routes(server.handle()), num_workers=workers)


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


def _routes(handle: ServerHandle) raises -> Router[]:
    var router = Router()
    router.get("/", home)
    router.post("/echo", echo)
    router.post("/late-echo/:ms", late_echo)
    router.post("/echo-late/:ms", echo_late)
    router.post("/upload", upload)
    router.get("/users/:id", user)
    router.post("/users/:id", user)
    router.route("DESCRIBE", "/users/:id", user)
    router.get("/delay/:ms", delay)
    router.get("/busy/:ms", busy)
    router.get("/sleep0", sleep0)
    router.get("/big/:octets", big)
    router.get("/headers", headers)
    router.get("/peer", peer)
    router.get("/close", close)
    router.get("/nothing", nothing)
    router.get("/unchanged", unchanged)
    router.get("/raise", fail)
    router.post("/raise", fail)
    router.get("/split", split)
    router.get("/statistics", Statistics(handle.copy()))
    return router^


def _wait(req: Request) raises:
    try:
        sleep(Int(req.param("ms")))
    except e:
        print("cut off:", e, file=stderr)
        raise e^

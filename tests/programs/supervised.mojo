"""Serves handlers that end their process
(tests/python/test_loopback_supervise.py, test_h2_lifecycle.py).

Options: the backend, `--workers N`, `--alone` (not supervised), `--no-signals`,
`--short` (little time to stop), `--dies-at-start`, `--hangs-at-start`,
`--reads-at-start` (serves when standard input lets it), `--stop-on-input`,
`--comptime` (`serve_comptime`), `--twice` (serves again), `--bad-index-after`,
`--tls FOLDER`.
At the end it prints for each worker its requests, and all that is present.
"""

from std.ffi import c_int, external_call
from std.os import abort
from std.sys import argv, stderr

from flare.core import Erased, heap_create
from flare.http import (
    FnHandler,
    Handler,
    HttpServer,
    Request,
    Response,
    ResponseStream,
    Router,
    ServerConfig,
    ServerHandle,
    ok,
)
from flare.http.server import WorkerStatistics
from flare.net import SocketAddr
from flare.runtime import BackendKind, blocking, sleep, spawn
from flare.sys.file import read_descriptor, write_descriptor
from flare.sys.process import parent_process_id, process_id
from flare.sys.socket import open_socket_pair
from flare.sys.socket_address import AF_UNIX
from flare.sys.socket_constants import SOCK_STREAM
from flare.sys.thread import start_thread
from flare.tls import TlsIdentity, TlsServerConfig


def who(req: Request) raises -> Response:
    var x = req.unsafe_exchange()
    return ok(String(process_id(), " ", x[].host.worker, " ", x[].request_id))


def delay(req: Request) raises -> Response:
    sleep(Int(req.param("ms")))
    return ok("waited")


def nth(req: Request) raises -> Response:
    if req.unsafe_exchange()[].request_id % Int(req.param("n")) == 0:
        _bad_index()
    return ok("alive")


def bad_index(req: Request) raises -> Response:
    _bad_index()
    return ok("impossible")


def late_bad_index(req: Request) raises -> Response:
    sleep(Int(req.param("ms")))
    _bad_index()
    return ok("impossible")


def overflow(req: Request) raises -> Response:
    return ok(String(_recurse(0)))


def division(req: Request) raises -> Response:
    return ok(String(Int.MIN // (Int(req.param("one")) - 2)))


def c_abort(req: Request) raises -> Response:
    external_call["abort", NoneType]()
    return ok("impossible")


def exit(req: Request) raises -> Response:
    external_call["_exit", NoneType](c_int(3))
    return ok("impossible")


def busy(req: Request) raises -> Response:
    while parent_process_id() > 0:
        pass
    return ok("impossible")


def streamed(req: Request) raises -> Response:
    return Response.stream(_write_some)


def _write_some(req: Request, stream: ResponseStream) raises:
    stream.write_text("some")
    sleep(1)
    _bad_index()


def in_task(req: Request) raises -> Response:
    def body() raises {} -> Int:
        sleep(1)
        _bad_index()
        return 0

    var task = spawn(body)
    return ok(String(task^.join()))


def leave_behind(req: Request) raises -> Response:
    def body() raises {}:
        var owner = _Owner()
        try:
            sleep(60_000)
        except e:
            print("cut off by", e, file=stderr)
            raise e^
        finally:
            print("finally", file=stderr)
        _ = owner^

    var task = spawn(body)
    task^.detach()
    # It gets to wait.
    sleep(0)
    return ok("left behind")


def ignore_cancel(req: Request) raises -> Response:
    def body() raises {}:
        while True:
            try:
                sleep(60_000)
            except:
                pass

    var task = spawn(body)
    task^.detach()
    # It gets to wait.
    sleep(0)
    return ok("left behind")


struct _Owner(Movable):
    var name: String

    def __init__(out self):
        self.name = "owner"

    def __deinit__(deinit self):
        print(self.name, "destroyed", file=stderr)


def in_thread(req: Request) raises -> Response:
    def body() raises {} -> Int:
        _bad_index()
        return 0

    return ok(String(blocking(body)))


@fieldwise_init
struct Stop(Handler):
    """Stops the server, at once or not."""

    var handle: ServerHandle
    var now: Bool

    def serve(self, req: Request) raises -> Response:
        if self.now:
            self.handle.shutdown_now()
        else:
            self.handle.shutdown()
        return ok("stopping")


@fieldwise_init
struct Statistics(Handler):
    """Answers with the counters of each worker."""

    var handle: ServerHandle

    def serve(self, req: Request) raises -> Response:
        var text = String()
        for each in self.handle.statistics():
            text.write(
                each.connections_accepted,
                " ",
                each.connections,
                " ",
                each.requests,
                " ",
                each.fibers,
                "\n",
            )
        return ok(text)


def main() raises:
    var config = ServerConfig()
    config.backend = (
        BackendKind.EPOLL if argv()[1] == "epoll" else BackendKind.IO_URING
    )
    config.handle_signals = not _has("--no-signals")
    if _has("--short"):
        config.shutdown_timeout_ms = 200
    # A worker is a process, which begins with what is named here.
    if _has("--hangs-at-start"):
        _begin_workers_with(_hang)
    if _has("--dies-at-start"):
        _begin_workers_with(_die)
    if _has("--reads-at-start"):
        _begin_workers_with(_read)
    var server = _bind(config^)
    print(server.local_address().port, flush=True)
    if _has("--stop-on-input"):
        _start_stopper(server.handle())
    var workers = 1
    for i in range(len(argv())):
        if argv()[i] == "--workers":
            workers = Int(argv()[i + 1])
    # A stream of C keeps this until it is flushed, in each process.
    var text = String("held back")
    _ = external_call["puts", c_int](text.as_c_string_span().ptr())
    for _ in range(2 if _has("--twice") else 1):
        _serve(server, workers)
        print("after", flush=True)
    for counters in server.handle().statistics():
        print(counters.requests, _present(counters), flush=True)
    if _has("--bad-index-after"):
        _bad_index()


def _bind(var config: ServerConfig) raises -> HttpServer:
    var options = argv()
    for i in range(len(options)):
        if options[i] == "--tls":
            return HttpServer.bind_tls(
                SocketAddr.localhost(0),
                TlsServerConfig(
                    TlsIdentity.files(
                        String(options[i + 1], "/server.pem"),
                        String(options[i + 1], "/server.key"),
                    )
                ),
                config^,
            )
    return HttpServer.bind(SocketAddr.localhost(0), config^)


def _present(counters: WorkerStatistics) -> Int64:
    return (
        counters.connections
        + counters.requests_in_flight
        + counters.streams
        + counters.fibers
        + counters.receive_buffers
        + counters.timers
    )


def _serve(server: HttpServer, workers: Int) raises:
    if _has("--comptime"):
        server.serve_comptime[_WHO, ServerConfig()](
            num_workers=workers, supervise=True
        )
    else:
        server.serve(
            _routes(server.handle()),
            num_workers=workers,
            supervise=not _has("--alone"),
        )


comptime _WHO: FnHandler = FnHandler(who)


def _has(option: StringSlice) -> Bool:
    for each in argv():
        if each == option:
            return True
    return False


def _routes(handle: ServerHandle) raises -> Router[]:
    var router = Router()
    router.get("/", who)
    router.get("/delay/:ms", delay)
    router.get("/nth/:n", nth)
    router.get("/index/:text", bad_index)
    router.route("DESCRIBE", "/index/:text", bad_index)
    router.get("/late-index/:ms", late_bad_index)
    router.get("/overflow", overflow)
    router.get("/divide/:one", division)
    router.get("/abort", c_abort)
    router.get("/exit", exit)
    router.get("/busy", busy)
    router.get("/streamed", streamed)
    router.get("/in-task", in_task)
    router.get("/in-thread", in_thread)
    router.get("/leave-behind", leave_behind)
    router.get("/ignore-cancel", ignore_cancel)
    router.get("/stop", Stop(handle.copy(), False))
    router.get("/stop-now", Stop(handle.copy(), True))
    router.get("/statistics", Statistics(handle.copy()))
    return router^


@no_inline
def _bad_index():
    var numbers: List[Int] = [1]
    print(numbers[len(argv()) + 1])


@no_inline
def _recurse(n: Int) -> Int:
    var frame = Array[Int, 64](fill=n)
    if n < 0:
        return 0
    return _recurse(n + 1) + frame[n % 64]


def _begin_workers_with(begin: def() thin abi("C") -> None):
    _ = external_call["pthread_atfork", c_int](0, 0, begin)


def _die() abi("C"):
    abort("at start")


def _hang() abi("C"):
    while parent_process_id() > 0:
        pass


def _read() abi("C"):
    var octets = List[UInt8](length=1, fill=0)
    _ = read_descriptor(0, Span(octets))


@fieldwise_init
struct _Stopper(Movable):
    var handle: ServerHandle
    var waits: Int32


def _start_stopper(handle: ServerHandle):
    var reader = Int32(-1)
    var writer = Int32(-1)
    _ = open_socket_pair(
        AF_UNIX, SOCK_STREAM, reader, writer, non_blocking=False
    )
    var stopper = heap_create(_Stopper(handle.copy(), writer))
    _ = start_thread(_stop_on_input, stopper.unsafe_bitcast[NoneType]())
    # What the thread allocates must not coincide with a fork.
    var octets = List[UInt8](length=1, fill=0)
    _ = read_descriptor(reader, Span(octets))


def _stop_on_input(argument: Erased) abi("C") -> Optional[Erased]:
    var stopper = argument.unsafe_bitcast[_Stopper]()
    var octets = List[UInt8](length=1, fill=0)
    _ = write_descriptor(stopper[].waits, Span(octets))
    _ = read_descriptor(0, Span(octets))
    stopper[].handle.shutdown()
    return None

"""Serves what the hostile clients of tests/hostile attack; argv says how.

`besieged BACKEND` serves routes, `besieged BACKEND URL` a reverse proxy in
front of another server, `besieged BACKEND tls FOLDER` the routes inside of TLS
with the certificate of that folder. The port is printed.
"""

from std.sys import argv

from flare.http import (
    Compress,
    HttpServer,
    Logger,
    LogSink,
    Path,
    Request,
    Response,
    ResponseStream,
    ReverseProxy,
    Router,
    SecurityHeaders,
    ServerConfig,
    UpgradedStream,
    ok,
    ok_json,
)
from flare.json import FromJson, ToJson, Value, decode, dumps
from flare.net import SocketAddr
from flare.runtime import BackendKind, sleep
from flare.tls import TlsIdentity, TlsServerConfig


@fieldwise_init
struct Item(Copyable, FromJson, ToJson):
    var name: String
    var price: Float64
    var tags: List[String]


@fieldwise_init
struct Order(FromJson, ToJson):
    var id: Int
    var items: List[Item]
    var extra: Dict[String, Value]
    var note: Optional[String]


def home(req: Request) raises -> Response:
    return ok("hello")


def echo(req: Request) raises -> Response:
    return ok(req.text())


def json(req: Request) raises -> Response:
    return ok_json(dumps(req.json()))


def part(req: Request) raises -> Response:
    return ok_json(dumps(req.json()["data"]))


def typed(req: Request) raises -> Response:
    return ok_json(dumps(decode[Order](req.text())))


def form(req: Request) raises -> Response:
    return ok(String(len(req.form())))


def multipart(req: Request) raises -> Response:
    var parts = req.multipart()
    var count, total = 0, 0
    while True:
        var next = parts.next_part()
        if not next:
            return ok(String(count, " ", total))
        count += 1
        total += len(parts.octets())


def count(req: Request) raises -> Response:
    var found = 0
    for _ in req.query_parameters():
        found += 1
    for _ in req.cookies():
        found += 1
    return ok(String(found))


def upload(req: Request) raises -> Response:
    var piece = List[UInt8](length=16 * 1024, fill=0)
    var total = 0
    var taken = req.body.read(Span(piece))
    while taken > 0:
        total += taken
        taken = req.body.read(Span(piece))
    return ok(String(total))


def download(octets: Path[Int]) raises -> Response:
    var wanted = min(max(octets.value, 0), 1 << 30)

    def write_all(req: Request, stream: ResponseStream) raises {var wanted}:
        var piece = List[UInt8](length=16 * 1024, fill=120)
        var left = wanted
        while left > 0:
            left -= stream.write(Span(piece)[: min(left, 16 * 1024)])

    return Response.stream(write_all, length=wanted)


def whole(octets: Path[Int]) raises -> Response:
    return ok(List[UInt8](length=min(max(octets.value, 0), 8 << 20), fill=120))


def delay(ms: Path[Int]) raises -> Response:
    sleep(min(max(ms.value, 0), 60_000))
    return ok("waited")


def events(req: Request) raises -> Response:
    return Response.stream(tick, content_type="text/event-stream")


def tick(req: Request, stream: ResponseStream) raises:
    while True:
        stream.write_text("data: tick\n\n")
        sleep(100)


def upgrade(req: Request) raises -> Response:
    return Response.upgrade("echo", speak)


def speak(req: Request, stream: UpgradedStream) raises:
    var piece = List[UInt8](length=4096, fill=0)
    var taken = stream.read(Span(piece))
    while taken > 0:
        stream.write_all(Span(piece)[:taken])
        taken = stream.read(Span(piece))


def fail(req: Request) raises -> Response:
    raise Error("failed at ", req.path)


def wild(req: Request) raises -> Response:
    return ok(req.path)


def main() raises:
    var options = argv()
    var backend = BackendKind.IO_URING
    if options[1] == "epoll":
        backend = BackendKind.EPOLL
    var address = SocketAddr.localhost(0)
    var config = ServerConfig(backend=backend)
    if len(options) > 3:
        var folder = String(options[3])
        var tls = TlsServerConfig(
            TlsIdentity.files(folder + "/server.pem", folder + "/server.key")
        )
        var server = HttpServer.bind_tls(address, tls^, config^)
        serve_routes(server)
        return
    var server = HttpServer.bind(address, config^)
    if len(options) == 2:
        serve_routes(server)
        return
    print(server.local_address().port, flush=True)
    server.serve(ReverseProxy(options[2]))


def serve_routes(server: HttpServer) raises:
    print(server.local_address().port, flush=True)
    var router = Router()
    router.get("/", home)
    router.post("/echo", echo)
    router.post("/json", json)
    router.post("/part", part)
    router.post("/typed", typed)
    router.post("/form", form)
    router.post("/multipart", multipart)
    router.get("/count", count)
    router.post("/upload", upload)
    router.get[download]("/download/:octets")
    router.get[whole]("/whole/:octets")
    router.get[delay]("/delay/:ms")
    router.get("/events", events)
    router.get("/upgrade", upgrade)
    router.get("/fail", fail)
    router.get("/wild/*", wild)
    server.serve(Logger(Compress(SecurityHeaders(router^)), LogSink.nowhere()))

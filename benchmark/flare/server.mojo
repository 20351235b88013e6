"""Serves the routes of the benchmark as a user of flare would write them.

Options: --port P --workers N --backend io_uring|epoll --products FILE
--certificates FOLDER
"""

from std.os.path import dirname, exists

from flare.http import (
    App,
    HttpServer,
    Path,
    Request,
    Response,
    ResponseStream,
    Router,
    ServerConfig,
    State,
    StaticFiles,
    ok_json,
)
from flare.http.body import Body
from flare.net import SocketAddr
from flare.runtime import sleep
from flare.tls import TlsIdentity, TlsServerConfig
from flare.ws import WebSocket, WsConnection, WsMessage

from options import backend, option
from products import Pool

comptime DELAY_MS = 10
comptime OCTETS_MAX = 1 << 40
comptime PIECE_OCTETS = 64 * 1024
# A benchmark's connections last as long as it does.
comptime REQUESTS_PER_CONNECTION_MAX = 1_000_000_000


def text(var body: Body) -> Response:
    var response = Response(body=body^)
    response.headers.append_constant["Content-Type", "text/plain"]()
    return response^


def plaintext(req: Request) raises -> Response:
    return text("Hello, World!")


def simple(req: Request) raises -> Response:
    return ok_json('{"message":"hi"}')


def read(pool: State[Pool]) raises -> Response:
    return ok_json(pool[].read())


def list(pool: State[Pool]) raises -> Response:
    return ok_json(pool[].list())


def compute(pool: State[Pool]) raises -> Response:
    return ok_json(pool[].compute())


def upload(req: Request) raises -> Response:
    req.body.set_octets_max(OCTETS_MAX)
    var piece = List[UInt8](length=PIECE_OCTETS, fill=0)
    var total = 0
    var count = req.body.read(Span(piece))
    while count > 0:
        total += count
        count = req.body.read(Span(piece))
    return text(String(total))


def download(count: Path[Int]) raises -> Response:
    var octets = min(max(count.value, 0), OCTETS_MAX)

    def write_all(req: Request, stream: ResponseStream) raises {var octets}:
        var piece = List[UInt8](length=PIECE_OCTETS, fill=120)
        var left = octets
        while left > 0:
            left -= stream.write(Span(piece)[: min(left, PIECE_OCTETS)])

    return Response.stream(write_all, length=octets)


def delay(req: Request) raises -> Response:
    sleep(DELAY_MS)
    return text("Hello, World!")


def echo(ws: WsConnection) raises:
    var message = WsMessage()
    while True:
        ws.recv_into(message)
        ws.send(message)


def make_pool(worker: Int) raises -> Pool:
    return Pool(option("--products", ""))


def main() raises:
    var router = Router[Pool]()
    router.get("/plaintext", plaintext)
    router.get("/simple", simple)
    router.get[read]("/read")
    router.get[list]("/list")
    router.get[compute]("/compute")
    router.post("/upload", upload)
    router.get[download]("/download/:octets")
    router.get("/delay", delay)
    router.get("/ws", WebSocket(echo))
    var files = dirname(option("--products", "")) + "/files"
    if exists(files):
        router.get("/files/*path", StaticFiles(files, precompressed=True))
    var config = ServerConfig(
        backend=backend(option("--backend", "io_uring")),
        max_keepalive_requests=REQUESTS_PER_CONNECTION_MAX,
    )
    var address = SocketAddr.localhost(UInt16(Int(option("--port", "8080"))))
    var certificates = option("--certificates", "")
    var server: HttpServer
    if certificates:
        var path = certificates + "/server"
        server = HttpServer.bind_tls(
            address,
            TlsServerConfig(TlsIdentity.files(path + ".pem", path + ".key")),
            config^,
        )
    else:
        server = HttpServer.bind(address, config^)
    server.serve(
        App.per_worker[make_pool](router^),
        num_workers=Int(option("--workers", "1")),
    )

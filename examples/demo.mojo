# Run: mojo run -I . examples/demo.mojo [--port N] [--workers N] [--backend B] [--files DIR] [--tls-port N [--certificate FILE --key FILE]]
"""Serves a few routes to try a client or a load generator on."""

from std.sys import argv

from flare.http import HttpDate, ResponseStream, StaticFiles, StatusPage
from flare.metrics import Metrics
from flare.prelude import *
from flare.runtime import BackendKind, unix_seconds
from flare.tls import TlsIdentity, TlsServerConfig
from flare.ws import WebSocket, WsCompression, WsConnection, WsOptions

comptime OCTETS_MAX = 1 << 40
comptime PIECE_OCTETS = 64 * 1024
comptime CHAT_PAGE = """<!doctype html>
<meta charset="utf-8"><title>Chat</title>
<form><input name="text" autofocus autocomplete="off"><button>Send</button></form><ol></ol><script>
const room = location.hash.slice(1) || "lobby"; const list = document.querySelector("ol"), form = document.querySelector("form");
const address = new URL("/chat/" + encodeURIComponent(room), location.href);
address.protocol = address.protocol.replace("http", "ws"); address.hash = ""; const show = (text) => { const line = document.createElement("li"); line.textContent = text; list.append(line); };
let socket, wait = 100; function connect() {
  socket = new WebSocket(address);
  socket.onopen = () => { wait = 100; show("(connected)"); }; socket.onmessage = (event) => show(event.data);
  socket.onclose = () => { setTimeout(connect, wait); wait = Math.min(2 * wait, 5000); };
}
form.onsubmit = (event) => { event.preventDefault(); socket.send(form.text.value); form.reset(); }; connect(); </script>
"""


def home(req: Request) raises -> Response:
    return ok("Hello from flare!\n")


def short(req: Request) raises -> Response:
    return ok("Hello, World!")


def echo(req: Request) raises -> Response:
    return ok(req.text())


def user(req: Request) raises -> Response:
    return ok(String("user ", req.param("id"), "\n"))


def delay(ms: Path[Int]) raises -> Response:
    var duration_ms = min(max(ms.value, 0), 60_000)
    sleep(duration_ms)
    return ok(String("waited ", duration_ms, " ms\n"))


def upload(req: Request) raises -> Response:
    req.body.set_octets_max(OCTETS_MAX)
    var piece = List[UInt8](length=PIECE_OCTETS, fill=0)
    var total = 0
    var count = req.body.read(Span(piece))
    while count > 0:
        total += count
        count = req.body.read(Span(piece))
    return ok(String(total, "\n"))


def download(count: Path[Int]) raises -> Response:
    var octets = min(max(count.value, 0), OCTETS_MAX)

    def write_all(req: Request, stream: ResponseStream) raises {var octets}:
        var piece = List[UInt8](length=PIECE_OCTETS, fill=120)
        var left = octets
        while left > 0:
            left -= stream.write(Span(piece)[: min(left, PIECE_OCTETS)])

    return Response.stream(write_all, length=octets)


def clock(req: Request) raises -> Response:
    return Response.stream(tick, content_type="text/plain")


def tick(req: Request, stream: ResponseStream) raises:
    for _ in range(24 * 3600):
        stream.write_text(String(HttpDate(unix_seconds()), "\n"))
        sleep(1000)


def converse(ws: WsConnection) raises:
    while True:
        ws.send(ws.recv_message())


def chat(req: Request, ws: WsConnection) raises:
    var room = req.param("room")
    ws.subscribe(room)
    for message in ws:
        if message.is_text:
            ws.publish(room, message.as_text(), including_self=True)


def chat_page(req: Request) raises -> Response:
    return ok_html(CHAT_PAGE)


def main() raises:
    var given = Dict[String, String]()
    var words = argv()
    for i in range(1, len(words) - 1, 2):
        given[String(words[i])] = String(words[i + 1])
    var port = Int(given.pop("--port", "8080"))
    var workers, files = given.pop("--workers", "1"), given.pop("--files", "")
    var tls_port = Int(given.pop("--tls-port", "-1"))
    var pem, key = given.pop("--certificate", ""), given.pop("--key", "")
    var name = given.pop("--backend", "")
    var backend = BackendKind.AUTOMATIC
    if name:
        backend = BackendKind.EPOLL if name == "epoll" else BackendKind.IO_URING
    if len(words) % 2 == 0 or len(given) > 0 or not 0 <= port <= 65535:
        raise Error("the first line of demo.mojo lists the options")
    var metrics = Metrics()
    var router = Router()
    router.get("/-/flare", StatusPage(metrics))
    router.get("/", home)
    router.get("/plaintext", short)
    router.post("/echo", echo)
    router.get("/users/:id", user)
    router.get[delay]("/delay/:ms")
    router.post("/upload", upload)
    router.get[download]("/download/:octets")
    router.get("/clock", clock)
    router.get("/chat", chat_page)
    router.get("/chat/:room", WebSocket(chat))
    var sockets = WsOptions(max_message_size=16 << 20)
    router.get("/ws", WebSocket(converse, sockets.copy()))
    sockets.compression = WsCompression.SHARED
    router.get("/ws/deflate/shared", WebSocket(converse, sockets.copy()))
    sockets.compression = WsCompression.DEDICATED
    router.get("/ws/deflate", WebSocket(converse, sockets^))
    if files:
        router.get("/files/*path", StaticFiles(files, precompressed=True))
    var server = HttpServer.bind(
        SocketAddr.any_v4(UInt16(port)),
        ServerConfig(backend=backend, metrics=metrics),
    )
    if tls_port >= 0:
        if not pem:
            print("self-signed certificate, for localhost", flush=True)
        var tls = TlsIdentity.files(
            pem, key
        ) if pem else TlsIdentity.self_signed()
        var at = SocketAddr.any_v4(UInt16(tls_port))
        server.listen_tls(at, TlsServerConfig(tls^))
    server.serve(router^, num_workers=Int(workers))

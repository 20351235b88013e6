"""Serves WebSockets to hostile clients (tests/python/test_ws_*.py).

Options: `--backend B`, `--workers N`, `--supervise`, `--short` (small limits of
time), `--no-pings`, `--tls FOLDER` (tests/tls/make_certificates.sh),
`--upstream URL` (a server to which it forwards instead), `--streams` (over
HTTP/2). The port is printed.
"""

from std.sys import argv

from flare.http import (
    ClientConfig,
    Handler,
    HttpServer,
    Listener,
    Request,
    Response,
    ReverseProxy,
    Router,
    ServerConfig,
    ServerHandle,
    ok,
)
from flare.http.server.records.statistics import WorkerStatistics
from flare.net import SocketAddr
from flare.runtime import BackendKind, blocking, sleep
from flare.sys.process import process_id
from flare.tls import TlsIdentity, TlsServerConfig
from flare.ws import (
    WebSocket,
    WsCompression,
    WsConnection,
    WsHub,
    WsOptions,
    WsOverflow,
    websocket,
)


def home(req: Request) raises -> Response:
    return ok("hello")


def who(req: Request) raises -> Response:
    return ok(String(process_id(), " ", req.unsafe_exchange()[].host.worker))


def echo(ws: WsConnection) raises:
    while True:
        ws.send(ws.recv_message())


def wait(ws: WsConnection) raises:
    ws.send_text("waiting")
    sleep(60_000)


def late(req: Request) raises -> Response:
    """Decides late that the client may connect."""
    sleep(100)

    def speak(req: Request, ws: WsConnection) raises:
        wait(ws)

    return websocket(req, speak)


def write(ws: WsConnection) raises:
    """Pauses in a message."""
    with ws.message_writer(is_text=True) as writer:
        writer.write_all("waiting".as_bytes())
        sleep(60_000)


def ask(ws: WsConnection) raises:
    """Awaits a pong, which no peer here sends."""
    ws.send_text("waiting")
    _ = ws.ping()


def flood(ws: WsConnection) raises:
    """Writes a long message, which no peer here reads."""
    ws.send_binary(Span(List[UInt8](length=16 << 20, fill=7)))


def take_part(req: Request, ws: WsConnection) raises:
    """Does as each message says; other messages go to the topic `room`."""
    for message in ws:
        var text = String(message.as_text())
        if text.startswith("join "):
            ws.subscribe(text.removeprefix("join "))
            ws.send_text("joined")
        elif text.startswith("latest "):
            ws.subscribe(text.removeprefix("latest "), WsOverflow.LATEST)
            ws.send_text("joined")
        elif text.startswith("skip "):
            ws.subscribe(text.removeprefix("skip "), WsOverflow.SKIP)
            ws.send_text("joined")
        elif text == "thread":
            var sender = ws.sender()

            def send() raises {var sender^} -> Int:
                sender.send_text("from a thread")
                return 0

            _ = blocking(send^)
        elif text == "who":
            ws.send_text(String(req.unsafe_exchange()[].host.worker))
        elif text == "leave":
            ws.close(4000, "left")
        else:
            ws.publish("room", text)


@fieldwise_init
struct Publish(Handler):
    """Publishes messages of a length, on the loop or on another thread."""

    var hub: WsHub

    def serve(self, req: Request) raises -> Response:
        var hub = self.hub
        var topic = String(req.param("topic"))
        var count = Int(req.param("count"))
        var text = String("x") * Int(req.param("octets"))

        def publish() raises {
            var hub^, var topic^, var count, var text^
        } -> Int:
            for _ in range(count):
                hub.publish(topic, text)
            return count

        if req.param("where") == "thread":
            return ok(String(blocking(publish^)))
        return ok(String(publish()))


@fieldwise_init
struct Statistics(Handler):
    """Answers with the sums of the counters."""

    var handle: ServerHandle
    var hub: WsHub

    def serve(self, req: Request) raises -> Response:
        var sum = WorkerStatistics()
        for each in self.handle.statistics():
            sum.connections += each.connections
            sum.requests_in_flight += each.requests_in_flight
            sum.streams += each.streams
            sum.fibers += each.fibers
            sum.receive_buffers += each.receive_buffers
            sum.buffered_octets += each.buffered_octets
            sum.handlers_lost += each.handlers_lost
        var sockets = self.hub.statistics()
        var text = String()
        text.write("connections=", sum.connections)
        text.write("\nrequests_in_flight=", sum.requests_in_flight)
        text.write("\nstreams=", sum.streams)
        text.write("\nfibers=", sum.fibers)
        text.write("\nreceive_buffers=", sum.receive_buffers)
        text.write("\nbuffered_octets=", sum.buffered_octets)
        text.write("\nhandlers_lost=", sum.handlers_lost)
        text.write("\nsockets=", sockets.sockets)
        text.write("\nskipped=", sockets.skipped)
        for code in [1000, 1001, 1002, 1006, 1007, 1008, 1009, 1011, 1013]:
            text.write(
                "\nclosed_", code, "=", sockets.closed_with(UInt16(code))
            )
        return ok(text^)


@fieldwise_init
struct HandOver(Handler):
    """Lets a new process of this program go on."""

    var handle: ServerHandle

    def serve(self, req: Request) raises -> Response:
        var handle = self.handle.copy()
        var command = List[String]()
        for i in range(len(argv())):
            command.append(String(argv()[i]))

        def begin() raises {var handle^, var command^} -> Int:
            return handle.hand_over(command, timeout_ms=10_000)

        return ok(String(blocking(begin^)))


def main() raises:
    var config = ServerConfig()
    if _setting("--backend") == String("epoll"):
        config.backend = BackendKind.EPOLL
    else:
        config.backend = BackendKind.IO_URING
    var workers = Int(_setting("--workers").or_else(String("1")))
    var sockets = WsOptions()
    if _has("--short"):
        config.head_timeout_ms = 4_000
        config.write_timeout_ms = 1_000
        config.shutdown_timeout_ms = 3_000
        sockets = WsOptions(
            ping_interval_ms=500,
            pong_timeout_ms=500,
            close_timeout_ms=500,
            message_timeout_ms=500,
        )
    if _has("--no-pings"):
        sockets.limits.ping_interval_ms = Int.MAX
        sockets.limits.pong_timeout_ms = 60_000
    var upstream = _setting("--upstream")
    var server = _bind(_setting("--tls"), config^)
    print(server.local_address().port, flush=True)
    server.serve(
        _routes(server.handle(), sockets, upstream.or_else(String())),
        num_workers=workers,
        supervise=_has("--supervise"),
    )


def _bind(
    folder: Optional[String], var config: ServerConfig
) raises -> HttpServer:
    if folder:
        var identity = TlsIdentity.files(
            folder.value() + "/server.pem", folder.value() + "/server.key"
        )
        return HttpServer.bind_tls(
            SocketAddr.localhost(0), TlsServerConfig(identity^), config=config^
        )
    var listeners = Listener.from_systemd()
    if len(listeners) == 0:
        listeners.append(Listener.bind("127.0.0.1:0"))
    return HttpServer.with_listeners(listeners^, config^)


def _setting(option: StringSlice) -> Optional[String]:
    for i in range(1, len(argv()) - 1):
        if argv()[i] == option:
            return String(argv()[i + 1])
    return None


def _has(option: StringSlice) -> Bool:
    for each in argv():
        if each == option:
            return True
    return False


def _routes(
    handle: ServerHandle, sockets: WsOptions, upstream: String
) raises -> Router[]:
    var router = Router()
    router.get("/", home)
    router.get("/statistics", Statistics(handle.copy(), sockets.hub))
    if upstream.byte_length() > 0:
        var config = ClientConfig(http2_prior_knowledge=_has("--streams"))
        if _has("--short"):
            config.timeouts.write_ms = 1_000
        var idle_ms = 1_000 if _has("--short") else 60_000
        var proxy = ReverseProxy(
            upstream, config=config^, tunnel_idle_timeout_ms=idle_ms
        )
        router.get("/*path", proxy.copy())
        router.post("/*path", proxy^)
        return router^
    router.get("/who", who)
    router.get("/echo", WebSocket(echo, sockets.copy()))
    router.get("/wait", WebSocket(wait, sockets.copy()))
    router.get("/late", late)
    router.get("/write", WebSocket(write, sockets.copy()))
    router.get("/ask", WebSocket(ask, sockets.copy()))
    router.get("/flood", WebSocket(flood, sockets.copy()))
    router.get("/topics", WebSocket(take_part, sockets.copy()))
    var compressed = sockets.copy()
    compressed.compression = WsCompression.SHARED
    router.get("/shared", WebSocket(echo, compressed.copy()))
    compressed.compression = WsCompression.DEDICATED
    router.get("/dedicated", WebSocket(echo, compressed^))
    router.get(
        "/protocols",
        WebSocket(echo, WsOptions(protocols=["v2.chat"], hub=sockets.hub)),
    )
    router.get("/publish/:where/:topic/:count/:octets", Publish(sockets.hub))
    router.get("/hand-over", HandOver(handle.copy()))
    return router^

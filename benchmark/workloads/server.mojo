"""Serves what the workloads ask for (benchmark/workloads/*/run).

Every size and delay is the client's choice: the figures come from outside.
"""

from std.sys import argv

from flare.http import (
    ClientConfig,
    Handler,
    HttpClient,
    HttpServer,
    PoolLimits,
    Request,
    Response,
    ResponseStream,
    Router,
    ServerConfig,
    ServerHandle,
    UpgradedStream,
    ok,
)
from flare.http.server.records.statistics import WorkerStatistics
from flare.net import SocketAddr
from flare.runtime import BackendKind, sleep
from flare.sys.clock import monotonic_ms
from flare.sys.process import process_id
from flare.tls import TlsIdentity, TlsServerConfig
from flare.ws import WebSocket, WsConnection, WsHub, WsOptions

from checksum import Checksum, ContentSource

# Ten thousand parked handlers must fit with room to spare.
comptime _REQUESTS_IN_FLIGHT_MAX = 16_384
comptime _UPSTREAM_CONNECTIONS_MAX = 4_096
comptime _UPLOAD_OCTETS_MAX = 1 << 40
comptime _PIECE_OCTETS = 64 * 1024
# Three pages: no other handler here reaches as deep into its stack.
comptime _DEEP_OCTETS = 12 * 1024


def at_once(req: Request) raises -> Response:
    return ok("Hello, World!")


def after_10_ms(req: Request) raises -> Response:
    sleep(10)
    return ok("Hello, World!")


def parked(req: Request) raises -> Response:
    sleep(Int(req.param("ms")))
    return ok("Hello, World!")


def deep(req: Request) raises -> Response:
    var octets = Array[UInt8, _DEEP_OCTETS](fill=1)
    sleep(Int(req.param("ms")))
    var count = req.body.read(Span(octets))
    while req.body.read(Span(octets)) > 0:
        pass
    var sum = 0
    for octet in octets:
        sum += Int(octet)
    var response = ok(String(count, " ", sum))
    response.headers.set(
        "Checksum", String(req.body.trailers().get("Checksum").value())
    )
    return response^


def held(req: Request) raises -> Response:
    # Keeps the worker from its loop, so that others must queue.
    var end = monotonic_ms() + Int(req.param("ms"))
    while monotonic_ms() < end:
        pass
    return ok("Hello, World!")


def content(req: Request) raises -> Response:
    return ok(List[UInt8](length=Int(req.param("octets")), fill=120))


def length(req: Request) raises -> Response:
    return ok(String(len(req.body.octets())))


def upload(req: Request) raises -> Response:
    return ok(_read_all(req, Optional[Int](None)))


def slow_upload(req: Request) raises -> Response:
    return ok(_read_all(req, Int(req.param("ms"))))


def upload_and_trailer(req: Request) raises -> Response:
    var found = _read_all(req, Optional[Int](None))
    var trailer = req.body.trailers().get("Checksum")
    if trailer:
        return ok(String(found, " ", trailer.value()))
    return ok(found + " none")


def _read_all(req: Request, pause_ms: Optional[Int]) raises -> String:
    req.body.set_octets_max(_UPLOAD_OCTETS_MAX)
    var sum = Checksum()
    var piece = List[UInt8](length=_PIECE_OCTETS, fill=0)
    var total = 0
    var reads = 0
    while True:
        var count = req.body.read(Span(piece))
        if count == 0:
            return String(total, " ", sum.value(), " ", reads)
        sum.add(Span(piece)[:count])
        total += count
        reads += 1
        if pause_ms:
            sleep(pause_ms.value())


def download(req: Request) raises -> Response:
    # Chunked: the checksum follows the content.
    return Response.stream(_write_content)


def download_of_known_length(req: Request) raises -> Response:
    return Response.stream(_write_content, length=Int(req.param("octets")))


def _write_content(req: Request, stream: ResponseStream) raises:
    var left = Int(req.param("octets"))
    var source = ContentSource()
    var sum = Checksum()
    var piece = List[UInt8](length=_PIECE_OCTETS, fill=0)
    while left > 0:
        source.fill(Span(piece))
        var octets = Span(piece)[: min(left, _PIECE_OCTETS)]
        sum.add(octets)
        stream.write_all(octets)
        left -= len(octets)
    stream.set_trailer("Checksum", String(sum.value()))


def echo(req: Request) raises -> Response:
    return Response.upgrade("echo", _echo)


def _echo(req: Request, stream: UpgradedStream) raises:
    var piece = List[UInt8](length=_PIECE_OCTETS, fill=0)
    while True:
        var count = stream.read(Span(piece))
        if count == 0:
            return
        stream.write_all(Span(piece)[:count])


def worker(req: Request) raises -> Response:
    var number = req.unsafe_exchange()[].host.worker
    return ok(String(number, " ", process_id()))


@fieldwise_init
struct Upstream(Handler):
    """Asks another server twice at once, and answers when both have."""

    var client: HttpClient

    def serve(self, req: Request) raises -> Response:
        if req.param("ms") == "pool":
            var found = self.client.statistics()
            return ok(
                String(
                    "upstream_requests=",
                    found.requests,
                    "\nupstream_connects=",
                    found.connects,
                    "\nupstream_failures=",
                    found.failures,
                    "\nupstream_stale=",
                    found.stale,
                    "\n",
                )
            )
        var path = String("/parked/", req.param("ms"))
        var first = self.client.start("GET", path)
        var second = self.client.start("GET", path)
        var octets = first^.join().text().byte_length()
        octets += second^.join().text().byte_length()
        return ok(String(octets))


@fieldwise_init
struct Statistics(Handler):
    """Answers with the sums of the workers' counters."""

    var handle: ServerHandle

    def serve(self, req: Request) raises -> Response:
        return ok(_sums(self.handle))


@fieldwise_init
struct ClosedAsSlow(Handler):
    """Answers with the number of subscribers that were closed as slow."""

    var hub: WsHub

    def serve(self, req: Request) raises -> Response:
        return ok(String(self.hub.statistics().closed_with(1013)))


def main() raises:
    var config = ServerConfig(max_requests_in_flight=_REQUESTS_IN_FLIGHT_MAX)
    var workers = 1
    var supervise = False
    var port = 0
    var host = String("127.0.0.1")
    var certificates = Optional[String](None)
    var upstream = Optional[String](None)
    var options = argv()
    for i in range(1, len(options) - 1, 2):
        if options[i] == "--port":
            port = Int(options[i + 1])
        elif options[i] == "--at":
            host = String(options[i + 1])
        elif options[i] == "--backend":
            config.backend = _backend(options[i + 1])
        elif options[i] == "--tls":
            certificates = String(options[i + 1])
        elif options[i] == "--upstream":
            upstream = String("http://127.0.0.1:", options[i + 1])
        elif options[i] == "--workers":
            workers = Int(options[i + 1])
        elif options[i] == "--supervise":
            supervise = options[i + 1] == "yes"
        elif options[i] == "--backlog":
            config.listen_backlog = Int(options[i + 1])
        else:
            raise Error("unknown option ", options[i])
    if len(options) % 2 == 0:
        raise Error("no value for ", options[len(options) - 1])
    var address = SocketAddr.parse(String(host, ":", port))
    var server: HttpServer
    if certificates:
        var path = String(certificates.value(), "/server")
        server = HttpServer.bind_tls(
            address,
            TlsServerConfig(TlsIdentity.files(path + ".pem", path + ".key")),
            config^,
        )
    else:
        server = HttpServer.bind(address, config^)
    var handle = server.handle()
    print(server.local_address().port, flush=True)
    var router = _routes(handle)
    if upstream:
        router.get("/upstream/:ms", Upstream(_client(upstream.value())))
    server.serve(router^, num_workers=workers, supervise=supervise)
    # The last counters: what was read must have been answered.
    print(_sums(handle), end="", flush=True)


def talk(ws: WsConnection) raises:
    ws.subscribe("room")
    for message in ws:
        ws.publish("room", message.as_text())


def echo_messages(ws: WsConnection) raises:
    for message in ws:
        ws.send(message)


def _backend(name: StringSlice) raises -> BackendKind:
    if name == "io_uring":
        return BackendKind.IO_URING
    if name == "epoll":
        return BackendKind.EPOLL
    raise Error("the backend is io_uring or epoll")


def _client(url: String) raises -> HttpClient:
    return HttpClient(
        url,
        config=ClientConfig(
            pool=PoolLimits(
                connections_per_origin_max=_UPSTREAM_CONNECTIONS_MAX,
                idle_connections_max=_UPSTREAM_CONNECTIONS_MAX,
            )
        ),
    )


def _routes(handle: ServerHandle) raises -> Router[]:
    var router = Router()
    router.get("/", at_once)
    router.get("/after-10-ms", after_10_ms)
    router.get("/parked/:ms", parked)
    router.post("/deep/:ms", deep)
    router.get("/held/:ms", held)
    router.get("/content/:octets", content)
    router.post("/length", length)
    router.post("/upload", upload)
    router.post("/upload/:ms", slow_upload)
    router.post("/upload-and-trailer", upload_and_trailer)
    router.get("/download/:octets", download)
    router.get("/download-known/:octets", download_of_known_length)
    router.get("/echo", echo)
    router.get("/worker", worker)
    router.get("/socket", WebSocket(echo_messages))
    var hub = WsHub()
    router.get("/room", WebSocket(talk, WsOptions(hub=hub)))
    router.get("/room/closed", ClosedAsSlow(hub))
    router.get("/statistics", Statistics(handle.copy()))
    return router^


def _sums(handle: ServerHandle) -> String:
    var sum = WorkerStatistics()
    for each in handle.statistics():
        sum.connections_accepted += each.connections_accepted
        sum.connections += each.connections
        sum.requests += each.requests
        sum.requests_in_flight += each.requests_in_flight
        sum.refused += each.refused
        sum.fibers += each.fibers
        sum.receive_buffers += each.receive_buffers
        sum.timers += each.timers
        sum.slow_turns += each.slow_turns
    return String(
        "connections_accepted=",
        sum.connections_accepted,
        "\nconnections=",
        sum.connections,
        "\nrequests=",
        sum.requests,
        "\nrequests_in_flight=",
        sum.requests_in_flight,
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

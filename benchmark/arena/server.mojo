"""Serves the profiles of a public benchmark of HTTP servers, written as a user
of flare would write it.

Options, each with a value: --data and --certificates are folders, --workers a
count, --backend is io_uring or epoll, --host the IPv4 address to listen on.
--port, --tls-port, --tls-check-port, --h2-port and --h2c-port take 0 for a port
that the kernel chooses; --tls-check-certificates is the folder of the third
listener.

Prints the port of each listener, in this order, before it serves.
"""

from std.os.path import exists
from std.sys import stderr

from flare.http import (
    App,
    Compress,
    CompressionConfig,
    HttpProtocols,
    HttpServer,
    Listener,
    Router,
    ServerConfig,
    StaticFiles,
)
from flare.net import SocketAddr
from flare.tls import TlsIdentity, TlsServerConfig
from flare.ws import WebSocket

from arena import Arena, make_arena
from contents import echo, upload
from crud import add_crud
from fortunes import fortunes
from options import Options
from pages import page
from sockets import echo_messages
from stored_items import items_by_price
from texts import add, delay, pipeline

comptime CONNECTIONS_MAX = 65_536
comptime BACKLOG = 65_535
# A connection lasts as long as its client likes.
comptime REQUESTS_PER_CONNECTION_MAX = 1_000_000_000
# For JSON of a few KiB: half the time of level 4, for 4 % more octets.
comptime BROTLI_LEVEL = 2


def main() raises:
    var options = Options.of_arguments()
    # What is wrong with the data shows before anybody can connect.
    _ = Arena(options)
    var server = listen(options)
    var router = routes(options.data + "/static")
    server.serve(
        App.per_worker[make_arena](router^),
        num_workers=options.workers,
    )


def routes(files: String) raises -> Router[Arena]:
    var pages = Router[Arena]()
    pages.get[page]("/json/:count")
    var router = Router[Arena]()
    router.get[add]("/baseline11")
    router.post[add]("/baseline11")
    router.get[add]("/baseline2")
    router.post[add]("/baseline2")
    router.get("/pipeline", pipeline)
    router.get[delay]("/delay/:ms")
    router.post("/upload", upload)
    router.post("/echo", echo)
    # Compression stands around the one route that has something to compress.
    router.get(
        "/json/*",
        Compress(
            pages^,
            CompressionConfig(brotli_level=BROTLI_LEVEL, content_octets_min=0),
        ),
    )
    router.get[items_by_price]("/async-db")
    router.get[fortunes]("/fortunes")
    add_crud(router)
    router.get("/ws", WebSocket(echo_messages))
    if exists(files):
        router.get("/static/*path", StaticFiles(files, precompressed=True))
    else:
        print("no files at /static: there is no ", files, sep="", file=stderr)
    return router^


def listen(options: Options) raises -> HttpServer:
    var server = HttpServer.bind(
        options.address(options.port),
        ServerConfig(
            backend=options.backend,
            listen_backlog=BACKLOG,
            max_connections=CONNECTIONS_MAX,
            max_keepalive_requests=REQUESTS_PER_CONNECTION_MAX,
            max_receive_buffers=2 * CONNECTIONS_MAX,
            max_requests_in_flight=CONNECTIONS_MAX,
        ),
    )
    comptime HTTP1: List[StaticString] = ["http/1.1"]
    comptime HTTP2: List[StaticString] = ["h2", "http/1.1"]
    listen_tls(
        server,
        options.address(options.tls_port),
        options.certificates,
        materialize[HTTP1](),
    )
    listen_tls(
        server,
        options.address(options.tls_check_port),
        options.tls_check_certificates,
        materialize[HTTP1](),
    )
    listen_tls(
        server,
        options.address(options.h2_port),
        options.certificates,
        materialize[HTTP2](),
    )
    server.add(
        Listener.bind(
            options.address(options.h2c_port),
            backlog=BACKLOG,
            protocols=HttpProtocols.HTTP2,
        )
    )
    for address in server.local_addresses():
        print(address.socket_address().port, flush=True)
    return server^


def listen_tls(
    mut server: HttpServer,
    address: SocketAddr,
    folder: String,
    protocols: List[StaticString],
) raises:
    var certificate = folder + "/server.crt"
    if not exists(certificate):
        var text = String(
            "no listener at port ", address.port, ": there is no "
        )
        print(text + certificate, file=stderr)
        return
    server.listen_tls(
        address,
        TlsServerConfig(
            TlsIdentity.files(certificate, folder + "/server.key"),
            application_protocols=[String(name) for name in protocols],
        ),
    )

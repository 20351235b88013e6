"""Must not build: the content may be smaller than the header section."""

from flare.http import FnHandler, HttpServer, Request, Response, ok
from flare.http.server import ServerConfig
from flare.net import SocketAddr


def hello(req: Request) raises -> Response:
    return ok("hello")


comptime HELLO: FnHandler = FnHandler(hello)
comptime CONFIG: ServerConfig = ServerConfig(
    max_header_size=4096, max_body_size=4095
)


def main() raises:
    var srv = HttpServer.bind(SocketAddr.localhost(0))
    srv.serve_comptime[HELLO, CONFIG]()

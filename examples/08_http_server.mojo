# Run: mojo run -I . examples/08_http_server.mojo
# Prints: {"people": 1}
# Prints: not found: /nowhere
"""Serves three routes from one function, asks itself, and stops by handle."""

from flare.prelude import *
from flare.tcp import TcpStream


@fieldwise_init
struct Site(Handler):
    """Answers by looking at the request itself; `15_router` does it better."""

    var server: ServerHandle

    def serve(self, req: Request) raises -> Response:
        if req.path == "/":
            return ok("hello")
        if req.path == "/people" and req.method == "POST":
            # Waits for the content, while the worker serves others.
            return created("welcome, " + req.text())
        if req.path == "/people":
            return ok_json('{"people": 1}')
        if req.path == "/stop":
            self.server.shutdown()
            return no_content()
        return not_found(req.path)


def main() raises:
    var server = HttpServer.bind(SocketAddr.localhost(0))

    # Connections wait in the listen queue until the server serves.
    var client = TcpStream.connect(server.local_address())
    client.write_all(
        (
            "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
            "POST /people HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nAda"
            "GET /people HTTP/1.1\r\nHost: a\r\n\r\n"
            "GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n"
            "GET /stop HTTP/1.1\r\nHost: a\r\n\r\n"
        ).as_bytes()
    )
    server.serve(Site(server.handle()))

    var answers = String()
    var octets = List[UInt8](length=4096, fill=0)
    while True:
        var count = client.read(Span(octets))
        if count == 0:
            break
        answers += StringSlice(from_utf8=Span(octets)[:count])
    print(answers)

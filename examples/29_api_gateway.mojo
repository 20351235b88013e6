# Run: mojo run -I . examples/29_api_gateway.mojo
# Prints: {"price": 12, "stock": 3}
# Prints: both were asked at once
"""Answers with what two other services say, which it asks at the same time."""

from flare.http import HttpClient
from flare.prelude import *


@fieldwise_init
struct Gateway(Handler):
    """Asks for price and stock of a product.

    Each worker gets a copy of the handler, and so a client of its own.
    """

    var client: HttpClient
    var server: ServerHandle

    def serve(self, req: Request) raises -> Response:
        if req.path == "/price":
            sleep(50)
            return ok_json("12")
        if req.path == "/stock":
            sleep(50)
            return ok_json("3")
        # Each is a fiber; the worker serves others while this one waits.
        var price = self.client.start("GET", "/price")
        var stock = self.client.start("GET", "/stock")
        var found = price^.join()
        found.raise_for_status()
        var left = stock^.join()
        left.raise_for_status()
        self.server.shutdown()
        return ok_json(
            String('{"price": ', found.text(), ', "stock": ', left.text(), "}")
        )


def main() raises:
    var server = HttpServer.bind(SocketAddr.localhost(0))
    # The other services are routes of this server, to keep the example small.
    var client = HttpClient(String("http://", server.local_address()))

    # A connection waits in the listen queue until the server serves.
    var browser = TcpStream.connect(server.local_address())
    browser.write_all(
        "GET /product HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        .as_bytes()
    )
    server.serve(Gateway(client^, server.handle()))

    var octets = List[UInt8](length=4096, fill=0)
    var count = browser.read(Span(octets))
    var answer = StringSlice(from_utf8=Span(octets)[0:count])
    print(answer[byte = answer.find("\r\n\r\n") + 4 :])
    print("both were asked at once")

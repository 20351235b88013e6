# Run: mojo run -I . examples/22_upgrade.mojo
# Prints: HTTP/1.1 101 Switching Protocols
# Prints: HELLO
# Prints: AND GOODBYE
"""Speaks a protocol of lines on the connection of an HTTP request."""

from flare.http import UpgradedStream
from flare.io import BufReader
from flare.prelude import *


@fieldwise_init
struct Site(Handler):
    var server: ServerHandle

    def serve(self, req: Request) raises -> Response:
        # This server is for one connection only.
        self.server.shutdown()
        # A request without `shout` gets 426 (Upgrade Required).
        return Response.upgrade("shout", shout)


def shout(req: Request, stream: UpgradedStream) raises:
    # Protocols that probe their peer themselves wait without a limit.
    stream.set_read_timeout_ms(5_000)
    var lines = BufReader(stream)
    while True:
        var line = lines.read_line(limit=1000)
        if not line:
            # The peer has ended its side; ours ends when we return.
            return
        stream.write_all(String(line.value().upper(), "\n").as_bytes())


def main() raises:
    var server = HttpServer.bind(SocketAddr.localhost(0))

    # Connections wait in the listen queue until the server serves.
    var client = TcpStream.connect(server.local_address())
    client.write_all(
        (
            "GET / HTTP/1.1\r\nHost: a\r\n"
            "Connection: upgrade\r\nUpgrade: shout\r\n\r\n"
            "hello\nand goodbye\n"
        ).as_bytes()
    )
    client.end_sending()
    server.serve(Site(server.handle()))

    var lines = BufReader(client^)
    while True:
        var line = lines.read_line()
        if not line:
            break
        print(line.value())

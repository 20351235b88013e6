# Run: mojo build -I . -o /tmp/streaming_upload_download examples/19_streaming_upload_download.mojo && /tmp/streaming_upload_download
# Prints: uploaded 20000000 octets
# Prints: downloaded 20000000 octets
"""Reads and writes contents piece by piece: neither is ever held whole."""

from flare.http import ResponseStream
from flare.io import BufReader
from flare.prelude import *
from flare.runtime import blocking

comptime OCTETS = 20_000_000


def transfer(req: Request) raises -> Response:
    if req.method == "GET":
        return Response.stream(write, length=OCTETS)
    # More than the server's `max_body_size`: no octet of it is kept.
    req.body.set_octets_max(1 << 30)
    var piece = List[UInt8](length=64 * 1024, fill=0)
    var total = 0
    while True:
        var count = req.body.read(Span(piece))
        if count == 0:
            return ok(String("uploaded ", total, " octets\n"))
        total += count


def write(req: Request, stream: ResponseStream) raises:
    # Waits while the client does not read.
    for _ in range(OCTETS // 10_000):
        stream.write_all(List[UInt8](length=10_000, fill=120))


def main() raises:
    var server = HttpServer.bind(SocketAddr.localhost(0))
    var handle = server.handle()

    # The server gets a thread of its own, so that this one can be its client.
    def serve() raises {var server^}:
        def run() raises {imm server}:
            server.serve(transfer)

        blocking(run)

    var serving = spawn(serve^)
    var client = BufReader(TcpStream.connect(handle.local_address()))
    ask(client, "POST /", List[UInt8](length=OCTETS, fill=120))
    print(client.read_line().value())
    ask(client, "GET /", List[UInt8]())
    print("downloaded", len(client.read_exactly(OCTETS)), "octets")
    handle.shutdown()
    serving^.join()


def ask(client: BufReader[TcpStream], what: String, body: List[UInt8]) raises:
    var rest = String(" HTTP/1.1\r\nHost: a\r\nContent-Length: ", len(body))
    client.inner().write_all(String(what, rest, "\r\n\r\n").as_bytes())
    client.inner().write_all(body)
    while client.read_line().value().byte_length() > 0:
        pass

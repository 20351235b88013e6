# Run: mojo run -I . examples/17_multicore.mojo
# Prints: every worker has ended
"""Serves on one worker for each CPU, asks itself, and stops by handle."""

from flare.http import (
    Handler,
    HttpServer,
    Request,
    Response,
    ServerHandle,
    ok,
)
from flare.net import SocketAddr
from flare.runtime import default_worker_count
from flare.tcp import TcpStream


@fieldwise_init
struct LastAnswer(Handler):
    """Answers one request and stops the server on all its workers."""

    var server: ServerHandle

    def serve(self, req: Request) raises -> Response:
        self.server.shutdown()
        return ok(String("hello from one of the workers"))


def main() raises:
    var workers = default_worker_count()
    var server = HttpServer.bind(SocketAddr.localhost(0))
    print("serving on", server.local_address(), "with", workers, "workers")

    # A connection waits in the listen queue until the server serves.
    var client = TcpStream.connect(server.local_address())
    client.write_all("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".as_bytes())

    server.serve(LastAnswer(server.handle()), num_workers=workers)
    print("every worker has ended")

    var answer = List[UInt8](length=4096, fill=0)
    var count = client.read(Span(answer))
    print(StringSlice(from_utf8=Span(answer)[:count]))

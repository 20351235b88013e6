# Run: mojo build -I . -o /tmp/http2 examples/36_http2.mojo && /tmp/http2
# Prints: 100 answers over HTTP/2.0, 1 connection
"""Asks a hundred times at once, on one connection of HTTP/2."""

from flare.http import ClientConfig, HttpClient
from flare.prelude import *
from flare.runtime import blocking
from flare.runtime.task import JoinHandle


def serve_page(req: Request) raises -> Response:
    # The worker serves the other streams of the connection meanwhile.
    sleep(10)
    return ok(String("over ", req.version))


def main() raises:
    var server = HttpServer.bind(SocketAddr.localhost(0))
    var handle = server.handle()

    # The server gets a thread of its own, so that this one can be its client.
    def serve() raises {var server^}:
        def run() raises {imm server}:
            server.serve(serve_page)

        blocking(run)

    var serving = spawn(serve^)
    # Inside of TLS, both would choose HTTP/2 by default.
    var client = HttpClient(
        String("http://127.0.0.1:", handle.local_address().port),
        config=ClientConfig(http2_prior_knowledge=True),
    )
    var tasks = List[JoinHandle[Response]]()
    for i in range(100):
        tasks.append(client.start("GET", String("/", i)))
    var text = String()
    while len(tasks) > 0:
        text = String(tasks.pop().join().text())
    var connections = client.statistics().connects
    print("100 answers", text + ",", connections, "connection")
    _ = client^
    handle.shutdown()
    serving^.join()

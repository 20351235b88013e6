# Run: mojo build -I . -o /tmp/server_sent_clock examples/21_server_sent_clock.mojo && /tmp/server_sent_clock
# Prints: client: data: tick 2
# Prints: server: the client left
"""Sends events for as long as the client listens (text/event-stream)."""

from flare.http import EventStream, event_stream
from flare.io import BufReader
from flare.prelude import *
from flare.runtime import blocking


def clock(req: Request) raises -> Response:
    return event_stream(tick)


def tick(req: Request, events: EventStream) raises:
    var count = 0
    try:
        while True:
            events.send(String("tick ", count), id=String(count))
            count += 1
            sleep(50)
    except:
        # Its next wait fails when the client leaves.
        print("server: the client left")


def main() raises:
    var server = HttpServer.bind(SocketAddr.localhost(0))
    var handle = server.handle()

    # The server gets a thread of its own, so that this one can be its client.
    def serve() raises {var server^}:
        def run() raises {imm server}:
            var router = Router()
            router.get("/clock", clock)
            server.serve(router^)

        blocking(run)

    var serving = spawn(serve^)
    var stream = TcpStream.connect(handle.local_address())
    # To a client of HTTP/1.0 the events come without the sizes of chunks.
    stream.write_all("GET /clock HTTP/1.0\r\n\r\n".as_bytes())
    var lines = BufReader(stream^)
    var events = 0
    while events < 3:
        var line = lines.read_line().value()
        if line.startswith("data: "):
            print("client:", line)
            events += 1
    lines.inner().close()
    handle.shutdown()
    serving^.join()

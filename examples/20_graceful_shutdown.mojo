# Run: mojo run -I . examples/20_graceful_shutdown.mojo
# Prints: endless: net.cancelled
# Prints: Connection: close
# Prints: finished in time
# Prints: the server has ended, 0 connections are left
"""Stops a server while it answers: requests finish if the deadline allows."""

from flare.prelude import *


@fieldwise_init
struct Site(Handler):
    var server: ServerHandle

    def serve(self, req: Request) raises -> Response:
        if req.path == "/endless":
            return endless()
        # As SIGTERM and SIGINT do; a second one would cut off at once.
        self.server.shutdown()
        sleep(100)
        return ok("finished in time")


def endless() raises -> Response:
    try:
        sleep(30_000)
        return ok("nobody waits that long")
    except e:
        # Waits fail once the time is over; here is the place to clean up.
        print("endless:", e)
        raise e


def ask(address: SocketAddr, path: String) raises -> TcpStream:
    var stream = TcpStream.connect(address)
    stream.write_all(
        String("GET ", path, " HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes()
    )
    return stream^


def main() raises:
    var config = ServerConfig(shutdown_timeout_ms=500)
    var server = HttpServer.bind(SocketAddr.localhost(0), config^)
    var handle = server.handle()

    # Connections wait in the listen queue until the server serves.
    var cut_off = ask(handle.local_address(), "/endless")
    var finished = ask(handle.local_address(), "/")
    server.serve(Site(handle.copy()))

    var answer = List[UInt8](length=4096, fill=0)
    var count = finished.read(Span(answer))
    print(StringSlice(from_utf8=Span(answer)[:count]))
    var left = handle.statistics()[0].connections
    print("the server has ended,", left, "connections are left")
    _ = cut_off^

# Run: mojo run -I . examples/26_http_sidecar.mojo
# Prints: HTTP/1.1 200 OK
# Prints: secret for me
# Prints: the path has gone: True
"""Serves HTTP at the path of a Unix socket, to its own user only."""

from std.os import getuid, rmdir
from std.tempfile import mkdtemp

from flare.http import forbidden
from flare.io import BufReader
from flare.prelude import *
from flare.unix import UnixStream


@fieldwise_init
struct Sidecar(Handler):
    var server: ServerHandle
    var owner: Int

    def serve(self, req: Request) raises -> Response:
        # The kernel says who is at the other end.
        if req.peer_credentials().uid != self.owner:
            return forbidden("nothing for you")
        self.server.shutdown()
        return ok("secret for me")


def main() raises:
    var folder = mkdtemp()
    var path = String(folder, "/sidecar.sock")
    # The file is for this user alone, unless `mode` says otherwise.
    var server = HttpServer.bind(String("unix:", path))
    print("listening at", server.local_addresses()[0])

    # Connections wait in the listen queue until the server serves.
    var client = UnixStream.connect(path)
    client.write_all("GET / HTTP/1.1\r\nHost: sidecar\r\n\r\n".as_bytes())
    server.serve(Sidecar(server.handle(), getuid()))

    var answer = BufReader(client^)
    while True:
        var line = answer.read_line()
        if not line:
            break
        print(line.value())

    # A server that stops removes its path first.
    try:
        _ = UnixStream.connect(path)
    except e:
        var kind = NetError.of(e).value().kind
        print("the path has gone:", kind == NetError.NOT_FOUND)
    rmdir(folder)

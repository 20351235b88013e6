# Run: mojo build -I . -o /tmp/both_ways examples/37_http2_both_ways.mojo && /tmp/both_ways
# Prints: one -> ONE
# Prints: two -> TWO
"""Talks both ways at once on one stream of HTTP/2."""

from flare.http import ClientConfig, HttpClient, ResponseStream
from flare.prelude import *
from flare.runtime import blocking


def shout(req: Request) raises -> Response:
    return Response.stream(shout_back)


def shout_back(req: Request, stream: ResponseStream) raises:
    var piece = List[UInt8](length=1024, fill=0)
    while True:
        var count = req.body.read(Span(piece))
        if count == 0:
            return
        var text = String(from_utf8=Span(piece)[:count])
        stream.write_all(text.upper().as_bytes())


def main() raises:
    var server = HttpServer.bind(SocketAddr.localhost(0))
    var handle = server.handle()

    # The server gets a thread of its own, so that this one can be its client.
    def serve() raises {var server^}:
        def run() raises {imm server}:
            server.serve(shout)

        blocking(run)

    var serving = spawn(serve^)
    var client = HttpClient(
        String("http://127.0.0.1:", handle.local_address().port),
        config=ClientConfig(http2_prior_knowledge=True),
    )
    var stream = client.open("POST", "/")
    var piece = List[UInt8](length=1024, fill=0)
    for word in ["one", "two"]:
        stream.write_all(word.as_bytes())
        var count = stream.read(Span(piece))
        print(word, "->", String(from_utf8=Span(piece)[:count]))
    stream.end()
    _ = stream.read_all(1024)
    _ = client^
    handle.shutdown()
    serving^.join()

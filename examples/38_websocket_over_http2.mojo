# Run: mojo build -I . -o /tmp/ws_h2 examples/38_websocket_over_http2.mojo && /tmp/ws_h2
# Prints: first: hello from first
# Prints: second: hello from second
# Prints: HTTP/2.0
# Prints: connections: 1
"""Shares one connection of HTTP/2 among WebSockets and requests."""

from flare.http import ClientConfig, HttpClient
from flare.prelude import *
from flare.runtime import blocking
from flare.ws import WebSocket, WsClient, WsConnection


def greet(ws: WsConnection) raises:
    for name in ws:
        ws.send_text(String("hello from ", name.as_text()))


def describe(req: Request) raises -> Response:
    return ok(String(req.version))


def main() raises:
    var router = Router()
    router.get("/chat", WebSocket(greet))
    router.get("/about", describe)
    var server = HttpServer.bind(SocketAddr.localhost(0))
    var handle = server.handle()

    # The server gets a thread of its own, so that this one can be its client.
    def serve() raises {var server^, var router^}:
        def run() raises {imm server, imm router}:
            server.serve(router.copy())

        blocking(run)

    var serving = spawn(serve^)
    var client = HttpClient(
        String("http://127.0.0.1:", handle.local_address().port),
        config=ClientConfig(http2_prior_knowledge=True),
    )
    with WsClient.over(client, "/chat") as first:
        with WsClient.over(client, "/chat") as second:
            first.send_text("first")
            second.send_text("second")
            print("first:", first.recv_message().as_text())
            print("second:", second.recv_message().as_text())
            print(client.get("/about").text())
            print("connections:", client.statistics().connects)
    _ = client^
    handle.shutdown()
    serving^.join()

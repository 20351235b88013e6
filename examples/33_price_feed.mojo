# Run: mojo run -I . examples/33_price_feed.mojo
# Prints: the newest price: 1.9999
# Prints: a slow reader skips prices: True
"""Feeds prices to subscribers, of which slow ones get the newest price only."""

from flare.prelude import *
from flare.runtime import blocking
from flare.ws import WebSocket, WsClient, WsConnection
from flare.ws import WsHub, WsOptions, WsOverflow

comptime PRICES = 10_000


def prices(ws: WsConnection) raises:
    ws.subscribe("EUR", WsOverflow.LATEST)
    ws.send_text("subscribed")
    for _ in ws:
        pass


def watch(url: String, hub: WsHub) raises:
    var client = WsClient.connect(url)
    _ = client.recv_message()

    # Any thread may publish, and publishing never waits.
    def publish() raises {var hub}:
        for i in range(PRICES):
            hub.publish("EUR", String("1.", String(i).ascii_rjust(4, "0")))

    blocking(publish)
    var count, newest = 0, String()
    while newest != "1.9999":
        newest = String(client.recv_message().as_text())
        count += 1
    print("the newest price:", newest)
    print("a slow reader skips prices:", count < PRICES)
    client.close()


def main() raises:
    var server = HttpServer.bind(SocketAddr.localhost(0))
    var handle = server.handle()
    var hub = WsHub()
    var options = WsOptions(hub=hub)

    # The server gets a thread of its own, so that this one can be its client.
    def serve() raises {var server^, var options^}:
        def run_server() raises {imm server, imm options}:
            var router = Router()
            router.get("/prices", WebSocket(prices, options.copy()))
            server.serve(router^, num_workers=2)

        blocking(run_server)

    var serving = spawn(serve^)
    watch(
        String("ws://127.0.0.1:", handle.local_address().port, "/prices"), hub
    )
    handle.shutdown()
    serving^.join()

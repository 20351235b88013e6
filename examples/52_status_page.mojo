# Run: mojo build -I . -o /tmp/status_page examples/52_status_page.mojo && /tmp/status_page
# Prints: text/html; charset=utf-8 for a browser
# Prints: GET /hello: 3 requests
# Prints: 403 through a proxy
"""Serves a page with the state of the server, and asks for it."""

from flare.http import HttpClient, StatusPage
from flare.json import loads
from flare.message import HeaderMap
from flare.metrics import Metrics
from flare.prelude import *
from flare.runtime import blocking, spawn


def hello(req: Request) raises -> Response:
    return ok("hello")


def main() raises:
    var metrics = Metrics()
    var router = Router()
    router.get("/hello", hello)
    router.get("/-/flare", StatusPage(metrics))
    # The page shows the numbers of these metrics.
    var config = ServerConfig(metrics=metrics)
    var server = HttpServer.bind(SocketAddr.localhost(0), config^)
    var handle = server.handle()

    # The server gets a thread of its own, so that this one can be its client.
    def serve() raises {var server^, var router^}:
        def run() raises {imm server, imm router}:
            server.serve(router.copy())

        blocking(run)

    var serving = spawn(serve^)
    var client = HttpClient(
        String("http://127.0.0.1:", handle.local_address().port)
    )
    for _ in range(3):
        _ = client.get("/hello")
    var headers = HeaderMap()
    headers.set("Accept", "text/html")
    var page = client.get("/-/flare", headers=headers)
    print(page.headers.get("Content-Type").value(), "for a browser")
    var state = loads(client.get("/-/flare?format=json").text())
    for route in state["routes"].elements():
        print(route["route"].string_value(), end=": ")
        print(route["requests"].int_value(), "requests")
    # A client behind a proxy may be anywhere.
    headers.set("X-Forwarded-For", "192.0.2.9")
    var refused = client.get("/-/flare", headers=headers)
    print(refused.status, "through a proxy")
    _ = client^
    handle.shutdown()
    serving^.join()

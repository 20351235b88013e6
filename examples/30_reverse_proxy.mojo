# Run: mojo build -I . -o /tmp/reverse_proxy examples/30_reverse_proxy.mojo && /tmp/reverse_proxy [url of a server]
# Prints: 200 hello by way of 1.1 flare
# Prints: nobody there: 502
"""Forwards requests to another server, and its responses back."""

from std.sys import argv

from flare.http import HttpClient, ReverseProxy, ServerConfig
from flare.prelude import *
from flare.runtime import blocking


def hello(req: Request) raises -> Response:
    return ok(String("hello by way of ", req.headers.get("via").value()))


def main() raises:
    # A handler may take as long as the upload that it carries.
    var config = ServerConfig(handler_timeout_ms=3_600_000)
    var server = HttpServer.bind(SocketAddr.localhost(0), config^)
    print("listening at", server.local_address(), flush=True)
    if len(argv()) > 1:
        server.serve(ReverseProxy(argv()[1]))
        return
    var behind = HttpServer.bind(SocketAddr.localhost(0))
    var proxy = ReverseProxy(String("http://", behind.local_address()))
    var url = String("http://", server.local_address())
    var front_handle = server.handle()
    var behind_handle = behind.handle()

    def serve_front() raises {var server^, var proxy^}:
        def run() raises {imm server, imm proxy}:
            server.serve(proxy.copy())

        blocking(run)

    def serve_behind() raises {var behind^}:
        def run() raises {imm behind}:
            behind.serve(hello)

        blocking(run)

    var front = spawn(serve_front^)
    var rear = spawn(serve_behind^)
    var answer = HttpClient(url).get("/")
    print(answer.status, answer.text())
    behind_handle.shutdown()
    rear^.join()
    print("nobody there:", HttpClient(url).get("/").status)
    front_handle.shutdown()
    front^.join()

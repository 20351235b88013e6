# Run: mojo run -I . examples/30_reverse_proxy.mojo [url of a server]
# Prints: 200 hello by way of 1.1 flare
# Prints: nobody there: 502
"""Hands requests on to another server, and its responses back, bit by bit."""

from std.memory import ArcPointer
from std.sys import argv

from flare.http import ClientConfig, ClientError, ClientStream, HttpClient
from flare.http import ResponseStream, ServerConfig, forwarded_fields
from flare.io import copy
from flare.prelude import *
from flare.runtime import blocking

comptime NO_LIMIT = 1 << 40


@fieldwise_init
struct ReverseProxy(Handler):
    var client: HttpClient

    def serve(self, req: Request) raises -> Response:
        try:
            return back(ask(self.client, req))
        except e:
            var error = ClientError.of(e)
            if not error or error.value().kind == ClientError.CANCELLED:
                raise e^
            if error.value().kind == ClientError.TIMEOUT:
                return Response(504)
            return Response(502)


def ask(client: HttpClient, req: Request) raises -> ArcPointer[ClientStream]:
    var fields = forwarded_fields(req.headers)
    fields.append("Via", "1.1 flare")
    fields.append("Forwarded", String('for="', req.peer(), '"'))
    var length = req.body.declared_octets()
    if "Transfer-Encoding" not in req.headers and length.or_else(0) == 0:
        var method = req.method_text()
        return ArcPointer(client.stream(req.url, method=method, headers=fields))
    var upstream = ArcPointer(
        client.open(
            req.method_text(), req.url, length=length, headers=fields
        )
    )
    if upstream[].begin_content():
        # The content goes on while the response may come already.
        req.body.set_octets_max(NO_LIMIT)
        var body = req.body

        def carry() raises {var body, var upstream}:
            _ = copy(body, upstream[], NO_LIMIT)
            upstream[].end()

        var carrying = spawn(carry^)
        carrying^.detach()
    return upstream^


def back(upstream: ArcPointer[ClientStream]) raises -> Response:
    var length = Optional[Int](None)
    var announced = upstream[].headers().get("Content-Length")
    if announced:
        length = Int(String(announced.value()))

    def write(req: Request, stream: ResponseStream) raises {var upstream}:
        _ = copy(upstream[], stream, NO_LIMIT)

    var status = upstream[].status()
    var fields = forwarded_fields(upstream[].headers().view())
    fields.append("Via", "1.1 flare")
    var response = Response.stream(write^, status=status, length=length)
    _ = response.headers.remove("Content-Type")
    response.headers.append_all(fields.view())
    return response^


def proxy_to(url: String) raises -> ReverseProxy:
    # What is coded goes through as it is, and so do redirections.
    var config = ClientConfig(redirects_max=0, decoding=None)
    return ReverseProxy(HttpClient(url, config=config^))


def hello(req: Request) raises -> Response:
    return ok(String("hello by way of ", req.headers.get("via").value()))


def main() raises:
    # A handler may take as long as the content that it carries.
    var limits = ServerConfig(handler_timeout_ms=3_600_000)
    var server = HttpServer.bind(SocketAddr.localhost(0), limits^)
    print("listening at", server.local_address(), flush=True)
    if len(argv()) > 1:
        server.serve(proxy_to(String(argv()[1])))
        return
    var behind = HttpServer.bind(SocketAddr.localhost(0))
    var proxy = proxy_to(String("http://", behind.local_address()))
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

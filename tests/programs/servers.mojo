"""Serves in each way that the documents show; argv says which, and the port.
"""

from std.sys import argv

from flare.http import (
    App,
    FnHandler,
    HttpServer,
    Path,
    Query,
    Request,
    Response,
    Router,
    State,
    not_found,
    ok,
    ok_json,
)
from flare.http.server import ServerConfig
from flare.net import SocketAddr


def hello(req: Request) raises -> Response:
    return ok("hello")


def greet(req: Request) raises -> Response:
    return ok("hello" if req.text().byte_length() == 0 else "content")


def by_url(req: Request) raises -> Response:
    if req.url == "/":
        return ok("hello")
    if req.url == "/data":
        if req.text().byte_length() > 0:
            return ok_json('{"received": true}')
    return not_found(req.url)


def user(req: Request) raises -> Response:
    return ok("user " + req.param("id"))


def show(id: Path[Int], page: Query["page", Int]) raises -> String:
    return String("item ", id.value, " page ", page.value.or_else(1))


@fieldwise_init
struct Counters(Copyable, Movable):
    var hits: Int


def count(req: Request) raises -> Response:
    var counters = State[Counters].of(req)
    counters[].hits += 1
    return ok(String(counters[].hits))


comptime HELLO: FnHandler = FnHandler(greet)
comptime CONFIG: ServerConfig = ServerConfig(
    max_header_size=4096,
    max_body_size=64 * 1024,
    max_keepalive_requests=1000,
    idle_timeout_ms=30_000,
)


def serve_function(port: UInt16) raises:
    var srv = HttpServer.bind(SocketAddr.localhost(port))
    srv.serve(by_url)


def serve_router(port: UInt16) raises:
    var r = Router()
    r.get("/", hello)
    r.get("/users/:id", user)
    r.post("/users", hello)
    r.get[show]("/items/{id}")

    var srv = HttpServer.bind(SocketAddr.localhost(port))
    srv.serve(r^)


def serve_app(port: UInt16) raises:
    var router = Router()
    router.get("/", count)
    var app = App(state=Counters(hits=0), handler=router^)

    var srv = HttpServer.bind(SocketAddr.localhost(port))
    srv.serve(app^)


def serve_workers(port: UInt16) raises:
    var r = Router()
    r.get("/", hello)
    var srv = HttpServer.bind(SocketAddr.localhost(port))
    srv.serve(r^, num_workers=4)


def serve_comptime(port: UInt16) raises:
    var srv = HttpServer.bind(SocketAddr.localhost(port))
    srv.serve_comptime[HELLO, CONFIG]()


def main() raises:
    var way = argv()[1]
    var port = UInt16(Int(argv()[2]))
    if way == "function":
        serve_function(port)
    elif way == "router":
        serve_router(port)
    elif way == "app":
        serve_app(port)
    elif way == "workers":
        serve_workers(port)
    elif way == "comptime":
        serve_comptime(port)
    else:
        raise Error("no such way to serve: ", way)

"""Serves one route, built for a debugger (tests/python/test_debug_builds.py)."""

from flare.http import HttpServer, Request, Response, ServerConfig, ok
from flare.net import SocketAddr


def hello(req: Request) raises -> Response:
    var name = req.query_parameters().get("name").or_else("nobody")
    return ok(String("hello ", name))


def main() raises:
    var server = HttpServer.bind(SocketAddr.localhost(0), ServerConfig())
    print(server.local_address().port, flush=True)
    server.serve(hello)

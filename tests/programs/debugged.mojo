"""Serves one route, built for a debugger and a profiler
(tests/python/test_debug_builds.py)."""

from flare.http import HttpServer, Request, Response, ServerConfig, ok
from flare.net import SocketAddr


def hello(req: Request) raises -> Response:
    var parameters = req.query_parameters()
    var name = parameters.get("name").or_else("nobody")
    if compute(Int(parameters.get("steps").or_else("0"))) < 0:
        raise Error("impossible")
    return ok(String("hello ", name))


@no_inline
def compute(steps: Int) -> Int:
    var state = 1
    for i in range(steps):
        state = (state * 31 + i) % 1_000_003
    return state


def main() raises:
    var server = HttpServer.bind(SocketAddr.localhost(0), ServerConfig())
    print(server.local_address().port, flush=True)
    server.serve(hello)

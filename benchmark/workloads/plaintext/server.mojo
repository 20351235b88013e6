"""Answers `Hello, World!` on one worker; the plaintext workload's subject."""

from std.sys import argv

from flare.http import HttpServer, Request, Response, Router, ServerConfig, ok
from flare.net import SocketAddr
from flare.runtime import BackendKind


def plaintext(req: Request) raises -> Response:
    return ok("Hello, World!")


def main() raises:
    var router = Router()
    router.get("/plaintext", plaintext)
    var backend = BackendKind.IO_URING
    if argv()[2] == "epoll":
        backend = BackendKind.EPOLL
    HttpServer.bind(
        SocketAddr.localhost(UInt16(Int(argv()[1]))),
        ServerConfig(backend=backend),
    ).serve(router^)

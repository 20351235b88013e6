"""Must not build: a fiber that may outlive the request holds a view of it."""

from flare.http import HttpServer, Request, Response, ok
from flare.net import SocketAddr
from flare.runtime import sleep, spawn


def show(req: Request) raises -> Response:
    var path = req.path

    def later() raises {var path}:
        sleep(1000)
        print(path)

    spawn(later).detach()
    return ok("hello")


def main() raises:
    HttpServer.bind(SocketAddr.localhost(0)).serve(show)

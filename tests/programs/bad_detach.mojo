"""Must not build: a fiber that may outlive the request holds a view of it."""

from flare.http import Request, Response, Router, ok
from flare.runtime import sleep, spawn


def show(req: Request) raises -> Response:
    var path = req.path

    def later() raises {var path}:
        sleep(1000)
        print(path)

    spawn(later).detach()
    return ok("hello")


def main() raises:
    var router = Router()
    router.get("/", show)

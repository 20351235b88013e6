"""Must not build: the state that a handler takes is nowhere."""

from flare.http import HttpServer, Router, State
from flare.net import SocketAddr


@fieldwise_init
struct Counters(Copyable):
    var hits: Int


def count(counters: State[Counters]) raises -> String:
    return String(counters[].hits)


def main() raises:
    var router = Router[Counters]()
    router.get("/", count)
    HttpServer.bind(SocketAddr.localhost(0)).serve(router^)

"""Serves a status page (tests/python/test_status_page.py).

Options: `--backend KIND`, `--workers N`, `--supervised`, `--at unix:PATH`,
`--proxies`, `--allow NETWORK`, `--password WORD`, `--host NAME`, `--slow-ms N`,
`--uncounted`.
"""

from std.sys import argv

from flare.http import (
    BasicAuth,
    HttpServer,
    MetricsPage,
    Request,
    Response,
    Router,
    ServerConfig,
    StatusPage,
    ok,
)
from flare.metrics import Metrics
from flare.net import IpNetwork
from flare.runtime import BackendKind, sleep


def home(req: Request) raises -> Response:
    return ok("hello")


def user(req: Request) raises -> Response:
    return ok(req.param("id"))


def wait(req: Request) raises -> Response:
    sleep(Int(req.param("ms")))
    return ok("waited")


def fail(req: Request) raises -> Response:
    raise Error("of the test")


def main() raises:
    var config = ServerConfig()
    if _option("--backend") == "epoll":
        config.backend = BackendKind.EPOLL
    if _has("--proxies"):
        config.trusted_proxies = [IpNetwork.parse("127.0.0.0/8")]
    var metrics = Metrics()
    if not _has("--uncounted"):
        config.metrics = metrics
    var workers = 1
    if _has("--workers"):
        workers = Int(_option("--workers"))
    var router = Router()
    router.get("/", home)
    router.get("/user/:id", user)
    router.get("/wait/:ms", wait)
    router.get("/fail", fail)
    # More routes than a message has room for.
    for i in range(300):
        router.get(String("/many/number-", i), home)
    router.get("/-/metrics", MetricsPage(metrics))
    router.get("/-/flare", _page(metrics))
    var place = String("127.0.0.1:0")
    if _has("--at"):
        place = _option("--at")
    var server = HttpServer.bind(place, config^)
    if _has("--at"):
        print(place, flush=True)
    else:
        print(server.local_address().port, flush=True)
    server.serve(router^, num_workers=workers, supervise=_has("--supervised"))


def _page(metrics: Metrics) raises -> StatusPage:
    var allow = List[IpNetwork]()
    if _has("--allow"):
        allow.append(IpNetwork.parse(_option("--allow")))
    var credentials = Optional[BasicAuth](None)
    if _has("--password"):
        credentials = BasicAuth("operator", _option("--password"))
    var hosts = List[String]()
    if _has("--host"):
        hosts.append(_option("--host"))
    var slow_ms = 100
    if _has("--slow-ms"):
        slow_ms = Int(_option("--slow-ms"))
    return StatusPage(
        metrics,
        allow=allow^,
        credentials=credentials,
        hosts=hosts^,
        slow_ms=slow_ms,
    )


def _has(option: StringSlice) -> Bool:
    for each in argv():
        if each == option:
            return True
    return False


def _option(name: StringSlice) raises -> String:
    for i in range(len(argv()) - 1):
        if argv()[i] == name:
            return String(argv()[i + 1])
    return ""

"""Serves with an access log in a format (tests/python/test_loopback_access_log.py).

Options: `--backend KIND`, `--format json|common|combined|function`,
`--file PATH`, `--workers N`, `--supervised`, `--tls FOLDER`, `--proxied`.
"""

from std.sys import argv

from flare.http import (
    AccessLog,
    AccessRecord,
    HttpServer,
    Request,
    RequestId,
    Response,
    ResponseStream,
    Router,
    ServerConfig,
    ok,
)
from flare.net import IpNetwork, SocketAddr
from flare.runtime import BackendKind, sleep
from flare.tls import TlsIdentity, TlsServerConfig
from flare.ws import WebSocket, WsConnection


def home(req: Request) raises -> Response:
    return ok("hello")


def wait(req: Request) raises -> Response:
    sleep(Int(req.param("ms")))
    return ok("waited")


def echo(req: Request) raises -> Response:
    return ok(req.text())


def fail(req: Request) raises -> Response:
    raise Error("of the test")


def streamed(req: Request) raises -> Response:
    return Response.stream(_write_pieces)


def _write_pieces(req: Request, stream: ResponseStream) raises:
    for _ in range(Int(req.param("count"))):
        stream.write_text("piece")
        sleep(5)


def broken(req: Request) raises -> Response:
    return Response.stream(_break)


def _break(req: Request, stream: ResponseStream) raises:
    stream.write_text("piece")
    raise Error("of the test")


def talk(ws: WsConnection) raises:
    for message in ws:
        ws.send(message)


def log_record(record: AccessRecord):
    var client = record.client()
    print(
        record.method,
        record.target(),
        record.route(),
        record.status,
        record.end(),
        record.user_agent(),
        record.referer(),
        record.request_octets(),
        Bool(client),
        record.duration_us() < 1_000_000,
        flush=True,
    )


def main() raises:
    var config = ServerConfig(
        max_body_size=8192, max_streams=4, access_log=_log()
    )
    if _option("--backend") == "epoll":
        config.backend = BackendKind.EPOLL
    if _has("--proxied"):
        config.trusted_proxies.append(IpNetwork.parse("127.0.0.0/8"))
    var workers = 1
    if _has("--workers"):
        workers = Int(_option("--workers"))
    var server = _bind(config^)
    print(server.local_address().port, flush=True)
    var router = Router()
    router.get("/", home)
    router.get("/wait/:ms", wait)
    router.get("/streamed/:count", streamed)
    router.get("/broken", broken)
    router.get("/talk", WebSocket(talk))
    router.get("/fail", fail)
    router.post("/echo", echo)
    server.serve(
        RequestId(router^, trusts_incoming=True),
        num_workers=workers,
        supervise=_has("--supervised"),
    )


def _log() raises -> AccessLog:
    var format = _option("--format")
    var file = _option("--file")
    if format == "common":
        return AccessLog.common(file=file)
    if format == "combined":
        return AccessLog.combined(file=file)
    if format == "function":
        return AccessLog(log_record)
    return AccessLog.json_lines(file=file)


def _bind(var config: ServerConfig) raises -> HttpServer:
    if not _has("--tls"):
        return HttpServer.bind(SocketAddr.localhost(0), config^)
    var folder = _option("--tls")
    return HttpServer.bind_tls(
        SocketAddr.localhost(0),
        TlsServerConfig(
            TlsIdentity.files(
                String(folder, "/server.pem"), String(folder, "/server.key")
            )
        ),
        config^,
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

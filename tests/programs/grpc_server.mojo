"""Serves calls of gRPC that a handler frames by hand (tests/python/test_grpc.py).

A call is a POST. Its content and that of the response are messages, each behind
five octets; the status of the call is a trailer. Options: `--backend B`,
`--tls FOLDER`. The port is printed.
"""

from std.sys import argv

from flare.http import (
    HttpServer,
    Request,
    Response,
    ResponseStream,
    Router,
    ServerConfig,
)
from flare.net import SocketAddr
from flare.runtime import BackendKind, sleep
from flare.tls import TlsIdentity, TlsServerConfig

comptime _PREFIX_OCTETS = 5
comptime _NOT_FOUND = 5
comptime _INVALID_ARGUMENT = 3
comptime _UNIMPLEMENTED = 12


def say(req: Request) raises -> Response:
    """Answers one message with the same message."""
    var te = req.headers.get("te")
    if not te or String(te.value()) != "trailers":
        return _status(_INVALID_ARGUMENT, "no te")
    var octets = req.body.octets()
    if len(octets) < _PREFIX_OCTETS or octets[0] != 0:
        return _status(_INVALID_ARGUMENT, "no message")
    var message = List[UInt8](octets)

    def write(req: Request, stream: ResponseStream) raises {var message^}:
        stream.set_trailer("grpc-status", "0")
        stream.set_trailer("x-said", "yes")
        stream.write_all(Span(message))

    var response = Response.stream(write^)
    response.headers.set("Content-Type", "application/grpc+proto")
    return response^


def missing(req: Request) raises -> Response:
    return _status(_NOT_FOUND, "there is none")


def late(req: Request) raises -> Response:
    sleep(30_000)
    return _status(0, "")


def unknown(req: Request) raises -> Response:
    return _status(_UNIMPLEMENTED, "unknown")


def _status(code: Int, text: StringSlice) raises -> Response:
    """Answers with a status alone: its fields are those of the head."""
    var response = Response(200)
    response.headers.set("Content-Type", "application/grpc+proto")
    response.headers.set("grpc-status", String(code))
    response.headers.set("grpc-message", text)
    return response^


def main() raises:
    var config = ServerConfig()
    config.backend = BackendKind.IO_URING
    if _setting("--backend") == String("epoll"):
        config.backend = BackendKind.EPOLL
    var folder = _setting("--tls")
    var router = Router()
    router.post("/test.Echo/Say", say)
    router.post("/test.Echo/Missing", missing)
    router.post("/test.Echo/Late", late)
    router.post("/test.Echo/Unknown", unknown)
    var server: HttpServer
    if folder:
        var identity = TlsIdentity.files(
            folder.value() + "/server.pem", folder.value() + "/server.key"
        )
        server = HttpServer.bind_tls(
            SocketAddr.localhost(0), TlsServerConfig(identity^), config=config^
        )
    else:
        server = HttpServer.bind(SocketAddr.localhost(0), config=config^)
    print(server.local_address().port, flush=True)
    server.serve(router^)


def _setting(option: StringSlice) -> Optional[String]:
    for i in range(1, len(argv()) - 1):
        if argv()[i] == option:
            return String(argv()[i + 1])
    return None

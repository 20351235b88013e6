"""Holds the conversation of tests/interop/README.md, as client or as server.

    ws_talk client BACKEND COMPRESSION URL [FOLDER]
    ws_talk server BACKEND COMPRESSION [FOLDER]
    ws_talk proxy BACKEND URL [FOLDER]

The backend is io_uring or epoll; the compression off, shared or dedicated. With
a folder of certificates (tests/tls/make_certificates.sh), TLS is inside. The
proxy forwards to the server at the URL. Servers print their port.
"""

from std.sys import argv

from flare.http import Request, Response, ReverseProxy, Router, ok_html
from flare.http.client import ClientConfig
from flare.http.server import HttpServer
from flare.http.server.config import ServerConfig
from flare.net import SocketAddr
from flare.runtime.backend import BackendKind
from flare.runtime.private_loop import begin_private_loop
from flare.runtime.reactor import ReactorConfig
from flare.tls import Pem, TlsConfig, TlsIdentity, TlsServerConfig
from flare.ws import (
    WebSocket,
    WsClient,
    WsClientConfig,
    WsCompression,
    WsConnection,
    WsOptions,
    WsOrigins,
)

comptime SIZES: List[Int] = [0, 5, 125, 126, 65_535, 65_536, 1 << 20]
comptime PARTS: List[StaticString] = ["é", "", "漢字", "😀"]
comptime MESSAGE_OCTETS_MAX = 16 << 20


def compression_of(name: StringSlice) raises -> WsCompression:
    if name == "off":
        return WsCompression.OFF
    if name == "shared":
        return WsCompression.SHARED
    if name == "dedicated":
        return WsCompression.DEDICATED
    raise Error("no compression is called ", name)


def text_of(size: Int) -> String:
    var octets = List[UInt8](capacity=size)
    for i in range(size):
        octets.append(UInt8(97 + i * 7 % 26))
    return String(unsafe_from_utf8=Span(octets))


def parts() -> String:
    var whole = String()
    for part in materialize[PARTS]():
        whole.write(part)
    return whole^


def write_parts(ws: WsConnection) raises:
    with ws.message_writer(is_text=True) as writer:
        for part in materialize[PARTS]():
            writer.write_all(part.as_bytes())


def expect_text(ws: WsConnection, wanted: StringSlice) raises:
    var message = ws.recv_message()
    if not message.is_text or message.as_text() != wanted:
        raise Error(
            "another message came than a text of ", wanted.byte_length()
        )


def converse(url: String, config: WsClientConfig) raises:
    var client = WsClient.connect(url, config)
    var ws = client.connection()
    if ws.protocol() != "v2.test":
        raise Error("the protocol is ", ws.protocol())
    for size in materialize[SIZES]():
        var text = text_of(size)
        ws.send_text(text)
        expect_text(ws, text)
        ws.send_binary(text.as_bytes())
        var message = ws.recv_message()
        if not message.is_binary or message.octets() != text.as_bytes():
            raise Error("another message came than one of ", size, " octets")
    write_parts(ws)
    expect_text(ws, parts())
    ws.send_text("fragments")
    expect_text(ws, parts())
    _ = ws.ping()
    ws.send_text("ping")
    expect_text(ws, "pong")
    client.close(4321, "enough")
    # Some makers answer a Close without its reason.
    expect_close(client, 4321)


def be_closed(url: String, config: WsClientConfig) raises:
    var client = WsClient.connect(url, config)
    var ws = client.connection()
    ws.send_text("close")
    for _ in ws:
        raise Error("a message came in place of a Close")
    expect_close(client, 4567)
    if client.close_reason() != "done":
        raise Error("closed because of ", client.close_reason())


def expect_close(client: WsClient, code: UInt16) raises:
    if client.close_code().value() != code:
        raise Error("closed with ", client.close_code().value(), ", not ", code)


def answer(ws: WsConnection) raises:
    try:
        while True:
            var message = ws.recv_message()
            if message.is_binary:
                ws.send(message)
            elif message.as_text() == "fragments":
                write_parts(ws)
            elif message.as_text() == "ping":
                _ = ws.ping()
                ws.send_text("pong")
            elif message.as_text() == "close":
                ws.close(4567, "done")
            else:
                ws.send(message)
    finally:
        print("closed", ws.close_code().value(), ws.close_reason(), flush=True)


def page(req: Request) raises -> Response:
    return ok_html("<!doctype html><title>page</title>")


def serve(
    var router: Router, backend: BackendKind, folder: Optional[String]
) raises:
    var config = ServerConfig(backend=backend)
    var address = SocketAddr.localhost(0)
    var server: HttpServer
    if folder:
        var identity = TlsIdentity.files(
            folder.value() + "/server.pem", folder.value() + "/server.key"
        )
        server = HttpServer.bind_tls(
            address, TlsServerConfig(identity^), config=config^
        )
    else:
        server = HttpServer.bind(address, config=config^)
    print(server.local_address().port, flush=True)
    server.serve(router^)


def answers(compression: WsCompression) raises -> Router[]:
    var options = WsOptions(
        protocols=["v2.test"],
        max_message_size=MESSAGE_OCTETS_MAX,
        compression=compression,
        # A page behind the proxy is of another host.
        origins=WsOrigins.any(),
    )
    var router = Router()
    router.get("/", WebSocket(answer, options^))
    router.get("/page", page)
    return router^


def forwards(url: StringSlice, config: ClientConfig) raises -> Router[]:
    var router = Router()
    router.get("/*path", ReverseProxy(url, config=config.copy()))
    return router^


def client_config(folder: Optional[String]) -> ClientConfig:
    if not folder:
        return ClientConfig()
    var tls = TlsConfig(trusts_system_authorities=False)
    tls.authorities.append(Pem(path=folder.value() + "/ca.pem"))
    return ClientConfig(tls=tls^)


def run_client(
    backend: BackendKind,
    compression: WsCompression,
    url: String,
    var http: ClientConfig,
) raises:
    var begun = begin_private_loop(ReactorConfig(backend=backend))
    if begun[0] != 0:
        raise Error("no loop: errno ", begun[0])
    var config = WsClientConfig(
        protocols=["v1.test", "v2.test"], compression=compression
    )
    config.http = http^
    converse(url, config)
    be_closed(url, config)
    print("ok")


def main() raises:
    var role = argv()[1]
    var backend = BackendKind.EPOLL
    if argv()[2] == "io_uring":
        backend = BackendKind.IO_URING
    var folder = Optional[String](None)
    var folder_at = 5 if role == "client" else 4
    if len(argv()) > folder_at:
        folder = String(argv()[folder_at])
    if role == "proxy":
        var config = client_config(folder)
        return serve(forwards(argv()[3], config), backend, folder)
    var compression = compression_of(argv()[3])
    if role == "server":
        return serve(answers(compression), backend, folder)
    run_client(backend, compression, String(argv()[4]), client_config(folder))

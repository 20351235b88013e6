"""Speaks WebSocket with peers of other makers.

    ws_peer suite BACKEND COMPRESSION URL
    ws_peer streams BACKEND COMPRESSION URL
    ws_peer echo BACKEND COMPRESSION URL [FOLDER]
    ws_peer serve BACKEND COMPRESSION FOLDER

It is the client of the Autobahn test suite, also over HTTP/2 (`streams`), or of a
server that echoes. Or it is a server that echoes, inside of TLS, and prints its
port. The backend is io_uring or epoll; the compression off, shared or dedicated.
The folder holds certificates of tests/tls/make_certificates.sh.
"""

from std.sys import argv

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
    WsError,
    WsOptions,
)

comptime SIZES: List[Int] = [0, 1, 125, 126, 255, 256, 65_535, 65_536, 1 << 20]


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
        octets.append(UInt8(97 + (i * 7 + i // 256) % 26))
    return String(unsafe_from_utf8=Span(octets))


def run_case(url: String, config: WsClientConfig) raises:
    with WsClient.connect(url, config) as ws:
        for message in ws:
            ws.send(message)


def run_suite(url: String, config: WsClientConfig) raises:
    var count = 0
    with WsClient.connect(url + "/getCaseCount", config) as ws:
        count = Int(ws.recv_message().as_text())
    for i in range(1, count + 1):
        try:
            run_case(String(url, "/runCase?case=", i, "&agent=flare"), config)
        except e:
            # The suite judges what it saw; a handshake must succeed.
            var error = WsError.of(e)
            if not error or error.value().kind == WsError.HANDSHAKE:
                raise Error("case ", i, ": ", e)
    with WsClient.connect(url + "/updateReports?agent=flare", config) as ws:
        for _ in ws:
            pass
    print("cases", count)


def echo(url: String, config: WsClientConfig) raises:
    with WsClient.connect(url, config) as ws:
        for size in materialize[SIZES]():
            var text = text_of(size)
            ws.send_text(text)
            var message = ws.recv_message()
            if not message.is_text or message.as_text() != text:
                raise Error("a text of ", size, " octets came back otherwise")
            ws.send_binary(text.as_bytes())
            message = ws.recv_message()
            if not message.is_binary or message.octets() != text.as_bytes():
                raise Error("a message of ", size, " octets is another one now")
        with ws.message_writer(is_text=True) as writer:
            for _ in range(10):
                writer.write_all(text_of(1_000).as_bytes())
        if len(ws.recv_message()) != 10_000:
            raise Error("fragments came back otherwise")
        _ = ws.ping()
    var closing = WsClient.connect(url, config)
    closing.close(4321, "enough")
    print("echoed, closed with", closing.close_code().value())


def serve(
    backend: BackendKind, compression: WsCompression, folder: String
) raises:
    var identity = TlsIdentity.files(
        folder + "/server.pem", folder + "/server.key"
    )
    var server = HttpServer.bind_tls(
        SocketAddr.localhost(0),
        TlsServerConfig(identity^),
        config=ServerConfig(backend=backend),
    )
    print(server.local_address().port, flush=True)
    server.serve(
        WebSocket(
            echo_all,
            WsOptions(max_message_size=16 << 20, compression=compression),
        )
    )


def echo_all(ws: WsConnection) raises:
    for message in ws:
        ws.send(message)


def main() raises:
    var task = argv()[1]
    var backend = BackendKind.EPOLL
    if argv()[2] == "io_uring":
        backend = BackendKind.IO_URING
    var compression = compression_of(argv()[3])
    if task == "serve":
        return serve(backend, compression, String(argv()[4]))
    var url = String(argv()[4])
    var begun = begin_private_loop(ReactorConfig(backend=backend))
    if begun[0] != 0:
        raise Error("no loop: errno ", begun[0])
    var config = WsClientConfig(compression=compression)
    if len(argv()) > 5:
        var tls = TlsConfig(trusts_system_authorities=False)
        tls.authorities.append(Pem(path=String(argv()[5], "/ca.pem")))
        config.http = ClientConfig(tls=tls^)
    if task == "streams":
        config.http = ClientConfig(http2_prior_knowledge=True)
    if task == "suite" or task == "streams":
        run_suite(url, config)
    else:
        echo(url, config)

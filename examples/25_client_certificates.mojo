# Run: mojo build -I . -o /tmp/client_certificates examples/25_client_certificates.mojo && /tmp/client_certificates
# Prints: hello CN=alice
"""Serves only clients whom an authority of ours vouches for (mTLS)."""

from std.subprocess import run
from std.tempfile import mkdtemp

from flare.prelude import *
from flare.runtime import blocking
from flare.tls import Pem, TlsConfig, TlsIdentity, TlsServerConfig, TlsStream

comptime MAKE = (
    "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
    " -addext subjectAltName=DNS:localhost -keyout "
)


def greet(req: Request) raises -> Response:
    return ok(String("hello ", req.tls().value().peer_subject.value()))


def make_identity(path: String, name: String) raises -> TlsIdentity:
    var files = String(path, ".key -out ", path, ".pem -subj /CN=", name)
    _ = run(String(MAKE, files, " 2>&1"))
    return TlsIdentity.files(path + ".pem", path + ".key")


def ask(server: ServerHandle, config: TlsConfig) raises -> String:
    var port = server.local_address().port
    var stream = TlsStream.connect("localhost", port, config)
    stream.write_all("GET / HTTP/1.0\r\n\r\n".as_bytes())
    var answer = List[UInt8](length=4096, fill=0)
    var count = stream.read(Span(answer))
    var text = StringSlice(from_utf8=Span(answer)[:count])
    return String(text.split("\r\n\r\n")[1])


def main() raises:
    var path = mkdtemp() + "/"
    var tls = TlsServerConfig(make_identity(path + "server", "server"))
    var alice = make_identity(path + "alice", "alice")
    tls.client_authorities.append(Pem(path=path + "alice.pem"))
    var server = HttpServer.bind_tls(SocketAddr.localhost(0), tls^)
    var handle = server.handle()

    # The server gets a thread of its own, so that this one can be its client.
    def serve() raises {var server^}:
        def run_server() raises {imm server}:
            server.serve(greet)

        blocking(run_server)

    var serving = spawn(serve^)
    var config = TlsConfig(trusts_system_authorities=False)
    config.authorities.append(Pem(path=path + "server.pem"))
    # Without it the server refuses (`tls.alert read`).
    config.identity = alice^
    print(ask(handle, config))
    handle.shutdown()
    serving^.join()

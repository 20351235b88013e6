# Run: mojo build -I . -o /tmp/https_server examples/24_https_server.mojo && /tmp/https_server
# Prints: CN=first True
# Prints: CN=second True
"""Serves HTTPS and renews its certificate, made by the command `openssl`."""

from std.subprocess import run
from std.tempfile import mkdtemp

from flare.http import StrictTransportSecurity
from flare.prelude import *
from flare.runtime import blocking
from flare.tls import Pem, TlsConfig, TlsIdentity, TlsServerConfig, TlsStream

comptime MAKE = (
    "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
    " -addext subjectAltName=DNS:localhost -out cert.pem -keyout key.pem"
)


def home(req: Request) raises -> Response:
    return ok("hello")


def ask(port: UInt16, certificate: String) raises:
    # A client of the world trusts the authorities of its system instead.
    var config = TlsConfig(trusts_system_authorities=False)
    config.authorities.append(Pem(path=certificate))
    var stream = TlsStream.connect("localhost", port, config)
    stream.write_all("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".as_bytes())
    var answer = List[UInt8](length=4096, fill=0)
    var count = stream.read(Span(answer))
    var text = StringSlice(from_utf8=Span(answer)[:count])
    print(stream.peer_subject().value(), text.endswith("hello"))
    stream.close()


def main() raises:
    var folder = mkdtemp()
    _ = run(String("cd ", folder, " && ", MAKE, " -subj /CN=first 2>&1"))
    var identity = TlsIdentity.files(folder + "/cert.pem", folder + "/key.pem")
    var server = HttpServer.bind_tls(
        SocketAddr.localhost(0), TlsServerConfig(identity^)
    )
    var handle = server.handle()

    # The server gets a thread of its own, so that this one can be its client.
    def serve() raises {var server^}:
        def run_server() raises {imm server}:
            server.serve(StrictTransportSecurity(FnHandler(home)))

        blocking(run_server)

    var serving = spawn(serve^)
    ask(handle.local_address().port, folder + "/cert.pem")
    _ = run(String("cd ", folder, " && ", MAKE, " -subj /CN=second 2>&1"))
    # The tool that renews certificates signals the program.
    handle.reload_tls()
    ask(handle.local_address().port, folder + "/cert.pem")
    handle.shutdown()
    serving^.join()

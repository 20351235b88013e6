# Run: mojo run -I . examples/12_tls.mojo [host]
# Prints: refused: the peer does not speak TLS
"""Asks a host for its first page over TLS and prints the agreed parameters.

Without a host it asks a server that speaks no TLS, and shows the error.
"""

from std.sys import argv

from flare.net import SocketAddr
from flare.runtime import spawn
from flare.tcp import TcpListener
from flare.tls import TlsConfig, TlsError, TlsStream


def ask(host: String, port: UInt16) raises:
    # The certificate must be for the host, and from an authority that the
    # system trusts. No further setup is needed.
    var tls = TlsStream.connect(host, port, TlsConfig())
    print(tls.version(), tls.cipher())
    print("certificate of", tls.peer_subject().value())
    var request = String("GET / HTTP/1.0\r\nHost: ", host, "\r\n\r\n")
    tls.write_all(request.as_bytes())
    var octets = List[UInt8](length=4096, fill=0)
    var count = tls.read(Span(octets))
    print(StringSlice(from_utf8=Span(octets)[0:count]))
    tls.close()


def main() raises:
    if len(argv()) > 1:
        ask(String(argv()[1]), 443)
        return
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var port = listener.local_address().port

    def greet() raises {var listener^}:
        var stream = listener.accept()
        stream.write_all("220 ready\r\n".as_bytes())
        stream.end_sending()
        var octets = List[UInt8](length=4096, fill=0)
        _ = stream.read(Span(octets))

    var greeting = spawn(greet^)
    try:
        ask("localhost", port)
    except e:
        var error = TlsError.of(e)
        if error and error.value().kind == TlsError.PROTOCOL:
            print("refused: the peer does not speak TLS")
        else:
            print(e)
    greeting^.join()

# Run: mojo run -I . examples/04_tcp_echo.mojo
# Prints: client: Hello
"""Echoes lines over TCP: a listener and a client in one script."""

from flare.io import BufReader
from flare.net import KeepAlive, SocketAddr
from flare.runtime import spawn
from flare.tcp import TcpListener, TcpStream


def echo(var peer: TcpStream) raises:
    # A wait parks this fiber only; others continue.
    var octets = List[UInt8](length=4096, fill=0)
    while True:
        var count = peer.read(Span(octets))
        if count == 0:
            break
        peer.write_all(Span(octets)[0:count])
    peer.close()


def main() raises:
    # Port 0: the kernel chooses a free one.
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    # Options set here apply to the connections that it accepts.
    listener.set_keep_alive(KeepAlive(60, 10, 5))
    var address = listener.local_address()
    print("listening on", address)

    def serve() raises {var listener^}:
        var peer = listener.accept(timeout_ms=5000)
        print("server:", peer.peer_address().ip, "has connected")
        echo(peer^)

    var serving = spawn(serve^)

    var client = TcpStream.connect("localhost", address.port)
    client.set_read_timeout_ms(5000)
    client.write_all("Hello\nand goodbye\n".as_bytes())
    # Ends the stream; the answers still arrive.
    client.end_sending()
    var lines = BufReader(client^)
    while True:
        var line = lines.read_line(limit=1000)
        if not line:
            break
        print("client:", line.value())
    serving^.join()

# Run: mojo run -I . examples/03_error_handling.mojo
# Prints: net.refused connect
"""Mixes our errors with others in one `try` and reads the fields of ours."""

from flare.net import NetError, SocketAddr
from flare.tcp import TcpListener, TcpStream


def check_port(port: Int) raises -> Int:
    if port < 1024:
        raise Error("port ", port, " needs a privilege")
    return port


def send(host: StringSlice, port: StringSlice) raises -> Int:
    # Four sources of errors: Int, a function of ours, an address, a socket.
    var number = check_port(Int(port))
    var address = SocketAddr.parse(String(host, ":", number))
    var stream = TcpStream.connect(address, timeout_ms=1000)
    return stream.write("hello".as_bytes())


def explain(e: Error) -> String:
    var found = NetError.of(e)
    if not found:
        return String("not a network error: ", e)
    var error = found.value()
    if error.kind == NetError.BAD_ADDRESS:
        return String("not an address: ", e)
    var text = String(e, " -> ", error.operation)
    if error.address:
        text += String(" to port ", error.address.value().port)
    if error.kind == NetError.REFUSED:
        text += " was refused"
    elif error.kind == NetError.TIMEOUT:
        text += " took too long"
    return String(text, " (errno ", error.errno, ")")


def main() raises:
    # Of two ports that the kernel chose, one is free again.
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var closed = TcpListener.bind(SocketAddr.localhost(0))
    var free = String(closed.local_address().port)
    closed.close()

    var attempts: List[Tuple[String, String]] = [
        (String("127.0.0.1"), String("http")),
        (String("127.0.0.1"), String("80")),
        (String("localhost"), String("8080")),
        (String("127.0.0.1"), free),
        (String("127.0.0.1"), String(listener.local_address().port)),
    ]
    for attempt in attempts:
        try:
            print("sent", send(attempt[0], attempt[1]), "octets")
        except e:
            print(explain(e))
    listener.close()

# Run: mojo run -I . examples/03_error_handling.mojo
# Prints: net.refused connect
"""Mixes our errors with others in one `try` and reads the fields of ours."""

from flare.http import Response, Router, ok
from flare.net import NetError, SocketAddr
from flare.tcp import TcpListener, TcpStream


def check_port(port: Int) raises -> Int:
    if port < 1024:
        raise Error("port ", port, " needs a privilege")
    return port


def hello() raises -> Response:
    return ok("hello")


def send(mut router: Router, path: String, host: String, port: String) raises:
    # Errors of Int, of a function of ours, a router, an address, a socket.
    var number = check_port(Int(port))
    router.get(path, hello)
    var address = SocketAddr.parse(String(host, ":", number))
    var stream = TcpStream.connect(address, timeout_ms=1000)
    stream.write_all("hello".as_bytes())


def explain(e: Error) -> String:
    var found = NetError.of(e)
    if not found:
        return String("not a network error: ", e)
    var error = found.value()
    if error.kind == NetError.BAD_ADDRESS:
        return String("not an address: ", e)
    var text = String(e, " -> ", error.operation, ", errno ", error.errno)
    if error.kind == NetError.REFUSED and error.address:
        text += String(": nobody at port ", error.address.value().port)
    return text


def main() raises:
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var port = String(listener.local_address().port)
    listener.close()

    var router = Router()
    var attempts: List[Tuple[String, String, String]] = [
        (String("/a"), String("127.0.0.1"), String("http")),
        (String("/b"), String("127.0.0.1"), String("80")),
        (String("hello"), String("127.0.0.1"), port),
        (String("/c"), String("localhost"), port),
        (String("/d"), String("127.0.0.1"), port),
    ]
    for attempt in attempts:
        try:
            send(router, attempt[0], attempt[1], attempt[2])
        except e:
            print(explain(e))

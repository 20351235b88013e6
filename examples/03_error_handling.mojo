# Run: mojo run -I . examples/03_error_handling.mojo
# Prints: address in use: 127.0.0.1
"""Mixes our errors with others in one `try` and reads the fields of ours."""

from flare.net import NetError, RawSocket, SocketAddr


def check_port(port: Int) raises -> Int:
    if port < 1024:
        raise Error("port ", port, " needs a privilege")
    return port


def listen(host: StringSlice, port: StringSlice) raises -> RawSocket:
    var number = check_port(Int(port))
    var address = SocketAddr.parse(String(host, ":", number))
    var socket = RawSocket.tcp_v4()
    socket.bind(address)
    socket.listen()
    return socket^


def explain(e: Error) -> String:
    var found = NetError.of(e)
    if not found:
        return String("not a network error: ", e)
    var error = found.value()
    if error.kind == NetError.BAD_ADDRESS:
        return String("not an address: ", e)
    if error.kind == NetError.ADDRESS_IN_USE:
        return String("address in use: ", error.address.value())
    return String(error.operation, " failed with errno ", error.errno)


def main() raises:
    # The kernel chooses a free port; a second socket cannot have it too.
    var first = RawSocket.tcp_v4()
    first.bind(SocketAddr.localhost(0))
    first.listen()
    var taken = String(first.local_address().port)

    var attempts: List[Tuple[String, String]] = [
        (String("127.0.0.1"), String("http")),
        (String("127.0.0.1"), String("80")),
        (String("localhost"), String("8080")),
        (String("192.0.2.1"), String("8080")),
        (String("127.0.0.1"), taken),
    ]
    for attempt in attempts:
        try:
            var socket = listen(attempt[0], attempt[1])
            print("listening on", socket.local_address())
        except e:
            print(explain(e))
    first.close()

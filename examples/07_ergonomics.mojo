# Run: mojo run -I . examples/07_ergonomics.mojo
# Prints: Authorization: Bearer secret
# Prints: 404: client.status answer status=404: Not Found
# Prints: too slow: timeout head
"""Sends everyday requests in few lines: credentials, request objects, statuses
as errors, and deadlines."""

from flare.http import BearerAuth, ClientError, HttpClient, Request
from flare.io import BufReader
from flare.net import SocketAddr
from flare.runtime import deadline_in, spawn
from flare.tcp import TcpListener


def answer(listener: TcpListener) raises:
    # Answers the first request with its credentials, the second with 404, and
    # the third not at all.
    var reader = BufReader(listener.accept())
    for answer in ["200 OK", "404 Not Found"]:
        var shown = String()
        while True:
            var line = reader.read_line()
            if not line or line.value().byte_length() == 0:
                break
            if line.value().startswith("Authorization"):
                shown = line.value()
        var head = String(
            "HTTP/1.1 ", answer, "\r\nContent-Length: ", shown.byte_length()
        )
        reader.inner().write_all(String(head, "\r\n\r\n", shown).as_bytes())
    while reader.read_line():
        pass


def main() raises:
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var url = String("http://127.0.0.1:", listener.local_address().port)

    def serve() raises {var listener^}:
        answer(listener)

    var serving = spawn(serve^)
    var client = HttpClient(url, BearerAuth("secret"))
    var request = Request("POST", "/items", '{"name": "new"}')
    request.set_header("X-Trace", "7")
    print(client.send(request).text())
    try:
        client.get("/nothing").raise_for_status()
    except e:
        print(ClientError.of(e).value().status, end=": ")
        print(e)
    try:
        with deadline_in(50):
            _ = client.get("/never")
    except e:
        print("too slow: timeout", ClientError.of(e).value().phase)
    serving^.join()

# Run: mojo run -I . examples/05_http_get.mojo [url]
# Prints: GET 200 GET /things?page=2 HTTP/1.1
# Prints: HEAD 200
# Prints: refused: nobody listens there
"""Sends requests of every kind, to a URL or to a server of its own."""

from std.sys import argv

from flare.http import ClientError, HttpClient, get
from flare.net import SocketAddr
from flare.runtime import spawn
from flare.tcp import TcpListener


def answer(listener: TcpListener) raises:
    # Answers with the first line of each request.
    var octets = List[UInt8](length=4096, fill=0)
    var stream = listener.accept()
    while True:
        var count = stream.read(Span(octets))
        if count == 0:
            return
        var request = StringSlice(from_utf8=Span(octets)[0:count])
        var line = request[byte = : request.find("\r\n")]
        var head = String("Content-Length: ", line.byte_length(), "\r\n\r\n")
        stream.write_all(String("HTTP/1.1 200 OK\r\n", head).as_bytes())
        if not line.startswith("HEAD"):
            stream.write_all(line.as_bytes())


def main() raises:
    if len(argv()) > 1:
        var response = get(argv()[1])
        print(response.status, response.url(), len(response.body), "octets")
        return
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var url = String("http://127.0.0.1:", listener.local_address().port)

    def serve() raises {var listener^}:
        answer(listener)

    var serving = spawn(serve^)
    var client = HttpClient(url)
    var query: Dict[String, String] = {"page": "2"}
    var page = client.get("/things", query=query)
    print("GET", page.status, page.text())
    print("POST", client.post("/things", '{"name": "new"}').text())
    print("PUT", client.put("/things/1", '{"name": "other"}').text())
    print("PATCH", client.patch("/things/1", '{"size": 3}').text())
    print("DELETE", client.delete("/things/1").text())
    print("HEAD", client.head("/things").status)
    client.close_idle()
    serving^.join()
    try:
        _ = get(url)
    except e:
        var error = ClientError.of(e)
        if error and error.value().kind == ClientError.REFUSED:
            print("refused: nobody listens there")

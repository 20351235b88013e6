"""Asks a server of another maker for all that a client asks for.

    fetcher URL [FOLDER] [h2c] [files]

The folder holds the authority that is trusted; `h2c` is prior knowledge of
HTTP/2. From a server of `files`, it gets two of them, fifty times each at once.
Prints a line for each request:
tests/python/test_client_peers.py knows what they must say.
"""

from std.sys import argv

from flare.http import ClientConfig, HttpClient, HttpVersion, Response
from flare.io import MemoryReader
from flare.runtime.task import JoinHandle
from flare.tls import Pem, TlsConfig

comptime CONTENT_OCTETS = 300_000


def content() -> List[UInt8]:
    var octets = List[UInt8](capacity=CONTENT_OCTETS)
    for i in range(CONTENT_OCTETS):
        octets.append(UInt8((i * 31 + i // 256) & 0xFF))
    return octets^


def say(name: StringSlice, response: Response) raises:
    print(name, response.status, response.text())


def framing_of(response: Response) -> String:
    var framing = response.headers.get("X-Framing")
    return String(framing.value()) if framing else String("unknown")


def say_echo(name: StringSlice, response: Response) raises:
    var is_same = List[UInt8](response.body.octets()) == content()
    print(name, response.status, framing_of(response), is_same)


def sums(octets: Span[UInt8, _]) -> String:
    var sum = 0
    for octet in octets:
        sum += Int(octet)
    return String(len(octets), " ", sum)


def ask_for_contents(client: HttpClient) raises:
    var first = client.get("/text")
    print("version", first.version())
    say("get", first)
    var head = client.head("/text")
    print("head", head.status, len(head.body.octets()))
    var nothing = client.get("/nothing")
    print("nothing", nothing.status, len(nothing.body.octets()))
    print("missing", client.get("/missing").status)
    var moved = client.get("/moved")
    print("moved", moved.status, moved.text(), moved.redirects())
    var chunked = client.get("/chunked")
    print("chunked", chunked.status, sums(chunked.body.octets()))
    var stream = client.stream("/chunked")
    print("streamed", stream.status(), sums(Span(stream.read_all(1 << 20))))
    var coded = client.get("/coded")
    print(
        "coded",
        coded.status,
        sums(coded.body.octets()),
        coded.decoded_from(),
    )
    say("last", client.get("/last"))
    say("after", client.get("/text"))


def send_contents(client: HttpClient) raises:
    say_echo("known", client.post("/echo", content()))
    say_echo("chunks", client.upload("POST", "/echo", MemoryReader(content())))
    say_echo(
        "asking",
        client.upload(
            "PUT",
            "/echo",
            MemoryReader(content()),
            length=CONTENT_OCTETS,
            expects_continue=True,
        ),
    )
    var json = client.post("/echo", '{"a": 1}')
    print("json", json.status, json.json()["a"].int_value())


def ask_at_once(client: HttpClient) raises:
    """Asks at the same time, which takes one connection in HTTP/2."""
    if client.get("/text").version() == HttpVersion.HTTP_1_1:
        return
    var tasks = List[JoinHandle[Response]]()
    for _ in range(50):
        tasks.append(client.start("GET", "/chunked"))
    var octets = 0
    while len(tasks) > 0:
        octets += len(tasks.pop().join().body.octets())
    print("at once", octets)


def ask_for_files(client: HttpClient) raises:
    var first = client.get("/text")
    var sum = first.trailers().get("x-sum")
    var tasks = List[JoinHandle[Response]]()
    for _ in range(50):
        tasks.append(client.start("GET", "/text"))
        tasks.append(client.start("GET", "/large"))
    var octets = 0
    while len(tasks) > 0:
        octets += len(tasks.pop().join().body.octets())
    print("files", first.status, first.version(), octets)
    print("trailer", String(sum.value()) if sum else String("none"))
    print("connections", client.statistics().connects)


def main() raises:
    var config = ClientConfig()
    if len(argv()) > 2 and argv()[2] == "h2c":
        config.http2_prior_knowledge = True
    elif len(argv()) > 2:
        config.tls = TlsConfig(trusts_system_authorities=False)
        config.tls.authorities.append(Pem(path=String(argv()[2], "/ca.pem")))
    var client = HttpClient(argv()[1], config=config^)
    if argv()[len(argv()) - 1] == "files":
        return ask_for_files(client)
    ask_for_contents(client)
    send_contents(client)
    for _ in range(20):
        _ = client.get("/text")
    ask_at_once(client)
    print("connections", client.statistics().connects)

"""Makes a server that may buffer little, and clients that make it buffer."""

from flare.http.builders import ok
from flare.http.handler import Handler
from flare.http.request import Request
from flare.http.response import Response
from flare.http.response_stream import ResponseStream
from flare.http.server.transport.buffered import buffered_octets
from flare.http.server.config import ServerConfig
from flare.http.server.records.log import LogSink
from flare.http.upgraded_stream import UpgradedStream
from flare.runtime.backends.simulated_network import Peer
from flare.runtime.wait import sleep
from flare.testing.test_server import TestServer

from tests.asserting import assert_equal

comptime CONTENT_OCTETS = 500_000
comptime BUDGET = 4 * 1024 * 1024
# Who is in the middle when the budget is used up goes on to the next look:
# each may have received this much more by then.
comptime OVERSHOOT = 1024 * 1024


struct BudgetHandler(Handler):
    def __init__(out self):
        pass

    def serve(self, req: Request) raises -> Response:
        if req.path == "/whole":
            req.body.set_octets_max(1 << 40)
            return ok(String(len(req.body.octets())))
        if req.path == "/pieces":
            return _count(req)
        if req.path == "/sipped":
            return _count(req, 500)
        if req.path == "/held":
            req.body.set_octets_max(1 << 40)
            var octets = len(req.body.octets())
            sleep(10_000)
            return ok(String(octets))
        if req.path == "/late/large":
            sleep(500)
            return ok(List[UInt8](length=1_000_000, fill=120))
        if req.path == "/large":
            return ok(List[UInt8](length=1_000_000, fill=120))
        if req.path == "/text":
            return ok(_text(1_000_000))
        if req.path == "/text/bit/by/bit":
            return Response.stream(_write_text, content_type="text/plain")
        if req.path == "/text/slowly":
            return Response.stream(_write_slowly, content_type="text/plain")
        if req.path == "/whole/stream":
            req.body.set_octets_max(1 << 40)
            _ = len(req.body.octets())
            return Response.stream(_write_for_ever)
        if req.path == "/short":
            sleep(50)
            return ok("short")
        if req.path == "/slow":
            sleep(7_500)
            return ok("slow")
        if req.path == "/late":
            return Response.upgrade("late", _read_late)
        if req.path == "/echo":
            return Response.upgrade("echo", _echo)
        if req.path == "/stream":
            return Response.stream(_write_for_ever)
        return ok("other")


def get_request(target: StringSlice) -> String:
    return String("GET ", target, " HTTP/1.1\r\nHost: a\r\n\r\n")


def upload_request(octets: Int, sent: Int) -> String:
    return String(
        "POST /whole HTTP/1.1\r\nHost: a\r\nContent-Length: ",
        octets,
        "\r\n\r\n",
        String("x") * sent,
    )


def fill_with_answers(server: TestServer[BudgetHandler]) -> List[Peer]:
    """Lets answers fill the budget that nobody reads."""
    var readers = List[Peer]()
    for _ in range(5):
        var reader = server.connect()
        reader.send(get_request("/large").replace("GET", "PUT"))
        server.settle()
        _ = reader.received(1)
        server.settle()
        readers.append(reader)
    return readers^


def fill_with_contents(server: TestServer[BudgetHandler]) -> List[Peer]:
    """Begins uploads, more than there is room for, and ends none."""
    var peers = List[Peer]()
    for _ in range(20):
        var peer = server.connect()
        peer.send(upload_request(CONTENT_OCTETS, 200_000))
        server.settle()
        peers.append(peer)
    return peers^


def budget_server() -> TestServer[BudgetHandler]:
    return TestServer(
        BudgetHandler(),
        config=ServerConfig(
            log=LogSink.nowhere(),
            max_body_size=1024 * 1024,
            max_buffered_octets=BUDGET,
        ),
    )


def octets_held(server: TestServer[BudgetHandler]) -> Int:
    return buffered_octets(server.worker.state)


def end_all(var server: TestServer[BudgetHandler], peers: List[Peer]) raises:
    for peer in peers:
        peer.close()
    server.stop()
    assert_equal(server.remains(), "")
    _ = server^


def text_of(octets: List[UInt8]) -> String:
    return String(StringSlice(unsafe_from_utf8=Span(octets)))


def _count(req: Request, pause_ms: Int = 0) raises -> Response:
    req.body.set_octets_max(1 << 40)
    var piece = List[UInt8](length=10_000, fill=0)
    var total = 0
    while True:
        var count = req.body.read(Span(piece))
        if count == 0:
            return ok(String(total))
        total += count
        sleep(pause_ms)


def _write_for_ever(req: Request, stream: ResponseStream) raises:
    var piece = List[UInt8](length=50_000, fill=120)
    while True:
        stream.write_all(Span(piece))


def _text(octets: Int) -> String:
    """Makes a text that no encoder makes much shorter."""
    var text = String()
    var state: UInt64 = 1
    for _ in range(octets):
        state = state * 6364136223846793005 + 1442695040888963407
        text += chr(33 + Int(state >> 33) % 90)
    return text^


def _write_slowly(req: Request, stream: ResponseStream) raises:
    while True:
        stream.write_text("tick\n")
        sleep(50)


def _write_text(req: Request, stream: ResponseStream) raises:
    var text = _text(10_000)
    while True:
        stream.write_all(text.as_bytes())


def _read_late(req: Request, stream: UpgradedStream) raises:
    sleep(100)
    var piece = List[UInt8](length=50_000, fill=0)
    var total = 0
    while total < 80_000:
        total += stream.read(Span(piece))
    stream.write_all(String(total).as_bytes())
    _ = stream.read(Span(piece))


def _echo(req: Request, stream: UpgradedStream) raises:
    var piece = List[UInt8](length=50_000, fill=0)
    while True:
        var count = stream.read(Span(piece))
        if count == 0:
            return
        stream.write_all(Span(piece)[:count])

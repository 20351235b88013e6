"""Bounds every wait of a request: by the server's deadlines and the handler's.

The clock is virtual, so that minutes take no time.
"""

from flare.core import PointerTo, heap_create, heap_destroy
from flare.http.builders import ok
from flare.http.handler import Handler
from flare.http.request import Request
from flare.http.response import Response
from flare.http.response_stream import ResponseStream
from flare.http.server.config import ServerConfig
from flare.http.server.records.log import LogSink
from flare.http.upgraded_stream import UpgradedStream
from flare.net import NetError
from flare.runtime.backends.simulated_network import Peer
from flare.runtime.task import spawn
from flare.runtime.wait import deadline_in, sleep
from flare.testing.test_server import TestServer

from tests.asserting import assert_equal, assert_true

comptime _CHUNKED: StaticString = (
    " HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
)
comptime _UPGRADE: StaticString = (
    " HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: raw\r\n\r\n"
)


def test_blocks_inside_blocks_end_in_their_order_and_restore_the_outer() raises:
    # Each line: what ended and when, in ms since the handler began.
    var server = _server()
    var peer = server.connect()
    peer.send("GET /tree HTTP/1.1\r\nHost: a\r\n\r\n")
    var answer = _text(server.receive(peer))
    assert_true(answer.endswith("\r\n\r\ndone"), answer)
    assert_equal(
        server._handler[].log[].lines,
        [
            "inner timeout at 100",
            "outer block goes on at 150",
            "outer timeout at 300",
            "inner of a later bound: outer timeout at 500",
            "handler goes on at 10500",
            "nothing is left of no time: timeout at 10500",
        ],
    )
    _end(server^, [peer])


def test_handler_has_its_own_deadline_around_all_blocks() raises:
    var server = _server()
    var peer = server.connect()
    peer.send("GET /late-block HTTP/1.1\r\nHost: a\r\n\r\n")
    server.advance(59_990)
    assert_equal(len(peer.received()), 0)
    server.advance(20)
    assert_true(_text(server.receive(peer)).startswith("HTTP/1.1 500"))
    assert_equal(server._handler[].log[].lines, ["timeout at 60000"])
    _end(server^, [peer])


def test_block_bounds_a_read_of_content() raises:
    var server = _server()
    var peer = server.connect()
    peer.send(String("POST /read-in?200", _CHUNKED, "1\r\na\r\n"))
    server.advance(199)
    assert_equal(len(peer.received()), 0)
    server.advance(2)
    # What comes in time is read; the handler decides what follows.
    assert_true(_text(peer.received()).endswith("read 1, timeout at 200"))
    peer.send("0\r\n\r\nGET /now HTTP/1.1\r\nHost: a\r\n\r\n")
    assert_true(_text(server.receive(peer)).endswith("now"))
    _end(server^, [peer])


def test_block_bounds_whole_content() raises:
    var server = _server()
    var peer = server.connect()
    peer.send(String("POST /octets-in?200", _CHUNKED))
    for _ in range(3):
        peer.send("1\r\na\r\n")
        server.advance(65)
    server.advance(10)
    assert_true(_text(peer.received()).endswith("timeout at 200"))
    _end(server^, [peer])


def test_block_bounds_a_write() raises:
    var server = _server()
    var peer = server.connect()
    peer.send("GET /write-in?200 HTTP/1.1\r\nHost: a\r\n\r\n")
    server.advance(199)
    assert_equal(server._handler[].log[].lines, List[String]())
    server.advance(2)
    assert_equal(server._handler[].log[].lines, ["timeout at 200"])
    # The function ended well: the peer gets all that it wrote.
    assert_true(_text(server.receive(peer)).endswith("\r\n0\r\n\r\n"))
    _end(server^, [peer])


def test_block_bounds_a_read_behind_an_upgrade() raises:
    var server = _server()
    var peer = server.connect()
    peer.send(String("GET /raw-in?200", _UPGRADE))
    server.advance(201)
    assert_equal(server._handler[].log[].lines, ["timeout at 200"])
    assert_true(_text(peer.received()).endswith("bye"))
    _end(server^, [peer])


def test_read_timeout_behind_an_upgrade_is_for_each_read() raises:
    var server = _server()
    var peer = server.connect()
    peer.send(String("GET /raw-timeout?500", _UPGRADE))
    server.settle()
    for _ in range(5):
        server.advance(400)
        peer.send("a")
        server.settle()
    server.advance(499)
    assert_equal(server._handler[].log[].lines, List[String]())
    server.advance(2)
    assert_equal(server._handler[].log[].lines, ["timeout at 2500"])
    _end(server^, [peer])


def test_waiting_for_content_does_not_use_up_the_time_of_the_handler() raises:
    # 100 s go by until the content is whole; of the 60 s of the handler's own
    # time the second number of the target is then still asked for.
    var rows: List[Tuple[String, Int, String]] = [
        ("/slow-read", 59_000, "200"),
        ("/slow-read", 61_000, "500"),
        ("/slow-octets", 59_000, "200"),
        ("/slow-octets", 61_000, "500"),
        # A bound around each read is the program's; the server's stays.
        ("/slow-read-in?10000", 59_000, "200"),
        ("/slow-read-in?10000", 61_000, "500"),
        # A later bound changes nothing.
        ("/slow-read-in?900000", 59_000, "200"),
        ("/slow-read-in?900000", 61_000, "500"),
        # What a handler has spawned may read for it.
        ("/slow-read-apart", 59_000, "200"),
        ("/slow-read-apart", 61_000, "500"),
    ]
    for row in rows:
        var server = _server()
        var peer = server.connect()
        server._handler[].log[].sleep_ms = row[1]
        peer.send(String("POST ", row[0], _CHUNKED))
        server.settle()
        for _ in range(20):
            server.advance(5_000)
            peer.send(String("800\r\n", String("x") * 0x800, "\r\n"))
            server.settle()
        peer.send("0\r\n\r\n")
        var answer = _text(server.receive(peer))
        assert_equal(
            String(answer[byte=9:12]), row[2], String(row[0], " ", row[1])
        )
        _end(server^, [peer])


def test_block_around_many_reads_bounds_them_together() raises:
    var server = _server()
    var peer = server.connect()
    peer.send(String("POST /reads-in?12000", _CHUNKED))
    server.settle()
    for _ in range(4):
        server.advance(5_000)
        peer.send("1\r\na\r\n")
        server.settle()
    assert_true(_text(peer.received()).endswith("read 2, timeout at 12000"))
    _end(server^, [peer])


def test_function_of_a_stream_outlasts_the_deadline_of_the_handler() raises:
    for path in ["/ticks?100", "/ticks-late?100"]:
        var server = _server()
        var peer = server.connect()
        peer.send(String("GET ", path, " HTTP/1.1\r\nHost: a\r\n\r\n"))
        for _ in range(5):
            server.advance(20_000)
        var answer = _text(server.receive(peer))
        assert_true(answer.endswith("\r\n4\r\ntick\r\n0\r\n\r\n"), path)
        assert_equal(answer.count("tick"), 100)
        _end(server^, [peer])


def test_function_whose_reader_stops_or_dribbles_is_left() raises:
    # Octets that the peer takes every ten seconds, and whether that is enough.
    var rows: List[Tuple[String, Int, Bool]] = [
        ("/endless", 0, False),
        ("/endless", 1000, False),
        ("/endless", 20_000, True),
        ("/raw-endless", 0, False),
        ("/raw-endless", 1000, False),
        ("/raw-endless", 20_000, True),
    ]
    for row in rows:
        var what = String(row[0], " ", row[1])
        var server = _server()
        var peer = server.connect()
        peer.send(String("GET ", row[0], _UPGRADE))
        server.settle()
        for i in range(60):
            if row[1] > 0:
                _ = peer.received(row[1])
            server.advance(10_000)
            if i == 1:
                assert_equal(server.worker.state[].connections.lent(), 1, what)
        assert_equal(
            server.worker.state[].connections.lent(), Int(row[2]), what
        )
        assert_equal(_busy(server), Int(row[2]), what)
        assert_equal(
            server._handler[].log[].lines,
            List[String]() if row[2] else [String("http.content")],
            what,
        )
        _end(server^, [peer])


def test_content_that_stops_or_dribbles_is_408_for_who_reads_bit_by_bit() raises:
    # Octets every ten seconds; 240 a second are asked for in the end.
    var rows: List[Tuple[String, Int, String]] = [
        ("/slow-read", 0, "408"),
        ("/slow-read", 1, "408"),
        ("/slow-read", 2600, "200"),
        # Here the head is out: only a reset tells the peer.
        ("/echo", 0, ""),
        ("/echo", 1, ""),
        ("/echo", 2600, "200"),
    ]
    for row in rows:
        var what = String(row[0], " ", row[1])
        var server = _server()
        var peer = server.connect()
        peer.send(String("POST ", row[0], _CHUNKED))
        server.settle()
        for _ in range(20):
            server.advance(10_000)
            if row[1] > 0 and not peer.is_closed():
                peer.send(
                    String(
                        hex(row[1], prefix=""),
                        "\r\n",
                        String("x") * row[1],
                        "\r\n",
                    )
                )
            server.settle()
        if not peer.is_closed():
            peer.send("0\r\n\r\n")
        var answer = _text(server.receive(peer))
        if row[2] == "":
            assert_true(peer.is_reset(), what)
        else:
            assert_equal(String(answer[byte=9:12]), row[2], what)
        assert_equal(_busy(server), 0)
        _end(server^, [peer])


def test_content_that_stops_is_408_for_who_asks_again_and_again() raises:
    for step_ms in [1_000, 7_000, 29_999]:
        for is_dribbling in [False, True]:
            var what = String(step_ms, " ", is_dribbling)
            var server = _server()
            var peer = server.connect()
            peer.send(String("POST /asks-again?", step_ms, _CHUNKED))
            var passed_ms = 0
            while passed_ms < 60_000 and not peer.has_arrivals():
                server.advance(1_000)
                passed_ms += 1_000
                if is_dribbling:
                    peer.send("1\r\nx\r\n")
                    server.settle()
            var answer = _text(server.receive(peer))
            assert_equal(String(answer[byte=9:12]), "408", what)
            assert_true(passed_ms >= 30_000, String(what, ": ", passed_ms))
            assert_true(passed_ms <= 33_000, String(what, ": ", passed_ms))
            assert_equal(_busy(server), 0)
            _end(server^, [peer])


def test_content_that_comes_while_nobody_waits_counts_too() raises:
    # The reader looks for 50 ms and sleeps for 450; content always comes while
    # it sleeps, at eight times the lowest rate.
    var server = _server(
        ServerConfig(log=LogSink.nowhere(), body_timeout_ms=2_000)
    )
    var peer = server.connect()
    peer.send(String("POST /looks-in?50", _CHUNKED))
    server.advance(200)
    for _ in range(60):
        peer.send(String("3e8\r\n", "x" * 1000, "\r\n"))
        server.advance(500)
    peer.send("0\r\n\r\n")
    var answer = _text(server.receive(peer))
    assert_equal(String(answer[byte=9:12]), "200")
    _end(server^, [peer])


struct _Log(Movable):
    var lines: List[String]
    var sleep_ms: Int

    def __init__(out self):
        self.lines = []
        self.sleep_ms = 0


comptime _Notes = PointerTo[_Log]


@fieldwise_init
struct _Bounded(Handler):
    var log: _Notes
    var network_ms: PointerTo[Int]

    def serve(self, req: Request) raises -> Response:
        if req.path == "/tree":
            return self._tree()
        if req.path == "/late-block":
            sleep(50_000)
            try:
                with deadline_in(20_000):
                    sleep(50_000)
            except e:
                self._note("", e)
                raise e^
        if req.path == "/read-in" or req.path == "/reads-in":
            return self._read_in(req)
        if req.path == "/asks-again":
            return self._ask_again(req, 0)
        if req.path == "/looks-in":
            return self._ask_again(req, 450)
        if req.path == "/octets-in":
            try:
                with deadline_in(Int(req.query)):
                    _ = req.body.octets()
            except e:
                return ok(self._when("", e))
        if req.path.startswith("/slow-"):
            self._read_slowly(req)
            sleep(self.log[].sleep_ms)
            return ok("read")
        if req.path == "/echo":
            return Response.stream(_echo)
        if req.path == "/ticks-late":
            sleep(50_000)
        if req.path.startswith("/ticks"):
            return Response.stream(_tick)
        if req.path == "/endless" or req.path == "/write-in":
            return self._stream()
        if req.path.startswith("/raw"):
            return self._upgrade()
        return ok("now")

    def _tree(self) raises -> Response:
        try:
            with deadline_in(300):
                try:
                    with deadline_in(100):
                        sleep(1000)
                except e:
                    self._note("inner ", e)
                sleep(50)
                self._note("outer block goes on")
                sleep(1000)
        except e:
            self._note("outer ", e)
        try:
            with deadline_in(200):
                with deadline_in(100_000):
                    sleep(1000)
        except e:
            self._note("inner of a later bound: outer ", e)
        sleep(10_000)
        self._note("handler goes on")
        try:
            with deadline_in(0):
                sleep(1000)
        except e:
            self._note("nothing is left of no time: ", e)
        return ok("done")

    def _ask_again(self, req: Request, pause_ms: Int) raises -> Response:
        var piece = List[UInt8](length=10, fill=0)
        while True:
            try:
                with deadline_in(Int(req.query)):
                    if req.body.read(Span(piece)) == 0:
                        return ok("all")
            except e:
                if _code(e) != "net.timeout":
                    raise e^
                sleep(pause_ms)

    def _read_in(self, req: Request) raises -> Response:
        var piece = List[UInt8](length=10, fill=0)
        var total = 0
        try:
            with deadline_in(Int(req.query)):
                while True:
                    total += req.body.read(Span(piece))
        except e:
            return ok(self._when(String("read ", total, ", "), e))

    def _read_slowly(self, req: Request) raises:
        var piece = List[UInt8](length=3000, fill=0)
        if req.path == "/slow-octets":
            _ = req.body.octets()
        elif req.path == "/slow-read-in":
            while True:
                var count: Int
                with deadline_in(Int(req.query)):
                    count = req.body.read(Span(piece))
                if count == 0:
                    return
        elif req.path == "/slow-read-apart":
            var body = req.body

            def read() raises {var body, var piece^}:
                while body.read(Span(piece)) > 0:
                    pass

            var child = spawn[unsafe_borrows=True](read^)
            child^.join()
        else:
            while req.body.read(Span(piece)) > 0:
                pass

    def _stream(self) raises -> Response:
        var log = self.log
        var clock = self.network_ms

        def write(
            req: Request, stream: ResponseStream
        ) raises {var log, var clock}:
            try:
                if req.path == "/write-in":
                    with deadline_in(Int(req.query)):
                        _fill(stream)
                _fill(stream)
            except e:
                if req.path == "/write-in":
                    log[].lines.append(_line("", e, clock))
                    return
                log[].lines.append(_code(e))
                raise e^

        return Response.stream(write)

    def _upgrade(self) raises -> Response:
        var log = self.log
        var clock = self.network_ms

        def speak(
            req: Request, stream: UpgradedStream
        ) raises {var log, var clock}:
            var piece = List[UInt8](length=10, fill=0)
            try:
                if req.path == "/raw-in":
                    with deadline_in(Int(req.query)):
                        _ = stream.read(Span(piece))
                if req.path == "/raw-endless":
                    while True:
                        stream.write_all(
                            Span(List[UInt8](length=5000, fill=120))
                        )
                stream.set_read_timeout_ms(Int(req.query))
                while stream.read(Span(piece)) > 0:
                    pass
            except e:
                if req.path == "/raw-endless":
                    log[].lines.append(_code(e))
                    raise e^
                log[].lines.append(_line("", e, clock))
                stream.write_all("bye".as_bytes())

        return Response.upgrade("raw", speak)

    def _note(self, what: StringSlice, e: Error):
        self.log[].lines.append(_line(what, e, self.network_ms))

    def _note(self, what: StringSlice):
        self.log[].lines.append(
            String(what, " at ", self.network_ms[] - _START_MS)
        )

    def _when(self, what: StringSlice, e: Error) -> String:
        return _line(what, e, self.network_ms)


# When the clock of the simulated network begins.
comptime _START_MS = 1000


def _line(what: StringSlice, e: Error, now_ms: PointerTo[Int]) -> String:
    var net = NetError.of(e)
    if net and net.value().kind == NetError.TIMEOUT:
        return String(what, "timeout at ", now_ms[] - _START_MS)
    return String(what, "not a timeout: ", e)


def _fill(stream: ResponseStream) raises:
    while True:
        stream.write_all(Span(List[UInt8](length=5000, fill=120)))


def _tick(req: Request, stream: ResponseStream) raises:
    for _ in range(Int(req.query)):
        stream.write_text("tick")
        sleep(1000)


def _echo(req: Request, stream: ResponseStream) raises:
    stream.flush()
    var piece = List[UInt8](length=3000, fill=0)
    while True:
        var count = req.body.read(Span(piece))
        if count == 0:
            return
        stream.write_all(Span(piece)[:count])


def _code(e: Error) -> String:
    var text = String(e)
    var end = text.find(" ")
    if end < 0:
        return text
    return String(text[byte=:end])


def _server(
    config: ServerConfig = ServerConfig(log=LogSink.nowhere()),
) -> TestServer[_Bounded]:
    var server = TestServer(
        _Bounded(heap_create(_Log()), PointerTo[Int](unsafe_from_address=64)),
        config=config,
    )
    server._handler[].network_ms = Pointer(
        to=server.network.state[].now_ms
    ).unsafe_origin_cast[MutUntrackedOrigin]()
    return server^


def _busy(server: TestServer[_Bounded]) -> Int:
    return server.worker.state[].reactor.state[].fibers.busy()


def _end(var server: TestServer[_Bounded], peers: List[Peer]) raises:
    for peer in peers:
        peer.close()
    server.stop()
    assert_equal(server.remains(), "")
    var log = server._handler[].log
    _ = server^
    heap_destroy(log)


def _text(octets: List[UInt8]) -> String:
    return String(StringSlice(unsafe_from_utf8=Span(octets)))


comptime TESTS = __functions_in_module()

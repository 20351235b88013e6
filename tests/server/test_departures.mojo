"""Leaves a server while its handlers wait, and outlives handlers.

Nothing of a request runs on when its peer has left, and nothing that a handler
has spawned reaches another request or another connection.
"""

from flare.core import PointerTo, heap_create, heap_destroy
from flare.http.builders import ok
from flare.http.handler import Handler
from flare.http.request import Request
from flare.http.request_body import RequestBody
from flare.http.response import Response
from flare.http.response_stream import ResponseStream
from flare.http.server.config import ServerConfig
from flare.http.server.records.log import LogSink
from flare.http.upgraded_stream import UpgradedStream
from flare.runtime.backends.simulated_network import Peer
from flare.runtime.cancel import Cancel
from flare.runtime.task import spawn
from flare.runtime.wait import sleep
from flare.testing.test_server import TestServer

from tests.asserting import assert_equal, assert_false, assert_true
from tests.server.handlers import ignore_leaks

comptime _UPGRADE: StaticString = (
    " HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: raw\r\n\r\n"
)
comptime _CHUNKED: StaticString = (
    " HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
)


def test_wait_of_a_handler_ends_when_its_peer_leaves() raises:
    for request in _waits():
        for is_reset in [True, False]:
            var server = _server()
            var peer = server.connect()
            peer.send(request)
            server.settle()
            assert_equal(_busy(server) > 0, True, request)
            var memory = server._handler[].memory
            assert_false(memory[].cancel.value().is_cancelled(), request)
            if is_reset:
                peer.reset()
            else:
                peer.close()
            server.settle()
            assert_equal(memory[].log, ["waits", "cut off"], request)
            # Code that does not wait asks for it.
            assert_true(memory[].cancel.value().is_cancelled(), request)
            _check_nothing_is_held(server, request)
            _end(server^, [peer])


def test_peer_that_ends_its_side_has_left_unless_that_is_allowed() raises:
    var rows: List[Tuple[String, Bool]] = [
        (String("POST /sleep", _CHUNKED, "0\r\n\r\n"), True),
        (String("POST /join", _CHUNKED, "0\r\n\r\n"), True),
        (String("POST /ticks", _CHUNKED, "0\r\n\r\n"), True),
        # Content that ends early is a loss, whatever is allowed.
        (String("POST /read", _CHUNKED, "3\r\nab"), False),
        (String("POST /octets", _CHUNKED, "3\r\nab"), False),
    ]
    for row in rows:
        for is_allowed in [True, False]:
            var server = _server(half_close_allowed=is_allowed)
            var peer = server.connect()
            peer.send(row[0])
            server.settle()
            peer.end_sending()
            server.settle()
            var stays = is_allowed and row[1]
            assert_equal(_busy(server) > 0, stays, row[0])
            assert_equal(
                server.worker.state[].connections.lent(), Int(stays), row[0]
            )
            # Its end may be followed by worse.
            peer.reset()
            server.settle()
            _check_nothing_is_held(server, row[0])
            _end(server^, [peer])


def test_upgraded_peer_that_ended_its_side_and_then_resets_has_left() raises:
    var server = _server()
    var peer = server.connect()
    peer.send(String("GET /raw-sleep", _UPGRADE))
    server.settle()
    peer.end_sending()
    server.settle()
    assert_equal(_busy(server), 1)
    peer.reset()
    server.settle()
    assert_equal(server._handler[].memory[].log, ["waits", "cut off"])
    _check_nothing_is_held(server, "upgraded")
    _end(server^, [peer])


def test_wait_of_a_handler_ends_when_the_server_stops() raises:
    for request in _waits():
        var server = _server()
        var peer = server.connect()
        peer.send(request)
        server.settle()
        server.stop()
        # What the handler has spawned ends one turn later.
        server.settle()
        assert_equal(
            server._handler[].memory[].log, ["waits", "cut off"], request
        )
        _end(server^, [peer])


def test_writer_that_outlives_its_function_reaches_nobody() raises:
    # The second request is answered on the block, and on the connection, that
    # the writer still knows.
    var server = _server()
    var peer = server.connect()
    peer.send(
        "GET /outlive-write HTTP/1.1\r\nHost: a\r\n\r\n"
        "GET /ticks?3 HTTP/1.1\r\nHost: a\r\n\r\n"
    )
    # Nobody reads: the writer waits for room when its function returns.
    server.advance(10)
    var answers = _text(server.receive(peer))
    var second = answers.rfind("HTTP/1.1 200")
    assert_true(second > 60_000, String(second))
    assert_true(String(answers[byte = second - 5 : second]) == "0\r\n\r\n")
    assert_true(
        answers.endswith(
            "\r\n\r\n4\r\ntick\r\n4\r\ntick\r\n4\r\ntick\r\n0\r\n\r\n"
        ),
        String(answers[byte=second:]),
    )
    assert_equal(server._handler[].memory[].log, ["writes", "http.stream_over"])
    assert_equal(_busy(server), 0)
    _end(server^, [peer])


def test_writer_that_outlives_its_connection_reaches_nobody() raises:
    # The peer leaves: the next one gets the same slot and the same block.
    for path in ["outlive-write", "outlive-raw"]:
        var server = _server()
        var peer = server.connect()
        peer.send(String("GET /", path, _UPGRADE))
        server.settle()
        peer.reset()
        var next = server.connect()
        next.send("GET /ticks?2 HTTP/1.1\r\nHost: a\r\n\r\n")
        var answer = _text(server.receive(next))
        assert_true(
            answer.endswith("\r\n\r\n4\r\ntick\r\n4\r\ntick\r\n0\r\n\r\n"),
            answer,
        )
        assert_equal(server._handler[].memory[].log[0], "writes")
        assert_equal(len(server._handler[].memory[].log), 2)
        assert_equal(_busy(server), 0)
        _end(server^, [peer, next])


def test_reader_that_outlives_its_handler_takes_no_content_of_another() raises:
    var server = _server()
    var peer = server.connect()
    peer.send(String("POST /outlive-read", _CHUNKED, "3\r\nabc\r\n"))
    server.advance(5)
    assert_true(_text(peer.received()).endswith("left"))
    peer.send(String("0\r\n\r\nPOST /count", _CHUNKED, "5\r\nhello\r\n"))
    server.settle()
    peer.send("5\r\nworld\r\n0\r\n\r\n")
    assert_true(_text(server.receive(peer)).endswith("\r\n\r\n10"))
    assert_equal(
        server._handler[].memory[].log,
        ["reads", "read 3", "http.stream_over"],
    )
    assert_equal(_busy(server), 0)
    _end(server^, [peer])


def test_reader_that_outlives_its_upgrade_ends_with_it() raises:
    var server = _server()
    var peer = server.connect()
    peer.send(String("GET /outlive-raw-read", _UPGRADE))
    server.advance(100)
    assert_true(_text(peer.received()).endswith("\r\n\r\nbye"))
    assert_true(peer.is_closed())
    peer.close()
    server.advance(100)
    assert_equal(server._handler[].memory[].log, ["reads", "http.stream_over"])
    _check_nothing_is_held(server, "upgraded")
    _end(server^, [peer])


def test_stream_of_a_handler_that_is_given_up_is_over() raises:
    var server = _server()
    var peer = server.connect()
    peer.send("GET /stubborn HTTP/1.1\r\nHost: a\r\n\r\n")
    server.advance(5)
    peer.reset()
    for _ in range(1100):
        server.turn_now()
    assert_equal(server.worker.state[].reactor.state[].fibers.leaked(), 1)
    assert_equal(server.worker.state[].connections.lent(), 0)
    var next = server.connect()
    next.send("GET /ticks?2 HTTP/1.1\r\nHost: a\r\n\r\n")
    var answer = _text(server.receive(next))
    assert_true(
        answer.endswith("\r\n\r\n4\r\ntick\r\n4\r\ntick\r\n0\r\n\r\n"), answer
    )
    var memory = server._handler[].memory
    assert_equal(memory[].log[0], "writes")
    assert_equal(len(memory[].log), 2)
    next.close()
    peer.close()
    server.stop()
    # Its stack is never used again; its task holds nothing of ours.
    _ = server^
    heap_destroy(memory)


def test_second_reader_and_second_writer_are_refused() raises:
    var server = _server()
    var peer = server.connect()
    peer.send(String("POST /two-readers", _CHUNKED))
    server.advance(10)
    peer.send("2\r\nab\r\n0\r\n\r\n")
    var answer = _text(server.receive(peer))
    assert_true(answer.endswith("http.content is awaited by another"), answer)
    peer.send("GET /two-writers HTTP/1.1\r\nHost: a\r\n\r\n")
    server.advance(10)
    assert_equal(
        server._handler[].memory[].log,
        ["writes", "http.busy", "http.stream_over"],
    )
    _end(server^, [peer])


def test_both_ends_of_an_upgrade_may_be_used_at_once() raises:
    var server = _server()
    var peer = server.connect()
    peer.send(String("GET /raw-both", _UPGRADE))
    server.settle()
    peer.send("abc")
    server.settle()
    var memory = server._handler[].memory
    assert_equal(memory[].log, ["read 3"])
    var count = 0
    while count < 200_000:
        var octets = peer.received()
        assert_true(len(octets) > 0, String(count))
        count += len(octets)
        server.settle()
    assert_equal(server._handler[].memory[].log, ["read 3", "wrote"])
    _end(server^, [peer])


def _waits() -> List[String]:
    return [
        String("POST /sleep", _CHUNKED),
        String("POST /read", _CHUNKED),
        String("POST /read", _CHUNKED, "3\r\nabc\r\n"),
        String("POST /octets", _CHUNKED, "3\r\nabc\r\n"),
        String("POST /join", _CHUNKED),
        String("POST /join-reader", _CHUNKED),
        String("GET /full HTTP/1.1\r\nHost: a\r\n\r\n"),
        String("GET /join-writer HTTP/1.1\r\nHost: a\r\n\r\n"),
        String("GET /ticks HTTP/1.1\r\nHost: a\r\n\r\n"),
        String("GET /raw-sleep", _UPGRADE),
        String("GET /raw-read", _UPGRADE),
        String("GET /raw-write", _UPGRADE),
    ]


struct _Memory(Movable):
    var log: List[String]
    var cancel: Optional[Cancel]

    def __init__(out self):
        self.log = []
        self.cancel = None


comptime _Notes = PointerTo[_Memory]


@fieldwise_init
struct _Leaving(Handler):
    var memory: _Notes

    def serve(self, req: Request) raises -> Response:
        if not self.memory[].cancel:
            self.memory[].cancel = Cancel.current()
        if req.path.startswith("/raw") or req.path == "/outlive-raw":
            return self._upgrade()
        if req.path == "/outlive-raw-read":
            return self._outlive_raw_read()
        if req.path == "/count":
            return _count(req)
        if req.path == "/ticks" and not req.query == "":
            return Response.stream(_tick)
        if (
            req.path == "/full"
            or req.path == "/ticks"
            or req.path == "/join-writer"
            or req.path == "/two-writers"
            or req.path == "/outlive-write"
        ):
            return self._stream()
        if req.path == "/stubborn":
            ignore_leaks(True)
            var response = self._stream()
            ignore_leaks(False)
            return response^
        if req.path == "/outlive-read":
            _read_apart(self.memory, req.body)
            sleep(1)
            return ok("left")
        if req.path == "/two-readers":
            return _read_twice(req.body)
        self._wait(req)
        return ok("not cut off")

    def _wait(self, req: Request) raises:
        var memory = self.memory
        memory[].log.append("waits")
        try:
            if req.path == "/sleep":
                sleep(50_000)
            elif req.path == "/octets":
                _ = req.body.octets()
            elif req.path == "/join":
                var child = spawn(_sleep_long)
                child^.join()
            elif req.path == "/join-reader":
                var body = req.body

                def read() raises {var body}:
                    var piece = List[UInt8](length=10, fill=0)
                    _ = body.read(Span(piece))

                var child = spawn[unsafe_borrows=True](read^)
                child^.join()
            else:
                var piece = List[UInt8](length=10, fill=0)
                while req.body.read(Span(piece)) > 0:
                    pass
        except e:
            memory[].log.append("cut off")
            raise e^
        memory[].log.append("went on")

    def _stream(self) raises -> Response:
        var memory = self.memory

        def write(req: Request, stream: ResponseStream) raises {var memory}:
            if req.path == "/outlive-write" or req.path == "/stubborn":
                _write_apart(memory, stream)
                # The writer fills all there is room for, and waits.
                sleep(1)
                if req.path == "/stubborn":
                    _ignore_everything()
                return
            if req.path == "/two-writers":
                _write_apart(memory, stream)
                sleep(1)
                try:
                    stream.write_all(Span(List[UInt8](length=99999, fill=120)))
                except e:
                    memory[].log.append(_code(e))
                    raise e^
            memory[].log.append("waits")
            try:
                if req.path == "/full":
                    _fill(stream)
                elif req.path == "/join-writer":

                    def fill() raises {var stream}:
                        _fill(stream)

                    var child = spawn(fill)
                    child^.join()
                else:
                    while True:
                        stream.write_text("tick")
                        sleep(1000)
            except e:
                memory[].log.append("cut off")
                raise e^
            memory[].log.append("went on")

        return Response.stream(write)

    def _upgrade(self) raises -> Response:
        var memory = self.memory

        def speak(req: Request, stream: UpgradedStream) raises {var memory}:
            if req.path == "/outlive-raw":
                _write_raw_apart(memory, stream)
                sleep(50_000)
                return
            if req.path == "/raw-both":
                _read_and_write(memory, stream)
                return
            memory[].log.append("waits")
            try:
                if req.path == "/raw-sleep":
                    sleep(50_000)
                elif req.path == "/raw-read":
                    var piece = List[UInt8](length=10, fill=0)
                    while stream.read(Span(piece)) > 0:
                        pass
                else:
                    while True:
                        stream.write_all(
                            Span(List[UInt8](length=99_999, fill=120))
                        )
            except e:
                memory[].log.append("cut off")
                raise e^
            memory[].log.append("went on")

        return Response.upgrade("raw", speak)

    def _outlive_raw_read(self) raises -> Response:
        var memory = self.memory

        def speak(req: Request, stream: UpgradedStream) raises {var memory}:
            def read() raises {var memory, var stream}:
                memory[].log.append("reads")
                try:
                    var piece = List[UInt8](length=10, fill=0)
                    while stream.read(Span(piece)) > 0:
                        pass
                except e:
                    memory[].log.append(_code(e))

            var child = spawn(read)
            child^.detach()
            sleep(1)
            stream.write_all("bye".as_bytes())

        return Response.upgrade("raw", speak)


def _fill(stream: ResponseStream) raises:
    while True:
        stream.write_all(Span(List[UInt8](length=99_999, fill=120)))


def _ignore_everything():
    while True:
        try:
            sleep(1000)
        except:
            pass


def _write_apart(memory: _Notes, stream: ResponseStream) raises:
    def write() raises {var memory, var stream}:
        memory[].log.append("writes")
        try:
            _fill(stream)
        except e:
            memory[].log.append(_code(e))

    var child = spawn(write)
    child^.detach()


def _write_raw_apart(memory: _Notes, stream: UpgradedStream) raises:
    def write() raises {var memory, var stream}:
        memory[].log.append("writes")
        try:
            while True:
                stream.write_all(Span(List[UInt8](length=99_999, fill=120)))
        except e:
            memory[].log.append(_code(e))

    var child = spawn(write)
    child^.detach()


def _read_apart(memory: _Notes, body: RequestBody) raises:
    def read() raises {var memory, var body}:
        memory[].log.append("reads")
        try:
            var piece = List[UInt8](length=10, fill=0)
            while True:
                var count = body.read(Span(piece))
                if count == 0:
                    break
                memory[].log.append(String("read ", count))
        except e:
            memory[].log.append(_code(e))

    var child = spawn[unsafe_borrows=True](read^)
    child^.detach()


def _read_twice(body: RequestBody) raises -> Response:
    def read() raises {var body}:
        var piece = List[UInt8](length=10, fill=0)
        _ = body.read(Span(piece))

    var child = spawn[unsafe_borrows=True](read^)
    sleep(0)
    var text = String("read")
    try:
        var piece = List[UInt8](length=10, fill=0)
        _ = body.read(Span(piece))
    except e:
        text = String(String(e).removesuffix(" fiber"))
    child^.join()
    return ok(text)


def _read_and_write(memory: _Notes, stream: UpgradedStream) raises:
    def write() raises {var stream}:
        stream.write_all(Span(List[UInt8](length=200_000, fill=120)))

    var child = spawn(write)
    var piece = List[UInt8](length=10, fill=0)
    memory[].log.append(String("read ", stream.read(Span(piece))))
    child^.join()
    memory[].log.append("wrote")


def _tick(req: Request, stream: ResponseStream) raises:
    for _ in range(Int(req.query)):
        stream.write_text("tick")
        sleep(10)


def _sleep_long() raises:
    sleep(50_000)


def _count(req: Request) raises -> Response:
    var piece = List[UInt8](length=100, fill=0)
    var total = 0
    while True:
        var count = req.body.read(Span(piece))
        if count == 0:
            return ok(String(total))
        total += count


def _code(e: Error) -> String:
    var text = String(e)
    var end = text.find(" ")
    if end < 0:
        return text
    return String(text[byte=:end])


def _server(*, half_close_allowed: Bool = False) -> TestServer[_Leaving]:
    return TestServer(
        _Leaving(heap_create(_Memory())),
        config=ServerConfig(
            log=LogSink.nowhere(), half_close_allowed=half_close_allowed
        ),
    )


def _busy(server: TestServer[_Leaving]) -> Int:
    return server.worker.state[].reactor.state[].fibers.busy()


def _check_nothing_is_held(server: TestServer[_Leaving], what: String) raises:
    ref w = server.worker.state[]
    assert_equal(_busy(server), 0, what)
    assert_equal(w.connections.lent(), 0, what)
    assert_equal(w.in_flight, 0, what)
    assert_equal(w.exchanges.lent, 0, what)
    assert_equal(w.outputs.lent, 0, what)
    assert_equal(w.reactor.buffers().lent(), 0, what)
    # That memory is given back is due a while after requests.
    var trimming = Int(w.trimming.timer.is_armed())
    assert_equal(w.reactor.timers().armed_count(), trimming, what)


def _end(var server: TestServer[_Leaving], peers: List[Peer]) raises:
    for peer in peers:
        peer.close()
    server.stop()
    assert_equal(server.remains(), "")
    assert_equal(server.worker.state[].exchanges.lent, 0)
    assert_equal(server.worker.state[].outputs.lent, 0)
    var memory = server._handler[].memory
    _ = server^
    heap_destroy(memory)


def _text(octets: List[UInt8]) -> String:
    return String(StringSlice(unsafe_from_utf8=Span(octets)))


comptime TESTS = __functions_in_module()

"""Checks the jobs that responses leave, over a virtual clock."""

from std.ffi import _Global

from flare.core import PointerTo, heap_create, heap_destroy
from flare.http import (
    Handler,
    LogSink,
    Request,
    Response,
    ResponseStream,
    ServerConfig,
    after_response,
    current_trace,
    ok,
)
from flare.http.tracing import Tracing
from flare.runtime import sleep
from flare.testing import TestClient
from flare.testing.test_server import TestServer

from tests.asserting import assert_equal, assert_false, assert_true


def test_a_job_begins_when_the_response_was_sent() raises:
    var notes = _Notes.create()
    var server = _server(notes)
    var answer = server.exchange(_get("/two"))
    assert_true(answer.endswith("answered"), answer)
    server.advance(20)
    assert_equal(notes[].text, "answer first second ")
    # It waits for the end of a stream too.
    notes[].text = ""
    var peer = server.connect()
    peer.send(_get("/stream"))
    server.settle()
    assert_equal(notes[].text, "")
    server.advance(200)
    server.advance(100)
    assert_equal(notes[].text, "streamed first second ")
    peer.close()
    _end(server^, notes)


def test_the_client_does_not_wait_for_a_job() raises:
    var notes = _Notes.create()
    var server = _server(notes)
    var peer = server.connect()
    peer.send(_get("/slow"))
    server.settle()
    peer.send(_get("/"))
    var answers = _text(server.receive(peer))
    assert_equal(answers.count("HTTP/1.1 200"), 2, answers)
    assert_equal(notes[].text, "")
    server.advance(1001)
    assert_equal(notes[].text, "slow ")
    peer.close()
    _end(server^, notes)


def test_an_error_of_a_job_is_logged_and_the_next_one_runs() raises:
    var notes = _Notes.create()
    var server = _server(notes)
    _LINES.get_or_create_ptr()[] = ""
    _ = server.exchange(_get("/bad"))
    server.advance(20)
    assert_equal(notes[].text, "first second ")
    # A peer may have chosen its text.
    assert_equal(
        _LINES.get_or_create_ptr()[],
        "flare: a job after a response raised: of the job\\x0d\\x0aforged|",
    )
    assert_equal(server.statistics().handler_errors, 0)
    _end(server^, notes)


def test_a_job_runs_also_after_an_error_or_without_a_client() raises:
    var notes = _Notes.create()
    var server = _server(notes)
    var answer = server.exchange(_get("/raise"))
    assert_true(answer.startswith("HTTP/1.1 500"), answer)
    server.advance(20)
    assert_equal(notes[].text, "first second ")
    notes[].text = ""
    var peer = server.connect()
    peer.send(_get("/wait"))
    server.settle()
    peer.close()
    server.advance(20)
    assert_equal(notes[].text, "first second ")
    _end(server^, notes)


def test_the_waits_of_a_job_have_a_limit_of_their_own() raises:
    var notes = _Notes.create()
    var server = _server(notes, handler_timeout_ms=100)
    _ = server.exchange(_get("/slow"))
    server.advance(1001)
    assert_equal(notes[].text, "slow ")
    notes[].text = ""
    _ = server.exchange(_get("/limited"))
    server.advance(501)
    assert_equal(notes[].text, "net.timeout second ")
    _end(server^, notes)


def test_a_server_that_stops_waits_for_its_jobs() raises:
    var notes = _Notes.create()
    var server = _server(notes)
    _ = server.exchange(_get("/slow"))
    server.begin_stop()
    server.advance(900)
    assert_false(server.worker.is_done())
    server.advance(200)
    assert_true(server.worker.is_done())
    assert_equal(notes[].text, "slow ")
    _end(server^, notes)


def test_but_not_for_ever() raises:
    var notes = _Notes.create()
    var server = _server(notes, shutdown_timeout_ms=500)
    _ = server.exchange(_get("/slow"))
    server.begin_stop()
    server.advance(400)
    assert_false(server.worker.is_done())
    server.advance(200)
    assert_true(server.worker.is_done())
    # The waits of the job are cut off.
    server.worker.end_fibers()
    assert_equal(notes[].text, "net.cancelled ")
    _end(server^, notes)


def test_a_job_belongs_to_the_trace_of_its_request() raises:
    for http2 in [False, True]:
        var notes = _Notes.create()
        var client = TestClient(Tracing(_Leaves(notes)), http2=http2)
        var shown = String(client.get("/trace").text())
        for _ in range(10):
            sleep(1)
        assert_equal(notes[].text, String(shown, " "))
        _ = client^
        heap_destroy(notes)


comptime TESTS = __functions_in_module()


struct _Notes(Movable):
    var text: String

    def __init__(out self):
        self.text = String()

    @staticmethod
    def create() -> PointerTo[Self]:
        return heap_create(Self())

    @staticmethod
    def add(notes: PointerTo[Self], word: StringSlice):
        notes[].text.write(word, " ")


@fieldwise_init
struct _Leaves(Handler):
    var notes: PointerTo[_Notes]

    def serve(self, req: Request) raises -> Response:
        var notes = self.notes
        if req.path == "/slow":
            _leave(req, notes, "slow", 1000)
        elif req.path == "/limited":
            _leave(req, notes, "slow", 1000, timeout_ms=500)
            _leave(req, notes, "second", 0)
        elif req.path == "/trace":

            def note() raises {var notes}:
                _Notes.add(notes, current_trace().value().span_id_text())

            after_response(req, note)
            return ok(current_trace().value().span_id_text())
        elif String(req.path) != "/":
            _leave(req, notes, "first", 0)
            if req.path == "/bad":
                _leave(req, notes, "", 0)
            _leave(req, notes, "second", 10)
        if req.path == "/raise":
            raise Error("of the test")
        if req.path == "/wait":
            sleep(10_000)
        if req.path == "/stream":

            def write(req: Request, stream: ResponseStream) raises {var notes}:
                sleep(100)
                stream.write_text("streamed")
                _Notes.add(notes, "streamed")

            return Response.stream(write)
        if req.path == "/two":
            _Notes.add(notes, "answer")
        return ok("answered")


comptime _LINES = _Global[
    StorageType=String, "flare_test_after_response_lines", _no_lines
]


def _no_lines() -> String:
    return ""


def _keep(line: StringSlice[ImmUntrackedOrigin]):
    try:
        _LINES.get_or_create_ptr()[].write(line, "|")
    except:
        return


def _leave(
    req: Request,
    notes: PointerTo[_Notes],
    word: StaticString,
    delay_ms: Int,
    *,
    timeout_ms: Int = 60_000,
) raises:
    def job() raises {var notes, var word, var delay_ms}:
        if word == "":
            raise Error("of the job\r\nforged")
        try:
            sleep(delay_ms)
        except e:
            _Notes.add(notes, String(e).split(" ")[0])
            raise e^
        _Notes.add(notes, word)

    after_response(req, job, timeout_ms=timeout_ms)


def _server(
    notes: PointerTo[_Notes],
    *,
    handler_timeout_ms: Int = 60_000,
    shutdown_timeout_ms: Int = 10_000,
) raises -> TestServer[_Leaves]:
    return TestServer(
        _Leaves(notes),
        config=ServerConfig(
            log=LogSink(_keep),
            handler_timeout_ms=handler_timeout_ms,
            shutdown_timeout_ms=shutdown_timeout_ms,
        ),
    )


def _end(var server: TestServer[_Leaves], notes: PointerTo[_Notes]) raises:
    server.stop()
    assert_equal(server.remains(), "")
    _ = server^
    heap_destroy(notes)


def _get(target: StringSlice) -> String:
    return String("GET ", target, " HTTP/1.1\r\nHost: a\r\n\r\n")


def _text(octets: List[UInt8]) -> String:
    return String(StringSlice(unsafe_from_utf8=Span(octets)))

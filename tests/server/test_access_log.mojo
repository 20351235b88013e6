"""Checks access records, and which requests get one."""

from std.ffi import _Global

from flare.core import PointerTo, heap_create, heap_destroy
from flare.http import Request, Response, ResponseStream, Router, ok
from flare.http.server.config import ServerConfig
from flare.http.server.records.access_entry import FACTS_OCTETS
from flare.http.server.records.access_facts import AccessEnd, AccessFacts
from flare.http.server.records.access_log import AccessFeed, AccessLog
from flare.http.server.records.access_queue import (
    AccessQueue,
    AccessRing,
    begin_queue,
    drain,
    put_in_ring,
)
from flare.http.server.records.access_record import (
    RECORD_TARGET_OCTETS_MAX,
    AccessRecord,
)
from flare.http.version import HttpVersion
from flare.message import Method
from flare.runtime import sleep
from flare.runtime.octet_ring import OctetRing
from flare.sys.errno import EINVAL
from flare.sys.file import STANDARD_OUTPUT
from flare.testing.test_server import TestServer

from tests.asserting import assert_equal, assert_false, assert_true


def test_a_record_is_one_line_with_all_its_parts() raises:
    var record = AccessRecord()
    assert_equal(String(record), "0 worker=0 id=0 OTHER - 0 0 0ms HTTP/1.1")
    record.unix_seconds = 1_700_000_000
    record.worker = 3
    record.request_id = 42
    record.method = Method.GET
    record.status = 200
    record.response_octets = 5
    record.duration_ms = 7
    record.version = HttpVersion.HTTP_2
    record.set_target("/a?b".as_bytes())
    assert_equal(
        String(record),
        "1700000000 worker=3 id=42 GET /a?b 200 5 7ms HTTP/2.0",
    )


def test_a_long_target_is_cut_and_says_so() raises:
    for octets in [
        RECORD_TARGET_OCTETS_MAX - 1,
        RECORD_TARGET_OCTETS_MAX,
        RECORD_TARGET_OCTETS_MAX + 1,
        20_000,
    ]:
        var target = String("/") * octets
        var record = AccessRecord()
        record.set_target(target.as_bytes())
        var kept = min(octets, RECORD_TARGET_OCTETS_MAX)
        var shown = String("/") * kept
        if octets > kept:
            shown += "..."
        assert_equal(record.target_octets, octets)
        assert_equal(record.target().byte_length(), kept)
        assert_true(String(record).find(String(" ", shown, " 0 0")) > 0)
    # A shorter target in the same record shows nothing of the longer one.
    var again = AccessRecord()
    again.set_target("/long/one".as_bytes())
    again.set_target("/b".as_bytes())
    assert_equal(again.target(), "/b")


def test_records_that_are_added_meanwhile_wait() raises:
    # Else the thread would not come to the ring of another worker.
    var ring = make_ring(AccessLog(_add_another))
    _RING.get_or_create_ptr()[] = Int(ring)
    var entries = AccessRing.entries_of(ring)
    for _ in range(3):
        _add(entries)
    for round in range(1, 4):
        drain(ring[].queue.unsafe_bitcast[AccessQueue](), entries, 0)
        assert_equal(_WRITTEN.get_or_create_ptr()[], 3 * round)
    _destroy(ring)


def test_a_path_with_nul_names_no_file() raises:
    var log = AccessLog.json_lines(file="/tmp/a\0b")
    assert_equal(begin_queue(log.options, 1), -EINVAL)


def test_a_refused_request_carries_nothing_of_an_earlier_one() raises:
    var ring = make_ring(AccessLog.json_lines())
    var server = make_server(ring)
    var peer = server.connect()
    peer.send(
        "POST /one HTTP/1.1\r\nHost: a\r\nUser-Agent: b\r\n\r\nGET\r\n\r\n"
    )
    _ = server.receive(peer)
    peer.close()
    _ = server.exchange("GET /two HTTP/1.1\r\nHost: a\r\n\r\n")
    var records = taken(ring)
    assert_equal(len(records), 3)
    assert_equal(records[0].request_id, 1)
    assert_equal(records[0].target(), "/one")
    assert_equal(records[0].user_agent(), "b")
    assert_true(records[0].client())
    assert_equal(records[1].request_id, 0)
    assert_equal(records[1].status, 400)
    assert_equal(records[1].duration_ms, 0)
    assert_equal(records[1].end(), AccessEnd.REFUSED)
    assert_equal(records[1].user_agent(), "")
    assert_true(String(records[1]).find(" id=0 OTHER - 400 ") > 0)
    assert_equal(records[2].request_id, 2)
    assert_equal(records[2].target(), "/two")
    assert_equal(records[2].end(), AccessEnd.COMPLETE)
    assert_equal(records[2].user_agent(), "")
    end(server^, ring)


def test_a_record_has_times_octets_route_and_identifiers() raises:
    var ring = make_ring(AccessLog.json_lines())
    var server = make_server(ring)
    _ = server.exchange(
        "POST /wait/40 HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n"
        "X-Request-ID: mine\r\nReferer: /not-wanted\r\n"
        "Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        "\r\n\r\nhello"
    )
    _ = server.exchange("HEAD /named HTTP/1.1\r\nHost: a\r\n\r\n")
    var records = taken(ring)
    assert_equal(len(records), 2)
    assert_true(40_000 <= records[0].duration_us() < 45_000)
    assert_equal(records[0].request_octets(), 5)
    assert_equal(records[0].response_octets, 2)
    assert_equal(records[0].route(), "/wait/:ms")
    assert_equal(records[0].request_id_text(), "mine")
    assert_equal(records[0].trace_id(), "0af7651916cd43dd8448eb211c80319c")
    assert_equal(records[0].referer(), "")
    assert_false(records[0].is_secure())
    # The identifier of the answer, and no content for HEAD.
    assert_equal(records[1].request_id_text(), "from the answer")
    assert_equal(records[1].response_octets, 0)
    assert_equal(records[1].trace_id(), "")
    end(server^, ring)


def test_a_log_keeps_as_much_of_a_target_as_it_says() raises:
    var ring = make_ring(AccessLog.common(target_octets_max=10))
    var server = make_server(ring)
    _ = server.exchange(
        "GET /0123456789 HTTP/1.1\r\nHost: a\r\nUser-Agent: b\r\n\r\n"
    )
    _ = server.exchange("GET /012345678 HTTP/1.1\r\nHost: a\r\n\r\n")
    var records = taken(ring)
    assert_equal(records[0].target(), "/012345678")
    assert_equal(records[0].target_octets, 11)
    assert_equal(records[0].user_agent(), "", "not wanted")
    assert_equal(records[1].target(), "/012345678")
    assert_equal(records[1].target_octets, 10)
    end(server^, ring)


def test_a_client_that_leaves_before_its_answer_has_one_record() raises:
    var ring = make_ring(AccessLog.json_lines())
    var server = make_server(ring)
    var peer = server.connect()
    peer.send("GET /wait/1000 HTTP/1.1\r\nHost: a\r\n\r\n")
    server.advance(10)
    peer.close()
    server.advance(5000)
    var records = taken(ring)
    assert_equal(len(records), 1)
    assert_equal(records[0].status, 499)
    assert_equal(records[0].end(), AccessEnd.CLIENT_LEFT)
    assert_equal(records[0].target(), "/wait/1000")
    assert_equal(records[0].response_octets, 0)
    assert_true(records[0].client())
    end(server^, ring)


def test_a_client_that_leaves_during_its_answer_has_one_record() raises:
    var ring = make_ring(AccessLog.json_lines())
    var server = make_server(ring)
    var peer = server.connect()
    peer.send("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n")
    server.advance(10)
    peer.close()
    server.advance(5000)
    var records = taken(ring)
    assert_equal(len(records), 1)
    assert_equal(records[0].status, 200)
    assert_equal(records[0].end(), AccessEnd.CLIENT_LEFT)
    assert_equal(records[0].response_octets, 5)
    assert_equal(records[0].request_id_text(), "of a stream")
    end(server^, ring)


def test_a_client_that_leaves_is_recorded_though_the_function_returns() raises:
    var ring = make_ring(AccessLog.json_lines())
    var server = make_server(ring)
    for path in ["/patient", "/late"]:
        var peer = server.connect()
        peer.send(String("GET ", path, " HTTP/1.1\r\nHost: a\r\n\r\n"))
        server.advance(10)
        peer.close()
        server.advance(5000)
    var records = taken(ring)
    assert_equal(len(records), 2)
    for record in records:
        assert_equal(record.end(), AccessEnd.CLIENT_LEFT)
    assert_equal(records[0].status, 200)
    assert_equal(records[1].status, 499)
    end(server^, ring)


def test_a_stream_that_fails_is_broken_off() raises:
    var ring = make_ring(AccessLog.json_lines())
    var server = make_server(ring)
    _ = server.exchange("GET /failing HTTP/1.1\r\nHost: a\r\n\r\n")
    _ = server.exchange("GET /raising HTTP/1.1\r\nHost: a\r\n\r\n")
    var records = taken(ring)
    assert_equal(len(records), 2)
    assert_equal(records[0].status, 200)
    assert_equal(records[0].end(), AccessEnd.BROKEN_OFF)
    assert_equal(records[1].status, 500)
    assert_equal(records[1].end(), AccessEnd.COMPLETE)
    end(server^, ring)


def test_refused_content_is_refused() raises:
    var ring = make_ring(AccessLog.json_lines())
    var server = make_server(ring)
    _ = server.exchange(
        "POST /wait/0 HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n"
    )
    var records = taken(ring)
    assert_equal(len(records), 1)
    assert_equal(records[0].status, 413)
    assert_equal(records[0].end(), AccessEnd.REFUSED)
    end(server^, ring)


def test_records_without_room_are_dropped_and_counted() raises:
    var ring = make_ring(AccessLog.common())
    var server = make_server(ring)
    var requests = 0
    while server.statistics().access_records_dropped == 0:
        _ = server.exchange("GET /named HTTP/1.1\r\nHost: a\r\n\r\n")
        requests += 1
    assert_true(requests > 1000, String(requests))
    assert_equal(len(taken(ring)), requests - 1)
    end(server^, ring)


def test_a_limit_on_targets_has_bounds() raises:
    for row in [(0, False), (1, True), (8192, True), (8193, False)]:
        var config = ServerConfig(
            access_log=AccessLog.common(target_octets_max=row[0])
        )
        assert_equal(Bool(config.first_problem()), not row[1])


comptime TESTS = __functions_in_module()


def wait(req: Request) raises -> Response:
    if req.method == Method.POST:
        _ = req.text()
    sleep(Int(String(req.param("ms"))))
    return ok("ok")


def named(req: Request) raises -> Response:
    var response = ok("hello")
    response.headers.set("X-Request-Id", "from the answer")
    return response^


def stream(req: Request) raises -> Response:
    var response = Response.stream(_write)
    response.headers.set("X-Request-Id", "of a stream")
    return response^


def _write(req: Request, stream: ResponseStream) raises:
    stream.write_text("hello")
    for _ in range(100):
        sleep(50)
        stream.write_text("")


def failing(req: Request) raises -> Response:
    return Response.stream(_fail)


def _write_patiently(req: Request, stream: ResponseStream) raises:
    try:
        _write(req, stream)
    except:
        return


def _wait_first(req: Request, stream: ResponseStream) raises:
    try:
        sleep(1000)
    except:
        return


def _fail(req: Request, stream: ResponseStream) raises:
    stream.write_text("hello")
    raise Error("it fails")


def raising(req: Request) raises -> Response:
    raise Error("it fails")


def make_ring(log: AccessLog) -> PointerTo[AccessRing]:
    # A queue without a thread, so that none is woken.
    var queue = heap_create(AccessQueue(log.options, STANDARD_OUTPUT))
    return heap_create(
        AccessRing(log.options, queue.unsafe_bitcast[NoneType]())
    )


def _patient(req: Request) raises -> Response:
    return Response.stream(_write_patiently)


def _late(req: Request) raises -> Response:
    return Response.stream(_wait_first)


def make_server(ring: PointerTo[AccessRing]) raises -> TestServer[Router[]]:
    var router = Router()
    router.get("/wait/:ms", wait)
    router.post("/wait/:ms", wait)
    router.get("/named", named)
    router.get("/stream", stream)
    router.get("/patient", _patient)
    router.get("/late", _late)
    router.get("/failing", failing)
    router.get("/raising", raising)
    router.post("/one", raising)
    var server = TestServer(router^)
    server.worker.state[].records.access = AccessFeed(
        ring.unsafe_bitcast[NoneType](), put_in_ring, True
    )
    return server^


def taken(ring: PointerTo[AccessRing]) raises -> List[AccessRecord]:
    var records = List[AccessRecord]()
    var entries = AccessRing.entries_of(ring)
    while entries.waiting() > 0:
        var entry = entries.oldest().value()
        var record = AccessRecord()
        record.load(
            entry.unsafe_ptr().unsafe_bitcast[AccessFacts]()[],
            entry[FACTS_OCTETS:],
            0,
        )
        records.append(record^)
        entries.drop_oldest()
    return records^


def end(var server: TestServer[Router[]], ring: PointerTo[AccessRing]):
    server.stop()
    _ = server^
    _destroy(ring)


def _destroy(ring: PointerTo[AccessRing]):
    var queue = ring[].queue.unsafe_bitcast[AccessQueue]()
    queue[].lock.destroy()
    heap_destroy(queue)
    heap_destroy(ring)


def _add(entries: OctetRing):
    var entry = entries.reserve(FACTS_OCTETS).unsafe_value()
    entry.unsafe_bitcast[AccessFacts]()[] = AccessFacts()
    entries.publish()


def _add_another(record: AccessRecord):
    try:
        _WRITTEN.get_or_create_ptr()[] += 1
        # A thread that goes on for ever would hang here, too.
        if _WRITTEN.get_or_create_ptr()[] < 100:
            _add(
                AccessRing.entries_of(
                    PointerTo[AccessRing](
                        unsafe_from_address=_RING.get_or_create_ptr()[]
                    )
                )
            )
    except:
        return


def _zero() -> Int:
    return 0


comptime _WRITTEN = _Global["flare.tests.server.written", _zero]
comptime _RING = _Global["flare.tests.server.ring", _zero]

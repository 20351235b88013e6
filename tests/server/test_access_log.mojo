"""Checks access records, and the ring that carries them between threads."""

from std.ffi import _Global

from flare.core import heap_create, heap_destroy
from flare.http.server.records.access_queue import (
    RECORDS_MAX,
    AccessRing,
    AccessRingState,
)
from flare.http.server.records.log import (
    RECORD_TARGET_OCTETS,
    AccessLog,
    AccessRecord,
)
from flare.http.version import HttpVersion
from flare.message import Method
from flare.testing.test_server import TestServer

from tests.asserting import assert_equal, assert_false, assert_true
from tests.server.test_replaced_answers import Echo


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
        RECORD_TARGET_OCTETS - 1,
        RECORD_TARGET_OCTETS,
        RECORD_TARGET_OCTETS + 1,
        8192,
    ]:
        var target = String("/") * octets
        var record = AccessRecord()
        record.set_target(target.as_bytes())
        var kept = min(octets, RECORD_TARGET_OCTETS)
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


def test_a_ring_gives_records_in_order_and_none_when_full() raises:
    var ring = AccessRing(heap_create(AccessRingState()))
    var next = 0
    # Several times around, and never a whole round at once.
    for _ in range(3):
        for _ in range(700):
            ring.next_slot().value()[].request_id = next
            ring.publish()
            next += 1
        _EXPECTED.get_or_create_ptr()[] = next - 700
        ring.drain(AccessLog(_expect_next))
        assert_equal(_EXPECTED.get_or_create_ptr()[], next)
    for _ in range(RECORDS_MAX):
        assert_true(ring.next_slot())
        ring.publish()
    assert_false(ring.next_slot())
    ring.drain(AccessLog(_ignore))
    assert_true(ring.next_slot())
    # A slot that was not published is not written.
    var unpublished = ring.next_slot().value()
    unpublished[].request_id = -1
    _EXPECTED.get_or_create_ptr()[] = -1
    ring.drain(AccessLog(_expect_next))
    assert_equal(_EXPECTED.get_or_create_ptr()[], -1)
    heap_destroy(ring.state)


def test_a_refused_request_carries_nothing_of_an_earlier_one() raises:
    # The ring is the server's own; only no thread empties it.
    var ring = AccessRing(heap_create(AccessRingState()))
    var server = TestServer(Echo())
    server.worker.state[].records.access_ring = ring
    var peer = server.connect()
    peer.send("POST /one HTTP/1.1\r\nHost: a\r\n\r\nGET\r\n\r\n")
    _ = server.receive(peer)
    peer.close()
    _ = server.exchange("GET /two HTTP/1.1\r\nHost: a\r\n\r\n")
    ref records = ring.state[].records
    assert_equal(ring.state[].written, 3)
    assert_equal(records[0].request_id, 1)
    assert_equal(records[0].target(), "/one")
    assert_equal(records[1].request_id, 0)
    assert_equal(records[1].status, 400)
    assert_equal(records[1].duration_ms, 0)
    assert_true(String(records[1]).find(" id=0 OTHER - 400 ") > 0)
    assert_equal(records[2].request_id, 2)
    assert_equal(records[2].target(), "/two")
    server.stop()
    _ = server^
    heap_destroy(ring.state)


def _expect_next(record: AccessRecord):
    # A record out of order leaves the count short of the last one.
    try:
        var expected = _EXPECTED.get_or_create_ptr()
        if record.request_id == expected[]:
            expected[] += 1
    except:
        return


def _ignore(record: AccessRecord):
    pass


def _zero() -> Int:
    return 0


comptime _EXPECTED = _Global["flare.tests.server.expected", _zero]
comptime TESTS = __functions_in_module()

"""Tests for `flare.proto.h1.plain_status_line`."""

from flare.core import PointerTo, heap_create, heap_destroy
from flare.proto.h1 import Head, H1Limits
from flare.proto.h1.field_stops import FieldStops
from flare.proto.h1.plain_status_line import take_plain_status_line
from flare.proto.h1.scan import window_of
from flare.proto.h1.start_line import read_status_line

from tests.asserting import assert_equal

comptime _REASON_OCTETS_MAX = 100


def test_a_plain_line_is_taken_as_the_general_code_reads_it() raises:
    for status in range(100, 1000):
        for reason in [
            "OK",
            "",
            "Not Found",
            "a\tb \xc3\xa9",
            String("r") * 50,
            String("r") * 51,
            String("r") * 100,
        ]:
            var line = String("HTTP/1.1 ", status, " ", reason, "\r\n")
            var taken = heap_create(Head())
            var read = heap_create(Head())
            assert_equal(_take(line, taken), line.byte_length() - 2, line)
            _ = read_status_line(window_of(line.as_bytes()), read, _limits())
            assert_equal(taken[].status, read[].status)
            assert_equal(taken[].target_start, read[].target_start)
            assert_equal(taken[].target_octets, read[].target_octets)
            assert_equal(taken[].version.minor, read[].version.minor)
            heap_destroy(taken)
            heap_destroy(read)


def test_other_lines_are_left_to_the_general_code() raises:
    for line in [
        "HTTP/1.0 200 OK\r\n",
        "HTTP/2.0 200 OK\r\n",
        "http/1.1 200 OK\r\n",
        "HTTP/1.1  200 OK\r\n",
        "HTTP/1.1\t200 OK\r\n",
        "HTTP/1.1 099 Low\r\n",
        "HTTP/1.1 20 OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n",
        "HTTP/1.1 2:0 OK\r\n",
        "HTTP/1.1 2/0 OK\r\n",
        "HTTP/1.1 20a OK\r\n",
        "HTTP/1.1 \xff00 OK\r\n",
        "HTTP/1.1 200\r\n\r\n",
        "HTTP/1.1 200\tOK\r\n",
        "HTTP/1.1 200 O\x00K\r\n",
        "HTTP/1.1 200 O\x7fK\r\n",
        "HTTP/1.1 200 O\rK\r\n",
        "HTTP/1.1 200 O\nK\r\n",
        "HTTP/1.1 200 OK\r",
        "HTTP/1.1 200 OK\rx",
        String("HTTP/1.1 200 ", String("r") * 101, "\r\n"),
    ]:
        var head = heap_create(Head())
        var status_before = head[].status
        assert_equal(_take(line, head), 0, line)
        assert_equal(head[].status, status_before)
        assert_equal(head[].target_octets, 0)
        heap_destroy(head)


def _limits() -> H1Limits:
    return H1Limits(request_target_octets_max=UInt32(_REASON_OCTETS_MAX))


def _take(line: String, head: PointerTo[Head]) raises -> Int:
    # The shortest window has 16 octets.
    var octets = String(line, "\r\n")
    var window = window_of(octets.as_bytes())
    var stops = FieldStops(window, 0)
    return take_plain_status_line(window, head, stops, _REASON_OCTETS_MAX)


comptime TESTS = __functions_in_module()

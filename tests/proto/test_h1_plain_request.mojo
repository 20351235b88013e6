"""Tests for `flare.proto.h1.plain_request`."""

from flare.core import PointerTo, heap_create, heap_destroy
from flare.message import Method, RequestTarget
from flare.proto.h1 import Head
from flare.proto.h1.field_stops import FieldStops, FirstLook
from flare.proto.h1.plain_request import take_plain_request_line
from flare.proto.h1.scan import window_of

from tests.asserting import assert_equal, assert_true


def test_a_plain_line_is_taken_as_the_general_code_would_read_it() raises:
    for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"]:
        for target in [
            "/",
            "/a",
            "/a/b-c.d_e~f",
            "/a?",
            "/a?b=c&d=/e?f",
            "/0123456789abcdef0123456789abcdef?0123456789abcdef",
            "/0123456789abcdef0123456789abcdef?0123456789abcdef?123456789",
            String("/", String("a") * 100),
            String("/a?", String("b") * 100),
            String("/a?b?c?", String("d") * 100, "?e"),
            String("/", String("a") * 100, "?", String("b") * 100),
        ]:
            var line = String(method, " ", target, " HTTP/1.1\r\n")
            var head = heap_create(Head())
            assert_equal(_take(line, head, 400), line.byte_length() - 2, line)
            var general = RequestTarget.parse(
                target.as_bytes(), Method.from_octets(method.as_bytes())
            )
            ref h = head[]
            assert_true(h.method == method)
            assert_equal(h.method_text(window_of(line.as_bytes())), method)
            assert_equal(h.target_text(window_of(line.as_bytes())), target)
            assert_equal(h.target.form, general.form)
            assert_equal(h.target.port, general.port)
            assert_equal(h.target.path_start, general.path_start)
            assert_equal(h.target.path_octets, general.path_octets)
            assert_equal(h.target.query_start, general.query_start)
            assert_equal(h.target.query_octets, general.query_octets)
            assert_equal(h.target.host_octets, 0)
            assert_equal(h.target.authority_octets, 0)
            heap_destroy(head)


def test_question_marks_may_stand_anywhere_in_a_query() raises:
    for method in ["GET", "OPTIONS"]:
        for first in range(1, 80):
            for second in range(first + 1, 145):
                var octets = List[UInt8](length=second + 3, fill=97)
                octets[0] = 47
                octets[first] = 63
                octets[second] = 63
                var target = String(StringSlice(unsafe_from_utf8=Span(octets)))
                var line = String(method, " ", target, " HTTP/1.1\r\n")
                var head = heap_create(Head())
                assert_equal(_take(line, head, 400), line.byte_length() - 2)
                ref h = head[].target
                assert_equal(Int(h.path_octets), first)
                assert_equal(Int(h.query_start), first + 1)
                assert_equal(Int(h.query_octets), second + 2 - first)
                heap_destroy(head)


def test_what_needs_thought_is_left_alone() raises:
    for line in [
        "GET / HTTP/1.0\r\n",
        "GET / HTTP/1.1\n\n",
        "GET /a b HTTP/1.1\r\n",
        "GET /%61 HTTP/1.1\r\n",
        "GET /a#b HTTP/1.1\r\n",
        "GET /a?b#c HTTP/1.1\r\n",
        "GET /a\x7fb HTTP/1.1\r\n",
        "GET  / HTTP/1.1\r\n",
        "GET * HTTP/1.1\r\n",
        "GET http://a/ HTTP/1.1\r\n",
        "get / HTTP/1.1\r\n",
        "OPTIONSX/ HTTP/1.1\r\n",
        "PROPFIND / HTTP/1.1\r\n",
        "CONNECT / HTTP/1.1\r\n",
        "\r\nGET / HTTP/1.1\r\n",
        "GET /567890123 HTTP/1.1\r\n",
        "GET /aaaaaaaaaaa",
        "GET /a HTTP/1.1\r",
    ]:
        var head = heap_create(Head())
        assert_equal(_take(line, head, 9), 0, line)
        heap_destroy(head)


def _take(line: String, head: PointerTo[Head], target_octets_max: Int) -> Int:
    var window = window_of(line.as_bytes())
    var first = FirstLook.nothing()
    _ = FieldStops(window, first)
    return take_plain_request_line(window, head, first, target_octets_max)


comptime TESTS = __functions_in_module()

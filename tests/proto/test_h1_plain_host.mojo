"""Tests for `flare.proto.h1.plain_host`."""

from flare.message.request_target import valid_host
from flare.proto.h1.field_stops import FieldStops, FirstLook
from flare.proto.h1.plain_host import first_host_octets, is_plain_host
from flare.proto.h1.scan import window_of

from tests.asserting import assert_equal, assert_false, assert_true


def test_a_plain_host_is_a_valid_one() raises:
    for host in [
        "a",
        "localhost:8080",
        "127.0.0.1",
        "127.0.0.1:18300",
        "a.example:",
        "a:0",
        "a:00080",
        "a:65535",
        "0123456789012345678901234567890",
        "0123456789012345678901234:65535",
    ]:
        assert_true(valid_host(host.as_bytes()), host)
        for behind in range(2, 70, 3):
            assert_true(_is_plain(host, behind), host)
    for host in [
        "",
        ":80",
        "[::1]",
        "a_b",
        "a%41",
        "a:65536",
        "a:70000",
        "a:99999",
        "a:000080",
        "a:b",
        "a:8b",
        "a:80:80",
        "a b",
        "01234567890123456789012345678901",
    ]:
        for behind in range(2, 70, 3):
            assert_false(_is_plain(host, behind), host)


def test_every_octet_in_a_host_is_judged_as_by_the_general_code() raises:
    for octet in range(256):
        for host in ["?", "?a", "a?", "a?b", "a:?", "a:1?", "a:1234?"]:
            var octets = List[UInt8](host.as_bytes())
            for i in range(len(octets)):
                if octets[i] == 63:
                    octets[i] = UInt8(octet)
            if _is_plain(StringSlice(unsafe_from_utf8=Span(octets)), 4):
                assert_true(valid_host(octets), String(host, " ", octet))


def test_the_greatest_port_is_the_one_of_the_general_code() raises:
    for port in range(100_000):
        var host = String("a:", port)
        assert_equal(_is_plain(host, 4), valid_host(host.as_bytes()), host)


def test_the_first_look_judges_a_host_as_the_second_would() raises:
    for host in [
        "a",
        "localhost:8080",
        "127.0.0.1:18300",
        "a.example:",
        "a:65535",
        "a:65536",
        "a:000080",
        "a:8b",
        "a:80:80",
        ":80",
        "[::1]",
        "a_b",
        "",
        " a",
        "a ",
        "a b",
        "a\tb",
        "a\x01b",
        "0123456789012345678901234:65535",
    ]:
        for path_octets in range(48):
            var head = String("GET /", String("p") * path_octets, " HTTP/1.1")
            var line_end = head.byte_length()
            head += String("\r\nHost: ", host, "\r\n\r\n")
            var end = line_end + 8 + host.byte_length()
            var found = _first_host_octets(head, line_end, head.byte_length())
            var window = window_of(head.as_bytes())
            # The end of the value is in sight, and 32 octets can be loaded.
            if end < 64 and head.byte_length() >= 32:
                var is_plain = is_plain_host(
                    window, line_end + 8, host.byte_length()
                )
                assert_equal(found != 0, is_plain, head)
            if found != 0:
                assert_equal(found, host.byte_length(), head)
                assert_true(valid_host(host.as_bytes()), head)


def test_a_first_host_is_left_alone_that_is_not_whole_or_not_first() raises:
    var head: String = "GET / HTTP/1.1\r\nHost: a.example:80\r\n\r\n"
    var end = head.find("\r\n\r\n")
    for limit in range(head.byte_length() + 1):
        var expected = 12 if limit >= end + 2 else 0
        assert_equal(_first_host_octets(head, 14, limit), expected)
    for octets in range(17, end + 2):
        var part = String(head[byte=:octets])
        assert_equal(_first_host_octets(part, 14, octets), 0)
    for line in ["Hosts: a", "Host:a", "Host : a", "Hos\0: a", "Accept: a"]:
        var other = String("GET / HTTP/1.1\r\n", line, "\r\n\r\n")
        assert_equal(_first_host_octets(other, 14, other.byte_length()), 0)
    var window = window_of(head.as_bytes())
    var first = FirstLook.nothing()
    var stops = FieldStops(window, 0)
    assert_equal(first_host_octets(window, first, stops, 14, len(window)), 0)


def test_a_long_host_is_seen_as_far_as_the_first_look_reaches() raises:
    for octets in range(30, 60):
        for port in ["", ":8080"]:
            var host = String(String("h") * octets, port)
            var head = String("GET / HTTP/1.1\r\nHost: ", host, "\r\n\r\n")
            var n = host.byte_length()
            var expected = n if 22 + n < 64 else 0
            assert_equal(
                _first_host_octets(head, 14, head.byte_length()), expected
            )
            assert_true(valid_host(host.as_bytes()))


def _first_host_octets(head: String, line_end: Int, limit: Int) -> Int:
    var window = window_of(head.as_bytes())
    var first = FirstLook.nothing()
    var stops = FieldStops(window, first)
    return first_host_octets(window, first, stops, line_end, limit)


def _is_plain(host: StringSlice, behind: Int) -> Bool:
    var octets = List[UInt8](
        "GET /aaaaaaaaaaaaaaaaaaa HTTP/1.1\r\nHost: ".as_bytes()
    )
    var start = len(octets)
    octets.extend(host.as_bytes())
    octets.extend("\r\n".as_bytes())
    octets.resize(start + host.byte_length() + behind, 49)
    return is_plain_host(window_of(octets), start, host.byte_length())


comptime TESTS = __functions_in_module()

"""Tests that a first field line which looks like a usual Host is read as by the
code for all others."""

from flare.proto.h1 import H1Limits, Role

from tests.asserting import assert_equal, assert_true
from tests.proto.conversation import Conversation


def test_the_first_field_is_read_as_in_pieces() raises:
    # NUL and SUB become blank and colon where bit 5 is set.
    for line in [
        "Host: a",
        "hOST: 127.0.0.1:8080",
        "Host: a.example ",
        "Host:  a",
        "Host: \ta",
        "Host:a",
        "Host: ",
        "Host:",
        "Host : a",
        "Host\t: a",
        "Host:\0a",
        "Host:\0",
        "Host\x1a a",
        "(ost: a",
        "Hosts: a",
        "Host: a\x01b",
        "Host: a\rb",
        "Host: a\nb",
        "Host: a\nB: c",
        "Host: a\r\nHost: b",
        "Host: a\r\nB: c\r\nHost: b",
        "Host: a\r\n b",
        "Host: a b",
        "Host: [::1]",
        "Host: a\r\nContent-Length: 3",
        "B: c\r\nHost: a",
    ]:
        for path_octets in range(0, 70):
            var request = String("GET /", String("p") * path_octets)
            request += String(" HTTP/1.1\r\n", line, "\r\n\r\n")
            _check(request, H1Limits())


def test_the_limits_of_a_section_hold_for_its_first_field() raises:
    for octets_max in range(1, 40):
        for lines_max in [0, 1, 2]:
            var limits = H1Limits()
            limits.field_section_octets_max = UInt32(octets_max)
            limits.field_lines_max = UInt32(lines_max)
            _check("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n", limits)
            _check("GET / HTTP/1.1\r\nHost: a.example\r\nB: c\r\n\r\n", limits)


def test_what_was_seen_of_a_host_is_not_taken_for_the_next_one() raises:
    var talk = Conversation(Role.SERVER, H1Limits())
    talk.receive("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n".as_bytes())
    assert_equal(talk.reason, "")
    talk.act("respond 204 none")
    talk.act("finish")
    # Behind another line it is read by the code for all lines.
    talk.receive("GET / HTTP/1.1\r\nB: c\r\nHost: a b\r\n\r\n".as_bytes())
    assert_equal(talk.reason, "Host is not valid")
    _ = talk^


def test_a_head_that_is_not_whole_goes_on_where_it_stopped() raises:
    for part in [
        "GET /aaaaaaaaaaaaaaaaaaaa",
        "GET / HTTP/1.1\r\nHost: a\r\nB:",
    ]:
        var talk = Conversation(Role.SERVER, H1Limits())
        talk.receive(part.as_bytes())
        assert_equal(talk.head[].progress.owner, Int(talk.machine.state), part)
        assert_true(talk.head[].progress.scanned > 16, part)
        _ = talk^


def _check(request: String, limits: H1Limits) raises:
    var whole = Conversation(Role.SERVER, limits)
    whole.receive(request.as_bytes())
    var pieces = Conversation(Role.SERVER, limits)
    for i in range(request.byte_length()):
        pieces.receive(request.as_bytes()[i : i + 1])
        if pieces.reason != "":
            break
    assert_true(len(whole.transcript.lines) > 0, repr(request))
    assert_equal(
        "\n".join(whole.transcript.lines),
        "\n".join(pieces.transcript.lines),
        repr(request),
    )
    assert_equal(whole.reason, pieces.reason, repr(request))
    if whole.reason == "":
        assert_equal(whole.head[].known, pieces.head[].known, repr(request))
    _ = whole^
    _ = pieces^


comptime TESTS = __functions_in_module()

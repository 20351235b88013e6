"""Splits every request of the corpus everywhere: the answers must not change."""

from flare.http.builders import ok
from flare.http.handler import FnHandler
from flare.http.request import Request
from flare.http.response import Response
from flare.proto.h1 import Role
from flare.testing.test_server import TestServer

from tests.asserting import assert_equal, assert_true
from tests.proto.fixtures import load

comptime _SPLIT_ALL_OCTETS_MAX = 1200


def test_requests_of_the_fixtures_split_anywhere_get_the_same_answers() raises:
    var count = 0
    var answered = 0
    for fixture in load("conformance/h1"):
        if fixture.role != Role.SERVER:
            continue
        var octets = List[UInt8]()
        for part in fixture.received:
            octets.extend(Span(part))
        if len(octets) == 0:
            continue
        var splits = _check(fixture.title, Span(octets))
        count += splits[0]
        answered += splits[1]
    print("   ", count, "splits,", answered, "of them of answered requests")
    assert_true(count > 10_000, "few splits")
    assert_true(answered > 5_000, "few answers")


def test_pipelined_requests_split_anywhere_get_the_same_answers() raises:
    var rows: List[String] = [
        "GET /a HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n",
        (
            "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcde"
            "HEAD /b HTTP/1.1\r\nHost: a\r\n\r\n"
            "POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"
            "\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nA: b\r\n\r\n"
            "GET /d HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
            "GET /e HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
            "GET /never HTTP/1.1\r\nHost: a\r\n\r\n"
        ),
        (
            "GET /unread HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcde"
            "GET /b HTTP/1.1\r\nHost: a\r\n\r\n"
        ),
        (
            "POST /unread HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked"
            "\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
            "GET /b HTTP/1.1\r\nHost: a\r\n\r\nGET /bad\r\n\r\n"
        ),
    ]
    for row in rows:
        _ = _check("pipelined", row.as_bytes())


def test_pipelined_requests_octet_by_octet_get_the_same_answers() raises:
    var text = String()
    for i in range(20):
        text += String("GET /", i, " HTTP/1.1\r\nHost: a\r\n\r\n")
    var whole = _whole(text.as_bytes())
    var server = TestServer(FnHandler(_echo))
    var peer = server.connect()
    for i in range(text.byte_length()):
        peer.send(text.as_bytes()[i : i + 1])
        server.settle()
    assert_equal(_final_answers(Span(server.receive(peer))), whole)
    peer.close()
    server.stop()


def _echo(req: Request) raises -> Response:
    if req.path == "/unread":
        return ok("unread")
    return ok(String(req.path, "?", req.query, " ", req.text()))


def _whole(octets: Span[UInt8, _]) -> String:
    var server = TestServer(FnHandler(_echo))
    return _final_answers(Span(server.exchange(octets)))


def _check(title: String, octets: Span[UInt8, _]) raises -> Tuple[Int, Int]:
    # How many splits were tried, and how many of these had an answer of 200.
    var expected = _whole(octets)
    var server = TestServer(FnHandler(_echo))
    var n = len(octets)
    var count = 0
    for at in range(1, n):
        if n > _SPLIT_ALL_OCTETS_MAX and at > 200 and n - at > 200:
            if at % 61 != 0:
                continue
        var peer = server.connect()
        peer.send(octets[:at])
        server.settle()
        peer.send(octets[at:])
        var answer = _final_answers(Span(server.receive(peer)))
        if answer != expected:
            raise Error(
                title,
                " split at ",
                at,
                "\nexpected\n",
                expected,
                "\ngot\n",
                answer,
            )
        peer.close()
        server.settle()
        count += 1
    server.stop()
    assert_equal(server.remains(), "", title)
    return (count, count if expected.startswith("HTTP/1.1 200") else 0)


def _final_answers(octets: Span[UInt8, _]) -> String:
    # Nor with 100 (Continue), which content that has come makes needless.
    var text = String(StringSlice(unsafe_from_utf8=octets)).replace(
        "HTTP/1.1 100 Continue\r\n\r\n", ""
    )
    var lines = List[String]()
    for line in text.split("\r\n"):
        if not line.startswith("Date: "):
            lines.append(String(line))
    return "\r\n".join(lines)


comptime TESTS = __functions_in_module()

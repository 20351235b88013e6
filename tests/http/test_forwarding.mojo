"""Tests which fields go on with a message."""

from std.testing import assert_raises

from flare.http import HeaderMap, forwarded_fields
from flare.http.forwarding import CONNECTION_OPTIONS_MAX

from tests.asserting import assert_equal


def test_what_concerns_one_connection_stays_behind() raises:
    var headers = HeaderMap()
    var rows: List[Tuple[String, String]] = [
        ("Host", "a"),
        ("Connection", "close, X-Hop"),
        ("connection", " ,x-other,"),
        ("x-hop", "1"),
        ("X-Hop-Too", "2"),
        ("X-OTHER", "3"),
        ("Keep-Alive", "timeout=5"),
        ("Proxy-Connection", "keep-alive"),
        ("Proxy-Authorization", "Basic x"),
        ("Proxy-Authenticate", "Basic"),
        ("TE", "trailers"),
        ("Trailer", "X"),
        ("Transfer-Encoding", "chunked"),
        ("Upgrade", "websocket"),
        ("Content-Length", "3"),
        ("Expect", "100-continue"),
        ("Authorization", "Basic y"),
        ("Set-Cookie", "a=1"),
        ("Set-Cookie", "b=2"),
        ("Content-Encoding", "gzip"),
    ]
    for row in rows:
        headers.append(row[0], row[1])
    var text = String()
    for line in forwarded_fields(headers.view()):
        text.write(line.name, "=", line.value, ";")
    assert_equal(
        text,
        (
            "X-Hop-Too=2;Authorization=Basic y;Set-Cookie=a=1;"
            "Set-Cookie=b=2;Content-Encoding=gzip;"
        ),
    )


def test_a_name_that_programs_take_for_one_of_these_stays_behind() raises:
    var headers = HeaderMap()
    for name in [
        "Transfer_Encoding",
        "content.length",
        "Keep~Alive",
        "PROXY_AUTHORIZATION",
        "HTTP2_Settings",
    ]:
        headers.append(name, "1")
    for name in ["TransferEncoding", "Content-Lengths", "Hos", "T-E", "Hosts"]:
        headers.append(name, "2")
    assert_equal(len(forwarded_fields(headers.view())), 5)


def test_connection_may_list_32_options() raises:
    var headers = HeaderMap()
    for i in range(CONNECTION_OPTIONS_MAX // 2):
        headers.append("Connection", String("a", i, " ,, b", i, ","))
        headers.append(String("A", i), "1")
        headers.append(String("B", i), "1")
    headers.append("C", "1")
    assert_equal(CONNECTION_OPTIONS_MAX, 32)
    assert_equal(len(forwarded_fields(headers.view())), 1)
    headers.append("Connection", "c")
    with assert_raises(contains="http.bad_connection"):
        _ = forwarded_fields(headers.view())


comptime TESTS = __functions_in_module()

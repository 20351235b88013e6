"""Tests which fields go on with a message."""

from std.testing import assert_equal

from flare.http import HeaderMap, forwarded_fields


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


comptime TESTS = __functions_in_module()

"""Tests that a client keeps cookies, and shows each where it belongs."""

from std.testing import assert_raises

from flare.http import (
    ClientConfig,
    Cookie,
    CookieJar,
    HeaderMap,
    HttpClient,
)

from tests.asserting import assert_equal, assert_true
from tests.client.stand import OK_ANSWER, Ending, Reply, Stand
from tests.tcp.loops import on_each_backend


def test_cookies_come_back_to_who_has_set_them() raises:
    on_each_backend(_kept)


def test_cookies_are_kept_and_shown_along_redirections() raises:
    on_each_backend(_redirected)


def test_what_the_program_shows_stands_alone() raises:
    on_each_backend(_own)


def test_no_cookie_is_kept_without_a_jar() raises:
    on_each_backend(_without)


def test_a_copy_of_a_client_goes_on_with_cookies_of_its_own() raises:
    on_each_backend(_copied)


def _with_jar() -> ClientConfig:
    return ClientConfig(cookies=CookieJar())


def _setting(*fields: StaticString, status: StaticString = "200 OK") -> Reply:
    var text = String("HTTP/1.1 ", status, "\r\nContent-Length: 0\r\n")
    for field in fields:
        text.write("Set-Cookie: ", field, "\r\n")
    text += "\r\n"
    return Reply(text^, Ending.KEEP)


def _ok() -> Reply:
    return Reply(String(OK_ANSWER), Ending.KEEP)


def _shown(stand: Stand, index: Int) raises -> String:
    var request = stand.request(index)
    var at = request.find("Cookie: ")
    if at < 0:
        return String()
    var rest = String(request[byte = at + 8 :])
    return String(rest[byte = : rest.find("\r\n")])


def _kept() raises:
    var replies: List[Reply] = [
        _setting("a=1; Path=/", "b=2; Path=/deep", "c=3; Domain=other.org"),
        _ok(),
        _ok(),
        _setting("a=; Path=/; Max-Age=0"),
        _ok(),
        _setting("s=1"),
        _ok(),
    ]
    var stand = Stand(replies^)
    var client = HttpClient(stand.url(), config=_with_jar())
    _ = client.get("/")
    assert_equal(len(client.cookies()), 2)
    _ = client.get("/deep/er")
    _ = client.post("/", "{}")
    _ = client.get("/deep")
    _ = client.get("/deep")
    # What goes bit by bit, too.
    var stream = client.open("POST", "/")
    stream.end()
    assert_equal(stream.status(), 200)
    assert_equal(len(stream.read_all(10)), 0)
    var again = client.stream("/")
    assert_equal(len(again.read_all(10)), 2)
    client.close_idle()
    assert_equal(_shown(stand, 0), "")
    assert_equal(_shown(stand, 1), "b=2; a=1")
    assert_equal(_shown(stand, 2), "a=1")
    assert_true("Content-Type: application/json" in stand.request(2))
    assert_equal(_shown(stand, 4), "b=2")
    assert_equal(_shown(stand, 5), "")
    assert_equal(_shown(stand, 6), "s=1")
    assert_equal(stand.connections(), 1)
    stand^.join()


def _redirected() raises:
    var second = Stand(List[Reply](length=2, fill=_ok()))
    var there = second.url("/x")
    var away = Reply(
        String(
            (
                "HTTP/1.1 302 X\r\nContent-Length: 0\r\nSet-Cookie: b=2;"
                " Path=/\r\n"
            ),
            "Location: ",
            # Another host: only the name differs.
            "http://localhost:",
            second.port,
            "/x\r\n\r\n",
        ),
        Ending.KEEP,
    )
    var first = Stand(
        [
            Reply(
                String(
                    "HTTP/1.1 302 X\r\nContent-Length: 0\r\nSet-Cookie: a=1;"
                    " Path=/\r\nLocation: /next\r\n\r\n"
                ),
                Ending.KEEP,
            ),
            away^,
            _ok(),
        ]
    )
    var client = HttpClient(config=_with_jar())
    _ = client.get(first.url("/"))
    _ = client.get(first.url("/"))
    # A stand-in serves one connection at a time.
    client.close_idle()
    # Ports do not divide hosts: RFC 6265bis section 8.5.
    _ = client.get(there)
    client.close_idle()
    assert_equal(_shown(first, 1), "a=1")
    assert_equal(_shown(first, 2), "a=1; b=2")
    assert_equal(_shown(second, 0), "")
    assert_equal(_shown(second, 1), "a=1; b=2")
    first^.join()
    second^.join()


def _own() raises:
    var stand = Stand(List[Reply](length=3, fill=_setting("a=1")))
    var client = HttpClient(stand.url(), config=_with_jar())
    client.set_cookie("/", Cookie("mine", "1"))
    _ = client.get("/")
    var headers = HeaderMap()
    headers.set("Cookie", "other=2")
    _ = client.get("/", headers=headers)
    client.close_idle()
    var config = _with_jar()
    config.headers.set("Cookie", "every=3")
    var second = HttpClient(stand.url(), config=config^)
    second.set_cookie("/", Cookie("mine", "1"))
    _ = second.get("/")
    second.close_idle()
    assert_equal(_shown(stand, 0), "mine=1")
    assert_equal(_shown(stand, 1), "other=2")
    assert_equal(_shown(stand, 2), "every=3")
    stand^.join()


def _without() raises:
    var stand = Stand(List[Reply](length=2, fill=_setting("a=1")))
    var client = HttpClient(stand.url())
    _ = client.get("/")
    _ = client.get("/")
    client.close_idle()
    assert_equal(_shown(stand, 1), "")
    assert_equal(len(client.cookies()), 0)
    with assert_raises(contains="client.bad_config prepare"):
        client.set_cookie("/", Cookie("a", "1"))
    stand^.join()


def _copied() raises:
    var stand = Stand(
        [_setting("a=1; Path=/"), _setting("b=2; Path=/"), _ok(), _ok()]
    )
    var client = HttpClient(stand.url(), config=_with_jar())
    _ = client.get("/")
    client.close_idle()
    var other = client.copy()
    _ = other.get("/")
    _ = other.get("/")
    other.close_idle()
    _ = client.get("/")
    client.close_idle()
    assert_equal(_shown(stand, 1), "a=1")
    assert_equal(_shown(stand, 2), "a=1; b=2")
    assert_equal(_shown(stand, 3), "a=1")
    stand^.join()


comptime TESTS = __functions_in_module()

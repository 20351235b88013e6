"""Tests where redirections lead, and what goes there."""

from std.testing import assert_raises

from flare.http import (
    BearerAuth,
    ClientConfig,
    ClientError,
    CookieJar,
    HeaderMap,
    HttpClient,
    RetryPolicy,
)
from flare.http.client.call.redirect import becomes_get, redirection
from flare.message import Method, Url

from tests.asserting import assert_equal, assert_false, assert_true
from tests.client.stand import OK_ANSWER, Ending, Reply, Stand, redirect_to
from tests.tcp.loops import on_each_backend


def test_a_location_leads_to_a_url_of_http_or_nowhere() raises:
    # Location, URL or nothing, whether it leaves the origin.
    var rows: List[Tuple[String, String, Bool]] = []
    rows.append(("/x", "https://h/x", False))
    rows.append(("x", "https://h/a/x", False))
    rows.append(("../x", "https://h/x", False))
    rows.append(("?d", "https://h/a/b?d", False))
    rows.append(("#e", "https://h/a/b?c#e", False))
    rows.append(("", "https://h/a/b?c", False))
    rows.append(("https://H:443/x", "https://h/x", False))
    rows.append(("//other/x", "https://other/x", True))
    rows.append(("http://h/a", "http://h/a", True))
    rows.append(("https://h:444/", "https://h:444/", True))
    rows.append(("https://h.other/", "https://h.other/", True))
    rows.append(("javascript:alert(1)", "", False))
    rows.append(("file:///etc/passwd", "", False))
    rows.append(("ftp://h/", "", False))
    rows.append(("ws://h/", "", False))
    rows.append(("data:text/html,x", "", False))
    rows.append(("https://user@h/", "", False))
    rows.append(("https://h/a b", "https://h/a%20b", False))
    rows.append(("https://h/\u00e4", "https://h/%C3%A4", False))
    rows.append(("x y/../z w", "https://h/a/z%20w", False))
    rows.append(("?\u00e4 b#c d", "https://h/a/b?%C3%A4%20b#c%20d", False))
    rows.append(("//other/ x", "https://other/%20x", True))
    rows.append(("//other/ ", "https://other/", True))
    _check_locations(rows)


def test_the_url_that_is_asked_for_says_whether_the_origin_changes() raises:
    var rows: List[Tuple[String, String, Bool]] = []
    rows.append(('/q"<>', "https://h/q%22%3C%3E", False))
    rows.append(("/ok?q=100%", "https://h/ok?q=100%", False))
    rows.append(("/ok#a#b", "https://h/ok#a#b", False))
    rows.append(("\\ok", "https://h/ok", False))
    rows.append(("/100%", "https://h/100%", False))
    rows.append(("/% 41", "https://h/%%2041", False))
    rows.append(("\\\\other\\x", "https://other/x", True))
    rows.append(("/\t/other/x", "https://other/x", True))
    rows.append(("///h/x", "https://h/x", False))
    rows.append(("https:x", "https://h/a/x", False))
    rows.append(("http:x", "http://x/", True))
    rows.append(("http:\\h", "http://h/", True))
    rows.append(("HTTPS:\\\\H:443\\x", "https://h/x", False))
    rows.append(("//%48/x", "https://h/x", False))
    rows.append(("//h:80/", "https://h:80/", True))
    rows.append(("//h./", "https://h./", True))
    rows.append(("//h%2f/", "", False))
    rows.append(("//h%40other/", "", False))
    rows.append(("/%41 %c3%A4", "https://h/%41%20%c3%A4", False))
    rows.append(("\u00e4://h/", "https://h/a/%C3%A4://h/", False))
    # Nobody knows which host that would be.
    rows.append(("https://a b/", "", False))
    rows.append(("https://h\u2011/", "", False))
    rows.append(("//h\u2011/", "", False))
    rows.append(("//H\u00c4/", "https://xn--h-0fa/", True))
    rows.append(("//h%c3%a4/", "https://xn--h-0fa/", True))
    rows.append(("https://h?a b", "https://h/?a%20b", False))
    for octet in [9, 10, 13]:
        rows.append(
            (
                String("https://h/a", chr(octet), "b c"),
                "https://h/ab%20c",
                False,
            )
        )
    rows.append(("https://h/a\0b", "https://h/a%00b", False))
    rows.append(("https://h/a\x1bb\x7f", "https://h/a%1Bb%7F", False))
    rows.append(("https:///x", "https://x/", True))
    rows.append(("https://h:0x50/", "", False))
    _check_locations(rows)


def test_the_error_says_what_is_wrong_with_a_location() raises:
    var rows: List[Tuple[String, String]] = []
    rows.append(("//m\u2011n.de/", "a letter that is not converted"))
    rows.append(("//u:p@h/", "Location holds user information"))
    rows.append(("//a b/", "names no host"))
    rows.append(("//h:99999/", "names no host"))
    rows.append(("mailto:a@b", "another scheme"))
    rows.append(("ws://h/", "another scheme"))
    for row in rows:
        with assert_raises(contains=row[1]):
            _ = redirection(Url.parse("http://h/"), Method.GET, 302, row[0])


def test_octets_of_a_location_that_are_no_text_are_escaped_one_by_one() raises:
    var location: List[UInt8] = [47, 0xFF, 0x80, 32, 0xC3]
    var next = redirection(
        Url.parse("https://h/"),
        Method.GET,
        302,
        StringSlice(unsafe_from_utf8=Span(location)),
    )
    assert_equal(String(next.url), "https://h/%FF%80%20%C3")


def test_a_location_with_blanks_is_followed_as_browsers_do() raises:
    on_each_backend(_escaped)


def test_a_location_is_read_as_browsers_do() raises:
    on_each_backend(_as_browsers_do)


def test_the_method_changes_as_the_status_says() raises:
    for method in [Method.GET, Method.HEAD]:
        for status in [301, 302, 303, 307, 308]:
            assert_false(becomes_get(status, method), String(status))
    for status in [301, 302, 303]:
        assert_true(becomes_get(status, Method.POST), String(status))
        var changes = status == 303
        assert_equal(becomes_get(status, Method.PUT), changes)
        assert_equal(becomes_get(status, Method.DELETE), changes)
    for status in [307, 308]:
        assert_false(becomes_get(status, Method.POST), String(status))


def test_redirections_are_followed_to_their_limit() raises:
    on_each_backend(_followed)


def test_content_goes_along_or_stays_as_the_status_says() raises:
    on_each_backend(_contents)


def test_credentials_never_leave_their_origin() raises:
    on_each_backend(_credentials)


def test_fields_of_every_request_show_no_secrets_elsewhere() raises:
    on_each_backend(_fields_of_every_request)


def test_a_redirection_to_nowhere_is_an_error() raises:
    on_each_backend(_nowhere)


def test_a_length_without_content_costs_no_connection() raises:
    on_each_backend(_without_content)


def _check_locations(rows: List[Tuple[String, String, Bool]]) raises:
    comptime BASE: StaticString = "https://h/a/b?c"
    for row in rows:
        try:
            var next = redirection(
                Url.parse(BASE), Method.GET, 302, StringSlice(row[0])
            )
            assert_equal(String(next.url), row[1], row[0])
            assert_equal(next.leaves_origin, row[2], row[0])
        except e:
            assert_equal(row[1], "", String(row[0], ": ", e))
            var error = ClientError.of(e).value().copy()
            assert_equal(error.kind, ClientError.BAD_REDIRECT)
            assert_equal(error.status, 302)


def _without_content() raises:
    comptime ANNOUNCED: StaticString = "Content-Length: 100000\r\n\r\n"
    var stand = Stand(
        [
            Reply(
                String("HTTP/1.1 301 X\r\nLocation: /y\r\n", ANNOUNCED),
                Ending.KEEP,
            ),
            Reply(
                String("HTTP/1.1 503 X\r\nRetry-After: 0\r\n", ANNOUNCED),
                Ending.KEEP,
            ),
            Reply(String("HTTP/1.1 200 OK\r\n", ANNOUNCED), Ending.KEEP),
        ]
    )
    var client = HttpClient(
        stand.url(),
        config=ClientConfig(
            retry=RetryPolicy(retries_max=1, delay_ms=1, delay_max_ms=1)
        ),
    )
    assert_equal(client.head("/x").status, 200)
    assert_equal(stand.connections(), 1)
    stand^.join()


def _followed() raises:
    var replies = List[Reply]()
    for i in range(3):
        replies.append(redirect_to(String("/", i + 1)))
    replies.append(Reply(String(OK_ANSWER), Ending.KEEP))
    for _ in range(4):
        replies.append(redirect_to("/loop"))
    replies.append(redirect_to("/left"))
    var stand = Stand(replies^)
    var client = HttpClient(stand.url(), config=ClientConfig(redirects_max=3))
    var response = client.get("/0")
    assert_equal(response.text(), "ok")
    assert_equal(response.redirects(), 3)
    assert_equal(response.url(), stand.url("/3"))
    var failure = Optional[Error](None)
    try:
        _ = client.get("/loop")
    except e:
        failure = e^
    var error = ClientError.of(failure.value()).value().copy()
    assert_equal(error.kind, ClientError.TOO_MANY_REDIRECTS)
    assert_equal(error.status, 302)
    var still = HttpClient(stand.url(), config=ClientConfig(redirects_max=0))
    client.close_idle()
    var first = still.get("/")
    assert_equal(first.status, 302)
    assert_equal(first.text(), "abc")
    # All of it went over one connection each.
    assert_equal(stand.connections(), 2)
    stand^.join()


def _escaped() raises:
    var stand = Stand(
        [
            redirect_to("caf\u00e9 au lait?a b"),
            Reply(String(OK_ANSWER), Ending.KEEP),
        ]
    )
    var client = HttpClient(stand.url())
    var response = client.get("/x/y")
    client.close_idle()
    assert_equal(response.url(), stand.url("/x/caf%C3%A9%20au%20lait?a%20b"))
    var request = stand.request(1)
    assert_true(
        request.startswith("GET /x/caf%C3%A9%20au%20lait?a%20b HTTP/1.1\r\n"),
        request,
    )
    stand^.join()


def _as_browsers_do() raises:
    # Location, what is asked for.
    var rows: List[Tuple[String, String]] = []
    rows.append(('/q"<>', "/q%22%3C%3E"))
    rows.append(("/ok?q=100%", "/ok?q=100%"))
    rows.append(("/ok#a#b", "/ok"))
    rows.append(("\\ok", "/ok"))
    rows.append(("/100%", "/100%"))
    rows.append(("next%", "/next%"))
    rows.append(("", "/next%"))
    rows.append(("http:y\tz", "/yz"))
    var replies = List[Reply]()
    for row in rows:
        replies.append(redirect_to(row[0]))
    replies.append(Reply(String(OK_ANSWER), Ending.KEEP))
    var stand = Stand(replies^)
    var client = HttpClient(
        stand.url(), config=ClientConfig(cookies=CookieJar())
    )
    assert_equal(client.get("/").text(), "ok")
    for i in range(len(rows)):
        assert_true(
            stand.request(i + 1).startswith(
                String("GET ", rows[i][1], " HTTP/1.1\r\n")
            ),
            String(rows[i][0], ": ", stand.request(i + 1)),
        )
    client.close_idle()
    stand^.join()


def _contents() raises:
    for status in [301, 302, 303, 307, 308]:
        var stand = Stand(
            [redirect_to("/y", status), Reply(String(OK_ANSWER), Ending.KEEP)]
        )
        var client = HttpClient(stand.url())
        _ = client.post("/x", "{}")
        var second = stand.request(1)
        if status < 304:
            assert_true(second.startswith("GET /y "), second)
            assert_false("Content-" in second, second)
        else:
            assert_true(second.startswith("POST /y "), second)
            assert_true(second.endswith("application/json\r\n\r\n{}"), second)
        stand^.join()


def _credentials() raises:
    var other = Stand(
        [
            Reply(String(OK_ANSWER), Ending.CLOSE),
            Reply(String(OK_ANSWER), Ending.CLOSE),
        ]
    )
    var stand = Stand([redirect_to("/y"), redirect_to(other.url("/z"))])
    var client = HttpClient(stand.url(), BearerAuth("secret"))
    var headers = HeaderMap()
    headers.append("Cookie", "a=secret")
    headers.append("Proxy-Authorization", "secret")
    headers.append("X-Mine", "1")
    assert_equal(client.get("/x", headers=headers).text(), "ok")
    assert_true("Authorization: Bearer secret\r\n" in stand.request(0))
    assert_true("Authorization: Bearer secret\r\n" in stand.request(1))
    assert_true("Cookie: a=secret\r\n" in stand.request(1))
    assert_false("secret" in other.request(0), other.request(0))
    assert_true("X-Mine: 1\r\n" in other.request(0))
    assert_true(String("Host: 127.0.0.1:", other.port) in other.request(0))
    # Nor where a program asks for another origin than the client's.
    _ = client.get(other.url("/"))
    assert_false("secret" in other.request(1))
    stand^.join()
    other^.join()


def _fields_of_every_request() raises:
    var other = Stand([Reply(String(OK_ANSWER), Ending.CLOSE)])
    var stand = Stand([redirect_to("/y"), redirect_to(other.url("/z"))])
    var headers = HeaderMap()
    headers.append("Authorization", "secret")
    headers.append("Cookie", "a=secret")
    headers.append("Proxy-Authorization", "secret")
    headers.append("X-Mine", "1")
    var client = HttpClient(stand.url(), config=ClientConfig(headers=headers^))
    assert_equal(client.get("/x").text(), "ok")
    for i in range(2):
        assert_true("Authorization: secret\r\n" in stand.request(i))
        assert_true("Cookie: a=secret\r\n" in stand.request(i))
    assert_false("secret" in other.request(0), other.request(0))
    assert_true("X-Mine: 1\r\n" in other.request(0))
    stand^.join()
    other^.join()


def _nowhere() raises:
    for location in ["javascript:alert(1)", "file:///x", "http://u:p@h/"]:
        var stand = Stand(
            [redirect_to(location), Reply(String(OK_ANSWER), Ending.KEEP)]
        )
        var client = HttpClient(stand.url())
        var kind = -1
        try:
            _ = client.get("/")
        except e:
            kind = ClientError.of(e).value().kind
        assert_equal(kind, ClientError.BAD_REDIRECT, location)
        _ = client.get("/")
        stand^.join()


comptime TESTS = __functions_in_module()

"""Tests which origin may see what a client was given in confidence."""

from std.testing import assert_raises

from flare.http import (
    BasicAuth,
    BearerAuth,
    ClientConfig,
    Cookie,
    CookieJar,
    DigestAuth,
    HeaderMap,
    HttpClient,
    Proxy,
    ProxyRules,
    netrc_login,
)
from flare.http.client.credentials.secrets import is_secret, may_see_secrets
from flare.message import Url

from tests.asserting import assert_equal, assert_false, assert_true
from tests.client.stand import (
    OK_ANSWER,
    Ending,
    Reply,
    Stand,
    ok_answers,
    redirect_to,
)
from tests.tcp.loops import on_each_backend


@fieldwise_init
struct Row(Copyable):
    var base: StaticString
    var url: StaticString
    var may_see: Bool


def test_the_origin_of_the_base_url_alone_may_see_secrets() raises:
    var rows: List[Row] = [
        Row("https://a.test", "https://a.test/x?y", True),
        Row("https://a.test", "https://A.TEST:443", True),
        Row("https://a.test/v1", "https://a.test/v2", True),
        Row("http://a.test:80", "http://a.test", True),
        Row("https://a.test", "http://a.test", False),
        Row("http://a.test", "https://a.test", False),
        Row("https://a.test", "http://a.test:443", False),
        Row("https://a.test", "https://a.test:444", False),
        Row("https://a.test", "https://b.a.test", False),
        Row("https://b.a.test", "https://a.test", False),
        Row("https://a.test", "https://a.test.evil.test", False),
        Row("https://a.test", "https://evila.test", False),
        Row("https://a.test", "https://a.test.", False),
        Row("http://127.0.0.1", "http://127.0.0.2", False),
        Row("http://[::1]", "http://[::2]", False),
        Row("", "http://any.test", True),
    ]
    for row in rows:
        var base = Optional[Url](None)
        if row.base:
            base = Url.parse(row.base)
        assert_equal(
            may_see_secrets(base, None, Url.parse(row.url)),
            row.may_see,
            String(row.base, " ", row.url),
        )


def test_a_login_of_a_netrc_file_is_for_its_host() raises:
    var login = netrc_login("default login u password p", "A.test")
    assert_equal(login.value().host.value(), "a.test")
    var shown = Optional(login.value().credentials())
    for row in [
        Row("", "http://a.test", True),
        Row("", "https://a.test:8443/", True),
        Row("", "http://b.test", False),
        Row("", "http://b.a.test", False),
        Row("http://a.test", "http://a.test/x", True),
        Row("http://a.test", "https://a.test/x", False),
        Row("http://b.test", "http://b.test/x", False),
        Row("http://b.test", "http://a.test/x", False),
    ]:
        var base = Optional[Url](None)
        if row.base:
            base = Url.parse(row.base)
        assert_equal(
            may_see_secrets(base, shown, Url.parse(row.url)),
            row.may_see,
            String(row.base, " ", row.url),
        )
    with assert_raises(contains="client.bad_config prepare: the login is for"):
        _ = HttpClient("http://b.test", login.value())
    _ = HttpClient("http://A.test", login.value())
    _ = HttpClient("", login.value())
    assert_false(BasicAuth("u", "p").credentials().host)


def test_names_say_which_fields_are_secrets() raises:
    var none = List[String]()
    for name in [
        "Authorization",
        "COOKIE",
        "Cookie2",
        "proxy-authorization",
        "X-Api-Key",
        "ApiKey",
        "X-Auth-Token",
        "x-csrf-token",
        "X-Amz-Security-Token",
        "PRIVATE-TOKEN",
        "X-Session",
        "X-Session-Id",
        "Client-Secret",
        "X-Password",
        "X_API_KEY",
        "X-Auth-Key",
        "x-functions-key",
        "DD-Application-Key",
        "X-Parse-Master-Key",
        "aeg-sas-key",
        "Signature",
        "X-Goog-IAP-JWT-Assertion",
        "Cf-Access-Jwt-Assertion",
        "X-Auth-Pass",
        "X-Credential",
    ]:
        assert_true(is_secret(name, none), name)
    for name in [
        "X-Mine",
        "Accept",
        "Host",
        "Tokens",
        "Authorization-Info",
        "Idempotency-Key",
        "User-Agent",
        "Keys",
        "X-Monkey",
        "x",
    ]:
        assert_false(is_secret(name, none), name)
    assert_true(is_secret("X-MINE", ["a", "x-mine"]))
    assert_false(is_secret("X-X-Mine", ["x-mine"]))
    assert_false(is_secret("Mine", ["x-mine"]))
    for name in ["", "a b", "a:"]:
        with assert_raises(contains="client.bad_config prepare: a name in"):
            _ = HttpClient(config=ClientConfig(secret_headers=[String(name)]))


def test_configured_secrets_do_not_go_to_other_urls() raises:
    on_each_backend(_other_urls)


def test_configured_secrets_do_not_follow_redirections() raises:
    on_each_backend(_redirected)


def test_without_a_base_url_the_named_origin_sees_secrets() raises:
    on_each_backend(_without_base)


def test_proxy_authorization_goes_to_proxies_alone() raises:
    on_each_backend(_proxies)


def test_a_jar_takes_the_place_of_a_cookie_that_is_not_shown() raises:
    on_each_backend(_jar)


def test_no_challenge_of_a_stranger_is_answered() raises:
    on_each_backend(_challenged)


def _secrets() raises -> HeaderMap:
    var headers = HeaderMap()
    headers.append("Authorization", "hidden")
    headers.append("cookie", "a=hidden")
    headers.append("Proxy-Authorization", "hidden")
    headers.append("X-Api-Key", "hidden")
    headers.append("X-Listed", "hidden")
    headers.append("X-Mine", "1")
    return headers^


def _config() raises -> ClientConfig:
    return ClientConfig(headers=_secrets(), secret_headers=["x-listed"])


def _check_shown(request: String) raises:
    assert_true("Authorization: hidden\r\n" in request, request)
    assert_true("cookie: a=hidden\r\n" in request, request)
    assert_true("X-Api-Key: hidden\r\n" in request, request)
    assert_true("X-Listed: hidden\r\n" in request, request)
    assert_true("X-Mine: 1\r\n" in request, request)
    assert_false("Proxy-Authorization" in request, request)


def _check_hidden(request: String) raises:
    assert_false("hidden" in request, request)
    assert_true("X-Mine: 1\r\n" in request, request)


def _other_urls() raises:
    var other = Stand(ok_answers(3))
    var stand = Stand(ok_answers(3))
    var client = HttpClient(stand.url(), config=_config())
    assert_equal(client.get("/x").text(), "ok")
    _check_shown(stand.request(0))
    # An absolute URL, one that is streamed, and one with content.
    assert_equal(client.get(other.url("/x")).text(), "ok")
    var stream = client.stream(other.url("/y"))
    assert_equal(len(stream.read_all(9)), 2)
    assert_equal(client.post(other.url("/z"), "{}").text(), "ok")
    for i in range(3):
        _check_hidden(other.request(i))
    assert_equal(client.get(stand.url("/y")).text(), "ok")
    _check_shown(stand.request(1))
    # A copy decides as the client does.
    var copy = client.copy()
    client.close_idle()
    assert_equal(copy.get("/z").text(), "ok")
    _check_shown(stand.request(2))
    copy.close_idle()
    stand^.join()
    other^.join()


def _redirected() raises:
    var home = Stand([Reply(String(OK_ANSWER), Ending.CLOSE)])
    var other = Stand([redirect_to(home.url("/z"))])
    var stand = Stand([redirect_to(other.url("/y"))])
    var client = HttpClient(stand.url(), config=_config())
    var headers = _secrets()
    assert_equal(client.get("/x", headers=headers).text(), "ok")
    _check_shown(stand.request(0))
    _check_hidden(other.request(0))
    _check_hidden(home.request(0))
    client.close_idle()
    stand^.join()
    other^.join()
    home^.join()


def _without_base() raises:
    var other = Stand(ok_answers(2))
    var stand = Stand([redirect_to("/y"), redirect_to(other.url("/z"))])
    var client = HttpClient("", BearerAuth("hidden"), config=_config())
    assert_equal(client.get(stand.url("/x")).text(), "ok")
    for i in range(2):
        var request = stand.request(i)
        assert_true("Authorization: Bearer hidden\r\n" in request, request)
        assert_true("X-Api-Key: hidden\r\n" in request, request)
        assert_false("Proxy-Authorization" in request, request)
    _check_hidden(other.request(0))
    # It is a stranger only where it was not named.
    assert_equal(client.get(other.url("/x")).text(), "ok")
    assert_true("Bearer hidden" in other.request(1))
    client.close_idle()
    stand^.join()
    other^.join()


def _proxies() raises:
    # A proxy that carries requests over sees it, whatever the origin.
    var carrier = Stand(
        List[Reply](length=3, fill=Reply(String(OK_ANSWER), Ending.CLOSE))
    )
    var config = _config()
    config.proxies.http = Proxy(Proxy.HTTP, "127.0.0.1", carrier.port)
    config.proxies.direct = ["127.0.0.1"]
    var client = HttpClient("http://far.away", config=config.copy())
    _ = client.get("/x")
    _ = client.get("http://other.away/x")
    var headers = HeaderMap()
    headers.append("Proxy-Authorization", "own")
    _ = client.get("/y", headers=headers)
    for i in range(2):
        var request = carrier.request(i)
        assert_true("Proxy-Authorization: hidden\r\n" in request, request)
    assert_true("\r\nAuthorization: hidden" in carrier.request(0))
    assert_false("\r\nAuthorization: hidden" in carrier.request(1))
    assert_true("Proxy-Authorization: own\r\n" in carrier.request(2))
    # What is asked for without a proxy does not, not even by its own field.
    var stand = Stand(ok_answers(2))
    _ = client.get(stand.url("/x"))
    _ = client.get(stand.url("/y"), headers=headers)
    for i in range(2):
        assert_false("Proxy-Authorization" in stand.request(i))
    # CONNECT carries it, and its user comes before the field.
    for user in [Optional[String](None), Optional(String("u"))]:
        var tunnel = Stand(
            [Reply("HTTP/1.1 403 X\r\nContent-Length: 0\r\n\r\n", Ending.CLOSE)]
        )
        var secure = config.copy()
        secure.proxies = ProxyRules(
            https=Proxy(
                Proxy.HTTP,
                "127.0.0.1",
                tunnel.port,
                user=user.copy(),
                password="p",
            )
        )
        with assert_raises(contains="client.proxy handshake status=403"):
            _ = HttpClient("https://far.away", config=secure^).get("/")
        var asked = tunnel.request(0)
        assert_true(asked.startswith("CONNECT far.away:443 "), asked)
        var shown = "Basic dTpw" if user else "hidden"
        assert_true(String("Proxy-Authorization: ", shown, "\r\n") in asked)
        assert_false("\r\nAuthorization" in asked, asked)
        assert_false("ookie" in asked, asked)
        tunnel^.join()
    client.close_idle()
    carrier^.join()
    stand^.join()


def _jar() raises:
    var stand = Stand(ok_answers(1))
    var other = Stand(ok_answers(1))
    var config = _config()
    config.cookies = CookieJar()
    var client = HttpClient(stand.url(), config=config^)
    client.set_cookie(stand.url("/"), Cookie("b", "jar"))
    _ = client.get("/")
    assert_false("b=jar" in stand.request(0))
    _ = client.get(other.url("/"))
    # By RFC 6265 the port does not matter.
    assert_true("Cookie: b=jar\r\n" in other.request(0), other.request(0))
    client.close_idle()
    stand^.join()
    other^.join()


def _challenged() raises:
    comptime CHALLENGE: StaticString = (
        "HTTP/1.1 401 X\r\nWWW-Authenticate: Digest realm=r, nonce=n,"
        " qop=auth\r\nContent-Length: 0\r\n\r\n"
    )
    var other = Stand(
        [
            Reply(String(CHALLENGE), Ending.KEEP),
            Reply(String(CHALLENGE), Ending.KEEP),
        ]
    )
    var stand = Stand([redirect_to(other.url("/"))])
    var client = HttpClient(stand.url(), DigestAuth("u", "p"))
    assert_equal(client.get("/").status, 401)
    assert_equal(client.get(other.url("/")).status, 401)
    for i in range(2):
        assert_false("Authorization" in other.request(i))
    client.close_idle()
    stand^.join()
    other^.join()


comptime TESTS = __functions_in_module()

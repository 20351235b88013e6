"""Tests which requests of other sites are refused."""

from std.testing import assert_raises

from flare.http import CrossOriginProtection, Handler, Request, Response, ok
from flare.message import HeaderMap
from flare.testing import TestClient

from tests.asserting import assert_equal


def test_changes_are_accepted_from_pages_of_the_own_origin_only() raises:
    # Method, Sec-Fetch-Site, Origin, accepted?
    var rows: List[Tuple[String, String, String, Bool]] = [
        ("POST", "", "", True),
        ("POST", "same-origin", "", True),
        ("POST", "none", "", True),
        ("POST", "same-site", "", False),
        ("POST", "cross-site", "", False),
        ("POST", "Same-Origin", "", False),
        ("POST", "same-origin", "http://other.test", True),
        ("POST", "", "http://a.test", True),
        ("POST", "", "https://A.test", True),
        ("POST", "", "http://a.test:8080", False),
        ("POST", "", "http://other.test", False),
        ("POST", "", "null", False),
        ("PUT", "cross-site", "", False),
        ("DELETE", "", "http://other.test", False),
        ("PURGE", "cross-site", "", False),
        ("GET", "cross-site", "http://other.test", True),
        ("HEAD", "cross-site", "", True),
        ("OPTIONS", "cross-site", "http://other.test", True),
    ]
    for http2 in [False, True]:
        var client = TestClient(CrossOriginProtection(_Inner()), http2=http2)
        for method, site, origin, is_accepted in rows:
            var headers = _fields(site, origin)
            var response = client.request(method, "/", "", headers)
            assert_equal(
                response.status,
                200 if is_accepted else 403,
                String(method, " ", site, " ", origin),
            )


def test_one_of_two_sites_is_another_one() raises:
    var client = TestClient(CrossOriginProtection(_Inner()))
    for second, status in [("same-origin", 200), ("cross-site", 403)]:
        var headers = HeaderMap()
        headers.append("Sec-Fetch-Site", "same-origin")
        headers.append("Sec-Fetch-Site", second)
        assert_equal(client.post("/", "", headers).status, status)


def test_pages_of_trusted_origins_are_accepted() raises:
    # Sec-Fetch-Site, Origin, accepted?
    var rows: List[Tuple[String, String, Bool]] = [
        ("cross-site", "https://sso.example", True),
        ("", "https://sso.example", True),
        ("same-site", "https://SSO.example:443", True),
        ("cross-site", "http://sso.example", False),
        ("cross-site", "https://sso.example:8443", False),
        ("cross-site", "https://sso.example.evil.net", False),
        ("cross-site", "https://x.sso.example", False),
        ("cross-site", "https://a.b.example", True),
        ("cross-site", "https://evilb.example", False),
        ("cross-site", "https://b.example", False),
        ("cross-site", "null", False),
        ("cross-site", "", False),
    ]
    for http2 in [False, True]:
        var client = TestClient(
            CrossOriginProtection(
                _Inner(),
                trusted_origins=["https://sso.example", "https://*.b.example"],
            ),
            http2=http2,
        )
        for site, origin, is_accepted in rows:
            assert_equal(
                client.post("/", "", _fields(site, origin)).status,
                200 if is_accepted else 403,
                String(site, " ", origin),
            )
        var twice = _fields("cross-site", "https://sso.example")
        twice.append("Origin", "https://sso.example")
        assert_equal(client.post("/", "", twice).status, 403)


def test_bypassed_paths_are_those_that_the_router_reads_so() raises:
    var rows: List[Tuple[String, Bool]] = [
        ("/hooks/a", True),
        ("/hooks/a/b?c=d", True),
        ("/%68ooks/a", True),
        ("/callback", True),
        ("/callback/", False),
        ("/CALLBACK", False),
        ("/hooksa", False),
        ("/a/hooks/b", False),
        ("//hooks/a", False),
        ("/hooks/../transfer", False),
        ("/hooks/%2e%2e/transfer", False),
        ("/transfer?/hooks/a", False),
    ]
    for http2 in [False, True]:
        var client = TestClient(
            CrossOriginProtection(_Inner(), bypass=["/hooks/*", "/callback"]),
            http2=http2,
        )
        for path, is_accepted in rows:
            assert_equal(
                client.post(path, "", _fields("cross-site", "")).status,
                200 if is_accepted else 403,
                path,
            )


def test_a_list_that_would_trust_every_page_is_refused_at_once() raises:
    for entry in ["*", "null", "https://a.example/", "a.example"]:
        with assert_raises(contains="message.bad_origin"):
            _ = CrossOriginProtection(_Inner(), trusted_origins=[String(entry)])
    with assert_raises(contains="http.bad_route"):
        _ = CrossOriginProtection(_Inner(), bypass=["hooks"])


comptime TESTS = __functions_in_module()


def _fields(site: String, origin: String) raises -> HeaderMap:
    var fields = HeaderMap()
    fields.append("Host", "a.test")
    if site:
        fields.append("Sec-Fetch-Site", site)
    if origin:
        fields.append("Origin", origin)
    return fields^


@fieldwise_init
struct _Inner(Handler):
    def serve(self, req: Request) raises -> Response:
        return ok("inner")

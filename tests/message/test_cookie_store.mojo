"""Tests for `flare.message.cookie_store` and what it stands on."""

from std.testing import assert_raises

from flare.message import (
    Cookie,
    CookieContext,
    CookieLimits,
    CookieStore,
    PublicSuffixes,
    Url,
)
from flare.message.cookie_scope import (
    default_path,
    domain_matches,
    is_address,
    path_matches,
)

from flare.sys.clock import monotonic_ns

from tests.asserting import assert_equal, assert_false, assert_true

comptime NOW = 1_000_000_000
comptime DAY = 86400


@fieldwise_init
struct Match(Copyable):
    var text: StaticString
    var other: StaticString
    var expected: Bool


@fieldwise_init
struct Visit(Copyable):
    """Says what is set where, and what is sent elsewhere."""

    var set_at: StaticString
    var set_cookie: StaticString
    var asked: StaticString
    var sent: StaticString


def test_domains_match() raises:
    var rows: List[Match] = [
        Match("a.example", "a.example", True),
        Match("b.a.example", "a.example", True),
        Match("ba.example", "a.example", False),
        Match("a.example", "b.a.example", False),
        Match("a.example", "", False),
        Match("a.example", ".example", False),
        Match("1.2.3.4", "1.2.3.4", True),
        Match("1.2.3.4", "3.4", False),
        Match("1.2.3.4", "4", False),
        Match("a.0x10", "0x10", False),
        Match("::1", "::1", True),
        Match("2001:db8::a.b", "b", False),
        Match("a.example.", "example", False),
        Match("a.example", "example.", False),
    ]
    for row in rows:
        assert_equal(
            domain_matches(row.text.as_bytes(), row.other.as_bytes()),
            row.expected,
            row.text,
        )
    for text in ["1.2.3.4", "127.1", "::1", "0x7f.0x1", "a.1.", "0x", "a.09"]:
        assert_true(is_address(text.as_bytes()), text)
    for text in ["a.example", "1.a", "0xg", "a.1b", "", ".", "x0.0xfg"]:
        assert_false(is_address(text.as_bytes()), text)


def test_paths_match() raises:
    var rows: List[Match] = [
        Match("/", "/", True),
        Match("/a", "/", True),
        Match("/a", "/a", True),
        Match("/a/", "/a", True),
        Match("/a/b", "/a", True),
        Match("/ab", "/a", False),
        Match("/a", "/a/", False),
        Match("/a/b", "/a/", True),
        Match("/A", "/a", False),
        Match("/", "/a", False),
    ]
    for row in rows:
        assert_equal(
            path_matches(row.text.as_bytes(), row.other.as_bytes()),
            row.expected,
            row.text,
        )
    var paths: List[Visit] = [
        Visit("/", "", "", ""),
        Visit("/a", "", "", ""),
        Visit("/a/", "/a", "", ""),
        Visit("/a/b", "/a", "", ""),
        Visit("/a/b/", "/a/b", "", ""),
        Visit("", "", "", ""),
    ]
    for row in paths:
        assert_equal(
            StringSlice(unsafe_from_utf8=default_path(row.set_at.as_bytes())),
            row.set_cookie,
        )


def test_cookies_go_to_the_hosts_where_they_belong() raises:
    var rows: List[Visit] = [
        Visit("http://a.test/", "x=1", "http://a.test/", "x=1"),
        Visit("http://a.test/", "x=1", "http://a.test:81/", "x=1"),
        Visit("http://a.test/", "x=1", "http://b.a.test/", ""),
        Visit("http://a.test/", "x=1", "http://b.test/", ""),
        Visit("http://A.test/", "x=1", "http://a.TEST/", "x=1"),
        Visit("http://a.test/", "x=1;Domain=a.test", "http://b.a.test/", "x=1"),
        Visit("http://a.test/", "x=1;Domain=.A.test", "http://a.test/", "x=1"),
        Visit("http://b.a.test/", "x=1;Domain=a.test", "http://a.test/", "x=1"),
        Visit("http://b.a.test/", "x=1;Domain=a.test", "http://ca.test/", ""),
        Visit("http://a.test/", "x=1;Domain=b.a.test", "http://b.a.test/", ""),
        Visit("http://a.test/", "x=1;Domain=b.test", "http://b.test/", ""),
        Visit("http://a.test/", "x=1;Domain=test", "http://a.test/", ""),
        Visit("http://a.test./", "x=1;Domain=test.", "http://b.test./", ""),
        Visit("http://test/", "x=1;Domain=test", "http://test/", "x=1"),
        Visit("http://test/", "x=1;Domain=test", "http://a.test/", ""),
        Visit("http://a.test/", "x=1;Domain=..test", "http://b.test/", ""),
        Visit("http://1.2.3.4/", "x=1;Domain=3.4", "http://1.2.3.4/", ""),
        Visit(
            "http://1.2.3.4/", "x=1;Domain=1.2.3.4", "http://1.2.3.4/", "x=1"
        ),
        Visit("http://1.2.3.4/", "x=1", "http://5.1.2.3.4/", ""),
        Visit("http://[::1]/", "x=1", "http://[::1]/", "x=1"),
    ]
    _check_visits(rows)


def test_paths_and_attributes_bound_cookies() raises:
    var rows: List[Visit] = [
        Visit("http://a.test/", "x=1", "http://a.test/b/c", "x=1"),
        Visit("http://a.test/b/c", "x=1", "http://a.test/b/d?e", "x=1"),
        Visit("http://a.test/b/c", "x=1", "http://a.test/b", "x=1"),
        Visit("http://a.test/b/c", "x=1", "http://a.test/bc", ""),
        Visit("http://a.test/b/c", "x=1", "http://a.test/", ""),
        Visit("http://a.test/b/c", "x=1;Path=/", "http://a.test/", "x=1"),
        Visit("http://a.test/b/c", "x=1;Path=no", "http://a.test/b/", "x=1"),
        Visit("http://a.test/", "x=1;Path=/z", "http://a.test/z/y", "x=1"),
        Visit("http://a.test/", "alone", "http://a.test/", "alone"),
        Visit("http://a.test/", "x=1;HttpOnly", "http://a.test/", "x=1"),
        Visit("https://a.test/", "x=1;Secure", "https://a.test/", "x=1"),
        Visit("https://a.test/", "x=1;Secure", "http://a.test/", ""),
        Visit("http://a.test/", "x=1;Secure", "https://a.test/", ""),
        Visit("wss://a.test/", "x=1;Secure", "https://a.test/", "x=1"),
        Visit("https://a.test/", "x=1;SameSite=None", "https://a.test/", ""),
        Visit(
            "https://a.test/",
            "x=1;SameSite=None;Secure",
            "https://a.test/",
            "x=1",
        ),
        Visit("https://a.test/", "__Secure-x=1", "https://a.test/", ""),
        Visit(
            "https://a.test/",
            "__Secure-x=1;Secure",
            "https://a.test/",
            "__Secure-x=1",
        ),
        Visit("https://a.test/", "__HOST-x=1;Secure", "https://a.test/", ""),
        Visit(
            "https://a.test/",
            "__Host-x=1;Secure;Path=/",
            "https://a.test/",
            "__Host-x=1",
        ),
        Visit(
            "https://a.test/",
            "__Host-x=1;Secure;Path=/;Domain=a.test",
            "https://a.test/",
            "",
        ),
        Visit("https://a.test/", "=__Host-x=1;Secure", "https://a.test/", ""),
        Visit("https://a.test/", "__secure-x;Secure", "https://a.test/", ""),
        Visit("http://a.test/", "x=1;Max-Age=0", "http://a.test/", ""),
        Visit("http://a.test/", "x=1;Max-Age=1", "http://a.test/", "x=1"),
        Visit(
            "http://a.test/",
            "x=1;Max-Age=9;Expires=1 Jan 1990 0:0:0",
            "http://a.test/",
            "x=1",
        ),
        Visit(
            "http://a.test/",
            "x=1;Expires=1 Jan 1990 0:0:0",
            "http://a.test/",
            "",
        ),
        Visit("http://a.test/", "x=1;Expires=never", "http://a.test/", "x=1"),
    ]
    _check_visits(rows)


def test_the_rules_of_public_suffixes_hold() raises:
    var suffixes = PublicSuffixes.parse(
        "// comment\ncom\nco.uk\n*.ck\r\n!www.ck\n\nGitHub.io and more\n*\n"
        "bücher.test\n"
    )
    var rows: List[Match] = [
        Match("com", "", True),
        Match("a.com", "", False),
        Match("co.uk", "", True),
        Match("a.co.uk", "", False),
        Match("uk", "", True),
        Match("x.uk", "", False),
        Match("ck", "", True),
        Match("a.ck", "", True),
        Match("b.a.ck", "", False),
        Match("www.ck", "", False),
        Match("a.www.ck", "", False),
        Match("github.io", "", True),
        Match("me.github.io", "", False),
        Match("co.uk.", "", True),
        Match("com.", "", True),
        Match("", "", True),
    ]
    for row in rows:
        assert_equal(row.text in suffixes, row.expected, row.text)
    var store = CookieStore(suffixes=suffixes^)
    assert_false(_set(store, "http://a.co.uk/", "x=1;Domain=co.uk"))
    assert_true(_set(store, "http://a.co.uk/", "y=1;Domain=a.co.uk"))
    # A server at the suffix itself gets a cookie for itself alone.
    assert_true(_set(store, "http://github.io/", "z=1;Domain=github.io"))
    assert_equal(store.header(Url.parse("http://github.io/"), NOW), "z=1")
    assert_equal(store.header(Url.parse("http://me.github.io/"), NOW), "")


def test_a_cookie_takes_the_place_of_its_like() raises:
    var store = CookieStore()
    for text in [
        "a=1",
        "b=2",
        "a=3",
        "a=4;Path=/p",
        "a=5;Domain=a.test",
        "A=6",
    ]:
        assert_true(_set(store, "http://a.test/", text))
    assert_equal(len(store), 5)
    var url = Url.parse("http://a.test/p/q")
    # The longest path first, then the oldest; a new value is no new cookie.
    assert_equal(store.header(url, NOW), "a=4; a=3; b=2; a=5; A=6")
    assert_true(_set(store, "http://a.test/", "b=;Max-Age=0"))
    assert_true(_set(store, "http://a.test/", "a=x;Expires=1 Jan 1980 1:1:1"))
    assert_equal(store.header(url, NOW), "a=4; a=5; A=6")
    assert_equal(len(store), 3)
    store.clear()
    assert_equal(len(store), 0)
    assert_equal(store.header(url, NOW), "")


def test_cookies_end_in_time() raises:
    var store = CookieStore()
    var url = Url.parse("http://a.test/")
    assert_true(_set(store, "http://a.test/", "a=1;Max-Age=10"))
    assert_true(_set(store, "http://a.test/", "b=1"))
    assert_true(_set(store, "http://a.test/", "c=1;Max-Age=99999999999"))
    assert_true(_set(store, "http://a.test/", "d=1;Expires=1 Jan 2900 0:0:0"))
    assert_equal(store.header(url, NOW + 9), "a=1; b=1; c=1; d=1")
    assert_equal(store.header(url, NOW + 10), "b=1; c=1; d=1")
    assert_equal(len(store), 4)
    store.remove_expired(NOW + 10)
    assert_equal(len(store), 3)
    assert_equal(store.header(url, NOW + 400 * DAY - 1), "b=1; c=1; d=1")
    assert_equal(store.header(url, NOW + 400 * DAY), "b=1")


def test_an_open_connection_hides_no_secure_cookie() raises:
    var rows: List[Visit] = [
        Visit("a=2", "https://a.test/", "http://a.test/", "no"),
        Visit(
            "a=2;Domain=a.test", "https://b.a.test/", "http://b.a.test/", "no"
        ),
        Visit(
            "a=2;Domain=a.test", "https://b.a.test/", "http://c.a.test/", "no"
        ),
        Visit("a=2", "https://a.test/", "http://b.a.test/", "no"),
        Visit("a=2", "https://a.test/", "http://b.test/", "yes"),
        Visit("a=2", "https://a.test/", "https://a.test/", "yes"),
        Visit("b=2", "https://a.test/", "http://a.test/", "yes"),
        Visit("a=2;Path=/p", "https://a.test/", "http://a.test/", "no"),
        Visit("a=2;Path=/", "https://a.test/p/q", "http://a.test/", "yes"),
    ]
    for row in rows:
        var store = CookieStore()
        assert_true(_set(store, row.set_cookie, "a=1;Secure"))
        assert_equal(
            _set(store, row.asked, row.set_at),
            row.sent == "yes",
            String(row.set_at, row.asked),
        )


def test_the_site_that_asks_counts() raises:
    var store = CookieStore()
    var url = Url.parse("https://a.test/")
    for text in [
        "none=1;SameSite=None;Secure",
        "lax=1;SameSite=Lax",
        "strict=1;SameSite=Strict",
        "default=1",
    ]:
        assert_true(_set(store, "https://a.test/", text))
    assert_equal(store.header(url, NOW), "none=1; lax=1; strict=1; default=1")
    assert_equal(
        store.header(url, NOW, CookieContext.NAVIGATION),
        "none=1; lax=1; default=1",
    )
    assert_equal(store.header(url, NOW, CookieContext.CROSS_SITE), "none=1")
    var other = CookieStore()
    for text in ["a=1", "b=1;SameSite=Lax", "c=1;SameSite=Strict"]:
        assert_false(
            _set(other, "https://a.test/", text, CookieContext.CROSS_SITE)
        )
        other.receive(url, text.as_bytes(), NOW, CookieContext.NAVIGATION)
    assert_equal(len(other), 3)


def test_a_domain_keeps_its_newest_and_its_secure_cookies() raises:
    var limits = CookieLimits()
    limits.cookies_per_domain_max = 3
    var store = CookieStore(limits)
    var url = Url.parse("https://a.test/")
    for text in ["s=1;Secure", "a=1;Path=/p", "b=1"]:
        assert_true(_set(store, "https://a.test/", text))
    # Sent since: `a` waits for another path and is the one to go.
    assert_equal(store.header(url, NOW), "s=1; b=1")
    assert_true(_set(store, "https://a.test/", "c=1"))
    assert_equal(
        store.header(Url.parse("https://a.test/p"), NOW), "s=1; b=1; c=1"
    )
    for text in ["d=1;Secure", "e=1;Secure"]:
        assert_true(_set(store, "https://a.test/", text))
    assert_equal(store.header(url, NOW), "s=1; d=1; e=1")
    # What is not Secure pushes out nothing that is.
    assert_true(_set(store, "https://a.test/", "f=1"))
    assert_equal(store.header(url, NOW), "s=1; d=1; e=1")
    # What has expired goes first.
    assert_true(_set(store, "https://a.test/", "s=1;Secure;Max-Age=5"))
    store.receive(url, "g=1;Secure".as_bytes(), NOW + 5)
    assert_equal(store.header(url, NOW + 5), "d=1; e=1; g=1")


def test_the_store_is_bounded_in_all() raises:
    var limits = CookieLimits()
    limits.cookies_max = 3
    var store = CookieStore(limits)
    for host in ["a", "b", "c"]:
        assert_true(_set(store, String("http://", host, ".test/"), "x=1"))
    _ = store.header(Url.parse("http://a.test/"), NOW)
    assert_true(_set(store, "http://d.test/", "x=1"))
    assert_equal(len(store), 3)
    assert_equal(store.header(Url.parse("http://b.test/"), NOW), "")
    assert_equal(store.header(Url.parse("http://a.test/"), NOW), "x=1")
    # Fifty of one domain, 3,000 in all, if nothing else is said.
    var whole = CookieStore()
    for i in range(70):
        for j in range(55):
            _ = _set(whole, String("http://h", i, ".test/"), String(j, "=1"))
    assert_equal(len(whole), 3000)


def test_a_cookie_costs_no_more_in_a_full_store() raises:
    var full = CookieStore()
    var roomy_limits = CookieLimits()
    roomy_limits.cookies_max = 1 << 20
    var roomy = CookieStore(roomy_limits)
    for i in range(3000):
        _ = _set(full, String("http://h", i, ".test/"), "x=1;Max-Age=99999")
    assert_equal(len(full), 3000)
    var best_ratio = 1000
    for turn in range(5):
        var full_ns = _ns_of_cookies(full, turn)
        var roomy_ns = _ns_of_cookies(roomy, turn)
        best_ratio = min(best_ratio, full_ns // max(roomy_ns, 1))
    assert_equal(len(full), 3000)
    # A search of the whole store for each cookie makes it hundreds.
    assert_true(best_ratio < 12, String(best_ratio))


def test_many_secure_cookies_make_no_cookie_dear() raises:
    var store = CookieStore()
    for i in range(60):
        for j in range(50):
            assert_true(
                _set(
                    store,
                    String("https://h", i, ".a.test/"),
                    String("x=1;Secure;Path=/p", j),
                )
            )
    var empty = CookieStore()
    var best_ratio = 1000
    for turn in range(5):
        var full_ns = _ns_of_paths(store, turn)
        var empty_ns = _ns_of_paths(empty, turn)
        best_ratio = min(best_ratio, full_ns // max(empty_ns, 1))
    # A look at each Secure cookie makes it a hundred.
    assert_true(best_ratio < 12, String(best_ratio))
    assert_false(_set(store, "http://a.test/", "x=1;Path=/p49/q"))
    store.clear()
    assert_true(_set(store, "http://a.test/", "x=1;Path=/p49/q"))


def test_the_stalest_cookie_goes_whatever_was_used_meanwhile() raises:
    var limits = CookieLimits()
    limits.cookies_max = 4
    var store = CookieStore(limits)
    for host in ["a", "b", "c", "d", "e"]:
        assert_true(_set(store, String("http://", host, ".test/"), "x=1"))
    # `a` went. Those that are used, or set again, go behind the others.
    assert_equal(store.header(Url.parse("http://b.test/"), NOW), "x=1")
    assert_true(_set(store, "http://c.test/", "x=2"))
    assert_true(_set(store, "http://f.test/", "x=1"))
    assert_true(_set(store, "http://g.test/", "x=1"))
    assert_equal(_hosts_of(store), "bcfg")
    # A cookie that has expired goes before one that is staler.
    assert_true(_set(store, "http://g.test/", "x=1;Max-Age=5"))
    store.receive(Url.parse("http://h.test/"), "x=1".as_bytes(), NOW + 5)
    assert_equal(_hosts_of(store), "bcfh")
    # What a domain loses does not count any more.
    assert_true(_set(store, "http://b.test/", "x=1;Max-Age=0"))
    assert_true(_set(store, "http://i.test/", "x=1"))
    assert_true(_set(store, "http://j.test/", "x=1"))
    assert_equal(_hosts_of(store), "fhij")
    store.clear()
    for host in ["k", "l", "m", "n", "o"]:
        assert_true(_set(store, String("http://", host, ".test/"), "x=1"))
    assert_equal(_hosts_of(store), "lmno")


def test_a_field_is_bounded() raises:
    var limits = CookieLimits()
    limits.header_octets_max = 10
    var store = CookieStore(limits)
    for text in ["a=1", "b=12", "c=1;Path=/p"]:
        assert_true(_set(store, "http://a.test/", text))
    assert_equal(store.header(Url.parse("http://a.test/"), NOW), "a=1; b=12")
    assert_equal(store.header(Url.parse("http://a.test/p"), NOW), "c=1; a=1")


def test_cookies_of_the_program_belong_where_it_says() raises:
    var store = CookieStore()
    store.set(Cookie("a", "1"), NOW)
    store.set(Cookie("b", "2", domain=".A.test"), NOW)
    store.set(Cookie("b", "3", domain="a.test"), NOW)
    store.set(Cookie("c", "4", domain="a.test", max_age=5), NOW)
    assert_equal(store.header(Url.parse("http://x.a.test/"), NOW), "b=3; c=4")
    var names = String()
    for cookie in store.all(NOW):
        names += cookie.name
    assert_equal(names, "abc")
    assert_equal(len(store.all(NOW + 5)), 2)
    for text in ["x;y", "x\r\n", "\x00", "\x7f"]:
        with assert_raises(contains="cookie value at octet "):
            store.set(Cookie("d", text), NOW)
        with assert_raises(contains="cookie name at octet "):
            store.set(Cookie(text, "1"), NOW)
    with assert_raises(contains="cookie name at octet 1: forbidden octet"):
        store.insert(Url.parse("http://a.test/"), Cookie("a=", "1"), NOW)


def _check_visits(rows: List[Visit]) raises:
    for row in rows:
        var store = CookieStore()
        _ = _set(store, row.set_at, row.set_cookie)
        assert_equal(
            store.header(Url.parse(row.asked), NOW),
            row.sent,
            String(row.set_at, " ", row.set_cookie, " ", row.asked),
        )


def _ns_of_cookies(mut store: CookieStore, turn: Int) raises -> Int:
    var urls = List[Url]()
    for i in range(1000):
        urls.append(Url.parse(String("http://t", turn, "-", i, ".test/")))
    var began_ns = monotonic_ns()
    for url in urls:
        store.receive(url, "x=1;Max-Age=9999".as_bytes(), NOW + turn)
    return monotonic_ns() - began_ns


def _ns_of_paths(mut store: CookieStore, turn: Int) raises -> Int:
    var url = Url.parse("http://a.test/")
    var began_ns = monotonic_ns()
    for i in range(200):
        store.receive(url, String("x=1;Path=/q", turn, i).as_bytes(), NOW)
    return monotonic_ns() - began_ns


def _hosts_of(store: CookieStore) -> String:
    var hosts = String()
    for cookie in store.all(NOW):
        hosts += String(cookie.domain[byte=0:1])
    return hosts


def _set(
    mut store: CookieStore,
    url: StringSlice,
    text: StringSlice,
    context: CookieContext = CookieContext.SAME_SITE,
) raises -> Bool:
    var target = Url.parse(url)
    try:
        store.receive(target, text.as_bytes(), NOW, context)
        return True
    except:
        return False


comptime TESTS = __functions_in_module()

"""Tests sessions in cookies and in stores, as a browser sees them."""

from std.testing import assert_raises

from flare.http import App, Cookie, Handler, Request
from flare.session import (
    CookieSessions,
    Encryptor,
    MemorySessions,
    SessionConfig,
    SessionKeeping,
    SessionRecord,
    Sessions,
    Signer,
    SqliteSessions,
)
from flare.session.keeping import key_of
from flare.sqlite import Database
from flare.sys.clock import unix_seconds
from flare.testing import TestClient
from flare.testing.test_server import TestServer

from tests.asserting import assert_equal, assert_false, assert_true

from .browser import Browser, Late, SlowStore, Visit, site
from .protected import NEW, OTHER, keys


def test_a_session_lasts_from_request_to_request() raises:
    check_lasting(CookieSessions(Signer(keys=keys(NEW))), "")
    check_lasting(CookieSessions(Encryptor(keys=keys(NEW))), "")
    check_lasting(MemorySessions(), "the old id is useless")


def test_sessions_in_a_table_of_sqlite() raises:
    for http2 in [False, True]:
        var handler = App.per_worker[make_database](
            Sessions[Visit](site(), SqliteSessions())
        )
        check_browser(
            Browser(TestClient(handler^, http2=http2)), "the old id is useless"
        )


def test_a_handler_that_asks_for_no_session_sends_no_fields() raises:
    for http2 in [False, True]:
        var browser = Browser(
            TestClient(Sessions[Visit](site(), MemorySessions()), http2=http2)
        )
        _ = browser.get("/count")
        var answer = browser.get("/plain")
        for name in [StaticString("Set-Cookie"), "Vary", "Cache-Control"]:
            assert_false(name in answer.headers, name)


def test_a_session_that_is_only_read_is_not_kept() raises:
    var store = MemorySessions()
    var browser = Browser(TestClient(Sessions[Visit](site(), store.copy())))
    var answer = browser.get("/peek")
    assert_equal(String(answer.text()), "new 0 ")
    assert_false("Set-Cookie" in answer.headers)
    # But a cache must not give it to another client.
    assert_equal(answer.headers.get("Vary").value(), "Cookie")
    assert_equal(answer.headers.get("Cache-Control").value(), "private")
    assert_equal(store.count(), 0)


def test_the_fields_of_an_answer_with_a_new_session() raises:
    var browser = Browser(TestClient(Sessions[Visit](site(), MemorySessions())))
    var answer = browser.get("/count")
    var field = String(answer.headers.get("Set-Cookie").value())
    assert_true(field.startswith("__Host-session="), field)
    assert_true(
        field.endswith(
            "; Path=/; Max-Age=43200; Secure; HttpOnly; SameSite=Lax"
        ),
        field,
    )
    assert_equal(answer.headers.get("Vary").value(), "Cookie")
    assert_equal(answer.headers.get("Cache-Control").value(), "private")
    # Nothing has changed since.
    assert_false("Set-Cookie" in browser.get("/peek").headers)
    assert_false("Set-Cookie" in browser.get("/count").headers)
    answer = browser.get("/cached")
    assert_equal(answer.headers.get("Cache-Control").value(), "no-store")


def test_without_tls_the_cookie_has_no_prefix() raises:
    var browser = Browser(
        TestClient(
            Sessions[Visit](
                site(),
                MemorySessions(),
                SessionConfig(name="id", secure=False, absolute_seconds=60),
            )
        )
    )
    var field = String(browser.get("/count").headers.get("Set-Cookie").value())
    assert_true(field.startswith("id="), field)
    assert_true(
        field.endswith("; Path=/; Max-Age=60; HttpOnly; SameSite=Lax"), field
    )
    assert_equal(String(browser.get("/count").text()), "2")


def test_an_id_that_a_client_invents_leads_nowhere() raises:
    var store = MemorySessions()
    var browser = Browser(TestClient(Sessions[Visit](site(), store.copy())))
    var invented = String("A" * 32)
    browser.cookie = String("__Host-session=", invented)
    assert_equal(String(browser.get("/sign-in").text()), "")
    assert_false(invented in browser.cookie, browser.cookie)
    assert_equal(String(browser.get("/peek").text()), "old 0 ann")
    browser.cookie = String("__Host-session=", invented)
    assert_equal(String(browser.get("/peek").text()), "new 0 ")
    assert_equal(store.count(), 1)


def test_a_cookie_that_is_no_session_is_none() raises:
    var signer = Signer(keys=keys(NEW))
    var other = Signer(keys=keys(OTHER))
    var rows: List[String] = [
        "__Host-session=",
        "__Host-session=x",
        "__Host-session=" + "é" * 16,
        "__Host-session=" + "A" * 5000,
        "__Host-session=" + "A" * 32,
        "__Host-session="
        + signer.cookie(Cookie("__Host-session", "1 2 3")).value,
        "__Host-session=" + signer.sign("session __Host-session", "9 9 {}"),
        "__Host-session="
        + other.protect(
            "session __Host-session",
            '1 9999999999 {"count":5,"user":""}',
            now_seconds=unix_seconds(),
        ),
        # Signed, but by another part of the program: no record.
        "__Host-session="
        + signer.protect(
            "session __Host-session", "text", now_seconds=unix_seconds()
        ),
        "__Host-session="
        + signer.protect(
            "session __Host-session", "a b c", now_seconds=unix_seconds()
        ),
    ]
    for http2 in [False, True]:
        var stored = Browser(
            TestClient(Sessions[Visit](site(), MemorySessions()), http2=http2)
        )
        var signed = Browser(
            TestClient(
                Sessions[Visit](site(), CookieSessions(Signer(keys=keys(NEW)))),
                http2=http2,
            )
        )
        for row in rows:
            stored.cookie = row
            var answer = stored.get("/peek")
            assert_equal(answer.status, 200, row)
            assert_equal(String(answer.text()), "new 0 ", row)
            signed.cookie = row
            answer = signed.get("/peek")
            assert_equal(answer.status, 200, row)
            assert_equal(String(answer.text()), "new 0 ", row)


def test_an_error_drops_changes_but_a_destroyed_session_stays_so() raises:
    for http2 in [False, True]:
        var browser = Browser(
            TestClient(Sessions[Visit](site(), MemorySessions()), http2=http2)
        )
        _ = browser.get("/count")
        var answer = browser.get("/raise")
        assert_equal(answer.status, 500)
        assert_equal(answer.headers.get("Vary").value(), "Cookie")
        assert_equal(String(browser.get("/peek").text()), "old 1 ")
        var before = browser.cookie
        answer = browser.get("/out-and-raise")
        assert_equal(answer.status, 500)
        assert_true(
            "Max-Age=0" in String(answer.headers.get("Set-Cookie").value())
        )
        browser.cookie = before
        assert_equal(String(browser.get("/peek").text()), "new 0 ")


def test_a_late_request_does_not_bring_a_destroyed_session_back() raises:
    for path in [StaticString("/late"), "/late-sign-in"]:
        var store = MemorySessions()
        var browser = Browser(
            TestClient(
                Sessions[Visit](Late(site(), store.copy()), store.copy())
            )
        )
        _ = browser.get("/count")
        assert_equal(store.count(), 1)
        var before = browser.cookie
        var answer = browser.get(path)
        assert_equal(answer.status, 200)
        assert_false("Set-Cookie" in answer.headers)
        assert_equal(store.count(), 0)
        assert_equal(browser.cookie, before)


def test_a_client_that_leaves_while_it_signs_out_is_signed_out() raises:
    for path in [StaticString("/sign-out"), "/out-and-raise"]:
        var store = MemorySessions()
        var server = TestServer(Sessions[Visit](site(), SlowStore(store)))
        var answer = server.exchange(_get("/count", ""))
        var cookie = answer.split("Set-Cookie: ")[1].split(";")[0]
        assert_equal(store.count(), 1)
        var peer = server.connect()
        peer.send(_get(path, cookie))
        server.settle()
        peer.close()
        server.advance(10)
        assert_equal(store.count(), 1)
        server.advance(1000)
        server.advance(10)
        assert_equal(store.count(), 0, path)
        server.stop()
        assert_equal(server.remains(), "")


def test_a_store_that_never_answers_does_not_hold_a_sign_out_up() raises:
    var store = MemorySessions()
    var server = TestServer(Sessions[Visit](site(), SlowStore(store, 600_000)))
    var answer = server.exchange(_get("/count", ""))
    var cookie = answer.split("Set-Cookie: ")[1].split(";")[0]
    var peer = server.connect()
    peer.send(_get("/sign-out", cookie))
    server.settle()
    server.advance(6000)
    server.advance(10)
    var octets = server.receive(peer)
    answer = String(StringSlice(unsafe_from_utf8=Span(octets)))
    assert_true(answer.startswith("HTTP/1.1 50"), answer)
    peer.close()
    server.stop()
    assert_equal(server.remains(), "")


def test_a_session_ends_by_idleness_and_in_any_case() raises:
    var now = unix_seconds()
    var rows: List[Tuple[Int, Int, Bool]] = [
        (now - 100, now + 100, True),
        (now - 100, now, False),
        (now - 100, now - 1, False),
        (now - 43_190, now + 100, True),
        (now - 43_201, now + 100, False),
    ]
    for row in rows:
        var store = MemorySessions()
        put(
            store,
            "I" * 32,
            SessionRecord('{"count":7,"user":""}', row[0], row[1]),
        )
        var browser = Browser(TestClient(Sessions[Visit](site(), store.copy())))
        browser.cookie = String("__Host-session=", "I" * 32)
        assert_equal(
            String(browser.get("/peek").text()),
            "old 7 " if row[2] else "new 0 ",
        )


def test_a_session_that_is_only_read_is_extended_now_and_then() raises:
    var now = unix_seconds()
    # Seconds until the end, of 1,800; whether the end moves.
    for row in [(1_799, False), (1_630, False), (1_600, True), (10, True)]:
        var store = MemorySessions()
        put(
            store,
            "I" * 32,
            SessionRecord('{"count":7,"user":""}', now - 5_000, now + row[0]),
        )
        var browser = Browser(TestClient(Sessions[Visit](site(), store.copy())))
        browser.cookie = String("__Host-session=", "I" * 32)
        var answer = browser.get("/peek")
        assert_false("Set-Cookie" in answer.headers)
        var record = (
            store.load(Request("GET", "http://a.test/"), key_of("I" * 32))
            .value()
            .copy()
        )
        assert_equal(record.expires_at >= now + 1_800, row[1])
        assert_equal(record.data, '{"count":7,"user":""}')


def test_data_of_an_earlier_program_begin_a_new_session() raises:
    var now = unix_seconds()
    for data in [StaticString("{}"), "", "[", '{"count":"x","user":""}']:
        var store = MemorySessions()
        put(store, "I" * 32, SessionRecord(String(data), now, now + 100))
        var browser = Browser(TestClient(Sessions[Visit](site(), store.copy())))
        browser.cookie = String("__Host-session=", "I" * 32)
        assert_equal(String(browser.get("/count").text()), "1")
        assert_false("I" * 32 in browser.cookie)
        assert_equal(String(browser.get("/count").text()), "2")


def test_data_that_are_too_large_are_an_error_of_the_program() raises:
    var stored = Browser(TestClient(Sessions[Visit](site(), MemorySessions())))
    var signed = Browser(
        TestClient(
            Sessions[Visit](site(), CookieSessions(Signer(keys=keys(NEW))))
        )
    )
    for row in [(60_000, 200, 500), (2_000, 200, 200), (70_000, 500, 500)]:
        var path = String("/large?", row[0])
        assert_equal(stored.get(path).status, row[1])
        assert_equal(signed.get(path).status, row[2])
    assert_equal(String(stored.get("/length").text()), "2000")
    assert_equal(String(signed.get("/length").text()), "2000")


def test_a_handler_outside_of_the_middleware_gets_an_error() raises:
    var client = TestClient(site())
    assert_equal(client.get("/count").status, 500)


def test_rules_out_of_their_bounds_are_refused() raises:
    for config in [
        SessionConfig(idle_seconds=0),
        SessionConfig(absolute_seconds=0),
        SessionConfig(absolute_seconds=34_560_001),
    ]:
        with assert_raises(contains="session.bad_config"):
            _ = Sessions[Visit](site(), MemorySessions(), config.copy())
    for name in [StaticString(""), "a b", "a;b", "é"]:
        with assert_raises(contains="message.bad_cookie"):
            _ = Sessions[Visit](
                site(),
                MemorySessions(),
                SessionConfig(name=String(name), secure=False),
            )
    with assert_raises(contains="session.bad_store"):
        _ = MemorySessions(sessions_max=0)
    with assert_raises(contains="session.bad_store"):
        _ = MemorySessions(octets_max=1000)


def test_memory_for_sessions_has_a_bound() raises:
    var store = MemorySessions(sessions_max=100)
    var req = Request("GET", "http://a.test/")
    var now = unix_seconds()
    var record = SessionRecord("{}", now, now + 100)
    for i in range(50):
        store.insert(req, String("used ", i), record)
        assert_true(Bool(store.load(req, String("used ", i))))
    for i in range(150):
        store.insert(req, String("unused ", i), record)
        assert_true(store.count() <= 100)
        # A client that begins many sessions displaces its own.
        if i % 25 == 0:
            for j in range(50):
                assert_true(Bool(store.load(req, String("used ", j))))
    var large = MemorySessions(octets_max=128 << 10)
    record.data = "x" * 10_000
    for i in range(40):
        large.insert(req, String(i), record)
    assert_equal(large.count(), 12)


def test_sessions_that_have_ended_leave_the_memory() raises:
    var store = MemorySessions()
    var req = Request("GET", "http://a.test/")
    var now = unix_seconds()
    for i in range(100):
        store.insert(
            req, String("old ", i), SessionRecord("{}", now - 9, now + 99)
        )
    for i in range(100):
        store.touch(req, String("old ", i), now - 1)
    for i in range(10):
        store.insert(req, String("new ", i), SessionRecord("{}", now, now + 99))
    assert_equal(store.count(), 10)


comptime TESTS = __functions_in_module()


def check_lasting[K: SessionKeeping](keeping: K, renewed: String) raises:
    for http2 in [False, True]:
        check_browser(
            Browser(
                TestClient(Sessions[Visit](site(), keeping.copy()), http2=http2)
            ),
            renewed,
        )


def check_browser[H: Handler](var browser: Browser[H], renewed: String) raises:
    assert_equal(String(browser.get("/count").text()), "1")
    assert_equal(String(browser.get("/count").text()), "2")
    var first = browser.cookie
    _ = browser.get("/sign-in")
    assert_true(browser.cookie != first)
    assert_equal(String(browser.get("/peek").text()), "old 2 ann")
    var second = browser.cookie
    if renewed:
        browser.cookie = first
        assert_equal(String(browser.get("/peek").text()), "new 0 ", renewed)
        browser.cookie = second
    assert_equal(String(browser.get("/stream").text()), "ann")
    var answer = browser.get("/sign-out")
    assert_true("Max-Age=0" in String(answer.headers.get("Set-Cookie").value()))
    assert_equal(browser.cookie, "")
    if renewed:
        browser.cookie = second
    assert_equal(String(browser.get("/peek").text()), "new 0 ")
    # What is set after the end belongs to another session.
    _ = browser.get("/sign-in")
    var third = browser.cookie
    assert_equal(String(browser.get("/switch").text()), "")
    assert_true(browser.cookie != third)
    assert_equal(String(browser.get("/peek").text()), "old 0 eve")
    browser.cookie = ""
    assert_equal(String(browser.get("/peek").text()), "new 0 ")
    assert_false("Set-Cookie" in browser.get("/sign-out").headers)


def _get(path: StringSlice, cookie: StringSlice) -> String:
    var text = String("GET ", path, " HTTP/1.1\r\nHost: a\r\n")
    if cookie.byte_length() > 0:
        text.write("Cookie: ", cookie, "\r\n")
    return String(text, "\r\n")


def put(store: MemorySessions, id: String, record: SessionRecord) raises:
    store.insert(Request("GET", "http://a.test/"), key_of(id), record)


def make_database(worker: Int) raises -> Database:
    var database = Database(":memory:")
    SqliteSessions.create_table(database)
    SqliteSessions.create_table(database)
    return database^

"""Tests the handshakes of a client with servers of every kind."""

from flare.http.client import (
    ClientConfig,
    DigestAuth,
    HttpClient,
    Proxy,
    ProxyRules,
)
from flare.runtime.wait import deadline_in
from flare.ws import (
    WsClient,
    WsClientConfig,
    WsError,
)

from tests.asserting import assert_equal, assert_true
from tests.tcp.loops import on_each_backend
from tests.ws.stand_in import (
    ACCEPTED,
    Behavior,
    StandIn,
)


def test_an_answer_that_breaks_the_handshake_is_refused() raises:
    on_each_backend(_broken_handshakes)


def test_a_refusal_shows_its_content_escaped_and_short() raises:
    on_each_backend(_refusals)


def test_redirects_lead_to_the_websocket() raises:
    on_each_backend(_redirects)


def test_a_challenge_is_answered() raises:
    on_each_backend(_challenge)


def test_a_server_that_does_not_answer_the_handshake_is_given_up() raises:
    on_each_backend(_no_answer)


def test_a_proxy_is_asked_for_a_tunnel() raises:
    on_each_backend(_proxy)


def test_urls_and_protocols_are_checked_first() raises:
    on_each_backend(_bad_calls)


def _accepting(behavior: Int = Behavior.ECHO) raises -> StandIn:
    return StandIn(String(ACCEPTED, "\r\n"), behavior=behavior)


def _broken_handshakes() raises:
    comptime HEAD: StaticString = "HTTP/1.1 101 X\r\nConnection: upgrade\r\n"
    var rows: List[Tuple[String, String]] = [
        (
            String(
                HEAD, "Upgrade: websocket\r\nSec-WebSocket-Accept: AAAA\r\n\r\n"
            ),
            "the accept value is wrong",
        ),
        (String(HEAD, "Upgrade: websocket\r\n\r\n"), "accept"),
        (
            String(
                HEAD, "Upgrade: h2c\r\nSec-WebSocket-Accept: $ACCEPT\r\n\r\n"
            ),
            "no upgrade to websocket",
        ),
        (
            String(ACCEPTED, "Sec-WebSocket-Protocol: b\r\n\r\n"),
            "a subprotocol without an offer",
        ),
        (
            String(
                ACCEPTED, "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n"
            ),
            "an extension without an offer",
        ),
        (
            String("HTTP/1.1 101 X\r\nSec-WebSocket-Accept: $ACCEPT\r\n\r\n"),
            "101 without an offer to upgrade",
        ),
        (String("SSH-2.0-x\r\n\r\n"), "ws.handshake"),
        (String("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), "ok"),
    ]
    for row in rows:
        var stand = StandIn(row[0], behavior=Behavior.MUTE)
        try:
            _ = WsClient.connect(stand.url())
            assert_true(False, row[1])
        except e:
            var error = WsError.of(e)
            assert_true(Bool(error), String(e))
            assert_equal(error.value().kind, WsError.HANDSHAKE)
            assert_true(row[1] in String(e), String(e))
        _ = stand^.seen()


def _refusals() raises:
    var content = String("no\x1b[1m\r\n") + String("y") * 6_000
    var stand = StandIn(
        String(
            "HTTP/1.1 403 Forbidden\r\nContent-Length: ",
            content.byte_length(),
            "\r\n\r\n",
            content,
        ),
        behavior=Behavior.MUTE,
    )
    try:
        _ = WsClient.connect(stand.url())
        assert_true(False)
    except e:
        assert_equal(WsError.of(e).value().status, 403)
        var text = String(e)
        assert_true("status=403: no\\x1b[1m\\x0d\\x0ayyy" in text, text)
        assert_equal(text.count("y"), 4096 - 8)
    _ = stand^.seen()


def _redirects() raises:
    for scheme in ["http", "ws", "WS"]:
        var goal = _accepting()
        var stand = StandIn(
            String(
                "HTTP/1.1 307 X\r\nLocation: ",
                scheme,
                "://127.0.0.1:",
                goal.port,
                "/\r\nContent-Length: 0\r\n\r\n",
            ),
            behavior=Behavior.HANG_UP,
        )
        var client = HttpClient(stand.url().replace("ws:", "http:"))
        with WsClient.over(client, "/chat") as ws:
            ws.send_text("hello")
            assert_equal(String(ws.recv_message().as_text()), "hello")
            # Only the connection that redirected counts as the client's.
            assert_equal(client.statistics().open, 1)
        assert_equal(goal^.seen(), "1:5 hello 8:2 (1000)")
        _ = stand^.seen()


def _challenge() raises:
    comptime CHALLENGE: StaticString = (
        'HTTP/1.1 401 X\r\nWWW-Authenticate: Digest realm="a", nonce="n",'
        ' qop="auth"\r\nConnection: close\r\nContent-Length: 0\r\n\r\n'
    )
    var stand = StandIn(String(ACCEPTED, "\r\n"), before=String(CHALLENGE))
    var url = stand.url().replace("ws:", "http:")
    var client = HttpClient(url, DigestAuth("user", "password"))
    with WsClient.over(client, "/") as ws:
        ws.send_text("hello")
        assert_equal(String(ws.recv_message().as_text()), "hello")
    assert_equal(stand^.seen(), "Digest 1:5 hello 8:2 (1000)")
    # Without credentials, it is a refusal.
    var refusing = StandIn(String(CHALLENGE), behavior=Behavior.HANG_UP)
    try:
        _ = WsClient.connect(refusing.url())
        assert_true(False)
    except e:
        assert_equal(WsError.of(e).value().status, 401)
    _ = refusing^.seen()


def _no_answer() raises:
    var stand = StandIn(String("HTTP/1.1 101 X\r\n"), behavior=Behavior.MUTE)
    try:
        with deadline_in(3_000):
            _ = WsClient.connect(
                stand.url(), WsClientConfig(handshake_timeout_ms=50)
            )
        assert_true(False)
    except e:
        assert_true("timeout" in String(e), String(e))
    _ = stand^.seen()


def _proxy() raises:
    var proxy = StandIn(String(ACCEPTED, "\r\n"), is_proxy=True)
    var config = ClientConfig(
        proxies=ProxyRules(http=Proxy(Proxy.HTTP, "127.0.0.1", proxy.port))
    )
    with WsClient.connect(
        "ws://far.away/chat", WsClientConfig(http=config^)
    ) as ws:
        ws.send_text("hello")
        assert_equal(String(ws.recv_message().as_text()), "hello")
    assert_equal(
        proxy^.seen(), "CONNECT far.away:80 HTTP/1.1 1:5 hello 8:2 (1000)"
    )


def _bad_calls() raises:
    var rows: List[Tuple[String, String]] = [
        ("ftp://a/", "client.bad_url"),
        ("ws://", "client.bad_url"),
        ("ws://127.0.0.1:1/#part", "ws.bad_call"),
        ("ws://127.0.0.1:1/", "net.refused connect"),
    ]
    for row in rows:
        try:
            _ = WsClient.connect(row[0])
            assert_true(False, row[0])
        except e:
            assert_true(String(e).startswith(row[1]), String(e))
    try:
        _ = WsClient.connect("ws://a", WsClientConfig(protocols=["a,b"]))
        assert_true(False)
    except e:
        assert_true(String(e).startswith("ws.bad_config"), String(e))


comptime TESTS = __functions_in_module()

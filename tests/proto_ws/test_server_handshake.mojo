"""Tests for `flare.proto.ws.server_handshake`: who may connect."""

from flare.message import HeaderMap
from flare.proto.h1 import Role
from flare.proto.h1.scan import window_of
from flare.proto.ws import (
    DeflatePolicy,
    WsHandshakeError,
    WsOrigins,
    WsServerPolicy,
    accept_value,
    answer_handshake,
    client_key,
    is_key,
)

from tests.asserting import assert_equal, assert_false, assert_true
from tests.proto_ws.request import (
    SAMPLE_ACCEPT,
    SAMPLE_KEY,
    ParsedHead,
    answer_to,
    request,
)

comptime _OK: StaticString = "ok s3pPLMBiTxaQ9kYGzzhZRbK+xOo="


@fieldwise_init
struct Row(Copyable, Movable):
    """Holds a change of a legal request and its answer."""

    var old: String
    var new: String
    var expected: String


def test_the_accept_value_is_that_of_rfc_6455() raises:
    assert_equal(accept_value(SAMPLE_KEY.as_bytes()), SAMPLE_ACCEPT)
    assert_equal(answer_to(request(""), WsServerPolicy()), _OK)


def test_what_a_handshake_lacks_is_answered() raises:
    var no_offer = "426 no offer of websocket"
    var no_key = "400 no key, or a malformed one"
    var version = "426 the version is not 13"
    var rows: List[Row] = [
        Row("Upgrade: websocket\n", "", no_offer),
        Row("Upgrade: websocket\n", "Upgrade: h2c\n", no_offer),
        Row("Upgrade: websocket\n", "Upgrade: websockets\n", no_offer),
        Row("Upgrade: websocket\n", "Upgrade: h2c, WebSocket\n", _OK),
        Row("Upgrade: websocket\n", "Upgrade: h2c\nUpgrade: websocket\n", _OK),
        Row("Connection: Upgrade\n", "", no_offer),
        Row("Connection: Upgrade\n", "Connection: keep-alive\n", no_offer),
        Row("Connection: Upgrade\n", "Connection: keep-alive, upgrade\n", _OK),
        Row("HTTP/1.1", "HTTP/1.0", no_offer),
        Row("GET", "POST", "400 the method is not GET"),
        Row("GET", "HEAD", "400 the method is not GET"),
        Row("Version: 13", "Version: 8", version),
        Row("Version: 13", "Version: 13, 8", version),
        Row("Version: 13", "Version: 013", version),
        Row("Sec-WebSocket-Version: 13\n", "", version),
        Row(
            "Sec-WebSocket-Version: 13\n",
            "Sec-WebSocket-Version: 13\nSec-WebSocket-Version: 13\n",
            version,
        ),
        Row("dGhlIHNhbXBsZSBub25jZQ==", "", no_key),
        Row("dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25jZQ=", no_key),
        Row("dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25jZQ===", no_key),
        Row("dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25jZSE=", no_key),
        Row("dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25j-_==", no_key),
        Row("dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXB=ZSBub25jZQ==", no_key),
        Row("Key: d", "Key: Z", "ok"),
        Row("Sec-WebSocket-Key", "Sec-WebSocket-Keys", no_key),
        Row(
            "Sec-WebSocket-Key",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\nSec-WebSocket-Key",
            no_key,
        ),
        Row("\n\n", "\nContent-Length: 5\n\n", "400 a handshake with content"),
        Row(
            "\n\n",
            "\nTransfer-Encoding: chunked\n\n",
            "400 a handshake with content",
        ),
        Row("\n\n", "\nContent-Length: 0\n\n", _OK),
    ]
    for row in rows:
        var text = request("").replace(row.old, row.new)
        var answer = answer_to(text, WsServerPolicy())
        if row.expected == "ok":
            assert_true(answer.startswith("ok "), row.new)
        else:
            assert_equal(answer, row.expected, row.new)


def test_pages_of_other_hosts_are_refused() raises:
    var refused = "403 the origin is not accepted"
    var rows: List[Row] = [
        Row("example.com", "https://example.com", _OK),
        Row("example.com", "http://EXAMPLE.com", _OK),
        Row("example.com", "https://example.com:443", _OK),
        Row("example.com", "http://example.com:80", _OK),
        Row("example.com", "http://example.com:443", refused),
        Row("example.com:443", "https://example.com", _OK),
        Row("example.com:8080", "http://example.com:8080", _OK),
        Row("example.com:8080", "http://example.com", refused),
        Row("example.com", "http://example.com:8080", refused),
        Row("[::1]:8080", "http://[::1]:8080", _OK),
        Row("example.com", "https://example.com.evil.net", refused),
        Row("example.com", "https://evil.net", refused),
        Row("example.com", "https://notexample.com", refused),
        Row("example.com", "https://example.com/", refused),
        Row("example.com", "https://user@example.com", refused),
        Row("example.com", "example.com", refused),
        Row("example.com", "//example.com", refused),
        Row("example.com", "file://example.com", refused),
        Row("example.com", "https:/", refused),
        Row("example.com", "https:", refused),
        Row("example.com", "https://", refused),
        Row("example.com", "null", refused),
        Row("example.com", "", refused),
        Row("example.com", "https://a\nOrigin: https://example.com", refused),
        Row(
            "example.com",
            "https://example.com\nOrigin: https://example.com",
            refused,
        ),
    ]
    for row in rows:
        var text = request(String("Origin: ", row.new, "\n")).replace(
            "Host: example.com", "Host: " + row.old
        )
        assert_equal(answer_to(text, WsServerPolicy()), row.expected, row.new)
    # Pages that a program lists; a client that is no browser sends no Origin.
    var policy = WsServerPolicy(
        origins=WsOrigins.listed(["https://a.example", "http://b.example:81"])
    )
    for origin in ["https://a.example", "HTTP://b.example:81"]:
        assert_equal(
            answer_to(request(String("Origin: ", origin, "\n")), policy), _OK
        )
    for origin in ["http://a.example", "https://example.com", "null"]:
        assert_equal(
            answer_to(request(String("Origin: ", origin, "\n")), policy),
            refused,
        )
    assert_equal(answer_to(request(""), policy), _OK)
    policy = WsServerPolicy(origins=WsOrigins.any())
    assert_equal(answer_to(request("Origin: null\nOrigin: x\n"), policy), _OK)


def test_the_first_protocol_of_the_server_is_chosen() raises:
    var policy = WsServerPolicy(protocols=["chat.v2", "chat.v1"])
    var field = "Sec-WebSocket-Protocol: "
    var two = String(_OK, ", chat.v2")
    var one = String(_OK, ", chat.v1")
    var rows: List[Row] = [
        Row("", "chat.v1, chat.v2", two),
        Row("", "chat.v2,chat.v1", two),
        Row("", "chat.v1", one),
        Row("", "a, ,chat.v1,", one),
        Row("", "chat.v1\nSec-WebSocket-Protocol: chat.v2", two),
        Row("", "CHAT.V1", _OK),
        Row("", "chat", _OK),
        Row("", "", _OK),
        Row("", "a b", "400 a subprotocol is no token"),
        Row("", 'chat.v1, "b"', "400 a subprotocol is no token"),
    ]
    for row in rows:
        assert_equal(
            answer_to(request(String(field, row.new, "\n")), policy),
            row.expected,
            row.new,
        )
    var many = String("a")
    for _ in range(15):
        many += ", a"
    assert_equal(answer_to(request(String(field, many, "\n")), policy), _OK)
    assert_equal(
        answer_to(request(String(field, many, ", a\n")), policy),
        "400 too many subprotocols",
    )


def test_a_refusal_says_what_the_server_speaks() raises:
    var fields = HeaderMap()
    WsHandshakeError(426, "x").add_fields(fields)
    assert_equal(fields.get("Sec-WebSocket-Version").value(), "13")
    assert_equal(fields.get("Upgrade").value(), "websocket")
    assert_equal(fields.get("Connection").value(), "upgrade")
    fields = HeaderMap()
    WsHandshakeError(403, "x").add_fields(fields)
    assert_equal(len(fields), 0)


def test_an_answer_becomes_the_fields_of_a_101() raises:
    var parsed = ParsedHead(
        Role.SERVER,
        request(
            "Sec-WebSocket-Protocol: a\n"
            "Sec-WebSocket-Extensions: permessage-deflate\n"
        ),
    )
    var answer = answer_handshake(
        parsed.head[],
        window_of(Span(parsed.octets)),
        WsServerPolicy(protocols=["a"], deflate=DeflatePolicy.shared()),
    )
    var fields = HeaderMap()
    answer.add_fields(fields)
    assert_equal(fields.get("Upgrade").value(), "websocket")
    assert_equal(fields.get("Connection").value(), "upgrade")
    assert_equal(fields.get("Sec-WebSocket-Accept").value(), SAMPLE_ACCEPT)
    assert_equal(fields.get("Sec-WebSocket-Protocol").value(), "a")
    assert_equal(
        fields.get("Sec-WebSocket-Extensions").value(),
        (
            "permessage-deflate; server_no_context_takeover;"
            " client_no_context_takeover"
        ),
    )
    assert_equal(len(fields), 5)
    _ = parsed^


def test_a_key_is_made_of_sixteen_octets() raises:
    var random = List[UInt8](length=16, fill=0xFF)
    assert_equal(client_key(Span(random)), "/////////////////////w==")
    assert_true(is_key(client_key(Span(random)).as_bytes()))
    assert_false(is_key("=======================".as_bytes()))


comptime TESTS = __functions_in_module()

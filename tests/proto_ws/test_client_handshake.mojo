"""Tests for `flare.proto.ws.client_handshake`: whom a client believes."""

from flare.message import HeaderMap
from flare.proto.ws import DeflateParameters, WsClientOffer

from tests.asserting import assert_equal, assert_true
from tests.proto_ws.request import SAMPLE_KEY, response, verdict_on


@fieldwise_init
struct Row(Copyable, Movable):
    """Holds a change of a legal response and the verdict."""

    var old: String
    var new: String
    var expected: String


def test_what_a_response_lacks_fails() raises:
    var no_upgrade = "no upgrade to websocket"
    var wrong = "the accept value is wrong"
    var rows: List[Row] = [
        Row("\n\n", "\n\n", "ok"),
        Row("Upgrade: WebSocket", "Upgrade: websocket", "ok"),
        Row("Upgrade: WebSocket", "Upgrade: h2c", no_upgrade),
        Row("Upgrade: WebSocket", "Upgrade: websocket, h2c", no_upgrade),
        Row("Connection: upgrade", "Connection: keep-alive, Upgrade", "ok"),
        Row("Accept: s3", "Accept: S3", wrong),
        Row("xOo=", "xOo", wrong),
        Row("Sec-WebSocket-Accept", "Sec-WebSocket-Accepts", wrong),
        Row(
            "Sec-WebSocket-Accept",
            (
                "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\n"
                "Sec-WebSocket-Accept"
            ),
            wrong,
        ),
    ]
    var offer = WsClientOffer(String(SAMPLE_KEY))
    for row in rows:
        assert_equal(
            verdict_on(response("").replace(row.old, row.new), offer),
            row.expected,
            row.new,
        )
    assert_equal(
        verdict_on("HTTP/1.1 200 OK\nContent-Length: 0\n\n", offer),
        "the status is not 101",
    )


def test_only_an_offered_protocol_is_accepted() raises:
    var offer = WsClientOffer(String(SAMPLE_KEY), protocols=["a", "b"])
    var foreign = "a subprotocol without an offer"
    var field = "Sec-WebSocket-Protocol: "
    assert_equal(verdict_on(response(""), offer), "ok")
    for value in ["a", "b"]:
        assert_equal(
            verdict_on(response(String(field, value, "\n")), offer),
            String("ok, ", value),
        )
    for value in ["A", "c", "a, b", "", "a\nSec-WebSocket-Protocol: a"]:
        assert_equal(
            verdict_on(response(String(field, value, "\n")), offer), foreign
        )
    assert_equal(
        verdict_on(
            response("Sec-WebSocket-Protocol: a\n"),
            WsClientOffer(String(SAMPLE_KEY)),
        ),
        foreign,
    )


def test_only_an_offered_extension_is_accepted() raises:
    var plain = WsClientOffer(String(SAMPLE_KEY))
    var field = "Sec-WebSocket-Extensions: "
    var foreign = "an extension without an offer"
    for value in ["permessage-deflate", "x", "x, permessage-deflate"]:
        assert_equal(
            verdict_on(response(String(field, value, "\n")), plain), foreign
        )
    var offer = WsClientOffer(String(SAMPLE_KEY), deflate=[DeflateParameters()])
    assert_equal(
        verdict_on(response(String(field, "permessage-deflate\n")), offer),
        "ok, permessage-deflate",
    )
    for value in [
        "x",
        "permessage-deflate, x",
        "permessage-deflate, permessage-deflate",
        "permessage-deflate\nSec-WebSocket-Extensions: permessage-deflate",
    ]:
        assert_equal(
            verdict_on(response(String(field, value, "\n")), offer), foreign
        )
    assert_equal(
        verdict_on(response(String(field, "permessage-deflate;\n")), offer),
        "a malformed list of extensions",
    )
    assert_equal(verdict_on(response(""), offer), "ok")


def test_an_offer_becomes_the_fields_of_a_request() raises:
    var offer = WsClientOffer(
        String(SAMPLE_KEY),
        protocols=["a", "b"],
        deflate=[
            DeflateParameters(),
            DeflateParameters(server_no_context_takeover=True),
        ],
    )
    var fields = HeaderMap()
    offer.add_fields(fields)
    assert_equal(fields.get("Upgrade").value(), "websocket")
    assert_equal(fields.get("Connection").value(), "upgrade")
    assert_equal(fields.get("Sec-WebSocket-Version").value(), "13")
    assert_equal(fields.get("Sec-WebSocket-Key").value(), SAMPLE_KEY)
    assert_equal(fields.get("Sec-WebSocket-Protocol").value(), "a, b")
    assert_equal(
        fields.get("Sec-WebSocket-Extensions").value(),
        (
            "permessage-deflate; client_max_window_bits=15, permessage-deflate;"
            " server_no_context_takeover; client_max_window_bits=15"
        ),
    )
    fields = HeaderMap()
    WsClientOffer(String(SAMPLE_KEY)).add_fields(fields)
    assert_equal(len(fields), 4)
    var failed = False
    try:
        WsClientOffer(String(SAMPLE_KEY), protocols=["a\r\nb: c"]).add_fields(
            fields
        )
    except:
        failed = True
    assert_true(failed, "a line end in a protocol")


comptime TESTS = __functions_in_module()

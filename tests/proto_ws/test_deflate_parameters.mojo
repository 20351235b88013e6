"""Tests for `flare.proto.ws.deflate_parameters`: which compression is used."""

from flare.proto.ws import (
    DeflateParameters,
    DeflatePolicy,
    WsClientOffer,
    WsRole,
    WsServerPolicy,
)

from tests.asserting import assert_equal, assert_false, assert_true
from tests.proto_ws.request import (
    SAMPLE_KEY,
    answer_to,
    request,
    response,
    verdict_on,
)

comptime _OK: StaticString = "ok s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
comptime _FIELD: StaticString = "Sec-WebSocket-Extensions: "
comptime _NAME: StaticString = "permessage-deflate"
comptime _SHARED: StaticString = (
    "; server_no_context_takeover; client_no_context_takeover"
)
comptime _MALFORMED: StaticString = "400 a malformed list of extensions"


@fieldwise_init
struct Row(Copyable, Movable):
    """Holds parameters and what comes of them."""

    var given: String
    var expected: String


def test_a_server_that_shares_its_compressor_keeps_no_context() raises:
    var rows: List[Row] = [
        Row("", _SHARED),
        Row("; client_max_window_bits", _SHARED),
        Row(
            "; client_max_window_bits=10",
            _SHARED + "; client_max_window_bits=10",
        ),
        Row("; server_no_context_takeover", _SHARED),
        Row("; client_no_context_takeover", _SHARED),
        Row(
            "; server_max_window_bits=15",
            (
                "; server_no_context_takeover; client_no_context_takeover;"
                " server_max_window_bits=15"
            ),
        ),
        Row(
            "; server_max_window_bits=9",
            (
                "; server_no_context_takeover; client_no_context_takeover;"
                " server_max_window_bits=9"
            ),
        ),
        # zlib compresses with no window of 256 octets.
        Row("; server_max_window_bits=8", "-"),
    ]
    _check_answers(rows, DeflatePolicy.shared())


def test_a_server_with_a_compressor_each_keeps_its_context() raises:
    var rows: List[Row] = [
        Row("", "; server_max_window_bits=12"),
        Row(
            "; client_max_window_bits",
            "; server_max_window_bits=12; client_max_window_bits=12",
        ),
        Row(
            "; client_max_window_bits=9; server_max_window_bits=9",
            "; server_max_window_bits=9; client_max_window_bits=9",
        ),
        Row(
            "; client_max_window_bits=14",
            "; server_max_window_bits=12; client_max_window_bits=12",
        ),
        Row("; server_max_window_bits=15", "; server_max_window_bits=12"),
        Row(
            "; server_no_context_takeover",
            "; server_no_context_takeover; server_max_window_bits=12",
        ),
        Row(
            "; client_no_context_takeover",
            "; client_no_context_takeover; server_max_window_bits=12",
        ),
        # zlib compresses with no window of 256 octets.
        Row("; server_max_window_bits=8", "-"),
    ]
    _check_answers(rows, DeflatePolicy.dedicated(12))


def test_offers_that_rfc_7692_forbids_are_declined() raises:
    for parameters in [
        "; unknown",
        "; unknown=1",
        "; server_no_context_takeover=1",
        "; client_no_context_takeover=true",
        "; server_no_context_takeover; server_no_context_takeover",
        "; client_no_context_takeover; client_no_context_takeover",
        "; client_max_window_bits; client_max_window_bits",
        "; client_max_window_bits=10; client_max_window_bits=10",
        "; server_max_window_bits=10; server_max_window_bits=10",
        "; server_max_window_bits",
        "; server_max_window_bits=7",
        "; server_max_window_bits=16",
        "; server_max_window_bits=010",
        "; server_max_window_bits=+10",
        "; server_max_window_bits=1",
        "; server_max_window_bits=100",
        "; server_max_window_bits=4294967304",
        "; client_max_window_bits=7",
        "; client_max_window_bits=16",
        '; client_max_window_bits="7"',
        "; client_max_window_bits=a",
    ]:
        _check_answers(
            [Row(String(parameters), "-")], DeflatePolicy.dedicated(12)
        )


def test_the_first_offer_that_can_be_accepted_wins() raises:
    var bad = "permessage-deflate; server_max_window_bits=8"
    var good = "permessage-deflate; server_max_window_bits=10"
    var policy = WsServerPolicy(deflate=DeflatePolicy.dedicated(12))
    for list in [
        String(bad, ", ", good),
        String("x-other; a=b; c, ", good, ", permessage-deflate"),
        String(bad, "\n", _FIELD, good),
        String(", ,", good, " ,"),
        String(good.replace("deflate", "Deflate").replace("=10", '="10"')),
        String(good, "; server_no_context_takeover\t;unknown, ", good),
    ]:
        assert_equal(
            answer_to(request(String(_FIELD, list, "\n")), policy),
            String(_OK, ", ", good),
            list,
        )
    # A server that does not compress declines all.
    assert_equal(
        answer_to(request(String(_FIELD, good, "\n")), WsServerPolicy()), _OK
    )


def test_a_malformed_list_is_refused() raises:
    var policies: List[WsServerPolicy] = [
        WsServerPolicy(),
        WsServerPolicy(deflate=DeflatePolicy.shared()),
    ]
    for list in [
        ";",
        "a;",
        "a; ;b",
        "a; =b",
        "a; b=",
        "a; b=,c",
        'a; b="',
        'a; b=""',
        'a; b="c',
        'a; b="c,d"',
        'a; b="c"d',
        "a; b=c d",
        "a b",
        "a; b = c",
        "=",
        '"a"',
        "a/b",
        "permessage-deflate; server_max_window_bits=10;",
    ]:
        for policy in policies:
            assert_equal(
                answer_to(request(String(_FIELD, list, "\n")), policy),
                _MALFORMED,
                list,
            )


def test_the_number_of_extensions_is_bounded() raises:
    var many = String("a")
    for i in range(15):
        many += ", a" if i % 2 == 0 else String("\n", _FIELD, "b; c")
    var policy = WsServerPolicy()
    assert_equal(answer_to(request(String(_FIELD, many, "\n")), policy), _OK)
    assert_equal(
        answer_to(request(String(_FIELD, many, ", a\n")), policy),
        "400 too many extensions",
    )


def test_a_client_accepts_what_answers_its_offer() raises:
    _check_response("", [DeflateParameters()], "")
    _check_response(
        (
            "; server_no_context_takeover; client_no_context_takeover;"
            " server_max_window_bits=8; client_max_window_bits=8"
        ),
        [DeflateParameters()],
        (
            "; server_no_context_takeover; client_no_context_takeover;"
            " server_max_window_bits=8; client_max_window_bits=8"
        ),
    )
    var strict = DeflateParameters(
        server_no_context_takeover=True,
        server_window_bits=UInt8(10),
        client_window_bits=None,
    )
    assert_equal(
        String(strict),
        (
            "permessage-deflate; server_no_context_takeover;"
            " server_max_window_bits=10"
        ),
    )
    _check_response(
        "; server_no_context_takeover; server_max_window_bits=10",
        [strict],
        "; server_no_context_takeover; server_max_window_bits=10",
    )
    for answer in [
        "",
        "; server_no_context_takeover",
        "; server_max_window_bits=10",
        "; server_no_context_takeover; server_max_window_bits=11",
        (
            "; server_no_context_takeover; server_max_window_bits=10;"
            " client_max_window_bits=10"
        ),
    ]:
        _check_response(answer, [strict], "-")
    var limited = DeflateParameters(client_window_bits=UInt8(12))
    _check_response("; client_max_window_bits=13", [limited], "-")
    _check_response(
        "; client_max_window_bits=12", [limited], "; client_max_window_bits=12"
    )


def test_a_client_accepts_what_answers_any_of_its_offers() raises:
    var offers: List[DeflateParameters] = [
        DeflateParameters(server_window_bits=UInt8(12)),
        DeflateParameters(server_no_context_takeover=True),
    ]
    for answer in [
        "; server_max_window_bits=12",
        "; server_no_context_takeover",
        "; server_no_context_takeover; client_no_context_takeover",
        "; server_no_context_takeover; server_max_window_bits=13",
    ]:
        _check_response(answer, offers.copy(), answer)
    for answer in [
        "",
        "; client_no_context_takeover",
        "; server_max_window_bits=13",
    ]:
        _check_response(answer, offers.copy(), "-")


def test_a_client_refuses_parameters_that_no_response_may_have() raises:
    for answer in [
        "; unknown",
        "; client_max_window_bits",
        "; client_max_window_bits=7",
        "; server_max_window_bits=16",
        "; server_max_window_bits",
        "; server_no_context_takeover=1",
        "; server_no_context_takeover; server_no_context_takeover",
        "; server_max_window_bits=10; server_max_window_bits=10",
    ]:
        _check_response(answer, [DeflateParameters()], "-")


def test_parameters_say_what_each_end_does() raises:
    var agreed = DeflateParameters(
        server_no_context_takeover=True,
        server_window_bits=UInt8(9),
        client_window_bits=None,
    )
    assert_equal(agreed.compression_bits(WsRole.SERVER), 9)
    assert_equal(agreed.compression_bits(WsRole.CLIENT), 15)
    assert_false(agreed.keeps_context(WsRole.SERVER))
    assert_true(agreed.keeps_context(WsRole.CLIENT))
    assert_true(agreed == agreed)
    assert_false(agreed == DeflateParameters())


def _check_answers(rows: List[Row], policy: DeflatePolicy) raises:
    for row in rows:
        var expected = String(_OK)
        if row.expected != "-":
            expected += String(", ", _NAME, row.expected)
        assert_equal(
            answer_to(
                request(String(_FIELD, _NAME, row.given, "\n")),
                WsServerPolicy(deflate=policy),
            ),
            expected,
            row.given,
        )


def _check_response(
    answer: String, var offers: List[DeflateParameters], expected: String
) raises:
    var wanted = String(
        "parameters of compression that do not answer the offer"
    )
    if expected != "-":
        wanted = String("ok, ", _NAME, expected)
    assert_equal(
        verdict_on(
            response(String(_FIELD, _NAME, answer, "\n")),
            WsClientOffer(String(SAMPLE_KEY), deflate=offers^),
        ),
        wanted,
        answer,
    )


comptime TESTS = __functions_in_module()

"""Tests the choice of a coding that the peer accepts."""

from flare.http.encoding import (
    AcceptEncoding,
    ContentCoding,
    accept_encoding_of,
    decodable_codings,
)
from flare.http.encoding.latest_accept_encoding import LatestAcceptEncoding
from flare.message import HeaderMap

from tests.asserting import assert_equal, assert_false, assert_true


def test_the_coding_of_the_greatest_weight_is_chosen() raises:
    var rows: List[Tuple[String, String]] = [
        ("gzip", "gzip"),
        ("gzip, br", "br"),
        ("br, gzip", "br"),
        ("gzip;q=1.0, br;q=0.9", "gzip"),
        ("gzip;q=0.001, br;q=0", "gzip"),
        ("GZIP", "gzip"),
        ("x-gzip", "gzip"),
        ("gzip ; q=0.5 , br;q=0.4", "gzip"),
        ("gzip;Q=0.5", "gzip"),
        ("*", "br"),
        ("*;q=0.5, br;q=0", "gzip"),
        ("br;q=0.2, *;q=0.3", "gzip"),
        (",, gzip,", "gzip"),
        ("compress, gzip", "gzip"),
        ("identity;q=0.5, gzip;q=0.4", "identity"),
        ("identity;q=0.5, gzip;q=0.5", "gzip"),
        ("identity, gzip", "gzip"),
        ("gzip;q=1.000", "gzip"),
    ]
    for row in rows:
        assert_equal(_chosen(row[0]), row[1], row[0])


def test_nothing_that_suits_is_identity_unless_it_is_refused() raises:
    var rows: List[Tuple[String, String]] = [
        ("", "identity"),
        (" , ", "identity"),
        ("deflate", "identity"),
        ("gzip;q=0, br;q=0", "identity"),
        ("identity;q=0", "none"),
        ("*;q=0", "none"),
        ("deflate, *;q=0", "none"),
        ("identity;q=0, gzip", "gzip"),
        ("identity;q=0, *", "br"),
        ("*;q=0, identity;q=0.1", "identity"),
        ("*;q=0, gzip;q=0.1", "gzip"),
    ]
    for row in rows:
        assert_equal(_chosen(row[0]), row[1], row[0])


def test_a_member_that_is_not_of_the_grammar_is_not_listed() raises:
    var rows: List[Tuple[String, String]] = [
        ("gzip;q=2", "identity"),
        ("gzip;q=1.1", "identity"),
        ("gzip;q=1.001", "identity"),
        ("gzip;q=0.1234", "identity"),
        ("gzip;q=", "identity"),
        ("gzip;q", "identity"),
        ("gzip;q=a", "identity"),
        ("gzip;q=0,5", "identity"),
        ("gzip;q=-1", "identity"),
        ("gzip;level=1;q=0.5", "identity"),
        ("gzip;q=0.5;level=1", "identity"),
        ("gzip;", "identity"),
        ("g zip", "identity"),
        ("gzip;q=0.", "identity"),
        ("gzip;q=1.", "gzip"),
        ("gzip;q=2, br", "br"),
    ]
    for row in rows:
        assert_equal(_chosen(row[0]), row[1], row[0])


def test_the_smaller_weight_of_a_repeated_coding_counts() raises:
    assert_equal(_chosen("gzip;q=1, gzip;q=0"), "identity")
    assert_equal(_chosen("gzip;q=0, gzip;q=1"), "identity")
    assert_equal(_chosen("x-gzip, gzip;q=0.5, br;q=0.6"), "br")


def test_a_request_without_the_field_gets_identity_and_accepts_all() raises:
    var accepted = AcceptEncoding.of(HeaderMap().view())
    assert_false(accepted.is_present)
    assert_equal(accepted.best([ContentCoding.GZIP]).value().name(), "identity")
    assert_true(accepted.accepts(ContentCoding.GZIP))


def test_lines_of_the_field_are_read_together() raises:
    var headers = HeaderMap()
    headers.append("Accept-Encoding", "br;q=0.1")
    headers.append("accept-encoding", "gzip;q=0.2")
    var accepted = AcceptEncoding.of(headers.view())
    assert_equal(accepted.weight(ContentCoding.BROTLI), 100)
    assert_equal(accepted.weight(ContentCoding.GZIP), 200)
    assert_equal(accepted.weight(ContentCoding.ZSTD), 0)
    assert_true(accepted.accepts(ContentCoding.IDENTITY))


def test_octets_that_are_no_text_are_read_too() raises:
    var octets: List[UInt8] = [0xFF, 0x3B, 0xC3, 0x2C, 0x67, 0x7A, 0x69, 0x70]
    var accepted = AcceptEncoding()
    accepted.add(Span(octets))
    assert_true(accepted.accepts(ContentCoding.GZIP))


def test_a_client_names_what_it_can_decode() raises:
    var codings = decodable_codings()
    assert_equal(accept_encoding_of(codings), "gzip, deflate, br, zstd")
    var accepted = AcceptEncoding.parse(accept_encoding_of(codings))
    for coding in codings:
        assert_equal(accepted.weight(coding), 1000)
    assert_equal(accept_encoding_of(List[ContentCoding]()), "identity")


def test_the_latest_value_is_remembered_and_no_other() raises:
    var latest = LatestAcceptEncoding()
    var long = String("gzip;q=0.7") + ", x" * 100
    for value in ["gzip", "gzip", "", "", "br;q=0.5, gzip", long, long, "gzip"]:
        _check(latest, [String(value)])
        _check(latest, [String(value), "br"])
        _check(latest, [String(value)])
        _check(latest, [])


def _check(mut latest: LatestAcceptEncoding, values: List[String]) raises:
    var fields = HeaderMap()
    fields.append("Host", "localhost")
    for value in values:
        fields.append("Accept-Encoding", value)
    var wanted = AcceptEncoding.of(fields.view())
    ref found = latest.of(fields.view())
    assert_equal(found.is_present, wanted.is_present)
    for number in range(ContentCoding.COUNT):
        var coding = ContentCoding(number)
        assert_equal(found.weight(coding), wanted.weight(coding))


def _chosen(value: String) -> String:
    var best = AcceptEncoding.parse(value).best(
        [ContentCoding.BROTLI, ContentCoding.GZIP]
    )
    return String(best.value()) if best else String("none")


comptime TESTS = __functions_in_module()

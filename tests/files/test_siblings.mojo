"""Tests the choice between a file and its compressed siblings."""

from flare.http import AcceptEncoding, ContentCoding, HeaderMap
from flare.http.files import Siblings

from tests.asserting import assert_equal, assert_false, assert_true


def test_the_sibling_of_the_greatest_weight_is_chosen() raises:
    # The siblings, Accept-Encoding, the chosen coding.
    var rows: List[Tuple[String, String, String]] = [
        ("br zst gz", "br, zstd, gzip", "br"),
        ("br zst gz", "gzip, zstd, br", "br"),
        ("zst gz", "gzip, zstd, br", "zstd"),
        ("gz", "gzip, zstd, br", "gzip"),
        ("br zst gz", "gzip, deflate, br, zstd", "br"),
        ("br zst gz", "gzip, zstd", "zstd"),
        ("br zst gz", "gzip, deflate", "gzip"),
        ("br zst gz", "br;q=1, gzip;q=0.8", "br"),
        ("gz", "br;q=1, gzip;q=0.8", "gzip"),
        ("br gz", "br;q=0.7, gzip;q=0.8", "gzip"),
        ("br zst gz", "br;q=0.5, zstd;q=0.5, gzip;q=0.4", "br"),
        ("br zst gz", "br;q=0, *", "zstd"),
        ("br zst gz", "*", "br"),
        ("gz", "*;q=0.1", "gzip"),
        ("br", "GZIP, BR", "br"),
        ("gz", "x-gzip", "gzip"),
        ("br gz", "gzip;q=0.001", "gzip"),
        ("br gz", "identity;q=0, gzip", "gzip"),
        ("br gz", "identity;q=0.5, gzip;q=0.5", "gzip"),
        ("br gz", "identity;q=0.5, br;q=0.4, gzip;q=0.6", "gzip"),
    ]
    for row in rows:
        assert_equal(_chosen(row[0], row[1]), row[2], row[0] + ": " + row[1])


def test_the_file_itself_is_sent_if_no_sibling_suits() raises:
    var rows: List[Tuple[String, String]] = [
        ("", "br, zstd, gzip"),
        ("", "*"),
        ("br zst gz", ""),
        ("br zst gz", " , "),
        ("br zst gz", "identity"),
        ("br zst gz", "deflate"),
        ("br zst gz", "br;q=0, zstd;q=0, gzip;q=0"),
        ("br zst gz", "*;q=0"),
        ("br zst gz", "identity, gzip;q=0.9"),
        ("br", "gzip, zstd"),
        ("zst", "br, gzip"),
        ("gz", "br, zstd"),
        ("gz", "gzip;q=2"),
        ("gz", "gzip;q=0.0001"),
        # Every representation is refused, and none is 406.
        ("gz", "gzip;q=0, identity;q=0"),
        ("", "identity;q=0"),
        ("br", "identity;q=0, gzip"),
    ]
    for row in rows:
        assert_equal(_chosen(row[0], row[1]), "identity", row[1])


def test_without_the_field_the_file_itself_is_sent() raises:
    var siblings = _siblings("br zst gz")
    assert_equal(
        siblings.choose(AcceptEncoding.of(HeaderMap().view())).name(),
        "identity",
    )


def test_each_coding_has_a_suffix() raises:
    assert_equal(Siblings.suffix(ContentCoding.BROTLI), ".br")
    assert_equal(Siblings.suffix(ContentCoding.ZSTD), ".zst")
    assert_equal(Siblings.suffix(ContentCoding.GZIP), ".gz")
    assert_equal(Siblings.suffix(ContentCoding.DEFLATE), "")
    assert_equal(Siblings.suffix(ContentCoding.IDENTITY), "")


def test_a_set_has_the_codings_that_were_added() raises:
    var siblings = _siblings("br gz")
    assert_true(siblings.has(ContentCoding.BROTLI))
    assert_true(siblings.has(ContentCoding.GZIP))
    assert_false(siblings.has(ContentCoding.ZSTD))
    assert_false(siblings.has(ContentCoding.IDENTITY))
    assert_true(
        siblings.with_coding(ContentCoding.ZSTD).has(ContentCoding.ZSTD)
    )


def _siblings(suffixes: String) -> Siblings:
    var siblings = Siblings.NONE
    for suffix in suffixes.split(" "):
        if suffix == "br":
            siblings = siblings.with_coding(ContentCoding.BROTLI)
        elif suffix == "zst":
            siblings = siblings.with_coding(ContentCoding.ZSTD)
        elif suffix == "gz":
            siblings = siblings.with_coding(ContentCoding.GZIP)
    return siblings


def _chosen(suffixes: String, value: String) -> String:
    return String(
        _siblings(suffixes).choose(AcceptEncoding.parse(value)).name()
    )


comptime TESTS = __functions_in_module()

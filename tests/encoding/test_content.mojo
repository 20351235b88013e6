"""Tests Content-Encoding: its codings in order, and the errors of all this."""

from std.testing import assert_raises

from flare.http.encoding import (
    ContentCoding,
    ContentDecoder,
    DecodingLimits,
    EncodingError,
    compress,
    decode_content,
    decompress,
)
from flare.message import HeaderMap
from flare.net import NetError
from flare.sys.brotli import BROTLI_DECODER_NAMES
from flare.sys.dynamic_library import LibraryFunctions
from tests.asserting import assert_equal, assert_false, assert_true
from tests.encoding.support import (
    all_codings,
    decoded_in_pieces,
    kind_of,
    mixed_octets,
    same,
)


def test_codings_are_undone_from_the_last_to_the_first() raises:
    var octets = mixed_octets(50_000)
    for outer in all_codings():
        for inner in all_codings():
            var coded = compress(Span(compress(Span(octets), inner)), outer)
            var field = String(inner, " , ", outer)
            var content = decode_content(Span(coded), field)
            assert_true(same(Span(content), Span(octets)), field)
            if inner == outer:
                continue
            with assert_raises(contains="encoding."):
                _ = decode_content(Span(coded), String(outer, ",", inner))


def test_three_codings_are_decoded_octet_by_octet() raises:
    var octets = mixed_octets(2000)
    var coded = compress(Span(octets), ContentCoding.BROTLI)
    coded = compress(Span(coded), ContentCoding.ZSTD)
    coded = compress(Span(coded), ContentCoding.GZIP)
    var decoder = ContentDecoder(content_encoding="br, zstd, gzip")
    var content = decoded_in_pieces(decoder, Span(coded), 1, 1)
    assert_true(same(Span(content), Span(octets)))
    for end in range(1, len(coded), 97):
        with assert_raises(contains="encoding.truncated decode"):
            _ = decode_content(Span(coded)[:end], "br, zstd, gzip")


def test_a_list_of_codings_is_read_as_a_list() raises:
    var coded = compress("content".as_bytes())
    for field in ["gzip", "GZip", "x-gzip", ",gzip,,", "identity, gzip"]:
        var content = decode_content(Span(coded), field)
        assert_true(same(Span(content), "content".as_bytes()), field)
    for field in ["", " ", "identity", ", identity ,"]:
        var content = decode_content("content".as_bytes(), field)
        assert_true(same(Span(content), "content".as_bytes()), field)


def test_a_coding_that_is_not_known_is_named_escaped() raises:
    for field in ["compress", "gzip, gzipp", "gzip; q=1", "g\x01zip"]:
        try:
            _ = decode_content("".as_bytes(), field)
            assert_true(False, field)
        except e:
            assert_equal(kind_of(e), EncodingError.UNKNOWN_CODING, String(e))
            assert_false("\x01" in String(e), String(e))
            assert_equal(EncodingError.of(e).value().status(), 415)


def test_the_number_of_codings_is_bounded() raises:
    var octets = mixed_octets(100)
    var coded = octets.copy()
    for _ in range(4):
        coded = compress(Span(coded))
    var content = decode_content(Span(coded), "gzip, gzip, gzip, gzip")
    assert_true(same(Span(content), Span(octets)))
    for field in [
        "gzip, gzip, gzip, gzip, gzip",
        "identity, identity, identity, identity, identity",
    ]:
        try:
            _ = decode_content(Span(coded), field)
            assert_true(False, field)
        except e:
            assert_equal(kind_of(e), EncodingError.TOO_MANY_CODINGS)
            assert_equal(EncodingError.of(e).value().limit, 4)
    var codings: List[ContentCoding] = [ContentCoding.GZIP, ContentCoding.GZIP]
    with assert_raises(contains="encoding.too_many_codings"):
        _ = ContentDecoder(codings, DecodingLimits(codings_max=1))


def test_lines_of_the_field_are_one_list() raises:
    var headers = HeaderMap()
    headers.append("Content-Encoding", "br")
    headers.append("content-encoding", "gzip")
    var coded = compress(
        Span(compress("content".as_bytes(), ContentCoding.BROTLI))
    )
    var decoder = ContentDecoder(fields=headers.view())
    assert_false(decoder.is_identity())
    var content = decoded_in_pieces(decoder, Span(coded), 100, 100)
    assert_true(same(Span(content), "content".as_bytes()))
    assert_equal(decoder.decoded_octets(), 7)
    assert_true(ContentDecoder(fields=HeaderMap().view()).is_identity())


def test_no_octets_are_no_content_but_nothing_compressed() raises:
    for coding in all_codings():
        assert_equal(len(decode_content("".as_bytes(), coding.name())), 0)
        with assert_raises(contains="encoding.truncated decode"):
            _ = decompress("".as_bytes(), coding)


def test_an_error_is_read_back_from_its_text() raises:
    for kind in range(12):
        for coding in ["", "gzip", "zstd"]:
            for limit in [0, 1, 1 << 40]:
                var error = EncodingError(
                    kind, "decode", _constant(coding), limit
                )
                var back = EncodingError.of(Error(String(error))).value()
                assert_true(back == error, String(error))
                var about = EncodingError.of(error.about("a: b".as_bytes()))
                assert_true(about.value() == error, String(error))


def test_texts_of_others_are_not_read() raises:
    for text in [
        "",
        "encoding.",
        "encoding.bad_data",
        "encoding.bad_data open",
        "encoding.worse decode",
        "encoding.bad_data decode lzma",
        "encoding.bad_data decode gzip limit=01",
        "encoding.bad_data decode gzip limit=1 more",
        "net.closed read",
    ]:
        assert_false(Bool(EncodingError.of(Error(text))), text)
    var own = Error(String(EncodingError(EncodingError.RATIO, "decode", "", 1)))
    assert_false(Bool(NetError.of(own)))


def test_errors_tell_what_to_answer() raises:
    var rows: List[Tuple[Int, Int]] = [
        (EncodingError.UNKNOWN_CODING, 415),
        (EncodingError.TOO_MANY_CODINGS, 415),
        (EncodingError.TOO_LARGE, 413),
        (EncodingError.RATIO, 413),
        (EncodingError.BAD_DATA, 400),
        (EncodingError.TRUNCATED, 400),
        (EncodingError.TRAILING_OCTETS, 400),
        (EncodingError.NO_LIBRARY, 500),
        (EncodingError.NO_MEMORY, 500),
        (EncodingError.OTHER, 500),
    ]
    for row in rows:
        assert_equal(EncodingError(row[0], "decode", "", 0).status(), row[1])


def test_a_missing_library_is_one_error_that_names_the_packages() raises:
    comptime names: List[StaticString] = ["BrotliDecoderCreateInstance"]
    comptime nowhere: List[StaticString] = ["libnot.so.1", "libhere.so.1"]
    assert_false(LibraryFunctions[names]("libnothere.so.1").is_loaded)
    assert_false(LibraryFunctions[names].first_of[nowhere]().is_loaded)
    # It is there, but lacks the functions.
    assert_false(LibraryFunctions[names]("libc.so.6").is_loaded)
    assert_true(
        LibraryFunctions[names].first_of[BROTLI_DECODER_NAMES]().is_loaded
    )
    var rows: List[List[String]] = [
        ["gzip", "zlib1g on Debian", "zlib on Fedora", "zlib from Homebrew"],
        ["deflate", "zlib1g on Debian", "zlib on Fedora", "zlib from Homebrew"],
        ["br", "libbrotli1 on Debian", "libbrotli on Fedora", "brotli from"],
        ["zstd", "libzstd1 on Debian", "libzstd on Fedora", "zstd from"],
    ]
    for row in rows:
        var error = EncodingError(
            EncodingError.NO_LIBRARY, "encode", _constant(row[0]), 0
        )
        for part in row:
            assert_true(part in String(error), String(error))


def _constant(name: String) -> StaticString:
    var coding = ContentCoding.of(name)
    return coding.value().name() if coding else StaticString("")


comptime TESTS = __functions_in_module()

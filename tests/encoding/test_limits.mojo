"""Tests that small octets cannot become large content."""

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
from tests.asserting import assert_equal, assert_true
from tests.encoding.support import all_codings, kind_of, mixed_octets

comptime MEGABYTE = 1 << 20


def test_a_gigabyte_out_of_a_megabyte_stops_early() raises:
    var rows: List[Tuple[DecodingLimits, Int, Int]] = [
        (DecodingLimits(), EncodingError.RATIO, 2 * MEGABYTE),
        (
            DecodingLimits(ratio_max=1 << 30),
            EncodingError.TOO_LARGE,
            65 * MEGABYTE,
        ),
    ]
    # A member makes a MiB of a KiB: as many as there are make the content.
    var member = compress(Span(List[UInt8](length=MEGABYTE, fill=0)))
    var bomb = List[UInt8](capacity=1024 * len(member))
    for _ in range(1024):
        bomb.extend(Span(member))
    assert_true(len(bomb) < MEGABYTE + MEGABYTE // 8)
    for row in rows:
        var decoder = ContentDecoder([ContentCoding.GZIP], row[0])
        var seen = _octets_until_error(decoder, Span(bomb), row[1])
        assert_true(seen <= row[2], String(seen))


def test_bombs_of_each_coding_stop_at_the_ratio() raises:
    var zeros = List[UInt8](length=8 * MEGABYTE, fill=0)
    for coding in all_codings():
        var bomb = compress(Span(zeros), coding, 1)
        var decoder = ContentDecoder([coding])
        var seen = _octets_until_error(decoder, Span(bomb), EncodingError.RATIO)
        assert_true(seen <= 2 * MEGABYTE, String(coding, " ", seen))


def test_the_limit_of_the_content_is_inclusive() raises:
    var octets = mixed_octets(5000)
    for coding in all_codings():
        var coded = compress(Span(octets), coding)
        var limits = DecodingLimits(decoded_octets_max=5000)
        assert_equal(len(decompress(Span(coded), coding, limits)), 5000)
        limits.decoded_octets_max = 4999
        try:
            _ = decompress(Span(coded), coding, limits)
            assert_true(False, String(coding))
        except e:
            assert_equal(kind_of(e), EncodingError.TOO_LARGE)
            assert_equal(EncodingError.of(e).value().limit, 4999)
    with assert_raises(contains="encoding.too_large decode limit=4999"):
        _ = decode_content(
            Span(octets), "", DecodingLimits(decoded_octets_max=4999)
        )


def test_the_ratio_counts_behind_the_free_octets() raises:
    var zeros = List[UInt8](length=100_000, fill=0)
    var coded = compress(Span(zeros))
    var ratio = 100_000 // len(coded)
    var rows: List[Tuple[Int, Int, Bool]] = [
        (ratio + 1, 0, True),
        (ratio // 2, 0, False),
        (ratio // 2, 100_000, True),
        (ratio // 2, 99_999, False),
    ]
    for row in rows:
        var limits = DecodingLimits(ratio_max=row[0], ratio_free_octets=row[1])
        try:
            _ = decompress(Span(coded), ContentCoding.GZIP, limits)
            assert_true(row[2], String(row[0], " ", row[1]))
        except e:
            assert_equal(kind_of(e), EncodingError.RATIO, String(e))
            assert_true(not row[2], String(row[0], " ", row[1]))


def test_what_an_inner_coding_swallows_counts() raises:
    # Empty members decode to nothing, however many they are.
    var member = compress("".as_bytes())
    var members = List[UInt8](capacity=4 * MEGABYTE)
    while len(members) < 4 * MEGABYTE:
        members.extend(Span(member))
    var bomb = compress(Span(members), ContentCoding.BROTLI)
    try:
        _ = decode_content(Span(bomb), "gzip, br")
        assert_true(False)
    except e:
        assert_equal(kind_of(e), EncodingError.RATIO, String(e))
        assert_equal(EncodingError.of(e).value().coding, "br")


def test_limits_out_of_their_bounds_are_refused() raises:
    for limits in [
        DecodingLimits(decoded_octets_max=-1),
        DecodingLimits(ratio_max=0),
        DecodingLimits(ratio_free_octets=-1),
        DecodingLimits(codings_max=0),
        DecodingLimits(codings_max=17),
    ]:
        try:
            _ = ContentDecoder([ContentCoding.GZIP], limits)
            assert_true(False)
        except e:
            assert_equal(kind_of(e), EncodingError.BAD_CONFIG, String(e))


def _octets_until_error(
    decoder: ContentDecoder, octets: Span[UInt8, _], kind: Int
) raises -> Int:
    var into = List[UInt8](length=4096, fill=0)
    var start = 0
    while start < len(octets):
        try:
            start += decoder.decode(octets[start:], Span(into)).consumed
        except e:
            assert_equal(kind_of(e), kind, String(e))
            return decoder.decoded_octets()
    raise Error("it was decoded")


comptime TESTS = __functions_in_module()

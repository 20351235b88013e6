"""Tests each coding both ways: whole, in pieces, damaged."""

from std.testing import assert_raises

from flare.http.encoding import (
    ContentCoding,
    ContentDecoder,
    ContentEncoder,
    EncodingError,
    compress,
    decompress,
)
from flare.sys.coding_step import CodingFlush
from tests.asserting import assert_equal, assert_true
from tests.encoding.support import (
    all_codings,
    decoded_in_pieces,
    kind_of,
    mixed_octets,
    octets_of,
    same,
)


def test_what_is_compressed_is_decompressed_to_the_same_octets() raises:
    for coding in all_codings():
        for count in [0, 1, 2, 255, 4096, 70_000, 300_000]:
            var octets = mixed_octets(count)
            var coded = compress(Span(octets), coding)
            var content = decompress(Span(coded), coding)
            assert_true(
                same(Span(content), Span(octets)), String(coding, " ", count)
            )
            if count >= 4096:
                assert_true(len(coded) < count, String(coding, " ", count))


def test_each_level_is_read_back() raises:
    var octets = mixed_octets(4000)
    var rows: List[Tuple[Int, Int, Int]] = [(1, 1, 9), (3, 0, 11), (4, 1, 19)]
    for row in rows:
        var coding = ContentCoding(row[0])
        for level in range(row[1], row[2] + 1):
            var coded = compress(Span(octets), coding, level)
            assert_true(
                same(Span(decompress(Span(coded), coding)), Span(octets))
            )
        for level in [row[1] - 1, row[2] + 1]:
            try:
                _ = compress(Span(octets), coding, level)
                assert_true(False, String(coding, " has no level ", level))
            except e:
                assert_equal(kind_of(e), EncodingError.BAD_CONFIG)


def test_pieces_of_any_size_are_decoded_alike() raises:
    var octets = mixed_octets(3000)
    for coding in all_codings():
        var coded = compress(Span(octets), coding)
        for size in [1, 2, 7, 1000, 5000]:
            for room in [1, 3, 5000]:
                var content = decoded_in_pieces(
                    ContentDecoder([coding]), Span(coded), size, room
                )
                assert_true(
                    same(Span(content), Span(octets)),
                    String(coding, " ", size, " ", room),
                )


def test_nothing_may_come_again_and_again() raises:
    for coding in all_codings():
        var coded = compress("content".as_bytes(), coding)
        var decoder = ContentDecoder([coding])
        var into = List[UInt8](length=100, fill=0)
        _ = decoder.decode(Span(coded)[:5], Span(into))
        for _ in range(100):
            assert_equal(decoder.decode("".as_bytes(), Span(into)).produced, 0)
        var progress = decoder.decode(Span(coded)[5:], Span(into))
        assert_equal(progress.consumed, len(coded) - 5, String(coding))
        decoder.end()
        assert_equal(decoder.decoded_octets(), 7)


def test_every_front_is_truncated() raises:
    var octets = mixed_octets(300)
    for coding in all_codings():
        var coded = compress(Span(octets), coding)
        for end in range(len(coded)):
            try:
                _ = decompress(Span(coded)[:end], coding)
                assert_true(False, String(coding, " ends at ", end))
            except e:
                assert_equal(
                    kind_of(e),
                    EncodingError.TRUNCATED,
                    String(coding, " ", end, " ", e),
                )


def test_octets_behind_the_end_are_refused() raises:
    for coding in all_codings():
        var coded = compress("content".as_bytes(), coding)
        coded.append(0)
        for size in [1, 1000]:
            try:
                _ = decoded_in_pieces(
                    ContentDecoder([coding]), Span(coded), size, 100
                )
                assert_true(False, String(coding))
            except e:
                assert_equal(kind_of(e), EncodingError.TRAILING_OCTETS)


def test_octets_that_are_not_coded_are_refused() raises:
    for coding in all_codings():
        try:
            _ = decompress("<html>plain text</html>".as_bytes(), coding)
            assert_true(False, String(coding))
        except e:
            assert_equal(kind_of(e), EncodingError.BAD_DATA, String(e))


def test_a_wrong_checksum_is_refused() raises:
    var rows: List[Tuple[ContentCoding, Int]] = [
        (ContentCoding.GZIP, 8),
        (ContentCoding.DEFLATE, 4),
    ]
    for row in rows:
        var coded = compress("content".as_bytes(), row[0])
        coded[len(coded) - row[1]] ^= 1
        try:
            _ = decompress(Span(coded), row[0])
            assert_true(False, String(row[0]))
        except e:
            assert_equal(kind_of(e), EncodingError.BAD_DATA)


def test_after_an_error_the_same_error_comes_again() raises:
    var decoder = ContentDecoder([ContentCoding.GZIP])
    var into = List[UInt8](length=100, fill=0)
    for _ in range(2):
        with assert_raises(contains="encoding.bad_data decode gzip"):
            _ = decoder.decode("not gzip".as_bytes(), Span(into))
    with assert_raises(contains="encoding.bad_data decode gzip"):
        decoder.end()


def test_members_of_gzip_are_one_content() raises:
    var coded = compress("one ".as_bytes())
    coded.extend(Span(compress("".as_bytes())))
    coded.extend(Span(compress("two".as_bytes())))
    for size in [1, 3, 1000]:
        var content = decoded_in_pieces(
            ContentDecoder([ContentCoding.GZIP]), Span(coded), size, 2
        )
        assert_true(same(Span(content), "one two".as_bytes()))
    coded.append(0x1F)
    with assert_raises(contains="encoding.truncated decode gzip"):
        _ = decompress(Span(coded))
    coded.append(0x8C)
    with assert_raises(contains="encoding.trailing_octets decode gzip"):
        _ = decompress(Span(coded))


def test_a_gzip_header_may_have_every_field() raises:
    # Flags: text, header checksum, extra field, name, comment.
    var coded = octets_of(
        "1f8b 08 1f 00000000 00 03 0200 4142 6e616d6500 6e6f746500 "
    )
    var crc = _crc32(Span(coded))
    coded.append(UInt8(crc & 255))
    coded.append(UInt8((crc >> 8) & 255))
    coded.extend(Span(octets_of("01 0500 faff 68656c6c6f 86a61036 05000000")))
    assert_true(same(Span(decompress(Span(coded))), "hello".as_bytes()))


def test_deflate_is_read_with_and_without_the_zlib_header() raises:
    var rows: List[String] = [
        # Stored, without a header.
        "01 0500 faff 68656c6c6f",
        # Fixed codes, without a header.
        "cb48cdc9c90700",
        # With a header, and a checksum.
        "789c cb48cdc9c90700 062c0215",
    ]
    for row in rows:
        var coded = octets_of(row)
        for size in [1, 100]:
            var content = decoded_in_pieces(
                ContentDecoder([ContentCoding.DEFLATE]), Span(coded), size, 3
            )
            assert_true(same(Span(content), "hello".as_bytes()), row)
    with assert_raises(contains="encoding.trailing_octets decode deflate"):
        _ = decompress(
            Span(octets_of("cb48cdc9c90700 00")), ContentCoding.DEFLATE
        )


def test_frames_of_zstd_are_one_content_and_some_are_skipped() raises:
    var coded = compress("one ".as_bytes(), ContentCoding.ZSTD)
    coded.extend(Span(octets_of("5a2a4d18 03000000 616263")))
    coded.extend(Span(compress("two".as_bytes(), ContentCoding.ZSTD)))
    for size in [1, 5, 1000]:
        var content = decoded_in_pieces(
            ContentDecoder([ContentCoding.ZSTD]), Span(coded), size, 2
        )
        assert_true(same(Span(content), "one two".as_bytes()))
    coded.extend(Span(octets_of("28b52f")))
    with assert_raises(contains="encoding.truncated decode zstd"):
        _ = decompress(Span(coded), ContentCoding.ZSTD)
    coded.append(0)
    with assert_raises(contains="encoding.trailing_octets decode zstd"):
        _ = decompress(Span(coded), ContentCoding.ZSTD)


def test_a_frame_of_zstd_inside_another_is_its_content() raises:
    # What stands behind the fifth octet is a whole frame, but begins none.
    var coded = octets_of("28b52ffd 20 28b52ffd 00 50 010000")
    for first in range(1, 14):
        var decoder = ContentDecoder([ContentCoding.ZSTD])
        var into = List[UInt8](length=100, fill=0)
        with assert_raises(contains="encoding.bad_data decode zstd"):
            _ = decoder.decode(Span(coded)[:first], Span(into))
            _ = decoder.decode(Span(coded)[first:], Span(into))


def test_headers_of_frames_have_any_length() raises:
    # Single segment or window, and the content's size in 0 to 8 octets.
    var rows: List[String] = [
        "28b52ffd 00 50 090000 61",
        "28b52ffd 20 01 090000 61",
        "28b52ffd 80 50 01000000 090000 61",
        "28b52ffd a0 01000000 090000 61",
        "28b52ffd c0 50 0100000000000000 090000 61",
        "28b52ffd e0 0100000000000000 090000 61",
        # A dictionary of the number 0 is none.
        "28b52ffd e3 00000000 0100000000000000 090000 61",
        "28b52ffd 01 50 00 090000 61",
    ]
    for row in rows:
        var coded = octets_of(row)
        for size in [1, 6, 100]:
            var content = decoded_in_pieces(
                ContentDecoder([ContentCoding.ZSTD]), Span(coded), size, 3
            )
            assert_true(same(Span(content), "a".as_bytes()), row)


def test_zstd_with_a_window_over_8_mib_is_refused() raises:
    # One raw block of one octet; the descriptor of the window is the last
    # octet of the header.
    var allowed = octets_of("28b52ffd 00 68 090000 61")
    assert_equal(len(decompress(Span(allowed), ContentCoding.ZSTD)), 1)
    var refused = octets_of("28b52ffd 00 69 090000 61")
    with assert_raises(contains="encoding.bad_data decode zstd"):
        _ = decompress(Span(refused), ContentCoding.ZSTD)


def test_what_was_flushed_can_be_read() raises:
    for coding in all_codings():
        var encoder = ContentEncoder(coding)
        var decoder = ContentDecoder([coding])
        var into = List[UInt8](length=200, fill=0)
        for i in range(20):
            var text = String("line ", i, "\n")
            var coded = List[UInt8]()
            encoder.append(text.as_bytes(), coded, CodingFlush.SYNC)
            var progress = decoder.decode(Span(coded), Span(into))
            assert_true(
                same(Span(into)[: progress.produced], text.as_bytes()),
                String(coding, " ", i),
            )
        var rest = List[UInt8]()
        encoder.append("".as_bytes(), rest, CodingFlush.FINISH)
        assert_equal(decoder.decode(Span(rest), Span(into)).produced, 0)
        decoder.end()
        with assert_raises(contains="encoding.ended encode"):
            encoder.append("more".as_bytes(), rest)


def test_an_encoder_codes_in_pieces_and_again() raises:
    var octets = mixed_octets(10_000)
    for coding in all_codings():
        var encoder = ContentEncoder(coding)
        for room in [1, 13, 100_000]:
            var into = List[UInt8](length=room, fill=0)
            var coded = List[UInt8]()
            var start = 0
            while True:
                var progress = encoder.encode(
                    Span(octets)[start:], Span(into), CodingFlush.FINISH
                )
                coded.extend(Span(into)[: progress.produced])
                start += progress.consumed
                if progress.produced < room:
                    break
            var content = decompress(Span(coded), coding)
            assert_true(same(Span(content), Span(octets)), String(coding))
            encoder.reset()


def _crc32(octets: Span[UInt8, _]) -> UInt32:
    var crc = UInt32.MAX
    for octet in octets:
        crc ^= UInt32(octet)
        for _ in range(8):
            crc = (crc >> 1) ^ (UInt32(0xEDB88320) if crc & 1 == 1 else 0)
    return ~crc


comptime TESTS = __functions_in_module()

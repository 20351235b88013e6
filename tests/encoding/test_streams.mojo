"""Tests readers that decode and writers that code."""

from std.testing import assert_raises

from flare.http.encoding import (
    ContentCoding,
    ContentDecoder,
    DecodingReader,
    EncodingError,
    EncodingWriter,
    compress,
    decompress,
)
from flare.io import MemoryReader, MemoryWriter, copy
from tests.asserting import assert_equal, assert_true
from tests.encoding.support import all_codings, kind_of, mixed_octets, same


def test_a_reader_decodes_what_comes_in_any_pieces() raises:
    var octets = mixed_octets(40_000)
    for coding in all_codings():
        for piece in [1, 1000, 1 << 20]:
            var reader = DecodingReader(
                MemoryReader(
                    compress(Span(octets), coding), piece_octets_max=piece
                ),
                ContentDecoder([coding]),
            )
            var writer = MemoryWriter(piece_octets_max=333)
            assert_equal(copy(reader, writer, 40_000), 40_000)
            assert_true(same(Span(writer.octets()), Span(octets)))
            var into = List[UInt8](length=10, fill=0)
            assert_equal(reader.read(Span(into)), 0)
            assert_equal(reader.read(Span(into)[:0]), 0)


def test_a_reader_reports_an_early_end() raises:
    var coded = compress("content".as_bytes())
    _ = coded.pop()
    var reader = DecodingReader(
        MemoryReader(coded^), ContentDecoder([ContentCoding.GZIP])
    )
    var into = List[UInt8](length=100, fill=0)
    assert_equal(reader.read(Span(into)), 7)
    for _ in range(2):
        with assert_raises(contains="encoding.truncated decode gzip"):
            _ = reader.read(Span(into))


def test_a_writer_codes_and_close_ends_the_content() raises:
    var octets = mixed_octets(200_000)
    for coding in all_codings():
        var writer = EncodingWriter(MemoryWriter(piece_octets_max=999), coding)
        writer.write_all(Span(octets))
        writer.close()
        writer.close()
        var coded = writer.writer().octets()
        assert_true(len(coded) < 200_000)
        assert_true(same(Span(decompress(Span(coded), coding)), Span(octets)))
        try:
            writer.write_all("more".as_bytes())
            assert_true(False)
        except e:
            assert_equal(kind_of(e), EncodingError.ENDED)


def test_a_writer_that_is_flushed_holds_nothing_back() raises:
    for coding in all_codings():
        var writer = EncodingWriter(MemoryWriter(), coding)
        writer.write_all("early".as_bytes())
        writer.flush()
        var decoder = ContentDecoder([coding])
        var into = List[UInt8](length=100, fill=0)
        var coded = writer.writer().octets()
        assert_equal(decoder.decode(Span(coded), Span(into)).produced, 5)
        with assert_raises(contains="encoding.truncated"):
            decoder.end()


def test_a_writer_that_takes_nothing_is_an_error() raises:
    var writer = EncodingWriter(MemoryWriter(piece_octets_max=0))
    with assert_raises(contains="io.stalled write_all"):
        writer.write_all("octets".as_bytes())
        writer.close()


comptime TESTS = __functions_in_module()

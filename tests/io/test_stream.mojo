"""Tests for `flare.io.stream`, `flare.io.memory` and `flare.io.error`."""

from std.testing import assert_raises

from flare.io import IoError, MemoryReader, MemoryWriter, copy

from tests.asserting import assert_equal, assert_false, assert_true


def test_copy_copies_up_to_its_limit_and_refuses_one_octet_more() raises:
    for piece in [1, 2, 5, 100]:
        for limit in range(0, 8):
            var reader = MemoryReader(_octets("12345"), piece_octets_max=piece)
            var writer = MemoryWriter(piece_octets_max=piece)
            if limit >= 5:
                assert_equal(copy(reader, writer, limit), 5)
                assert_equal(writer.octets(), _octets("12345"))
            else:
                try:
                    _ = copy(reader, writer, limit)
                    assert_true(False, "more than the limit was copied")
                except e:
                    var error = IoError.of(e).value()
                    assert_equal(error.kind, IoError.TOO_LARGE)
                    assert_equal(error.octets, limit)
                assert_true(len(writer.octets()) <= limit)


def test_copy_carries_more_than_one_chunk() raises:
    var octets = List[UInt8](length=200_000, fill=0)
    for i in range(len(octets)):
        octets[i] = UInt8((i * 7) & 255)
    var writer = MemoryWriter(piece_octets_max=1000)
    assert_equal(copy(MemoryReader(octets.copy()), writer, 200_000), 200_000)
    assert_equal(writer.octets(), octets)


def test_write_all_goes_on_after_short_writes() raises:
    var writer = MemoryWriter(piece_octets_max=2)
    writer.write_all("abcde".as_bytes())
    writer.write_all("".as_bytes())
    assert_equal(writer.octets(), _octets("abcde"))


def test_write_all_gives_up_on_a_writer_that_takes_nothing() raises:
    var writer = MemoryWriter(piece_octets_max=0)
    with assert_raises(contains="io.stalled write_all"):
        writer.write_all("a".as_bytes())


def test_a_memory_reader_ends_and_stays_at_its_end() raises:
    var reader = MemoryReader(_octets("ab"))
    var into = List[UInt8](length=4, fill=9)
    assert_equal(reader.read(Span(into)), 2)
    assert_equal(into, [97, 98, 9, 9])
    assert_equal(reader.read(Span(into)), 0)
    assert_equal(reader.read(Span(into)), 0)


def test_every_error_is_read_back_from_its_text() raises:
    for kind in range(5):
        for octets in [0, 1, 65536, 999_999_999_999_999_999]:
            var error = IoError(kind, "read_until", octets)
            var found = IoError.of(Error(String(error)))
            assert_true(Bool(found), String(error))
            assert_true(found.value() == error)


def test_a_text_that_deviates_is_not_an_error_of_this_package() raises:
    var rows: List[StaticString] = [
        "",
        "io.",
        "io.line_too_long",
        "io.line_too_long read_lines",
        "io.line_too_longer read_line",
        "io.line_too_long read_line octets=",
        "io.line_too_long read_line octets=01",
        "io.line_too_long read_line octets=1a",
        "io.line_too_long read_line octets=1000000000000000000",
        "io.line_too_long read_line octets=1 ",
        "net.timeout read errno=110",
    ]
    for row in rows:
        assert_false(Bool(IoError.of(Error(row))), row)


def _octets(text: StringSlice) -> List[UInt8]:
    return List(text.as_bytes())


comptime TESTS = __functions_in_module()

"""Tests for `flare.io.buf_reader`, with pieces and buffers of every size."""

from std.memory import ArcPointer
from std.testing import assert_raises

from flare.core import PointerTo, heap_create, heap_destroy
from flare.io import BufReader, IoError, MemoryReader, Reader
from flare.runtime import sleep, spawn

from tests.asserting import assert_equal, assert_false, assert_true


def test_lines_end_with_lf_or_cr_lf_and_the_last_may_lack_its_end() raises:
    for piece in [1, 2, 3, 100]:
        for buffer in [1, 2, 3, 100]:
            var reader = _reader("a\r\n\n\r\nb\rc\n\r\r\nd\r", piece, buffer)
            var lines: List[StaticString] = ["a", "", "", "b\rc", "\r", "d\r"]
            for line in lines:
                assert_equal(reader.read_line(10).value(), line)
            assert_false(Bool(reader.read_line(10)))
            assert_false(Bool(reader.read_line(10)))


def test_the_limit_of_a_line_counts_the_line_and_not_its_end() raises:
    var rows: List[Tuple[String, Bool]] = [
        ("abc\n", True),
        ("abc\r\n", True),
        ("abc", True),
        ("abcd\n", False),
        ("abcd\r\n", False),
        ("abcd", False),
        ("abc\r", False),
        ("abcde", False),
        ("abcdefghij", False),
        ("\n", True),
    ]
    for row in rows:
        for piece in [1, 2, 100]:
            for buffer in [1, 2, 4, 5, 100]:
                var reader = _reader(row[0], piece, buffer)
                if row[1]:
                    assert_true(Bool(reader.read_line(3)), row[0])
                else:
                    with assert_raises(
                        contains="io.line_too_long read_line octets=3"
                    ):
                        _ = reader.read_line(3)


def test_a_line_that_is_not_utf8_is_refused_and_the_next_one_is_read() raises:
    var reader = BufReader(
        MemoryReader([0x61, 0xFF, 0x0A, 0xC3, 0xA9, 0x0A, 0xC3])
    )
    with assert_raises(contains="io.not_utf8 read_line"):
        _ = reader.read_line()
    assert_equal(reader.read_line(Int.MAX).value(), "é")
    with assert_raises(contains="io.not_utf8 read_line"):
        _ = reader.read_line()


def test_a_run_ends_at_its_delimiter_and_nowhere_else() raises:
    for piece in [1, 2, 3, 100]:
        for buffer in [1, 2, 3, 100]:
            var reader = _reader("ab;;c;d", piece, buffer)
            assert_equal(reader.read_until(59, 2).value(), _octets("ab"))
            assert_equal(reader.read_until(59, 0).value(), _octets(""))
            assert_equal(reader.read_until(59, 9).value(), _octets("c"))
            with assert_raises(contains="io.unexpected_end read_until"):
                _ = reader.read_until(59, 1)
            assert_false(Bool(reader.read_until(59)))


def test_the_limit_of_a_run_is_inclusive() raises:
    for piece in [1, 2, 100]:
        for buffer in [1, 2, 3, 4, 100]:
            var reader = _reader("abc;abcd;", piece, buffer)
            assert_equal(reader.read_until(59, 3).value(), _octets("abc"))
            with assert_raises(contains="io.line_too_long read_until octets=3"):
                _ = reader.read_until(59, 3)


def test_an_endless_line_is_given_up_at_the_limit() raises:
    var endless = BufReader(
        MemoryReader(List[UInt8](length=1_000_000, fill=97)), buffer_octets=64
    )
    with assert_raises(contains="io.line_too_long read_line octets=100"):
        _ = endless.read_line(100)
    # Little more than the limit was taken from the stream.
    var rest = endless.read_exactly(999_000)
    assert_equal(len(rest), 999_000)


def test_a_count_is_read_exactly_or_the_missing_octets_are_told() raises:
    for piece in [1, 2, 3, 100]:
        for buffer in [1, 2, 3, 100]:
            var reader = _reader("abcdefg", piece, buffer)
            assert_equal(reader.read_exactly(0), _octets(""))
            assert_equal(reader.read_exactly(-1), _octets(""))
            assert_equal(reader.read_exactly(3), _octets("abc"))
            assert_equal(reader.read_exactly(4), _octets("defg"))
            assert_equal(reader.read_exactly(0), _octets(""))
            with assert_raises(
                contains="io.unexpected_end read_exactly octets=1"
            ):
                _ = reader.read_exactly(1)
            var short = _reader("abc", piece, buffer)
            try:
                _ = short.read_exactly(8)
                assert_true(False, "only three octets were there")
            except e:
                assert_equal(IoError.of(e).value().octets, 5)


def test_an_announced_count_costs_nothing_before_its_octets_are_there() raises:
    with assert_raises(contains="io.unexpected_end read_exactly"):
        _ = _reader("abc", 1, 16).read_exactly(Int.MAX)


def test_read_gives_what_is_buffered_before_it_reads_again() raises:
    var reader = _reader("abcdefgh", 5, 5)
    assert_equal(reader.fill(), 5)
    assert_equal(len(reader.buffered()), 5)
    var into = List[UInt8](length=8, fill=0)
    assert_equal(reader.read(Span(into)[0:2]), 2)
    assert_equal(reader.read(Span(into)[0:0]), 0)
    assert_equal(reader.read(Span(into)[2:8]), 3)
    # A read as large as the buffer does not pass through it.
    assert_equal(reader.read(Span(into)[0:8]), 3)
    assert_equal(into[0], 102)
    assert_equal(len(reader.buffered()), 0)
    assert_equal(reader.read(Span(into)), 0)


def test_fill_appends_until_the_buffer_has_no_room() raises:
    var reader = _reader("abcdef", 3, 4)
    assert_equal(reader.fill(), 3)
    assert_equal(reader.fill(), 1)
    with assert_raises(contains="io.too_large fill octets=4"):
        _ = reader.fill()
    reader.consume(1)
    assert_equal(reader.fill(), 1)
    assert_equal(List(reader.buffered()), _octets("bcde"))
    reader.consume(100)
    assert_equal(reader.fill(), 1)
    reader.consume(-1)
    assert_equal(List(reader.buffered()), _octets("f"))
    assert_equal(reader.fill(), 0)


def test_the_inner_reader_can_be_used_in_between() raises:
    var reader = _reader("ab\ncd", 3, 16)
    assert_equal(reader.read_line().value(), "ab")
    var into = List[UInt8](length=8, fill=0)
    assert_equal(reader.inner().read(Span(into)), 2)
    assert_false(Bool(reader.read_line()))


def test_a_second_fiber_that_would_have_to_wait_is_refused() raises:
    # The second row reads past the buffer, into room of its own.
    for octets in [4, 64]:
        var turns = heap_create(List[Int]())
        var reader = ArcPointer(BufReader(_Parking(turns), buffer_octets=16))

        def other() raises {var reader, var octets} -> Int:
            var into = List[UInt8](length=octets, fill=0)
            return reader[].read(Span(into))

        var second = spawn(other^)
        var into = List[UInt8](length=octets, fill=0)
        # It parks, and the second fiber comes.
        assert_equal(reader[].read(Span(into)), 1)
        assert_equal(into[0], 1)
        with assert_raises(contains="io.in_use fill"):
            _ = second^.join()
        # The reader goes on afterwards.
        assert_equal(reader[].read(Span(into)), 1)
        assert_equal(into[0], 2)
        heap_destroy(turns)


@fieldwise_init
struct _Parking(Deinitable, Movable, Reader):
    # Gives one octet after it has let others run.
    var turns: PointerTo[List[Int]]

    def read(self, into: Span[mut=True, UInt8, _]) raises -> Int:
        sleep(1)
        self.turns[].append(0)
        into[0] = UInt8(len(self.turns[]))
        return 1


def _octets(text: StringSlice) -> List[UInt8]:
    return List(text.as_bytes())


def _reader(
    text: StringSlice, piece: Int, buffer: Int
) -> BufReader[MemoryReader]:
    return BufReader(
        MemoryReader(_octets(text), piece_octets_max=piece),
        buffer_octets=buffer,
    )


comptime TESTS = __functions_in_module()

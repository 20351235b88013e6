"""Tests the compression of messages, apart from any connection."""

from flare.core import equals
from fuzz.random import Random

from tests.asserting import assert_equal, assert_false, assert_true

from .codec_peer import CodecPeer

comptime _HELLO: List[UInt8] = [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]
comptime _BAD: StaticString = (
    "websocket peer error, code 1007: a message that cannot be inflated"
)
comptime _TOO_LARGE: StaticString = (
    "websocket peer error, code 1009: a message exceeds the limit"
)
comptime _NO_TEXT: StaticString = (
    "websocket peer error, code 1007: a text is not UTF-8"
)


def test_examples_of_the_rfc_are_inflated() raises:
    # RFC 7692 section 7.2.3.
    var rows: List[List[UInt8]] = [
        materialize[_HELLO](),
        # The window holds the first one.
        [0xF2, 0x00, 0x11, 0x00, 0x00],
        # Not compressed.
        [0x00, 0x05, 0x00, 0xFA, 0xFF, 72, 101, 108, 108, 111, 0x00],
        # A final block.
        [0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00],
        # Two blocks.
        [0xF2, 0x48, 0x05, 0, 0, 0, 0xFF, 0xFF, 0xCA, 0xC9, 0xC9, 0x07, 0x00],
    ]
    for first in range(len(rows)):
        for cut in range(len(rows[first]) + 1):
            var peer = CodecPeer()
            if first == 1:
                _ = peer.inflate(Span(rows[0]))
            assert_equal(
                peer.verdict(Span(rows[first]), [cut], is_text=True),
                "= Hello",
                String("example ", first, " at ", cut),
            )
            # An empty message, and one that refers back, follow any other.
            assert_equal(peer.verdict([0]), "= ")
            assert_equal(peer.verdict(Span(rows[1])), "= Hello")
            assert_equal(peer.verdict(Span(rows[first])), "= Hello")


def test_examples_of_the_rfc_are_written() raises:
    var peer = CodecPeer()
    var hello = "Hello".as_bytes()
    assert_equal(peer.deflate(hello), materialize[_HELLO]())
    assert_equal(peer.deflate(hello), [0xF2, 0x00, 0x11, 0x00, 0x00])
    for _ in range(3):
        assert_equal(peer.deflate("".as_bytes()), [0])
    # The third time, zlib copies the whole word.
    assert_equal(peer.deflate(hello, [0, 2, 2]), [0x02, 0x13, 0x00, 0x00])
    peer.deflater.reset()
    assert_equal(peer.deflate(hello), materialize[_HELLO]())
    var forgetful = CodecPeer(keeps_context=False)
    for _ in range(3):
        assert_equal(forgetful.deflate(hello), materialize[_HELLO]())
        assert_equal(forgetful.deflate("".as_bytes()), [0])


def test_final_block_may_end_a_message() raises:
    # The octet 00 of the example is missing.
    var final: List[UInt8] = [0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]
    var peer = CodecPeer()
    assert_equal(peer.verdict(Span(final)), "= Hello")
    assert_equal(peer.verdict([0xF2, 0x00, 0x11, 0x00, 0x00]), "= Hello")
    var several = final.copy()
    several.extend(Span(final))
    several.extend([0xF2, 0x00, 0x11, 0x00, 0x00])
    for cut in range(len(several) + 1):
        assert_equal(peer.verdict(Span(several), [cut]), "= HelloHelloHello")


def test_message_refers_back_only_if_the_context_is_kept() raises:
    var peer = CodecPeer(keeps_context=False)
    var hello = materialize[_HELLO]()
    assert_equal(peer.verdict(Span(hello)), "= Hello")
    assert_equal(peer.verdict([0xF2, 0x00, 0x11, 0x00, 0x00]), _BAD)
    assert_equal(peer.verdict(Span(hello)), "= Hello")


def test_messages_come_back_with_each_window() raises:
    for bits in range(8, 16):
        for keeps_context in [False, True]:
            var random = Random(7, bits)
            var peer = CodecPeer(
                window_bits=max(bits, 9),
                peer_window_bits=bits,
                keeps_context=keeps_context,
            )
            for i in range(12):
                var content = _content(random, 100 << i)
                var cuts = _cuts(random, len(content))
                var coded = peer.deflate(Span(content), cuts)
                assert_true(len(coded) < len(content) // 2, String(len(coded)))
                cuts = _cuts(random, len(coded))
                assert_true(
                    equals(
                        Span(peer.inflate(Span(coded), cuts)), Span(content)
                    ),
                    String("bits ", bits, ", ", len(content), " octets"),
                )


def test_octets_without_a_pattern_hardly_grow() raises:
    var random = Random(8)
    var peer = CodecPeer()
    var content = random.octets(200_000)
    var coded = peer.deflate(Span(content))
    assert_true(len(coded) < 200_600, String(len(coded)))
    assert_equal(peer.inflate(Span(coded)), content)


def test_each_cut_gives_the_same_message() raises:
    var peer = CodecPeer()
    var text = String("Ünïcödé tëxt, ") * 9
    var coded = peer.deflate(text.as_bytes())
    var again = peer.deflate(text.as_bytes())
    assert_true(len(again) < len(coded))
    for cut in range(len(coded) + 1):
        var fresh = CodecPeer()
        var octets = fresh.inflate(Span(coded), [cut], is_text=True)
        assert_true(equals(Span(octets), text.as_bytes()), String(cut))
        octets = fresh.inflate(
            Span(again), [min(cut, len(again))], is_text=True
        )
        assert_true(equals(Span(octets), text.as_bytes()), String(cut))


def test_message_that_is_cut_off_is_refused() raises:
    var hello = materialize[_HELLO]()
    for count in range(len(hello)):
        var peer = CodecPeer()
        assert_equal(
            peer.verdict(Span(hello)[:count]), _BAD, String(count, " octets")
        )
    var stored: List[UInt8] = [0x00, 0x05, 0x00, 0xFA, 0xFF, 72, 101, 108]
    # The octets 00 00 FF FF may complete a block by chance.
    for count in [2, 3, 4, 5, 7, 8]:
        var peer = CodecPeer()
        assert_equal(
            peer.verdict(Span(stored)[:count]), _BAD, String(count, " octets")
        )


def test_octets_that_are_no_deflate_data_are_refused() raises:
    var rows: List[List[UInt8]] = [
        # A block of the fourth kind.
        [0x06],
        [0x07, 0x00],
        # The length of a stored block and its complement differ.
        [0x00, 0x05, 0x00, 0xFA, 0xFE, 72, 101, 108, 108, 111, 0x00],
        # A distance beyond the beginning.
        [0xF2, 0x00, 0x11, 0x00, 0x00],
        # gzip and zlib.
        [0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03],
        [0x78, 0x9C, 0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00],
        # The octets that a sender removes.
        [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00, 0x00, 0xFF],
    ]
    for row in rows:
        for cut in range(len(row) + 1):
            var peer = CodecPeer()
            assert_equal(peer.verdict(Span(row), [cut]), _BAD, String(row))


def test_bomb_ends_at_the_limit() raises:
    # A gigabyte from a megabyte: the same message 64 times.
    var maker = CodecPeer(keeps_context=False)
    var part = maker.deflate(Span(List[UInt8](length=1 << 24, fill=0)))
    part.extend([0x00, 0x00, 0xFF, 0xFF])
    var bomb = List[UInt8]()
    for _ in range(64):
        bomb.extend(Span(part))
    assert_true(len(bomb) < 1_100_000, String(len(bomb)))
    for keeps_context in [False, True]:
        var peer = CodecPeer(keeps_context=keeps_context, octets_max=1 << 20)
        assert_equal(peer.verdict(Span(bomb)), _TOO_LARGE)
        assert_equal(peer.produced_octets(), 1 << 20)
        assert_true(peer.held_octets() <= 2 << 20)


def test_limit_is_inclusive() raises:
    for limit in [0, 1, 63, 64, 65, 16_383, 16_384, 16_385, 100_000]:
        var content = List[UInt8](length=limit, fill=97)
        var maker = CodecPeer()
        var fits = maker.deflate(Span(content))
        content.append(97)
        maker.deflater.reset()
        var exceeds = maker.deflate(Span(content))
        var peer = CodecPeer(octets_max=limit, keeps_context=False)
        assert_equal(len(peer.inflate(Span(fits))), limit)
        assert_equal(peer.verdict(Span(exceeds)), _TOO_LARGE)
        assert_equal(len(peer.inflate(Span(fits))), limit)


def test_text_is_checked_across_steps() raises:
    var maker = CodecPeer(keeps_context=False)
    for odd in range(3):
        # A character lies across the end of a step.
        var text = String("x") * (16_384 - 63 - odd) + String("€") * 9
        var coded = maker.deflate(text.as_bytes())
        for cut in [1, len(coded) - 3]:
            var peer = CodecPeer()
            var octets = peer.inflate(Span(coded), [cut], is_text=True)
            assert_equal(len(octets), text.byte_length())
        coded = maker.deflate(text.as_bytes()[: text.byte_length() - 1])
        assert_equal(CodecPeer().verdict(Span(coded), is_text=True), _NO_TEXT)
        assert_false(
            CodecPeer().verdict(Span(coded), is_text=False).startswith("web")
        )
    var bad: List[UInt8] = [97, 0xFF, 97]
    var coded = maker.deflate(Span(bad))
    assert_equal(CodecPeer().verdict(Span(coded), is_text=True), _NO_TEXT)


def _content(mut random: Random, count: Int) -> List[UInt8]:
    # Octets of a few kinds, and copies from any distance.
    var content = List[UInt8](capacity=count)
    while len(content) < count:
        if len(content) == 0 or random.chance(30):
            for _ in range(random.between(1, 8)):
                content.append(UInt8(random.below(4)))
        else:
            var from_ = random.below(len(content))
            for i in range(random.between(8, 200)):
                content.append(content[from_ + i])
    content.shrink(count)
    return content^


def _cuts(mut random: Random, count: Int) -> List[Int]:
    var cuts: List[Int] = [
        random.between(0, count),
        random.between(0, count),
        random.between(0, count),
    ]
    sort(cuts)
    return cuts^


comptime TESTS = __functions_in_module()

"""Tests the Huffman code of HPACK (RFC 7541 section 5.2)."""

from flare.core import Buffer, heap_create, heap_destroy
from flare.proto.h2.hpack import (
    append_huffman,
    decode_huffman,
    huffman_octets,
)

from tests.asserting import assert_equal, assert_true

from .blocks import octets_of


def test_each_octet_comes_back() raises:
    var into = heap_create(Buffer())
    var back = heap_create(Buffer())
    for octet in range(256):
        # Its neighbours shift it to each place within an octet.
        for before in range(8):
            var text = List[UInt8](length=before, fill=48)
            text.append(UInt8(octet))
            text.append(65)
            into[].clear()
            back[].clear()
            append_huffman(Span(text), huffman_octets(Span(text)), into)
            assert_equal(len(into[]), huffman_octets(Span(text)))
            assert_true(decode_huffman(into[].span(), back))
            assert_true(back[].span() == Span(text))
    heap_destroy(into)
    heap_destroy(back)


def test_long_texts_come_back() raises:
    var into = heap_create(Buffer())
    var back = heap_create(Buffer())
    var text = List[UInt8]()
    for i in range(20_000):
        text.append(UInt8(i * 7919 % 256))
        into[].clear()
        back[].clear()
        if i % 997 == 0:
            append_huffman(Span(text), huffman_octets(Span(text)), into)
            assert_true(decode_huffman(into[].span(), back))
            assert_true(back[].span() == Span(text))
    heap_destroy(into)
    heap_destroy(back)


def test_codes_are_those_of_the_rfc() raises:
    # A code of each length of appendix B, filled up with ones.
    var rows: List[Tuple[Int, String]] = [
        (48, "07"),
        (32, "53"),
        (58, "b9"),
        (38, "f8"),
        (33, "fe3f"),
        (39, "ff5f"),
        (35, "ffaf"),
        (0, "ffc7"),
        (94, "fff3"),
        (60, "fff9"),
        (92, "fffe1f"),
        (128, "fffe6f"),
        (153, "fffee7"),
        (129, "ffff4b"),
        (1, "ffffb1"),
        (9, "ffffea"),
        (199, "fffff67f"),
        (192, "fffff83f"),
        (203, "fffffbdf"),
        (2, "fffffe2f"),
        (10, "fffffff3"),
    ]
    var into = heap_create(Buffer())
    for row in rows:
        into[].clear()
        var text = List[UInt8](length=1, fill=UInt8(row[0]))
        append_huffman(Span(text), huffman_octets(Span(text)), into)
        assert_true(into[].span() == Span(octets_of(row[1])), String(row[0]))
    heap_destroy(into)


def test_padding_is_at_most_seven_ones() raises:
    var rows: List[Tuple[String, Bool]] = [
        ("", True),
        ("07", True),
        ("00", False),
        ("06", False),
        ("ff", False),
        ("07ff", False),
        ("fe3f", True),
        ("fe3fff", False),
        ("fe00", False),
        # An incomplete code, and EOS.
        ("fffe", False),
        ("fffffffc", False),
        ("ffffffff", False),
        ("07fffffffb", False),
    ]
    var back = heap_create(Buffer())
    for row in rows:
        back[].clear()
        var is_right = decode_huffman(Span(octets_of(row[0])), back)
        assert_equal(is_right, row[1], String(row[0]))
    heap_destroy(back)


comptime TESTS = __functions_in_module()

"""Tests what the decoder refuses, and how it treats its table."""

from std.testing import assert_raises

from flare.core import Buffer, heap_create, heap_destroy
from flare.message import FieldName
from flare.proto.h2.hpack import (
    HpackDecoder,
    append_huffman,
    append_size_update,
    huffman_octets,
)
from flare.proto.h2.hpack.integer import append_integer
from flare.proto.h2.hpack.static_table import (
    STATIC_COUNT,
    static_index,
    static_known,
    static_name,
    static_value,
)

from tests.asserting import assert_equal, assert_true

from .blocks import octets_of, read_block, table_of


def test_malformed_blocks_are_refused() raises:
    var rows: List[Tuple[String, String]] = [
        ("80", "an index is 0"),
        ("be", "an index exceeds the table"),
        ("ff00", "an index exceeds the table"),
        ("7f00 0161", "an index exceeds the table"),
        ("ff", "an integer is incomplete"),
        ("ff80", "an integer is incomplete"),
        ("ffff ffff ffff", "an integer is too long"),
        ("ff80 8080 8000", "an integer is too long"),
        ("40", "a literal is incomplete"),
        ("4001", "a string is incomplete"),
        ("4001 61", "a literal is incomplete"),
        ("4001 6102 62", "a string is incomplete"),
        ("007f ff7f 61", "a string is incomplete"),
        ("4001 6181 00", "a string is no Huffman code"),
        ("0081 ff01 61", "a string is no Huffman code"),
        ("82 20", "the table's size changes after a field"),
        ("20 20 20", "the table's size changes too often"),
        ("3fe2 1f", "the table's size exceeds the limit"),
        ("3fff ffff ff7f", "an integer is too long"),
    ]
    for row in rows:
        var decoder = HpackDecoder.create()
        with assert_raises(contains=String(row[1])):
            _ = read_block(decoder, Span(octets_of(row[0])))
        decoder.destroy()


def test_each_front_of_a_block_is_refused_or_shorter() raises:
    var block = octets_of(
        "20 3fe1 0182 8684 418c f1e3 c2e5 f23a 6ba0 ab90 f4ff 4088 25a8 49e9"
        " 5ba9 7d7f 8925 a849 e95b b8e8 b4bf be"
    )
    var whole = HpackDecoder.create()
    var lines = read_block(whole, Span(block))
    whole.destroy()
    for count in range(len(block)):
        var decoder = HpackDecoder.create()
        try:
            var front = read_block(decoder, Span(block)[:count])
            assert_true(lines.startswith(front))
            assert_true(front != lines)
        except e:
            assert_true("incomplete" in String(e), String(e))
        decoder.destroy()


def test_an_entry_that_is_too_large_empties_the_table() raises:
    var decoder = HpackDecoder.create()
    _ = read_block(decoder, Span(octets_of("4001 6101 62")))
    assert_equal(table_of(decoder), "34 a: b\n34")
    var block = octets_of("4001 63")
    _append_string("v" * 4064, block)
    # The line itself is right, and the next one starts a new table.
    assert_equal(
        read_block(decoder, Span(block)), String("c: ", "v" * 4064, "\n")
    )
    assert_equal(table_of(decoder), "0")
    block = octets_of("4001 63")
    _append_string("v" * 4063, block)
    _ = read_block(decoder, Span(block))
    assert_true(table_of(decoder).endswith("\n4096"))
    decoder.destroy()


def test_a_name_outlives_the_entry_that_had_it() raises:
    # RFC 7541 section 4.4: the entry may have to make room for the new one.
    for is_coded in [False, True]:
        for octets in [1100, 4060, 5000]:
            var decoder = HpackDecoder.create()
            var block = octets_of("4004 6e61 6d65")
            _append_string("v" * 3000, block)
            _ = read_block(decoder, Span(block))
            block = octets_of("7e")
            _append_string("w" * octets, block, is_coded=is_coded)
            var line = String("name: ", "w" * octets, "\n")
            assert_equal(read_block(decoder, Span(block)), line)
            var table = table_of(decoder)
            if octets > 4060:
                assert_equal(table, "0")
            else:
                assert_equal(table, String(octets + 36, " ", line, octets + 36))
            decoder.destroy()


def test_a_coded_name_stays_while_its_value_is_decoded() raises:
    for octets in [1, 100, 9000]:
        var decoder = HpackDecoder.create()
        var block = octets_of("00")
        _append_string("name", block, is_coded=True)
        _append_string("w" * octets, block, is_coded=True)
        assert_equal(
            read_block(decoder, Span(block)),
            String("name: ", "w" * octets, "\n"),
        )
        decoder.destroy()


def test_the_size_of_the_table_changes() raises:
    var into = heap_create(Buffer())
    var decoder = HpackDecoder.create()
    _ = read_block(decoder, Span(octets_of("4001 6101 3140 0162 0132")))
    assert_equal(table_of(decoder), "34 b: 2\n34 a: 1\n68")
    append_size_update(67, into)
    assert_equal(read_block(decoder, into[].span()), "")
    assert_equal(table_of(decoder), "34 b: 2\n34")
    into[].clear()
    append_size_update(0, into)
    append_size_update(4096, into)
    _ = read_block(decoder, into[].span())
    assert_equal(table_of(decoder), "0")
    _ = read_block(decoder, Span(octets_of("4001 6101 31")))
    assert_equal(table_of(decoder), "34 a: 1\n34")
    into[].clear()
    append_size_update(0, into)
    _ = read_block(decoder, into[].span())
    # With a table of 0 nothing is kept.
    _ = read_block(decoder, Span(octets_of("4001 6101 31")))
    assert_equal(table_of(decoder), "0")
    decoder.destroy()
    heap_destroy(into)


def test_the_table_has_its_numbers_and_names() raises:
    assert_equal(String(static_name(1)), ":authority")
    assert_equal(String(static_value(1)), "")
    assert_equal(String(static_name(16)), "accept-encoding")
    assert_equal(String(static_value(16)), "gzip, deflate")
    assert_equal(String(static_name(STATIC_COUNT)), "www-authenticate")
    assert_equal(String(static_value(STATIC_COUNT)), "")
    assert_equal(static_known(38), FieldName.HOST)
    assert_equal(static_known(4), FieldName.UNKNOWN)
    for i in range(1, STATIC_COUNT + 1):
        var first = static_index(static_name(i).as_bytes())
        assert_true(first <= i)
        assert_equal(String(static_name(first)), String(static_name(i)))
        if i > 15:
            assert_equal(first, i)
    assert_equal(static_index("x-none".as_bytes()), 0)


def test_known_names_are_recognized_in_each_form() raises:
    var decoder = HpackDecoder.create()
    var block = octets_of("7604 666c 6172 4006 7365 7276 6572 0161 0006")
    block.extend("server".as_bytes())
    block.extend(octets_of("0162 bf"))
    decoder.begin_block()
    var at = 0
    for _ in range(4):
        var field = decoder.next(Span(block), at)
        assert_equal(field.known, FieldName.SERVER)
        at = field.end
    assert_equal(at, len(block))
    decoder.destroy()


def _append_string(
    text: StringSlice, mut block: List[UInt8], *, is_coded: Bool = False
):
    var into = heap_create(Buffer())
    if is_coded:
        append_integer(0x80, 7, huffman_octets(text.as_bytes()), into)
        append_huffman(text.as_bytes(), huffman_octets(text.as_bytes()), into)
    else:
        append_integer(0, 7, text.byte_length(), into)
        into[].append(text.as_bytes())
    block.extend(into[].span())
    heap_destroy(into)


comptime TESTS = __functions_in_module()

"""Tests the decoder with the examples of RFC 7541 appendix C."""

from flare.core import Buffer, heap_create, heap_destroy
from flare.proto.h2.hpack import (
    HpackDecoder,
    append_indexed,
    append_literal,
    append_named_literal,
)
from flare.proto.h2.hpack.integer import append_integer, read_integer

from tests.asserting import assert_equal, assert_true

from .blocks import octets_of, read_block, table_of

comptime _REQUESTS: StaticString = (
    ":method: GET\n:scheme: http\n:path: /\n:authority: www.example.com\n"
)


def test_integers() raises:
    var rows: List[Tuple[Int, Int, String]] = [
        (5, 10, "0a"),
        (5, 1337, "1f9a0a"),
        (7, 42, "2a"),
        (7, 127, "7f00"),
        (4, 15, "0f00"),
        (5, 30, "1e"),
        (5, 31, "1f00"),
        (5, (1 << 28) - 1 + 31, "1fffffff7f"),
    ]
    var into = heap_create(Buffer())
    for row in rows:
        into[].clear()
        append_integer(0, row[0], row[1], into)
        assert_true(into[].span() == Span(octets_of(row[2])), String(row[1]))
        var read = read_integer(into[].span(), 0, row[0])
        assert_equal(read.value, row[1])
        assert_equal(read.end, len(into[]))
    heap_destroy(into)


def test_representations() raises:
    var decoder = HpackDecoder.create()
    _check(
        decoder,
        "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572",
        "custom-key: custom-header\n",
        "55 custom-key: custom-header\n55",
    )
    decoder.destroy()
    decoder = HpackDecoder.create()
    _check(
        decoder,
        "040c 2f73 616d 706c 652f 7061 7468",
        ":path: /sample/path\n",
        "0",
    )
    _check(
        decoder,
        "1008 7061 7373 776f 7264 0673 6563 7265 74",
        "!password: secret\n",
        "0",
    )
    _check(decoder, "82", ":method: GET\n", "0")
    decoder.destroy()


def test_requests_without_huffman() raises:
    _check_requests(
        "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "8286 84be 5808 6e6f 2d63 6163 6865",
        (
            "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661"
            " 6c75 65"
        ),
    )


def test_requests_with_huffman() raises:
    _check_requests(
        "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
        "8286 84be 5886 a8eb 1064 9cbf",
        "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
    )


def _check_requests(
    first: StaticString, second: StaticString, third: StaticString
) raises:
    var decoder = HpackDecoder.create()
    _check(decoder, first, _REQUESTS, "57 :authority: www.example.com\n57")
    _check(
        decoder,
        second,
        String(_REQUESTS, "cache-control: no-cache\n"),
        "53 cache-control: no-cache\n57 :authority: www.example.com\n110",
    )
    _check(
        decoder,
        third,
        (
            ":method: GET\n:scheme: https\n:path: /index.html\n"
            ":authority: www.example.com\ncustom-key: custom-value\n"
        ),
        (
            "54 custom-key: custom-value\n53 cache-control: no-cache\n"
            "57 :authority: www.example.com\n164"
        ),
    )
    decoder.destroy()


def test_responses_without_huffman() raises:
    _check_responses(
        (
            "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63"
            " 7420 3230 3133 2032 303a 3133 3a32 3120 474d 546e 1768 7474 7073"
            " 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d"
        ),
        "4803 3330 37c1 c0bf",
        (
            "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133"
            " 3a32 3220 474d 54c0 5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48"
            " 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178"
            " 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31"
        ),
    )


def test_responses_with_huffman() raises:
    _check_responses(
        (
            "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504"
            " 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae"
            " 43d3"
        ),
        "4883 640e ffc1 c0bf",
        (
            "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff"
            " c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af"
            " 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106"
            " 3d50 07"
        ),
    )


def _check_responses(
    first: StaticString, second: StaticString, third: StaticString
) raises:
    # The examples have a table of 256 octets.
    comptime DATE = "date: Mon, 21 Oct 2013 20:13:2"
    comptime PLACE = "location: https://www.example.com\n"
    comptime COOKIE = (
        "set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1\n"
    )
    var decoder = HpackDecoder.create()
    _check(decoder, "3fe101", "", "0")
    _check(
        decoder,
        first,
        String(
            ":status: 302\ncache-control: private\n", DATE, "1 GMT\n", PLACE
        ),
        String(
            "63 ",
            PLACE,
            "65 ",
            DATE,
            "1 GMT\n52 cache-control: private\n",
            "42 :status: 302\n222",
        ),
    )
    _check(
        decoder,
        second,
        String(
            ":status: 307\ncache-control: private\n", DATE, "1 GMT\n", PLACE
        ),
        String(
            "42 :status: 307\n63 ",
            PLACE,
            "65 ",
            DATE,
            "1 GMT\n52 cache-control: private\n222",
        ),
    )
    _check(
        decoder,
        third,
        String(
            ":status: 200\ncache-control: private\n",
            DATE,
            "2 GMT\n",
            PLACE,
            "content-encoding: gzip\n",
            COOKIE,
        ),
        String(
            "98 ", COOKIE, "52 content-encoding: gzip\n65 ", DATE, "2 GMT\n215"
        ),
    )
    decoder.destroy()


def test_what_is_written_is_read() raises:
    var into = heap_create(Buffer())
    append_indexed(2, into)
    append_literal(4, "/short".as_bytes(), into)
    append_literal(1, "www.example.com:8443".as_bytes(), into)
    append_named_literal("x-a".as_bytes(), "".as_bytes(), into)
    append_literal(23, "secret".as_bytes(), into, never_indexed=True)
    append_named_literal(
        "x-b".as_bytes(), ("!" * 300).as_bytes(), into, never_indexed=True
    )
    var decoder = HpackDecoder.create()
    assert_equal(
        read_block(decoder, into[].span()),
        String(
            ":method: GET\n:path: /short\n:authority: www.example.com:8443\n",
            "x-a: \n!authorization: secret\n!x-b: ",
            "!" * 300,
            "\n",
        ),
    )
    assert_equal(table_of(decoder), "0")
    decoder.destroy()
    heap_destroy(into)


def _check(
    decoder: HpackDecoder,
    block: StringSlice,
    lines: StringSlice,
    table: StringSlice,
) raises:
    assert_equal(read_block(decoder, Span(octets_of(block))), String(lines))
    assert_equal(table_of(decoder), String(table))


comptime TESTS = __functions_in_module()

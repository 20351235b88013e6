"""Tests the encoder, with the decoder as its peer."""

from flare.core import Buffer, PointerTo, heap_create, heap_destroy
from flare.message import known_field
from flare.proto.h2.hpack import HpackDecoder
from flare.proto.h2.hpack.encoder import HpackEncoder

from tests.asserting import assert_equal, assert_true


struct _Pair(Movable):
    var encoder: HpackEncoder
    var decoder: HpackDecoder
    var block: PointerTo[Buffer]

    def __init__(out self):
        self.encoder = HpackEncoder.create()
        self.decoder = HpackDecoder.create()
        self.block = heap_create(Buffer())

    def __deinit__(deinit self):
        self.encoder.destroy()
        self.decoder.destroy()
        heap_destroy(self.block)

    def send(mut self, lines: StringSlice) raises -> Int:
        """Encodes lines, checks that they arrive, and returns the length of
        the block."""
        self.block[].clear()
        self.encoder.begin_block(self.block)
        var wanted = String()
        for line in lines.split("|"):
            var colon = line.find(": ")
            var name = String(line[byte=:colon])
            var value = String(line[byte = colon + 2 :])
            if name == "date":
                # A handler's own line has a capital.
                self.encoder.append_date(value.as_bytes(), self.block)
            else:
                self.encoder.append_line(
                    name.as_bytes(),
                    value.as_bytes(),
                    known_field(name.as_bytes()),
                    self.block,
                )
            wanted += name.lower() + ": " + value + "|"
        var length = len(self.block[])
        assert_equal(self.received(), wanted)
        return length

    def received(mut self) raises -> String:
        var text = String()
        self.decoder.begin_block()
        var at = 0
        while True:
            try:
                var field = self.decoder.next(self.block[].span(), at)
                if not field:
                    return text
                at = field.end
                text += (
                    String(StringSlice(unsafe_from_utf8=field.name))
                    + ": "
                    + String(StringSlice(unsafe_from_utf8=field.value))
                    + "|"
                )
            except e:
                raise Error(e.reason)


def test_a_line_is_inserted_at_its_second_use() raises:
    var pair = _Pair()
    comptime LINES: StaticString = (
        "Content-Type: text/plain; charset=utf-8|X-Served-By: the one"
    )
    var first = pair.send(LINES)
    var second = pair.send(LINES)
    assert_true(first > 30 and second > 30)
    assert_equal(pair.send(LINES), 2)
    assert_equal(pair.send(LINES), 2)
    # The case of a name does not matter to the table.
    assert_true(pair.send("x-served-by: the one") < 30)


def test_secrets_are_never_inserted() raises:
    var pair = _Pair()
    var first = pair.send("Set-Cookie: id=secret|Authorization: Basic eDp5")
    for _ in range(3):
        assert_equal(
            pair.send("Set-Cookie: id=secret|Authorization: Basic eDp5"), first
        )


def test_values_that_hardly_come_twice_push_nothing_out() raises:
    var pair = _Pair()
    for _ in range(2):
        _ = pair.send("Vary: Accept-Encoding")
    for i in range(100):
        # Twice, as when a page is loaded again.
        for _ in range(2):
            _ = pair.send(
                String('ETag: "', 1_000_000_007 * (i + 1), '"|Location: /', i)
            )
    assert_equal(pair.send("Vary: Accept-Encoding"), 1)


def test_lines_push_others_out() raises:
    var pair = _Pair()
    # Many more than fit, each three times; the encoder must know which are
    # gone.
    for round in range(200):
        for i in range(30):
            _ = pair.send(
                String("x-", i % 7, ": value ", (round * i) % 50)
                + String("|date: ")
                + String(round)
            )


def test_the_date_is_an_entry_while_it_lasts() raises:
    var pair = _Pair()
    comptime DATE: StaticString = "date: Sun, 29 Nov 2026 06:00:00 GMT"
    comptime NEXT: StaticString = "date: Sun, 29 Nov 2026 06:00:01 GMT"
    for length in [30, 30, 1]:
        assert_true(pair.send(DATE) >= length)
    assert_equal(pair.send(DATE), 1)
    # Other lines push it out.
    for i in range(80):
        for _ in range(2):
            _ = pair.send(String("x-", i, ": a line that takes its place"))
    assert_true(pair.send(DATE) > 5)
    assert_equal(pair.send(DATE), 1)
    # The peer allows no entry, and then entries again.
    pair.encoder.limit(0)
    assert_true(pair.send(DATE) > 5)
    pair.encoder.limit(4096)
    for _ in range(3):
        _ = pair.send(DATE)
    assert_equal(pair.send(DATE), 1)
    # The next second, and a line of a handler with either value.
    for _ in range(3):
        _ = pair.send(NEXT)
    assert_equal(pair.send(NEXT), 1)
    assert_equal(pair.send("Date: Sun, 29 Nov 2026 06:00:01 GMT"), 1)
    assert_equal(pair.send("Date: Sun, 29 Nov 2026 06:00:00 GMT"), 1)
    assert_equal(pair.send(NEXT), 1)


def test_the_size_of_the_table_follows_the_peer() raises:
    var pair = _Pair()
    comptime LINE: StaticString = "x-served-by: somewhere"
    for _ in range(3):
        _ = pair.send(LINE)
    assert_equal(pair.send(LINE), 1)
    # Nothing fits any more. The peer learns of it at the next block.
    pair.encoder.limit(0)
    assert_true(pair.send(LINE) > 5)
    assert_true(pair.send(LINE) > 5)
    assert_true(pair.send(LINE) > 5)
    # Down and up between two blocks: both sizes are told.
    pair.encoder.limit(4096)
    for _ in range(3):
        _ = pair.send(LINE)
    assert_equal(pair.send(LINE), 1)
    pair.encoder.limit(10)
    pair.encoder.limit(70_000)
    assert_true(pair.send(LINE) > 5)
    assert_equal(pair.block[].span()[0], 0x2A)
    for _ in range(3):
        _ = pair.send(LINE)
    assert_equal(pair.send(LINE), 1)


def test_status_and_length() raises:
    var pair = _Pair()
    for status in [200, 204, 206, 304, 400, 404, 500, 418, 599]:
        pair.block[].clear()
        pair.encoder.begin_block(pair.block)
        pair.encoder.append_status(status, pair.block)
        pair.encoder.append_length(status * 1_000_003, pair.block)
        assert_equal(
            pair.received(),
            String(
                ":status: ",
                status,
                "|content-length: ",
                status * 1_000_003,
                "|",
            ),
        )


comptime TESTS = __functions_in_module()

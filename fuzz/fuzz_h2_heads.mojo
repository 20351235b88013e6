"""Heads that resemble each other are read as if each were the first.

Invariant: a reader that remembers earlier heads and a reader that has seen none
find the same fault or the same head in each block of a connection.
"""

from flare.core import Buffer, heap_create, heap_destroy
from flare.proto.h2.head_limits import H2HeadFault, H2HeadLimits
from flare.proto.h2.hpack import (
    HpackDecoder,
    append_indexed,
    append_literal,
    append_named_literal,
    append_size_update,
)
from flare.proto.h2.hpack.integer import append_integer
from flare.proto.h2.hpack.static_table import STATIC_COUNT
from flare.proto.h2.hpack.writing import append_string
from flare.proto.h2.request_head import RequestHeadReader

from fuzz.harness import Histogram, run
from fuzz.random import Random, mutate

comptime _BLOCKS_MAX = 12
comptime _SECTION_OCTETS_MAX = 260
# The places of `:path /` and `:path /index.html` in the static table.
comptime _PATH = 4
comptime _INDEX_PATH = 5


struct _Client(Movable):
    """Writes one block after another, as a client does whose requests differ in
    little."""

    var fields: List[String]
    """Name and value of each line but the path, with a bar between them."""
    var path_place: Int
    """The number of lines before the path."""
    var table: List[String]
    """The lines that the table should have, the latest first."""

    def __init__(out self):
        self.fields = [
            ":method|GET",
            ":scheme|https",
            ":authority|a.test",
            "x-a|1",
        ]
        self.path_place = 2
        self.table = []

    def change(mut self, mut random: Random):
        """Makes a small change, or none."""
        if random.chance(15):
            self.fields = _Client().fields.copy()
            self.path_place = 2
        if random.chance(6):
            self.fields.append(_field(random))
        if random.chance(3):
            _ = self.fields.pop(random.below(len(self.fields)))
        if random.chance(3) and len(self.fields) > 0:
            self.fields[random.below(len(self.fields))] = _field(random)
        if random.chance(3) or self.path_place > len(self.fields):
            self.path_place = random.below(min(len(self.fields), 3) + 1)
        if len(self.fields) == 0:
            self.fields = _Client().fields.copy()

    def block(mut self, mut random: Random) -> List[UInt8]:
        """Writes a block."""
        var into = heap_create(Buffer())
        if random.chance(1):
            append_size_update(random.below(4097), into)
        for i in range(len(self.fields) + 1):
            if i == self.path_place:
                self._append_path(random, into)
            if i < len(self.fields):
                self._append_field(String(self.fields[i]), random, into)
        var octets = List[UInt8](into[].span())
        heap_destroy(into)
        return octets^

    def _append_path(
        mut self, mut random: Random, into: Pointer[Buffer, MutUntrackedOrigin]
    ):
        var path = _path(random)
        var index = _INDEX_PATH if random.chance(10) else _PATH
        if random.chance(4):
            append_indexed(index, into)
        elif random.chance(6):
            append_integer(0x40, 6, index, into)
            append_string(path.as_bytes(), into)
            self.table.insert(0, String(":path|", path))
        else:
            append_literal(
                index,
                path.as_bytes(),
                into,
                never_indexed=random.chance(10),
            )

    def _append_field(
        mut self,
        field: String,
        mut random: Random,
        into: Pointer[Buffer, MutUntrackedOrigin],
    ):
        for i in range(len(self.table)):
            if self.table[i] == field and not random.chance(2):
                append_indexed(STATIC_COUNT + 1 + i, into)
                return
        var parts = field.split("|")
        var name = parts[0].as_bytes()
        var value = parts[1].as_bytes()
        if random.chance(15):
            append_named_literal(name, value, into)
            return
        append_integer(0x40, 6, 0, into)
        append_string(name, into)
        append_string(value, into)
        self.table.insert(0, field)


def fuzz_h2_heads(mut random: Random, mut histogram: Histogram) raises:
    """Reads the blocks of one connection.

    Args:
        random: Draws the blocks.
        histogram: Counts the outcome.

    Raises:
        Error: If the invariant does not hold.
    """
    var limits = H2HeadLimits()
    limits.section_octets_max = _SECTION_OCTETS_MAX
    var reader = RequestHeadReader(limits)
    var decoder = HpackDecoder.create()
    var other = HpackDecoder.create()
    var client = _Client()
    var read = 0
    try:
        for _ in range(1 + random.below(_BLOCKS_MAX)):
            var block = client.block(random)
            client.change(random)
            if random.chance(3):
                block = mutate(Span(block), random)
            histogram.input(Span(block))
            var first = RequestHeadReader(limits)
            var wanted = _read(first, other, Span(block))
            var found = _read(reader, decoder, Span(block))
            if found != wanted:
                raise Error("'", found, "' and not '", wanted, "'")
            if found.startswith("HPACK"):
                histogram.count("malformed")
                return
            read += Int(found.startswith("head"))
        histogram.count_whole(String("heads ", read // 3 * 3))
    finally:
        decoder.destroy()
        other.destroy()


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the command line is wrong.
    """
    run(fuzz_h2_heads)


def _read(
    mut reader: RequestHeadReader,
    decoder: HpackDecoder,
    block: Span[mut=False, UInt8, _],
) -> String:
    """Returns all that a reader finds in a block."""
    var fault: H2HeadFault
    try:
        fault = reader.read(decoder, block)
    except e:
        return String("HPACK ", e.reason)
    ref table = decoder.state[].table
    if fault:
        return String(fault.status, " ", fault.reason, " ", table.size)
    ref h = reader.head
    var octets = reader.octets.span()
    var text = String("head ", table.size, " ", h.version.major, " ")
    text += String(h.method_text(octets), " ", h.target_text(octets), " ")
    text += String(h.target.form, " ", h.target.path_octets, " ")
    text += String(h.target.query_start, " ", h.target.query_octets, " ")
    text += String(h.known, " ", h.host, " ", h.content_length, " ")
    text += String(h.body, h.keep_alive, h.expects_continue, h.wants_upgrade)
    text += String(" ", reader.priority.urgency, reader.priority.is_incremental)
    var section = h.fields(octets)
    for i in range(len(section)):
        text += String("|", section.name(i), ": ", section.value(i))
    return text


def _field(mut random: Random) -> String:
    return random.pick(
        [
            ":method|GET",
            ":method|POST",
            ":method|CONNECT",
            ":scheme|http",
            ":authority|b.test:8",
            ":authority|b test",
            ":protocol|websocket",
            "host|a.test",
            "cookie|a=1",
            "cookie|b=2",
            "content-length|3",
            "content-length|0",
            "expect|100-continue",
            "priority|u=1, i",
            "te|trailers",
            "connection|close",
            "x-b|",
            "x-b|a longer value that is written by the Huffman code",
            "X-C|1",
        ]
    )


def _path(mut random: Random) -> String:
    if random.chance(15):
        return random.pick(
            [
                "",
                "*",
                "a",
                "http://a.test/",
                "/\x7f",
                "/ ",
                " /",
                "/%zz",
                "/%20",
            ]
        )
    var length = 150 if random.chance(10) else 40
    var path = String("/")
    for octet in random.octets_of("abc/?=-2", random.below(length)):
        path += chr(Int(octet))
    return path^

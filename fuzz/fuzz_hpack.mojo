"""Field blocks are decompressed as by a model with a list for a table.

Invariant: of any sequence of blocks, the decoder reads the lines that the model
reads, refuses a block if the model does, and has the same table after each.
"""

from flare.core import Buffer, heap_create, heap_destroy
from flare.proto.h2.hpack import (
    HpackDecoder,
    HpackField,
    append_huffman,
    append_indexed,
    append_size_update,
    huffman_octets,
)
from flare.proto.h2.hpack.integer import append_integer
from flare.proto.h2.hpack.static_table import STATIC_COUNT

from fuzz.harness import Histogram, run
from fuzz.hpack_model import HpackModel, ModelLine
from fuzz.random import Random, mutate

comptime _BLOCKS_MAX = 4
comptime _LINES_MAX = 8


def fuzz_hpack(mut random: Random, mut histogram: Histogram) raises:
    """Decompresses a few blocks, intact or damaged.

    Args:
        random: Draws the blocks.
        histogram: Counts the outcome.

    Raises:
        Error: If the invariant does not hold.
    """
    var model = HpackModel()
    var decoder = HpackDecoder.create()
    try:
        var lines = 0
        for _ in range(1 + random.below(_BLOCKS_MAX)):
            var block = _block(random, model)
            if random.chance(10):
                block = mutate(Span(block), random)
            histogram.input(Span(block))
            var read = _check_block(decoder, model, Span(block))
            if read < 0:
                histogram.count("malformed")
                return
            lines += read
        histogram.count_whole(String("lines ", min(lines // 4 * 4, 16)))
    finally:
        decoder.destroy()


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the command line is wrong.
    """
    run(fuzz_hpack)


def _check_block(
    decoder: HpackDecoder, mut model: HpackModel, block: Span[UInt8, _]
) raises -> Int:
    """Reads one block both ways.

    Returns:
        The number of lines; -1 if both refuse the block.
    """
    var expected = List[ModelLine]()
    var refusal = String()
    try:
        expected = model.read(block)
    except e:
        refusal = String(e)
    decoder.begin_block()
    var at = 0
    var count = 0
    while True:
        var field: HpackField
        try:
            field = decoder.next(block, at)
        except e:
            if refusal == "":
                raise Error("it is refused: ", e.reason)
            return -1
        if not field:
            break
        if refusal == "":
            _check_line(field, expected, count)
        at = field.end
        count += 1
    if refusal != "":
        raise Error("the model refuses it: ", refusal)
    if count != len(expected):
        raise Error(count, " lines and not ", len(expected))
    _check_table(decoder, model)
    return count


def _check_line(
    field: HpackField, expected: List[ModelLine], index: Int
) raises:
    if index >= len(expected):
        raise Error("there are more lines than ", index)
    ref line = expected[index]
    if (
        field.name != Span(line.name)
        or field.value != Span(line.value)
        or field.is_never_indexed != line.is_never_indexed
    ):
        raise Error("line ", index, " differs")


def _check_table(decoder: HpackDecoder, model: HpackModel) raises:
    ref table = decoder.state[].table
    if table.count != len(model.table) or table.size != model.size():
        raise Error(
            table.count,
            " entries of ",
            table.size,
            " and not ",
            len(model.table),
            " of ",
            model.size(),
        )
    for i in range(table.count):
        var entry = table.entry(i + 1)
        ref line = model.table[i]
        if table.unsafe_name(entry) != Span(line.name) or table.unsafe_value(
            entry
        ) != Span(line.value):
            raise Error("entry ", i + 1, " differs")


def _block(mut random: Random, model: HpackModel) raises -> List[UInt8]:
    """Writes a block of lines that refer to the present table."""
    var into = heap_create(Buffer())
    if random.chance(10):
        append_size_update(random.below(4097), into)
    # Further lines of the block shift the indexes, some beyond the table.
    var indexes = STATIC_COUNT + len(model.table)
    for _ in range(random.below(_LINES_MAX + 1)):
        var index = 1 + random.below(indexes)
        if random.chance(40) and len(model.table) > 0:
            index = STATIC_COUNT + 1 + random.below(len(model.table))
        if random.chance(40):
            append_indexed(index, into)
            continue
        var kind = random.below(3)
        var name_index = index if random.chance(50) else 0
        if kind == 0:
            append_integer(0x40, 6, name_index, into)
        else:
            append_integer(0x10 * UInt8(kind - 1), 4, name_index, into)
        if name_index == 0:
            _append_string(_text(random, 24), random.chance(50), into)
        var length = 2000 if random.chance(5) else 40
        _append_string(_text(random, length), random.chance(50), into)
    var octets = List[UInt8](into[].span())
    heap_destroy(into)
    return octets^


def _text(mut random: Random, octets_max: Int) -> List[UInt8]:
    var text = List[UInt8]()
    # Octets beyond ASCII have the long codes.
    var is_any = random.chance(20)
    for _ in range(random.below(octets_max + 1)):
        var octet = random.below(256) if is_any else 97 + random.below(26)
        text.append(UInt8(octet))
    return text^


def _append_string(
    text: List[UInt8], is_coded: Bool, into: Pointer[Buffer, MutUntrackedOrigin]
):
    if is_coded:
        append_integer(0x80, 7, huffman_octets(Span(text)), into)
        append_huffman(Span(text), huffman_octets(Span(text)), into)
        return
    append_integer(0, 7, len(text), into)
    into[].append(Span(text))

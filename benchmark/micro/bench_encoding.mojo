"""Measures what content codings cost for JSON of a few KiB, and how small they
make it.

The contents are files that the command line names, or pages of items made here.
The encoder is kept and made ready again for each content, as `Compress` does.
"""

from std.sys import argv

from measure import measure

from flare.http import ContentCoding, ContentEncoder
from flare.sys.coding_step import CodingFlush

comptime _WORDS: List[StaticString] = [
    "Alpha",
    "Widget",
    "office",
    "heavy-duty",
    "popular",
    "wireless",
    "eco",
    "sale",
    "Valve",
    "tools",
    "electronics",
    "Node",
    "Hyper",
]
comptime _ITEM_COUNTS: List[Int] = [5, 25, 50, 100, 400]


def word(number: Int) -> StaticString:
    """Returns one of the words.

    Args:
        number: Any number that is not negative.
    """
    return materialize[_WORDS]()[number % comptime (len(_WORDS))]


def page(count: Int) -> List[UInt8]:
    """Makes a page of items, as a server answers with.

    Args:
        count: How many items.

    Returns:
        JSON without blanks.
    """
    var text = String('{"items":[')
    for i in range(1, count + 1):
        # Numbers that repeat no pattern which an encoder could find.
        var drawn = (i * 7919 + i * i * 104_729) % 1_000_003
        text.write(
            "{" if i == 1 else ",{",
            '"id":',
            i,
            ',"name":"',
            word(drawn),
            " ",
            word(drawn // 13),
            '","category":"',
            word(drawn // 169),
            '","price":',
            drawn % 500,
            ',"quantity":',
            drawn // 500 % 100,
            ',"active":',
            "true" if drawn % 3 > 0 else "false",
            ',"tags":["',
            word(drawn // 7),
            '","',
            word(drawn // 31),
            '"],"rating":{"score":',
            drawn % 50,
            ',"count":',
            drawn // 50 % 500,
            '},"total":',
            drawn % 500 * (drawn // 500 % 100) * 4,
            "}",
        )
    text.write('],"count":', count, "}")
    return List[UInt8](text.as_bytes())


def measure_coding(
    coding: ContentCoding, level: Int, content: List[UInt8]
) raises:
    """Prints the line of one coding.

    Args:
        coding: The coding.
        level: Its level.
        content: What is coded.

    Raises:
        EncodingError: If its library is missing.
    """
    var encoder = ContentEncoder(coding, level)

    def code(i: Int) raises {imm} -> Int:
        encoder.reset()
        var coded = List[UInt8](capacity=len(content) // 2 + 64)
        encoder.append(content, coded, CodingFlush.FINISH)
        return len(coded)

    var name = String("encoding/", len(content), " octets, ", coding, " ")
    measure(String(name, level, ": ", code(0)), code, octets=len(content))


def measure_content(content: List[UInt8]) raises:
    """Prints the lines of one content.

    Args:
        content: What is coded.

    Raises:
        EncodingError: If a library is missing.
    """
    for level in [1, 6]:
        measure_coding(ContentCoding.GZIP, level, content)
    for level in [1, 2, 3, 4, 5]:
        measure_coding(ContentCoding.BROTLI, level, content)
    for level in [1, 3]:
        measure_coding(ContentCoding.ZSTD, level, content)


def main() raises:
    """Prints the figures.

    Raises:
        Error: If a file cannot be read, or a library is missing.
    """
    var names = argv()
    for i in range(1, len(names)):
        with open(String(names[i]), "r") as file:
            measure_content(file.read_bytes())
    if len(names) == 1:
        for count in materialize[_ITEM_COUNTS]():
            measure_content(page(count))

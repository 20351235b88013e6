"""Judges JSON texts of a file, so that other parsers can be compared.

    json_judge FILE

FILE holds texts one behind the other, each as `LENGTH` in decimal, LF and the
octets. One line for each comes out: `+ ` and the text as it is written again,
or `- ` and the error. Behind `#floats` stands an array of numbers that is read
and written as `Float64`.
"""

from std.sys import argv

from flare.core import equals
from flare.json import Value, decode, dumps, loads


comptime FLOATS: StaticString = "#floats"


def main() raises:
    var octets: List[UInt8]
    with open(String(argv()[1]), "r") as file:
        octets = file.read_bytes()
    var at = 0
    while at < len(octets):
        var length = 0
        while octets[at] != 10:
            length = length * 10 + Int(octets[at] - 48)
            at += 1
        at += 1
        judge(Span(octets)[at : at + length])
        at += length


def judge(text: Span[UInt8, _]) raises:
    """Prints the line of one text.

    Args:
        text: The text.

    Raises:
        Error: If reading and passing over disagree.
    """
    var is_passed_over = True
    try:
        if is_floats(text):
            var array = text[FLOATS.byte_length() :]
            print("+", dumps(decode[List[Float64]](array)))
            return
        try:
            _ = decode[Value](text)
        except e:
            is_passed_over = False
        var written = dumps(loads(text))
        if not is_passed_over:
            print("- refused where it is passed over")
        else:
            print("+", written)
    except e:
        print("-" if not is_passed_over else "- (only when read)", e)


def is_floats(text: Span[UInt8, _]) -> Bool:
    """Tells how a text is to be read.

    Args:
        text: The text.

    Returns:
        True for an array of numbers.
    """
    comptime OCTETS = FLOATS.byte_length()
    return len(text) > OCTETS and equals(text[:OCTETS], FLOATS.as_bytes())

"""Judges JSON texts of a file, so that other parsers can be compared.

    json_judge FILE

FILE holds texts one behind the other, each as `LENGTH` in decimal, LF and the
octets. One line for each comes out: `+ ` and the text as it is written again,
or `- ` and the error. Behind `#Float64`, or the name of a narrower type, stands
an array of numbers that is read and written as such.
"""

from std.sys import argv

from flare.core import equals
from flare.json import Value, decode, dumps, loads


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
        if (
            is_judged_as["#Float64", DType.float64](text)
            or is_judged_as["#Float32", DType.float32](text)
            or is_judged_as["#Float16", DType.float16](text)
            or is_judged_as["#BFloat16", DType.bfloat16](text)
        ):
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


def is_judged_as[
    name: StaticString, dtype: DType
](text: Span[UInt8, _]) raises -> Bool:
    """Prints the line of an array of numbers.

    Parameters:
        name: What begins it.
        dtype: The type of the numbers.

    Args:
        text: The text.

    Returns:
        False if it begins with something else.

    Raises:
        Error: If it is refused.
    """
    comptime OCTETS = name.byte_length()
    if len(text) <= OCTETS or not equals(text[:OCTETS], name.as_bytes()):
        return False
    print("+", dumps(decode[List[Scalar[dtype]]](text[OCTETS:])))
    return True

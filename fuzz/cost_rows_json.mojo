"""Reads and writes JSON."""

from flare.json import Value, decode, dumps, loads

from .cost_row import CostRow, numbered, repeated, text_of

comptime _DEPTH = 100


def json_rows() -> List[CostRow]:
    """Lists what is measured.

    Returns:
        The rows.
    """
    comptime array = repeated["1,", "[", "1]"]
    comptime arrays = repeated["[],", "[", "1]"]
    comptime keys = numbered['"k', '":1,', "{", '"a":1}']
    comptime same_keys = repeated['"k":1,', "{", '"a":1}']
    comptime escapes = repeated["\\u00e9\\n", '["', '"]']
    comptime digits = repeated["1", "[0.", "e-5]"]
    comptime texts = repeated['"é",', "[", "1]"]
    return [
        CostRow("array", 1 << 16, array, _load, heap_factor_max=32),
        CostRow("empty arrays", 1 << 16, arrays, _load, heap_factor_max=24),
        CostRow("object", 1 << 17, keys, _load, heap_factor_max=24),
        CostRow("equal keys", 1 << 16, same_keys, _load, heap_factor_max=24),
        CostRow("escapes", 1 << 17, escapes, _load, heap_factor_max=24),
        CostRow("texts", 1 << 17, texts, _load, heap_factor_max=24),
        CostRow("a number of many digits", 1 << 15, digits, _load_number),
        CostRow("nested", 1 << 16, _nested, _load, heap_factor_max=24),
        CostRow("elements", 1 << 14, array, _elements, heap_factor_max=40),
        CostRow("members", 1 << 14, keys, _members, heap_factor_max=40),
        CostRow("list of values", 1 << 14, array, _values, heap_factor_max=48),
        CostRow(
            "dictionary of values",
            1 << 15,
            keys,
            _dictionary,
            heap_factor_max=40,
        ),
        CostRow("list of numbers", 1 << 16, array, _numbers),
        CostRow("written", 1 << 16, arrays, _write, heap_factor_max=32),
        CostRow(
            "written with indents", 1 << 16, arrays, _indent, heap_factor_max=40
        ),
        CostRow("quoted", 1 << 17, repeated['\x01"é'], _quote),
    ]


def _nested(octets: Int) raises -> List[UInt8]:
    var made = List[UInt8]()
    made.append(91)
    while len(made) < octets:
        for _ in range(_DEPTH):
            made.append(91)
        for _ in range(_DEPTH):
            made.append(93)
        made.append(44)
    made.extend("1]".as_bytes())
    return made^


def _load(octets: List[UInt8]) raises:
    if len(loads(Span(octets))) == 0:
        raise Error("it is empty")


def _load_number(octets: List[UInt8]) raises:
    _ = loads(Span(octets))[0].float_value()


def _elements(octets: List[UInt8]) raises:
    var value = loads(Span(octets))
    var sum = 0
    for element in value.elements():
        sum += element.int_value()
    for i in range(len(value)):
        sum += value[i].int_value()
    if sum != 2 * len(value):
        raise Error("the sum is ", sum)


def _members(octets: List[UInt8]) raises:
    var value = loads(Span(octets))
    for member in value.members():
        if member.value.int_value() != 1:
            raise Error("another value")


def _values(octets: List[UInt8]) raises:
    var values = decode[List[Value]](Span(octets))
    if len(values) == 0 or values[len(values) - 1].int_value() != 1:
        raise Error("another value")


def _dictionary(octets: List[UInt8]) raises:
    var values = decode[Dict[String, Value]](Span(octets))
    if values["a"].int_value() != 1:
        raise Error("another value")


def _numbers(octets: List[UInt8]) raises:
    var numbers = decode[List[Int]](Span(octets))
    _ = dumps(numbers)


def _write(octets: List[UInt8]) raises:
    var value = loads(Span(octets))
    if dumps(value).byte_length() != len(octets):
        raise Error("written otherwise")


def _indent(octets: List[UInt8]) raises:
    var value = loads(Span(octets))
    _ = dumps(value, indent=2)
    _ = String(value)


def _quote(octets: List[UInt8]) raises:
    _ = dumps(String(text_of(octets)))
